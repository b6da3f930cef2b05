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
    /// Returns [`RemoteError::Link`] if the runner cannot be reached, or refuses or fails to read the past.
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
            if response.body().is_empty() {
                return Ok(Some(history.freeze()));
            }
            history.extend_from_slice(response.body());
        }
    }
}
