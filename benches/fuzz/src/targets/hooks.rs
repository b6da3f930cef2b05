//! The hook server.

use std::fs;
use std::sync::Arc;

use bowline_hooks::{ExposeSecret as _, HookConfiguration, HookServer};
use tokio::net::TcpStream;

use super::http::{ask, runtime, status};
use super::whole;
use crate::guided::{Check, Target};

/// Recorded hook input of the real agent.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/hooks");

/// Placeholders for the server's address and token.
const HOST: &[u8] = b"@HOST";
const TOKEN: &[u8] = b"@TOKEN";

/// The bytes of a client, with placeholders for the server's address and token.
pub(super) static HOOKS: Target = Target {
    name: "hooks",
    what: "every client is answered or disconnected, and no event is accepted without the token",
    longest: 2_000,
    seeds,
    dictionary: &TOKENS,
    repair: whole,
    check,
};

const TOKENS: [&[u8]; 30] = [
    b"\r\n",
    b"\r\n\r\n",
    b"POST ",
    b"GET ",
    b" HTTP/1.1",
    b" HTTP/1.0",
    b"Host: @HOST\r\n",
    b"Authorization: Bearer @TOKEN\r\n",
    b"Authorization: ",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n",
    b"0\r\n\r\n",
    b"1\r\n",
    b"ffffffffffffffff\r\n",
    b"Expect: 100-continue\r\n",
    b"Connection: keep-alive\r\n",
    b"Connection: Upgrade\r\n",
    b"Origin: http://x\r\n",
    b"Bowline-Delivery: a\r\n",
    b"/hooks/",
    b"%2f",
    b"@TOKEN",
    b"@HOST",
    b"{\"hook_event_name\":\"",
    b"\"PreToolUse\"",
    b"\"session_id\":",
    b"{}",
    b"\\ud83d",
    b"\"}",
    b"99999999999999999999",
];

fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for entry in fs::read_dir(RECORDINGS)? {
        let body = fs::read(entry?.path())?;
        seeds.push(request(
            &format!("Content-Length: {}\r\n", body.len()),
            &body,
        ));
    }
    seeds.sort();
    let chunked = b"2\r\n{}\r\n0\r\n\r\n";
    seeds.push(request("Transfer-Encoding: chunked\r\n", chunked));
    Ok(seeds)
}

fn request(length: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /hooks/i HTTP/1.1\r\nHost: @HOST\r\nAuthorization: Bearer @TOKEN\r\n{length}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn check() -> Result<Check, String> {
    let runtime = runtime()?;
    let server = runtime.block_on(HookServer::start(HookConfiguration::default()));
    let server = server.map_err(|error| error.to_string())?;
    let host = format!("127.0.0.1:{}", server.address().port());
    let token = Arc::new(server.token().expose_secret().to_owned());
    Ok(Box::new(move |input| {
        let request = replaced(input, HOST, host.as_bytes());
        let request = replaced(&request, TOKEN, token.as_bytes());
        let before = event_count(&server);
        let answer = runtime.block_on(async {
            let client = TcpStream::connect(server.address()).await;
            let client = client.map_err(|error| format!("no listener: {error}"))?;
            ask(client, &request).await
        })?;
        let status = status(&answer)?;
        let events = event_count(&server) - before;
        let shows_token = request
            .windows(token.len())
            .any(|it| it == token.as_bytes());
        if events > 0 && !shows_token {
            return Err("an event was accepted without the token".to_owned());
        }
        if status == Some(200) && events != 1 {
            return Err(format!("{events} events for one answer"));
        }
        Ok(())
    }))
}

/// Returns the number of events, new and repeated.
fn event_count(server: &HookServer) -> u64 {
    let report = server.report();
    report.events + report.duplicates
}

fn replaced(input: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(input.len()), input);
    while let Some((&first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(from) {
            out.extend_from_slice(to);
            rest = after;
        } else {
            out.push(first);
            rest = after;
        }
    }
    out
}
