//! Carries one event from the agent to the server.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::Deserialize;
use uuid::Uuid;

/// The longest event that is carried, in bytes; real ones reach 3.3 MB.
const MOST: u64 = 64 << 20;

/// How long the server may take to let us in.
const CONNECT: Duration = Duration::from_secs(5);

/// The agent's own longest patience with a hook (protocol, section D.1).
const PATIENCE: Duration = Duration::from_secs(600);

/// How often an event is brought. It has one name, so that the server knows it again.
const ATTEMPTS: u32 = 3;

/// Why an event was not carried.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CarryError(String);

/// Carries one event from the agent to the server for hooks: what a [`HookHelper`] does. The words
/// are the server's address and the name of the token's variable.
///
/// The event is on standard input, and the server's answer goes to standard output, which is what
/// the agent takes. A program that calls this must not exit with code 2 when it fails: that would
/// refuse what the agent is about to do. Blocks; needs no runtime.
///
/// The token is in the variable, or in the file that the variable with `_FILE` behind its name
/// names.
///
/// # Errors
///
/// There is no token, the server cannot be reached or turns the event away.
///
/// [`HookHelper`]: super::HookHelper
pub fn carry_hook(words: impl Iterator<Item = OsString>) -> Result<(), CarryError> {
    carry(words).map_err(CarryError)
}

fn carry(words: impl Iterator<Item = OsString>) -> Result<(), String> {
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let [url, variable] = words.as_slice() else {
        return Err("read the command line: give an address and a variable's name".to_owned());
    };
    let server = Server::of(url)?;
    let token = token(variable)?;
    let mut event = Vec::new();
    io::stdin()
        .lock()
        .take(MOST)
        .read_to_end(&mut event)
        .map_err(|error| format!("read the event: {error}"))?;
    let answer = server.told(&token, &event)?;
    let mut out = io::stdout().lock();
    let written = out.write_all(&printed(&answer)).and_then(|()| out.flush());
    written.map_err(|error| format!("print the answer: {error}"))
}

/// An answer as the agent takes it from a program: of a folder for `WorktreeCreate` it takes the path
/// alone, on a line of its own.
fn printed(answer: &[u8]) -> Cow<'_, [u8]> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        hook_specific_output: Specific,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Specific {
        worktree_path: String,
    }
    match serde_json::from_slice::<Answer>(answer) {
        Ok(answer) => Cow::Owned(answer.hook_specific_output.worktree_path.into_bytes()),
        Err(_) => Cow::Borrowed(answer),
    }
}

/// Where the event goes.
struct Server {
    address: SocketAddr,
    path: String,
}

impl Server {
    /// The token is shown to this machine alone.
    fn of(url: &str) -> Result<Self, String> {
        let wrong =
            || format!("use the address {url:?}: give one such as http://127.0.0.1:1/hooks/i");
        let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
        let (address, path) = rest.split_once('/').ok_or_else(wrong)?;
        let address: SocketAddr = address.parse().map_err(|_| wrong())?;
        let is_sound = path.bytes().all(|it| it.is_ascii_graphic());
        if !address.ip().is_loopback() || !is_sound {
            return Err(wrong());
        }
        let path = format!("/{path}");
        Ok(Self { address, path })
    }

    /// Tells an event, again if the server hangs up, and gives its answer.
    fn told(&self, token: &str, event: &[u8]) -> Result<Vec<u8>, String> {
        let delivery = Uuid::new_v4();
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
             Bowline-Delivery: {delivery}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.address,
            event.len()
        );
        let mut failed = String::new();
        for _ in 0..ATTEMPTS {
            match self.exchanged(head.as_bytes(), event) {
                Ok(answer) => return body(answer),
                Err(error) => failed = error.to_string(),
            }
        }
        Err(format!(
            "reach the server for hooks: {failed}, its session may have ended"
        ))
    }

    fn exchanged(&self, head: &[u8], event: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&self.address, CONNECT)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // A server that turns an event away may do so before it has read all of it.
        let written = stream
            .write_all(head)
            .and_then(|()| stream.write_all(event));
        let mut answer = Vec::new();
        match stream.take(MOST).read_to_end(&mut answer) {
            Ok(_) | Err(_) if !answer.is_empty() => Ok(answer),
            Ok(_) => Err(written
                .err()
                .unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())),
            Err(error) => Err(error),
        }
    }
}

/// The body of an answer that says yes. The server closes behind it, and never sends it in chunks.
fn body(answer: Vec<u8>) -> Result<Vec<u8>, String> {
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let end = end.ok_or("read the answer: it was cut off")?;
    let status = String::from_utf8_lossy(answer.get(..end).unwrap_or_default());
    match status.split(' ').nth(1) {
        Some("200") => Ok(answer.get(end + 4..).unwrap_or_default().to_vec()),
        status => Err(format!(
            "tell the event: the server answered {}, see its log",
            status.unwrap_or("something else than HTTP")
        )),
    }
}

fn token(variable: &str) -> Result<String, String> {
    if let Ok(token) = env::var(variable) {
        return Ok(token);
    }
    let file = format!("{variable}_FILE");
    let path = env::var_os(&file);
    let path = path.ok_or_else(|| format!("find the token: set {variable} or {file}"))?;
    let failed = |why: String| format!("read the token from the file that {file} names: {why}");
    let open = fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    if !is_private(&open) {
        return Err(failed("others can read it, make it 0600".to_owned()));
    }
    let token = io::read_to_string(open).map_err(|error| failed(error.to_string()))?;
    Ok(token.trim().to_owned())
}

#[cfg(unix)]
fn is_private(file: &fs::File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|it| it.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &fs::File) -> bool {
    true
}
