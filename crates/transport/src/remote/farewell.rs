//! Why a peer has closed, where a write is the first to notice.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use super::network::ByteStream;

/// A stream of TLS whose failed writes say what the peer's last words were, if it had any: a runner
/// that refuses our certificate sends an alert and closes, and our request meets a closed socket
/// before anybody reads the alert.
pub(super) struct LastWords {
    stream: TlsStream<Box<dyn ByteStream>>,
    /// Why a write failed, while the peer's last words are waited for: what is closed is readable
    /// soon.
    failure: Option<io::Error>,
    /// What the peer said instead.
    said: Option<u8>,
}

impl LastWords {
    pub(super) fn of(stream: TlsStream<Box<dyn ByteStream>>) -> Self {
        Self {
            stream,
            failure: None,
            said: None,
        }
    }

    /// Writes, or, when that has failed, listens.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(
            Pin<&mut TlsStream<Box<dyn ByteStream>>>,
            &mut Context<'_>,
        ) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.failure.is_none() {
            match write(Pin::new(&mut self.stream), cx) {
                Poll::Ready(Err(error)) => self.failure = Some(error),
                other => return other,
            }
        }
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        let why = if self.said.is_some() {
            None
        } else {
            let heard = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer));
            self.said = buffer.filled().first().copied();
            heard.err()
        };
        let failure = self.failure.take();
        let error = why.or(failure);
        Poll::Ready(Err(
            error.unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
        ))
    }
}

impl AsyncRead for LastWords {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() > 0
            && let Some(byte) = self.said.take()
        {
            buffer.put_slice(&[byte]);
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for LastWords {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(cx, |stream, cx| stream.poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
