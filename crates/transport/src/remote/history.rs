//! Reads the past of the conversation that a session resumed.

use bytes::{Bytes, BytesMut};
use hyper::Method;
use tokio_tungstenite::tungstenite::http::StatusCode;

use super::error::RemoteError;
use super::machine::LinkError;
use super::refusal::Problem;
use super::target::Remote;
use bowline_process::SessionId;

impl Remote {
    /// Reads the past of the conversation that a session resumed, in the agent's output format. Returns `None` if the
    /// runner keeps none.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::Link`] if the runner cannot be reached, refuses or fails to read the past, or answers with
    /// another part of it.
    pub async fn history(&self, session: SessionId) -> Result<Option<Bytes>, RemoteError> {
        let mut history = BytesMut::new();
        loop {
            let from = history.len();
            let path = format!("/api/sessions/{session}/log?stream=history&from={from}");
            let response = self
                .request(Method::GET.as_str(), &path, Bytes::new())
                .await?;
            let status = response.status();
            if status == StatusCode::NOT_FOUND {
                return Ok(None);
            }
            if !status.is_success() {
                let reason = Problem::parse(response.body()).text();
                let detail = format!("read the past of the conversation: {status}: {reason}");
                return Err(LinkError::lost(detail).into());
            }
            // Otherwise, the same part might be read for ever.
            let start = response.headers().get("bowline-from");
            if start.is_none_or(|it| it.as_bytes() != from.to_string().as_bytes()) {
                let detail = format!(
                    "read the past of the conversation: the runner's response does not begin at {from}"
                );
                return Err(LinkError::lost(detail).into());
            }
            if response.body().is_empty() {
                return Ok(Some(history.freeze()));
            }
            history.extend_from_slice(response.body());
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixListener;

    use super::*;
    use crate::remote::url::RemoteUrl;

    #[tokio::test]
    async fn same_part_again_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let server = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 1024];
                assert!(stream.read(&mut request).await.unwrap() > 0);
                let response =
                    b"HTTP/1.1 200 OK\r\nbowline-from: 0\r\ncontent-length: 4\r\n\r\npast";
                stream.write_all(response).await.unwrap();
            }
        });
        let remote = Remote::new(RemoteUrl::Unix(socket));
        let read = remote.history(SessionId::random()).await;
        server.abort();
        let error = read.unwrap_err().to_string();
        assert!(error.contains("does not begin at 4"), "{error}");
    }
}
