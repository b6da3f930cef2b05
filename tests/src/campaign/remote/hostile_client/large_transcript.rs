//! Readers that request a large transcript and stop reading.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_runner::wire::SessionKind;
use bowline_transport::{SessionId, SessionRequest};
use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::super::support::{shell, within};
use super::super::daemon::Daemon;
use super::{Observed, watch};

/// Number of readers.
const READERS: usize = 10;

/// Length of the text of each message, in bytes.
const TEXT: usize = 1000;

/// Lets ten readers request a transcript of `messages` messages at the same time, and read only the first
/// bytes of it. Returns what was observed meanwhile; then one of them reads the rest, which must be whole.
pub(super) async fn observe(daemon: &Daemon, messages: usize) -> Result<Observed, String> {
    let session = start(daemon, messages).await?;
    let is_over = Arc::new(AtomicBool::new(false));
    let owner = daemon.owner();
    let watching = watch(&owner, daemon.pid(), &is_over);
    let reading = async {
        let mut readers = Vec::new();
        for _ in 0..READERS {
            readers.push(request(daemon, session).await?);
        }
        for reader in &mut readers {
            // A part of the response's head.
            let begin = reader.read(&mut [0; 100]).await;
            begin.map_err(|error| error.to_string())?;
        }
        is_over.store(true, Ordering::Relaxed);
        let last = readers.pop().ok_or("no reader")?;
        drop(readers);
        count_messages(last).await
    };
    let (watched, received) = tokio::join!(watching, reading);
    is_over.store(true, Ordering::Relaxed);
    let received = received?;
    if received < messages {
        return Err(format!(
            "a transcript of {messages} messages has {received}"
        ));
    }
    watched
}

/// Starts a session whose agent writes the messages and ends, and waits until it has.
async fn start(daemon: &Daemon, messages: usize) -> Result<SessionId, String> {
    let mut file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let text = "x".repeat(TEXT);
    let mut out = std::io::BufWriter::new(file.as_file_mut());
    for number in 0..messages {
        let written = writeln!(
            out,
            r#"{{"type":"assistant","uuid":"u{number}","session_id":"s","message":{{"id":"m{number}","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        );
        written.map_err(|error| error.to_string())?;
    }
    out.flush().map_err(|error| error.to_string())?;
    drop(out);
    let agent = shell(&format!("cat {}", file.path().display()));
    let order = SessionRequest::new(SessionKind::Dialogue, agent);
    let session = daemon.make_with(&order).await?;
    let id = session.id();
    session.detach();
    let owner = daemon.owner();
    let ended = async {
        loop {
            let path = format!("/api/sessions/{id}");
            let asked = owner.ask("GET", &path, Bytes::new()).await;
            let (_, body) = asked.map_err(|error| error.to_string())?;
            let session: Value = serde_json::from_slice(&body).unwrap_or_default();
            if session["state"] == "exited" {
                return Ok(id);
            }
        }
    };
    within("the end of the agent", ended).await?
}

async fn request(daemon: &Daemon, session: SessionId) -> Result<TcpStream, String> {
    let (address, token) = (daemon.address(), daemon.token());
    let request = format!(
        "GET /api/sessions/{session}/transcript HTTP/1.0\r\nHost: {address}\r\n\
         Authorization: Bearer {token}\r\n\r\n"
    );
    let sent = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        Ok::<_, std::io::Error>(stream)
    };
    sent.await.map_err(|error| error.to_string())
}

/// Reads a response to its end, and counts the messages in it.
async fn count_messages(mut reader: TcpStream) -> Result<usize, String> {
    let (mut count, mut rest) = (0, Vec::new());
    let mut part = vec![0; 1 << 20];
    let mark = b"\"message_id\":\"m";
    loop {
        let read = within("a part of the transcript", reader.read(&mut part)).await?;
        let length = read.map_err(|error| error.to_string())?;
        if length == 0 {
            break;
        }
        rest.extend_from_slice(&part[..length]);
        count += rest.windows(mark.len()).filter(|it| it == mark).count();
        // The beginning of a mark at the end is counted with the next part.
        rest.drain(..rest.len().saturating_sub(mark.len() - 1));
    }
    if rest.last() != Some(&b'}') {
        return Err("a transcript ends early".to_owned());
    }
    Ok(count)
}
