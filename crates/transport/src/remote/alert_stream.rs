//! A TLS stream that reports the peer's alert when a write fails.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::rustls::Error;

/// A TLS stream that keeps the peer's last alert and returns it as the error of failed writes.
///
/// In TLS 1.3 a runner may refuse the client's certificate (RFC 8446, section 4.4.2.4) with an alert
/// after the client has completed its handshake. The request that follows then fails
/// with a closed socket before the alert is read.
pub(super) struct AlertStream<S> {
    stream: S,
    /// The error of a failed write, while the stream is read for an alert. A closed stream becomes
    /// readable soon.
    failure: Option<io::Error>,
    /// A byte that was read in place of an alert.
    peeked: Option<u8>,
    /// The TLS error that ended the stream, which is the cause of all later errors.
    alert: Option<Error>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> AlertStream<S> {
    pub(super) const fn new(stream: S) -> Self {
        Self {
            stream,
            failure: None,
            peeked: None,
            alert: None,
        }
    }

    /// Writes, or reads for an alert if a write has failed.
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
        if self.peeked.is_none() && self.alert.is_none() {
            let mut byte = [0];
            let mut buffer = ReadBuf::new(&mut byte);
            if let Err(error) = ready!(self.poll_read_alert(cx, &mut buffer)) {
                self.failure = Some(error);
            }
            self.peeked = buffer.filled().first().copied();
        }
        let failure = self.failure.take();
        let failure = failure.unwrap_or_else(|| io::ErrorKind::BrokenPipe.into());
        Poll::Ready(Err(self.reason(failure)))
    }

    /// Reads, and stores a TLS error.
    fn poll_read_alert(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let result = ready!(Pin::new(&mut self.stream).poll_read(cx, buffer));
        Poll::Ready(result.map_err(|error| {
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

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for AlertStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() > 0
            && let Some(byte) = self.peeked.take()
        {
            buffer.put_slice(&[byte]);
            return Poll::Ready(Ok(()));
        }
        self.poll_read_alert(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for AlertStream<S> {
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

    /// A stream that the peer has closed: writes fail, and reads return the queued results.
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

    fn stream<const N: usize>(sent: [io::Result<u8>; N]) -> AlertStream<Closed> {
        AlertStream::new(Closed(sent.into()))
    }

    fn is_refusal(error: &io::Error) -> bool {
        error.to_string().contains("CertificateRequired")
    }

    #[tokio::test]
    async fn failed_write_returns_alert() {
        let mut stream = stream([refusal(), reset()]);
        let error = stream.write(b"hello").await.unwrap_err();
        assert!(is_refusal(&error), "{error}");
    }

    #[tokio::test]
    async fn alert_read_is_kept_for_writes() {
        let mut stream = stream([refusal(), reset()]);
        let error = stream.read(&mut [0; 8]).await.unwrap_err();
        assert!(is_refusal(&error), "{error}");
        let error = stream.flush().await.unwrap_err();
        assert!(is_refusal(&error), "{error}");
    }

    #[tokio::test]
    async fn bytes_before_alert_are_read() {
        let mut stream = stream([Ok(b'a'), Ok(b'b'), refusal()]);
        let error = stream.write(b"hello").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        let mut received = Vec::new();
        let error = stream.read_to_end(&mut received).await.unwrap_err();
        assert!(is_refusal(&error), "{error}");
        assert_eq!(received, b"ab");
    }

    #[tokio::test]
    async fn failed_write_without_alert_keeps_error() {
        let mut stream = stream([]);
        let error = stream.write(b"hello").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
