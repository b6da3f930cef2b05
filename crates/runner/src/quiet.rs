//! A Unix socket whose owner is woken by what comes, and not by what the other side takes.
//!
//! The kernel tells whoever watches such a socket for room each time that its other side has read:
//! a question and its answer would wake both sides twice. Room is watched for only where there is
//! none.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

/// That nobody reads is an error and no signal. Where there is no such flag, Rust's own start has seen
/// to it.
#[cfg(target_os = "linux")]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// A connected Unix socket that is at rest while nothing comes.
#[derive(Debug)]
pub(crate) struct QuietStream {
    /// Watches for what comes: read(2) is the same for a pipe and for a socket.
    socket: Receiver,
    /// Watches for room, while there is none.
    full: Option<Sender>,
}

impl QuietStream {
    /// # Errors
    ///
    /// The system does not let the socket be watched.
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        let socket = OwnedFd::from(stream.into_std()?);
        Ok(Self {
            socket: Receiver::from_owned_fd_unchecked(socket)?,
            full: None,
        })
    }
}

/// Writes what there is room for; `None` if there is none.
fn write(socket: &Receiver, bytes: &[u8]) -> io::Result<Option<usize>> {
    match retry_on_intr(|| send(socket, bytes, NO_SIGNAL)) {
        Ok(written) => Ok(Some(written)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// By a descriptor of its own: one is watched for one thing.
fn watch_for_room(socket: &Receiver) -> io::Result<Sender> {
    Sender::from_owned_fd_unchecked(socket.as_fd().try_clone_to_owned()?)
}

impl AsyncRead for QuietStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl AsyncWrite for QuietStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { socket, full } = &mut *self;
        let full = match full {
            Some(full) => full,
            None => match write(socket, bytes)? {
                Some(written) => return Poll::Ready(Ok(written)),
                None => full.insert(watch_for_room(socket)?),
            },
        };
        let written = ready!(Pin::new(full).poll_write(cx, bytes))?;
        if written == bytes.len() {
            self.full = None;
        }
        Poll::Ready(Ok(written))
    }

    /// Nothing is kept back.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match shutdown(&self.socket, Shutdown::Write) {
            // The other side was faster.
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

    fn pair() -> (QuietStream, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (QuietStream::new(ours).unwrap(), theirs)
    }

    #[tokio::test]
    async fn more_than_there_is_room_for_arrives_whole_and_nothing_is_watched_behind_it() {
        let (mut ours, mut theirs) = pair();
        let sent: Vec<u8> = (0..4_000_000_u32).map(|it| it.to_le_bytes()[1]).collect();
        let expected = sent.clone();
        let writer = tokio::spawn(async move {
            ours.write_all(&sent).await.unwrap();
            assert!(ours.full.is_none());
            ours.shutdown().await.unwrap();
            let mut answer = Vec::new();
            ours.read_to_end(&mut answer).await.unwrap();
            answer
        });
        let mut heard = Vec::new();
        theirs.read_to_end(&mut heard).await.unwrap();
        assert!(heard == expected);
        theirs.write_all(b"thanks").await.unwrap();
        drop(theirs);
        assert_eq!(writer.await.unwrap(), b"thanks");
    }

    #[tokio::test]
    async fn who_finds_no_room_watches_for_it_and_can_still_hear() {
        let (mut ours, mut theirs) = pair();
        let block = [7; 64 << 10];
        let mut taken = 0;
        // Until it is full.
        while let Poll::Ready(written) =
            poll_fn(|cx| Poll::Ready(Pin::new(&mut ours).poll_write(cx, &block))).await
        {
            taken += written.unwrap();
        }
        assert!(ours.full.is_some());
        theirs.write_all(b"still there").await.unwrap();
        let mut heard = [0; 11];
        ours.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"still there");
        let mut room = vec![0; taken];
        let (read, written) = tokio::join!(theirs.read_exact(&mut room), ours.write(&block));
        read.unwrap();
        assert!(written.unwrap() > 0);
    }

    #[tokio::test]
    async fn a_socket_that_nobody_holds_is_an_error_and_no_signal() {
        let (mut ours, theirs) = pair();
        drop(theirs);
        let error = ours.write_all(b"anybody").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        ours.shutdown().await.unwrap();
        assert_eq!(ours.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
