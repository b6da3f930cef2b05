//! A WebSocket of text messages at a runner.

use std::fmt;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::error::RemoteError;
use super::machine::LinkError;
use super::network::ByteStream;
use super::open::{connect, token};
use super::target::Remote;
use super::url::Carrier;
use super::web_socket;
use crate::connection::ReconnectFailure;

/// Size limit of a message, in bytes: more than the longest line of an agent by default.
const MAX_MESSAGE_BYTES: usize = 256 << 20;

type Socket = WebSocketStream<Box<dyn ByteStream>>;

/// The sending half of a WebSocket of text messages. See [`Remote::messages`].
pub struct MessageSender(SplitSink<Socket, Message>);

/// The receiving half of a WebSocket of text messages. See [`Remote::messages`].
pub struct MessageReceiver(SplitStream<Socket>);

impl Remote {
    /// Opens a WebSocket of text messages at a path of the runner, such as `/acp`. A connection that is lost
    /// is not restored. If the token is refused, a new one is tried once.
    ///
    /// # Errors
    ///
    /// The runner cannot be reached or refuses the connection.
    pub async fn messages(
        &self,
        path: &str,
    ) -> Result<(MessageSender, MessageReceiver), RemoteError> {
        let first = token(self, None).await?;
        let opened = async |token| {
            let stream = connect(self, Carrier::WebSocket).await?;
            web_socket::open(stream, &self.url, path, None, token, limits()).await
        };
        let socket = match opened(first.as_ref()).await {
            Err(why) if why.failure == ReconnectFailure::Auth && first.is_some() => {
                let fresh = token(self, first.as_ref()).await?;
                opened(fresh.as_ref()).await?
            }
            socket => socket?,
        };
        let (sender, receiver) = socket.split();
        Ok((MessageSender(sender), MessageReceiver(receiver)))
    }
}

impl MessageSender {
    /// Sends a message.
    ///
    /// # Errors
    ///
    /// The connection is lost.
    pub async fn send(&mut self, text: String) -> Result<(), RemoteError> {
        let sent = self.0.send(Message::text(text)).await;
        sent.map_err(|error| LinkError::lost(error.to_string()).into())
    }

    /// Closes the connection.
    pub async fn close(mut self) {
        // One that is lost is closed.
        let _ = self.0.close().await;
    }
}

impl MessageReceiver {
    /// Waits for the next message. Returns `None` when the connection was closed.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    ///
    /// The connection is lost.
    pub async fn next(&mut self) -> Option<Result<String, RemoteError>> {
        loop {
            return match self.0.next().await? {
                Ok(Message::Text(text)) => Some(Ok(text.as_str().to_owned())),
                Ok(Message::Close(_)) => None,
                Ok(_) => continue,
                Err(error) => Some(Err(LinkError::lost(error.to_string()).into())),
            };
        }
    }
}

impl fmt::Debug for MessageSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageSender").finish_non_exhaustive()
    }
}

impl fmt::Debug for MessageReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageReceiver").finish_non_exhaustive()
    }
}

fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .write_buffer_size(0)
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES))
}
