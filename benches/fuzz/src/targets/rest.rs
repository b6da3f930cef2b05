//! The REST endpoint of a runner.

use std::path::PathBuf;

use bowline_runner::{Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir};
use tokio::net::UnixStream;

use super::http::{ask, runtime, status};
use super::json::JSON;
use super::whole;
use crate::guided::{Check, Target};

/// The first line is the method and the path, the rest the body. No session can be created, because
/// there is no program for shims.
pub(super) static REST: Target = Target {
    name: "rest",
    what: "every request gets a response, and none an internal error",
    longest: 600,
    seeds,
    dictionary: &JSON,
    repair: whole,
    check,
};

const ID: &str = "00000000-0000-4000-8000-000000000000";

fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let of = |rest: &str| format!("/api/sessions/{ID}{rest}");
    let spec = format!(
        r#"{{"id":"{ID}","name":"n","kind":"dialogue","program":"claude","args":["-p"],"cwd":"/","env":{{"inherit":true,"set":{{"A":"b"}},"remove":["C"]}},"stdio":{{"type":"pty","size":{{"rows":24,"cols":80}},"mode":"raw"}},"exit_kept_ms":5,"labels":{{"a":"b"}},"journal":{{"on":false}},"ring_bytes":4096}}"#
    );
    let seeds = [
        format!("POST /api/sessions\n{spec}"),
        "POST /api/sessions\n{\"kind\":\"terminal\",\"program\":\"x\"}".to_owned(),
        "GET /api/sessions\n".to_owned(),
        format!("GET {}\n", of("")),
        format!("DELETE {}?remove=true&force=true\n", of("")),
        format!("POST {}\n", of("/restart")),
        format!("POST {}\n{{\"text\":\"hi\",\"id\":\"p\"}}", of("/prompt")),
        format!(
            "POST {}\n{{\"request_id\":\"r\",\"decision\":\"allow\",\"updated_input\":{{}},\"updated_permissions\":[]}}",
            of("/permissions")
        ),
        format!(
            "POST {}\n{{\"id\":\"i\",\"cancel_queued\":true}}",
            of("/interrupt")
        ),
        format!("GET {}?stream=stdout&from=5&max=9\n", of("/log")),
        format!("GET {}?cursor=1&limit=5\n", of("/transcript")),
        "POST /api/tickets\n{}".to_owned(),
        "GET /healthz\n".to_owned(),
        "GET /readyz\n".to_owned(),
        "GET /metrics\n".to_owned(),
        "GET /openapi.json\n".to_owned(),
    ];
    Ok(seeds.map(String::into_bytes).to_vec())
}

fn check() -> Result<Check, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let runtime = runtime()?;
    let socket = folder.path().join("socket");
    let state = StateDir::at(folder.path().join("state")).map_err(|error| error.to_string())?;
    let configuration = ServeConfiguration {
        state,
        shim: ShimProgram {
            path: PathBuf::from("/nonexistent/shim"),
            args: Vec::new(),
        },
        socket: Some(socket.clone()),
        listen: Vec::new(),
        token_file: folder.path().join("token"),
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        limits: ServeLimits::default(),
        policy: Default::default(),
    };
    let runner = runtime.block_on(Runner::start(configuration));
    let runner = runner.map_err(|error| error.to_string())?;
    Ok(Box::new(move |input| {
        // Both are kept as long as the target.
        let _ = (&runner, &folder);
        let request = request(input);
        let answer = runtime.block_on(async {
            let client = UnixStream::connect(&socket).await;
            let client = client.map_err(|error| format!("failed to connect: {error}"))?;
            ask(client, &request).await
        })?;
        let status = status(&answer)?.ok_or("disconnected without a response")?;
        let is_ours = answer.windows(11).any(|it| it == b"SHIM_FAILED");
        if status >= 500 && !is_ours {
            return Err(format!("answered {}", answer.escape_ascii()));
        }
        Ok(())
    }))
}

/// Returns a request that is valid except for the path and the body.
fn request(input: &[u8]) -> Vec<u8> {
    let mut lines = input.splitn(2, |&byte| byte == b'\n');
    let (line, body) = (lines.next(), lines.next().unwrap_or_default());
    let line = line.unwrap_or_default();
    let address = |byte: u8| matches!(byte, b'!'..=b'~').then_some(byte).unwrap_or(b'~');
    let (method, path) = match line.iter().position(|&byte| byte == b' ') {
        Some(at) => line.split_at(at),
        None => (&b"GET"[..], line),
    };
    let letters = method.iter().filter(|it| it.is_ascii_uppercase());
    let mut request: Vec<u8> = letters.copied().take(10).collect();
    if request.is_empty() {
        request.extend(b"GET");
    }
    let path = path.trim_ascii();
    let path = path.strip_prefix(b"/").unwrap_or(path);
    request.extend(b" /");
    request.extend(path.iter().map(|&byte| address(byte)));
    let head = format!(
        " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    request.extend(head.as_bytes());
    request.extend(body);
    request
}
