//! A stream whose writes fail if its peer takes nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::{ClientStalled, STALL_TIMEOUT};

/// Fails a write with [`ClientStalled`] once the peer has taken no byte for 14 s. Belongs below TLS, whose
/// records are taken in parts.
#[derive(Debug)]
pub(in crate::serve) struct WriteDeadline<S> {
    stream: S,
    /// Runs while a write is blocked.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteDeadline<S> {
    pub(in crate::serve) const fn new(stream: S) -> Self {
        Self {
            stream,
            deadline: None,
        }
    }

    /// Returns the result of a write, or that it is blocked for too long.
    fn check<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.deadline = None;
            return written;
        }
        let deadline = self
            .deadline
            .get_or_insert_with(|| Box::pin(sleep(STALL_TIMEOUT)));
        let stalled = || io::Error::new(io::ErrorKind::TimedOut, ClientStalled);
        deadline.as_mut().poll(context).map(|()| Err(stalled()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.check(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn blocked_write_fails_after_the_deadline() {
        let (stream, _peer) = duplex(100);
        let mut stream = WriteDeadline::new(stream);
        let begin = Instant::now();
        let error = stream.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let reason = error.get_ref().and_then(|it| it.downcast_ref());
        assert_eq!(reason, Some(&ClientStalled));
        assert_eq!(begin.elapsed(), STALL_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_reader_is_no_stalled_one() {
        let (stream, mut peer) = duplex(1);
        let mut stream = WriteDeadline::new(stream);
        let begin = Instant::now();
        let reading = async {
            for _ in 0..100 {
                sleep(STALL_TIMEOUT - Duration::from_secs(1)).await;
                peer.read_exact(&mut [0]).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(stream.write_all(&[0; 100]), reading);
        written.unwrap();
        assert!(begin.elapsed() > 90 * STALL_TIMEOUT);
    }
}
