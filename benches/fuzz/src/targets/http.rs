//! A client of one request. Time is virtual: it advances when all tasks are idle, so that a server
//! that waits for the rest of a request times out at once.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

/// Virtual time after which every client must have a response or be disconnected.
pub(super) const TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Creates a current-thread runtime with paused time.
pub(super) fn runtime() -> Result<Runtime, String> {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build();
    runtime.map_err(|error| error.to_string())
}

/// Sends a request, complete or not, and returns the response.
pub(super) async fn ask(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    request: &[u8],
) -> Result<Vec<u8>, String> {
    let mut answer = Vec::new();
    let exchange = async {
        // The server may close the connection before it has read everything.
        let _ = client.write_all(request).await;
        let _ = client.read_to_end(&mut answer).await;
    };
    let exchange = tokio::time::timeout(TIMEOUT, exchange).await;
    exchange.map_err(|_| format!("neither answered nor disconnected within {TIMEOUT:?}"))?;
    Ok(answer)
}

/// Returns the status of a response; `None` without a response.
pub(super) fn status(answer: &[u8]) -> Result<Option<u16>, String> {
    if answer.is_empty() {
        return Ok(None);
    }
    let status = answer
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| answer.strip_prefix(b"HTTP/1.0 "));
    let digits = status.and_then(|it| std::str::from_utf8(it.get(..3)?).ok());
    let status = digits.and_then(|it| it.parse().ok());
    let strange = || format!("not an HTTP response: {}", answer.escape_ascii());
    status.map(Some).ok_or_else(strange)
}
