//! The socket between a host and its guard, from either end. Only a guard waits for its host
//! without a bound.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::order::Order;
use crate::exit::ExitStatus;
use crate::sys;

/// How long a guard or its host may take over one step of the guard's start: some milliseconds, on
/// a machine that is not overrun.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of every answer: what it is, a detail, a number.
const ANSWER_BYTES: usize = 6;

/// What the host says once it needs the child's number no more.
const RELEASE: [u8; 1] = *b"r";

/// What the host says before it lets the guard go, so that silence means its death.
const FAREWELL: [u8; 1] = *b"f";

/// One end of the socket.
#[derive(Debug)]
pub(crate) struct Link(UnixStream);

/// What a guard says to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The order is under way; the child's process id, or 0.
    Begun(i32),
    /// The child was not started: the number of the [`Step`](sys::Step) that failed, and why.
    Refused { step: u8, errno: i32 },
    /// The child ended, and is still a zombie.
    Ended(ExitStatus),
}

impl Answer {
    fn encode(self) -> [u8; ANSWER_BYTES] {
        let (what, detail, number) = match self {
            Self::Begun(pid) => (1, 0, pid),
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
            (1, _) => Self::Begun(number),
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

/// What a guard hears from its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Release,
    Farewell,
    /// The host is gone without a farewell.
    Silence,
}

impl Link {
    /// Both ends: (the host's, the guard's). No other child can inherit them.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self::new(ours)?, theirs.into()))
    }

    /// The end that this process was started with, if it is a guard.
    #[cfg(target_os = "linux")]
    pub(super) fn of_guard() -> io::Result<Self> {
        Self::new(sys::take_extra()?.into())
    }

    fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self(stream))
    }

    /// Gives a guard its order.
    pub(crate) fn send_order(&self, order: &Order) -> io::Result<()> {
        let order = order.encode();
        let length = u32::try_from(order.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.send(&length.to_le_bytes())?;
        self.send(&order)
    }

    /// Waits for the order.
    pub(super) fn order(&self) -> io::Result<Order> {
        let mut length = [0; 4];
        self.receive(&mut length, Some(PATIENCE))?;
        let mut order = vec![0; u32::from_le_bytes(length) as usize];
        self.receive(&mut order, Some(PATIENCE))?;
        Order::decode(&order).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub(super) fn answer(&self, answer: Answer) -> io::Result<()> {
        self.send(&answer.encode())
    }

    /// Waits for the guard's next answer.
    pub(crate) fn heard(&self) -> io::Result<Answer> {
        let mut answer = [0; ANSWER_BYTES];
        self.receive(&mut answer, Some(PATIENCE))?;
        Answer::decode(answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The guard's next answer, or that it is gone; `None` if it has not spoken.
    pub(crate) fn heard_already(&self) -> Option<io::Result<Answer>> {
        sys::readable(&self.0).then(|| self.heard())
    }

    /// Lets the guard reap the child.
    pub(crate) fn release(&self) -> io::Result<()> {
        self.send(&RELEASE)
    }

    /// Tells the guard that its work is done.
    pub(crate) fn farewell(&self) -> io::Result<()> {
        self.send(&FAREWELL)
    }

    /// Waits for the host's next word.
    pub(super) fn word(&self) -> Word {
        let mut word = [0];
        match self.receive(&mut word, None) {
            Ok(()) if word == RELEASE => Word::Release,
            Ok(()) if word == FAREWELL => Word::Farewell,
            _ => Word::Silence,
        }
    }

    /// The same end once more, to be watched.
    pub(crate) fn watched(&self) -> io::Result<OwnedFd> {
        Ok(self.0.try_clone()?.into())
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    fn receive(&self, into: &mut [u8], patience: Option<Duration>) -> io::Result<()> {
        self.0.set_read_timeout(patience)?;
        (&self.0).read_exact(into)
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
    fn answers_and_words_arrive_as_they_were_sent() {
        let (host, guard) = Link::pair().unwrap();
        let guard = Link::new(guard.into()).unwrap();
        let answers = [
            Answer::Begun(4_194_304),
            Answer::Refused { step: 5, errno: 2 },
            Answer::Ended(ExitStatus::Code(255)),
            Answer::Ended(ExitStatus::Signal(9)),
            Answer::Ended(ExitStatus::Unknown),
        ];
        for answer in answers {
            guard.answer(answer).unwrap();
            assert_eq!(host.heard().unwrap(), answer);
        }
        assert!(host.heard_already().is_none());
        host.release().unwrap();
        host.farewell().unwrap();
        assert_eq!(
            (guard.word(), guard.word()),
            (Word::Release, Word::Farewell)
        );
        drop(host);
        assert_eq!(guard.word(), Word::Silence);
    }
}
