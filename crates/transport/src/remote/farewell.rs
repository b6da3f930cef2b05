//! Why a peer has closed, where a write is the first to notice.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use super::network::ByteStream;

/// A stream of TLS whose failed writes say what the peer's last words were, if it had any: a runner
/// that refuses our certificate sends an alert and closes, and our request meets a closed socket
/// before anybody reads the alert.
pub(super) struct LastWords(pub(super) TlsStream<Box<dyn ByteStream>>);

impl LastWords {
    fn heard<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let Poll::Ready(Err(error)) = outcome else {
            return outcome;
        };
        let mut byte = [0];
        match Pin::new(&mut self.0).poll_read(cx, &mut ReadBuf::new(&mut byte)) {
            Poll::Ready(Err(why)) => Poll::Ready(Err(why)),
            _ => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncRead for LastWords {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for LastWords {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.0).poll_write(cx, bytes);
        self.heard(cx, outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.0).poll_flush(cx);
        self.heard(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
