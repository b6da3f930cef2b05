//! The client that a hook of type `command` runs: posts one event and prints the reply.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use tokio::time::timeout;
use uuid::Uuid;

use crate::http::PostTarget;

/// Limit for an event and for a reply, in bytes. Recorded events reach 3.3 MB.
const MAX_BODY: usize = 64 << 20;

/// The longest time that the agent waits for a hook (`crates/jsonl/PROTOCOL.md`, Hooks).
const TIMEOUT: Duration = Duration::from_secs(600);

/// Attempts to deliver an event. All of them have one delivery id, so that the server recognises a
/// repetition.
const ATTEMPTS: u32 = 3;

/// Why an event was not posted.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PostHookError(String);

/// Posts one event to a [`HookServer`](crate::HookServer) and prints the reply: the whole of a
/// [`HookHelper`](crate::HookHelper).
///
/// The arguments are the server's URL and the name of the token variable. The event is read from
/// standard input, the reply is written to standard output, where the agent reads it. The token is
/// in the variable, or in the file named by the variable with `_FILE` appended.
///
/// Blocks on a runtime of its own; must not be called inside one. A caller must not exit with
/// code 2 on an error: that refuses what the agent is about to do.
///
/// # Errors
///
/// There is no token, or the server cannot be reached or rejects the event.
pub fn post_hook(args: impl Iterator<Item = OsString>) -> Result<(), PostHookError> {
    post_stdin(args).map_err(PostHookError)
}

fn post_stdin(args: impl Iterator<Item = OsString>) -> Result<(), String> {
    let args: Vec<_> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let [url, variable] = args.as_slice() else {
        return Err("invalid arguments; pass a URL and a variable's name".to_owned());
    };
    let target = target(url, &token(variable)?)?;
    let mut event = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_BODY as u64)
        .read_to_end(&mut event)
        .map_err(|error| format!("cannot read the event: {error}"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start a runtime: {error}"))?;
    let reply = runtime.block_on(post(&target, event.into()))?;
    let mut out = io::stdout().lock();
    let written = out
        .write_all(&command_output(&reply))
        .and_then(|()| out.flush());
    written.map_err(|error| format!("cannot print the reply: {error}"))
}

/// The reply in the form that the agent reads from a command: for `WorktreeCreate` the bare path.
fn command_output(reply: &[u8]) -> Cow<'_, [u8]> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Reply {
        hook_specific_output: Output,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Output {
        worktree_path: String,
    }
    match serde_json::from_slice::<Reply>(reply) {
        Ok(reply) => Cow::Owned(reply.hook_specific_output.worktree_path.into_bytes()),
        Err(_) => Cow::Borrowed(reply),
    }
}

/// Accepts loopback addresses only: the token must not leave the machine.
fn target(url: &str, token: &str) -> Result<PostTarget, String> {
    let invalid =
        || format!("{url:?} is not a hook URL; pass one such as http://127.0.0.1:7430/hooks/run-1");
    let rest = url.strip_prefix("http://").ok_or_else(invalid)?;
    let (address, path) = rest.split_once('/').ok_or_else(invalid)?;
    let socket: SocketAddr = address.parse().map_err(|_| invalid())?;
    if !socket.ip().is_loopback() || !path.bytes().all(|it| it.is_ascii_graphic()) {
        return Err(invalid());
    }
    let value = |text: &str| HeaderValue::from_str(text);
    let authority = value(address).map_err(|_| invalid())?;
    let bearer = value(&format!("Bearer {token}"));
    let mut bearer = bearer.map_err(|_| "the token is not a valid header value".to_owned())?;
    bearer.set_sensitive(true);
    let delivery = value(&Uuid::new_v4().to_string()).map_err(|error| error.to_string())?;
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, bearer);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("bowline-delivery", delivery);
    Ok(PostTarget {
        host: socket.ip().to_string(),
        port: socket.port(),
        tls: None,
        authority,
        path: format!("/{path}"),
        headers,
    })
}

/// Posts an event, again if the connection breaks, and returns the reply.
async fn post(target: &PostTarget, event: Bytes) -> Result<Bytes, String> {
    let mut failure = String::new();
    for _ in 0..ATTEMPTS {
        match timeout(TIMEOUT, post_once(target, event.clone())).await {
            Ok(Ok((StatusCode::OK, reply))) => return Ok(reply),
            Ok(Ok((status, _))) => {
                return Err(format!("the hook server answered {status}; see its log"));
            }
            Ok(Err(error)) => failure = error,
            Err(_) => "no reply in time".clone_into(&mut failure),
        }
    }
    Err(format!(
        "cannot reach the hook server: {failure}; its session may have ended"
    ))
}

async fn post_once(target: &PostTarget, event: Bytes) -> Result<(StatusCode, Bytes), String> {
    let mut posted = target.post(event).await.map_err(|error| error.0)?;
    let body = Limited::new(posted.response.body_mut(), MAX_BODY).collect();
    let body = body.await.map_err(|error| error.to_string())?;
    Ok((posted.response.status(), body.to_bytes()))
}

fn token(variable: &str) -> Result<String, String> {
    if let Ok(token) = env::var(variable) {
        return Ok(token);
    }
    let file = format!("{variable}_FILE");
    let path = env::var_os(&file);
    let path = path.ok_or_else(|| format!("no token; set {variable} or {file}"))?;
    let failed = |reason: String| format!("cannot read the token file of {file}: {reason}");
    let open = fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    if !is_private(&open) {
        return Err(failed(
            "others can read it; set its mode to 0600".to_owned(),
        ));
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
