//! A client of one request. Time is virtual: it goes on when nobody has anything to do, so that who
//! waits for the rest of a request gives up at once.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};

/// After so long, of virtual time, every client is answered or turned away.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// One thread whose clock stands still while there is something to do.
pub(super) fn runtime() -> Result<Runtime, String> {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build();
    runtime.map_err(|error| error.to_string())
}

/// Sends a request, whole or not, and gives all that comes back.
pub(super) async fn ask(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    request: &[u8],
) -> Result<Vec<u8>, String> {
    let mut answer = Vec::new();
    let asked = async {
        // A server that has seen enough may be gone before it has seen all.
        let _ = client.write_all(request).await;
        let _ = client.read_to_end(&mut answer).await;
    };
    let asked = tokio::time::timeout(PATIENCE, asked).await;
    asked.map_err(|_| format!("neither answered nor turned away within {PATIENCE:?}"))?;
    Ok(answer)
}

/// The status of an answer; `None` if there is no answer.
pub(super) fn status(answer: &[u8]) -> Result<Option<u16>, String> {
    if answer.is_empty() {
        return Ok(None);
    }
    let status = answer
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| answer.strip_prefix(b"HTTP/1.0 "));
    let digits = status.and_then(|it| std::str::from_utf8(it.get(..3)?).ok());
    let status = digits.and_then(|it| it.parse().ok());
    let strange = || format!("no answer: {}", answer.escape_ascii());
    status.map(Some).ok_or_else(strange)
}
