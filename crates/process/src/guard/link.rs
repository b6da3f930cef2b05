//! The socket between a host and its guard. Only the guard waits without a timeout.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::order::Order;
use crate::exit::ExitStatus;
use crate::sys;

/// Timeout of each step of the guard's start, which takes milliseconds on a machine without
/// overload.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Size of an answer in bytes: type, detail and number.
const ANSWER_BYTES: usize = 6;

/// Message of the host: the child's pid is no longer needed.
const RELEASE: [u8; 1] = *b"r";

/// Message of the host: orderly shutdown. A close without it means that the host has died.
const SHUTDOWN: [u8; 1] = *b"f";

/// One end of the socket.
#[derive(Debug)]
pub(crate) struct Link(Arc<UnixStream>);

/// Message from the guard to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The child was started. Carries its pid.
    Started(i32),
    /// The child was not started: the number of the failed [`Step`](sys::Step), and the errno.
    Refused { step: u8, errno: i32 },
    /// The child has ended and is a zombie.
    Ended(ExitStatus),
}

impl Answer {
    fn encode(self) -> [u8; ANSWER_BYTES] {
        let (what, detail, number) = match self {
            Self::Started(pid) => (1, 0, pid),
            Self::Refused { step, errno } => (2, step, errno),
            Self::Ended(ExitStatus::Code(code)) => (3, 0, code),
            Self::Ended(ExitStatus::Signal(signal)) => (3, 1, signal),
            Self::Ended(ExitStatus::Unknown) => (3, 2, 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [what, detail, a, b, c, d]
    }

    fn decode([what, detail, number @ ..]: [u8; ANSWER_BYTES]) -> Option<Self> {
        let number = i32::from_le_bytes(number);
        Some(match (what, detail) {
            (1, _) => Self::Started(number),
            (2, step) => Self::Refused {
                step,
                errno: number,
            },
            (3, 0) => Self::Ended(ExitStatus::Code(number)),
            (3, 1) => Self::Ended(ExitStatus::Signal(number)),
            (3, _) => Self::Ended(ExitStatus::Unknown),
            _ => return None,
        })
    }
}

/// Message from the host to its guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostMessage {
    Release,
    Shutdown,
    /// The host closed the socket without a shutdown message.
    Closed,
}

impl Link {
    /// Returns (the host's end, the guard's end), both close-on-exec.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::new(ours)?, theirs.into()))
    }

    /// Returns the end that this guard process was started with.
    pub(super) fn of_guard() -> io::Result<Self> {
        Self::new(sys::take_extra()?.into())
    }

    fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self(Arc::new(stream)))
    }

    /// Sends the guard its order.
    pub(crate) fn send_order(&self, order: &Order) -> io::Result<()> {
        let order = order.encode();
        let length = u32::try_from(order.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.send(&length.to_le_bytes())?;
        self.send(&order)
    }

    /// Receives the order.
    pub(super) fn order(&self) -> io::Result<Order> {
        let mut length = [0; 4];
        self.receive(&mut length, Some(TIMEOUT))?;
        let mut order = vec![0; u32::from_le_bytes(length) as usize];
        self.receive(&mut order, Some(TIMEOUT))?;
        Order::decode(&order).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub(super) fn answer(&self, answer: Answer) -> io::Result<()> {
        self.send(&answer.encode())
    }

    /// Receives the guard's next answer.
    pub(crate) fn receive_answer(&self) -> io::Result<Answer> {
        let mut answer = [0; ANSWER_BYTES];
        self.receive(&mut answer, Some(TIMEOUT))?;
        Answer::decode(answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Returns the guard's next answer or an error if the guard is gone; `None` if nothing has
    /// arrived.
    pub(crate) fn try_receive_answer(&self) -> Option<io::Result<Answer>> {
        sys::readable(&*self.0).then(|| self.receive_answer())
    }

    /// Lets the guard reap the child.
    pub(crate) fn release(&self) -> io::Result<()> {
        self.send(&RELEASE)
    }

    /// Sends the shutdown message.
    pub(crate) fn shut_down(&self) -> io::Result<()> {
        self.send(&SHUTDOWN)
    }

    /// Receives the host's next message.
    pub(super) fn receive_message(&self) -> HostMessage {
        let mut message = [0];
        match self.receive(&mut message, None) {
            Ok(()) if message == RELEASE => HostMessage::Release,
            Ok(()) if message == SHUTDOWN => HostMessage::Shutdown,
            _ => HostMessage::Closed,
        }
    }

    /// Returns this end, to be registered with the runtime.
    pub(crate) fn share(&self) -> Arc<UnixStream> {
        Arc::clone(&self.0)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        (&*self.0).write_all(bytes)
    }

    fn receive(&self, into: &mut [u8], timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_read_timeout(timeout)?;
        (&*self.0).read_exact(into)
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip() {
        let (host, guard) = Link::pair().unwrap();
        let guard = Link::new(guard.into()).unwrap();
        let answers = [
            Answer::Started(4_194_304),
            Answer::Refused { step: 5, errno: 2 },
            Answer::Ended(ExitStatus::Code(255)),
            Answer::Ended(ExitStatus::Signal(9)),
            Answer::Ended(ExitStatus::Unknown),
        ];
        for answer in answers {
            guard.answer(answer).unwrap();
            assert_eq!(host.receive_answer().unwrap(), answer);
        }
        assert!(host.try_receive_answer().is_none());
        host.release().unwrap();
        host.shut_down().unwrap();
        assert_eq!(
            (guard.receive_message(), guard.receive_message()),
            (HostMessage::Release, HostMessage::Shutdown)
        );
        drop(host);
        assert_eq!(guard.receive_message(), HostMessage::Closed);
    }
}
