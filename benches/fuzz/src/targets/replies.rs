//! Responses of a runner, or of what listens in its place.

use std::rc::Rc;

use bowline_runner::{RunnerClient, RunnerError, StateDir};
use bowline_transport::SessionId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;
use tokio::task::LocalSet;

use super::http::{TIMEOUT, runtime};
use super::whole;
use crate::guided::{Check, Target};

/// The first byte selects the request, and the rest is what is read in response.
pub(super) static REPLIES: Target = Target {
    name: "replies",
    what: "every response is a value or an error that says something, in time, and a log continues where it should",
    longest: 500,
    seeds,
    dictionary: &[
        b"HTTP/1.1 ",
        b"200 OK",
        b"403 Forbidden",
        b"\r\n",
        b"\r\n\r\n",
        b"content-length: ",
        b"transfer-encoding: chunked",
        b"bowline-from: ",
        b"bowline-next: ",
        b"bowline-gap: ",
        b"18446744073709551615",
        b"{",
        b"}",
        b"\"",
        b":",
        b",",
        b"null",
        b"0",
    ],
    repair: whole,
    check,
};

const ID: &str = "00000000-0000-4000-8000-000000000000";

fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let session = format!(
        r#"{{"id":"{ID}","kind":"dialogue","state":"running","program":"claude","args":[],"started_ms":1}}"#
    );
    let problem = r#"{"code":"HOST_REFUSED","detail":"a fact","next":"a remedy"}"#;
    let seeds = [
        (b's', "200 OK", "", format!(r#"{{"sessions":[{session}]}}"#)),
        (b's', "403 Forbidden", "", problem.to_owned()),
        (b's', "302 Found", "location: /\r\n", String::new()),
        (b'p', "200 OK", "", r#"{"id":"prompt"}"#.to_owned()),
        (
            b'q',
            "200 OK",
            "",
            r#"{"permissions":[{"id":"r"}]}"#.to_owned(),
        ),
        (
            b'l',
            "200 OK",
            "bowline-from: 5\r\nbowline-gap: 0-5\r\nbowline-next: 8\r\n",
            "log".to_owned(),
        ),
        (
            b'a',
            "200 OK",
            "",
            r#"{"arrivals":[{"offset":1,"at_ms":2,"output":0}],"next":0}"#.to_owned(),
        ),
        (b'h', "404 Not Found", "", problem.to_owned()),
        (
            b'u',
            "200 OK",
            "",
            r#"{"url":"http://127.0.0.1:7420/"}"#.to_owned(),
        ),
        (
            b'e',
            "429 Too Many Requests",
            "retry-after: 1\r\n",
            problem.to_owned(),
        ),
    ];
    let response = |(request, status, headers, body): (u8, &str, &str, String)| {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}");
        [&[request], text.as_bytes()].concat()
    };
    Ok(seeds.map(response).to_vec())
}

fn check() -> Result<Check, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let folder = tempfile::tempdir().map_err(|error| text(&error))?;
    let state = StateDir::at(folder.path().join("state")).map_err(|error| text(&error))?;
    let runtime = runtime()?;
    let listener = {
        let _entered = runtime.enter();
        UnixListener::bind(state.path().join("runner.sock")).map_err(|error| text(&error))?
    };
    let (listener, client) = (Rc::new(listener), RunnerClient::local(&state));
    Ok(Box::new(move |input| {
        // It is kept as long as the target.
        let _ = &folder;
        let Some((&request, response)) = input.split_first() else {
            return Ok(());
        };
        let tasks = LocalSet::new();
        let (listener, response) = (Rc::clone(&listener), response.to_vec());
        let server = tasks.spawn_local(async move {
            loop {
                respond(&listener, &response).await;
            }
        });
        let asked = tasks.block_on(&runtime, async {
            tokio::time::timeout(TIMEOUT, ask(&client, request)).await
        });
        server.abort();
        match asked.map_err(|_| format!("no end within {TIMEOUT:?}"))? {
            Err(Failed::Runner(error)) if error.to_string().len() < 10 => {
                Err(format!("the error is {error:?}"))
            }
            Err(Failed::Law(violated)) => Err(violated),
            _ => Ok(()),
        }
    }))
}

/// Reads a request of one client, and sends the response.
async fn respond(listener: &UnixListener, response: &[u8]) {
    let Ok((mut stream, _)) = listener.accept().await else {
        return;
    };
    let mut request = [0; 4096];
    let _ = stream.read(&mut request).await;
    let _ = stream.write_all(response).await;
}

/// Why a request failed.
enum Failed {
    Runner(RunnerError),
    Law(String),
}

impl From<RunnerError> for Failed {
    fn from(error: RunnerError) -> Self {
        Self::Runner(error)
    }
}

async fn ask(client: &RunnerClient, request: u8) -> Result<(), Failed> {
    let id: SessionId = ID.parse().map_err(|_| Failed::Law("an id".to_owned()))?;
    match request {
        b's' => client.sessions().await.map(drop)?,
        b'p' => client.prompt(id, "text").await.map(drop)?,
        b'q' => client.permissions(id).await.map(drop)?,
        b'h' => client.history(id).await.map(drop)?,
        b'u' => client.login_link().await.map(drop)?,
        b'e' => client.end(id, false, false).await.map(drop)?,
        b'a' => client.arrivals(id, "stdout").await.map(drop)?,
        b'l' => {
            let range = client.log(id, 5).await?;
            if range.next < range.from {
                return Err(Failed::Law(format!("{range:?} goes back")));
            }
        }
        _ => {}
    }
    Ok(())
}
