//! A Unix socket that does not wake its task when the peer reads.
//!
//! The kernel reports a socket as writable each time its peer reads. With one registration for both
//! directions, a request and its reply would wake both sides twice. [`UnixConnection`] registers
//! for writability only while a write is blocked.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

/// Makes a write to a closed peer return EPIPE instead of raising SIGPIPE (send(2)). Elsewhere the
/// Rust runtime ignores SIGPIPE at startup.
#[cfg(target_os = "linux")]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// A connected Unix socket, registered for writability only while a write is blocked.
#[derive(Debug)]
pub struct UnixConnection {
    /// Registered for readability; read(2) works alike on pipes and sockets.
    socket: Receiver,
    /// Registered for writability while the send buffer is full.
    blocked_writer: Option<Sender>,
}

impl UnixConnection {
    /// Takes over a connected socket.
    ///
    /// # Errors
    ///
    /// Fails if the descriptor cannot be registered with the reactor.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        let socket = OwnedFd::from(stream.into_std()?);
        Ok(Self {
            socket: Receiver::from_owned_fd_unchecked(socket)?,
            blocked_writer: None,
        })
    }
}

/// Writes as much as the send buffer takes; `None` if it is full.
fn try_write(socket: &Receiver, bytes: &[u8]) -> io::Result<Option<usize>> {
    match retry_on_intr(|| send(socket, bytes, NO_SIGNAL)) {
        Ok(written) => Ok(Some(written)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Registers for writability. A descriptor has one registration, so this duplicates it.
fn register_writer(socket: &Receiver) -> io::Result<Sender> {
    Sender::from_owned_fd_unchecked(socket.as_fd().try_clone_to_owned()?)
}

impl AsyncRead for UnixConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl AsyncWrite for UnixConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self {
            socket,
            blocked_writer,
        } = &mut *self;
        let writer = match blocked_writer {
            Some(writer) => writer,
            None => match try_write(socket, bytes)? {
                Some(written) => return Poll::Ready(Ok(written)),
                None => blocked_writer.insert(register_writer(socket)?),
            },
        };
        let written = ready!(Pin::new(writer).poll_write(cx, bytes))?;
        if written == bytes.len() {
            self.blocked_writer = None;
        }
        Poll::Ready(Ok(written))
    }

    /// Returns at once: writes are unbuffered.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match shutdown(&self.socket, Shutdown::Write) {
            // The peer has closed the connection already.
            Err(Errno::NOTCONN) | Ok(()) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn pair() -> (UnixConnection, UnixStream) {
        let (ours, peer) = UnixStream::pair().unwrap();
        (UnixConnection::new(ours).unwrap(), peer)
    }

    #[tokio::test]
    async fn large_write_completes_and_unregisters() {
        let (mut ours, mut peer) = pair();
        let sent: Vec<u8> = (0..4_000_000_u32).map(|it| it.to_le_bytes()[1]).collect();
        let expected = sent.clone();
        let writer = tokio::spawn(async move {
            ours.write_all(&sent).await.unwrap();
            assert!(ours.blocked_writer.is_none());
            ours.shutdown().await.unwrap();
            let mut answer = Vec::new();
            ours.read_to_end(&mut answer).await.unwrap();
            answer
        });
        let mut received = Vec::new();
        peer.read_to_end(&mut received).await.unwrap();
        assert!(received == expected);
        peer.write_all(b"thanks").await.unwrap();
        drop(peer);
        assert_eq!(writer.await.unwrap(), b"thanks");
    }

    #[tokio::test]
    async fn blocked_writer_can_still_read() {
        let (mut ours, mut peer) = pair();
        let block = [7; 64 << 10];
        let mut taken = 0;
        // Fills the send buffer.
        while let Poll::Ready(written) =
            poll_fn(|cx| Poll::Ready(Pin::new(&mut ours).poll_write(cx, &block))).await
        {
            taken += written.unwrap();
        }
        assert!(ours.blocked_writer.is_some());
        peer.write_all(b"still there").await.unwrap();
        let mut received = [0; 11];
        ours.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"still there");
        let mut room = vec![0; taken];
        let (read, written) = tokio::join!(peer.read_exact(&mut room), ours.write(&block));
        read.unwrap();
        assert!(written.unwrap() > 0);
    }

    #[tokio::test]
    async fn write_to_closed_peer_is_broken_pipe() {
        let (mut ours, peer) = pair();
        drop(peer);
        let error = ours.write_all(b"hello").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        ours.shutdown().await.unwrap();
        assert_eq!(ours.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
