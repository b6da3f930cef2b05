//! Why a peer has closed, where a write is the first to notice.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::rustls::Error;

/// A stream of TLS whose failures say what the peer's last words were, if it had any: a runner that
/// refuses our certificate sends an alert and closes, and our request meets a closed socket before
/// anybody reads the alert.
pub(super) struct LastWords<S> {
    stream: S,
    /// Why a write failed, while the peer's last words are waited for: what is closed is readable
    /// soon.
    failure: Option<io::Error>,
    /// What the peer said instead.
    said: Option<u8>,
    /// What TLS broke off for. Whatever fails afterwards fails because of it.
    alert: Option<Error>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> LastWords<S> {
    pub(super) const fn of(stream: S) -> Self {
        Self {
            stream,
            failure: None,
            said: None,
            alert: None,
        }
    }

    /// Writes, or, when that has failed, listens.
    fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.failure.is_none() {
            match write(Pin::new(&mut self.stream), cx) {
                Poll::Ready(Err(error)) => self.failure = Some(error),
                other => return other,
            }
        }
        if self.said.is_none() && self.alert.is_none() {
            let mut byte = [0];
            let mut buffer = ReadBuf::new(&mut byte);
            if let Err(error) = ready!(self.listen(cx, &mut buffer)) {
                self.failure = Some(error);
            }
            self.said = buffer.filled().first().copied();
        }
        let failure = self.failure.take();
        let failure = failure.unwrap_or_else(|| io::ErrorKind::BrokenPipe.into());
        Poll::Ready(Err(self.reason(failure)))
    }

    /// Reads, and keeps in mind why TLS broke off.
    fn listen(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let heard = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        Poll::Ready(heard.map_err(|error| {
            let why = error.get_ref().and_then(|it| it.downcast_ref::<Error>());
            self.alert = self.alert.take().or_else(|| why.cloned());
            self.reason(error)
        }))
    }

    fn reason(&self, failure: io::Error) -> io::Error {
        match &self.alert {
            Some(alert) => io::Error::new(io::ErrorKind::InvalidData, alert.clone()),
            None => failure,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for LastWords<S> {
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
        self.listen(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for LastWords<S> {
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio_rustls::rustls::AlertDescription;

    use super::*;

    /// Closed by its peer: writes fail, and reads give what it was sent before.
    struct Closed(VecDeque<io::Result<u8>>);

    impl AsyncRead for Closed {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let next = self.0.pop_front().transpose()?;
            buffer.put_slice(next.as_slice());
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Closed {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn refusal() -> io::Result<u8> {
        let alert = Error::AlertReceived(AlertDescription::CertificateRequired);
        Err(io::Error::new(io::ErrorKind::InvalidData, alert))
    }

    fn reset() -> io::Result<u8> {
        Err(io::ErrorKind::ConnectionReset.into())
    }

    fn stream<const N: usize>(sent: [io::Result<u8>; N]) -> LastWords<Closed> {
        LastWords::of(Closed(sent.into()))
    }

    fn is_refusal(error: &io::Error) -> bool {
        error.to_string().contains("CertificateRequired")
    }

    #[tokio::test]
    async fn a_write_that_fails_says_what_the_peer_said() {
        let mut stream = stream([refusal(), reset()]);
        let error = stream.write(b"hello").await.unwrap_err();
        assert!(is_refusal(&error), "{error}");
    }

    #[tokio::test]
    async fn whoever_reads_the_last_words_does_not_take_them_from_writers() {
        let mut stream = stream([refusal(), reset()]);
        let error = stream.read(&mut [0; 8]).await.unwrap_err();
        assert!(is_refusal(&error), "{error}");
        let error = stream.flush().await.unwrap_err();
        assert!(is_refusal(&error), "{error}");
    }

    #[tokio::test]
    async fn bytes_that_came_before_the_end_are_read() {
        let mut stream = stream([Ok(b'a'), Ok(b'b'), refusal()]);
        let error = stream.write(b"hello").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        let mut heard = Vec::new();
        let error = stream.read_to_end(&mut heard).await.unwrap_err();
        assert!(is_refusal(&error), "{error}");
        assert_eq!(heard, b"ab");
    }

    #[tokio::test]
    async fn a_peer_without_last_words_leaves_the_failure_as_it_is() {
        let mut stream = stream([]);
        let error = stream.write(b"hello").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
