//! Cursors of event streams: where a reader continues.

use std::fmt;
use std::str::FromStr;

/// A place in the changes of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// The fold that has the changes. Revisions of another one mean something else.
    pub(super) instance: u64,
    /// The revision up to which the changes were read.
    pub(super) revision: u64,
}

impl Position {
    /// Before everything.
    pub(super) const NONE: Self = Self {
        instance: 0,
        revision: 0,
    };
}

/// The cursor of a session's events. Its text is what clients send back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionCursor {
    pub(super) position: Position,
    /// Whether the session has ended and nothing follows.
    pub(super) is_end: bool,
}

impl SessionCursor {
    pub(super) const fn at(position: Position) -> Self {
        Self {
            position,
            is_end: false,
        }
    }
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { instance, revision } = self.position;
        write!(f, "s-{instance:x}-{revision:x}-{}", u8::from(self.is_end))
    }
}

impl FromStr for SessionCursor {
    type Err = UnknownCursor;

    fn from_str(text: &str) -> Result<Self, UnknownCursor> {
        let [instance, revision, is_end] = numbers(text, "s-")?;
        Ok(Self {
            position: Position { instance, revision },
            is_end: is_end == 1,
        })
    }
}

/// The cursor of the events of all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HubCursor {
    /// The run of the daemon that counts the ticks.
    pub(super) instance: u64,
    /// All that was published up to this tick was delivered; 0 before the whole beginning was.
    pub(super) tick: u64,
    /// When it was made, in milliseconds since the Unix epoch: sessions that ended later are reported in the next run of
    /// the daemon. 0 if no ended session is.
    pub(super) at_ms: u64,
}

impl fmt::Display for HubCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            instance,
            tick,
            at_ms,
        } = self;
        write!(f, "a-{instance:x}-{tick:x}-{at_ms:x}")
    }
}

impl FromStr for HubCursor {
    type Err = UnknownCursor;

    fn from_str(text: &str) -> Result<Self, UnknownCursor> {
        let [instance, tick, at_ms] = numbers(text, "a-")?;
        Ok(Self {
            instance,
            tick,
            at_ms,
        })
    }
}

/// The text is not a cursor of this kind. Its reader begins anew, as with one of another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnknownCursor;

fn numbers(text: &str, prefix: &str) -> Result<[u64; 3], UnknownCursor> {
    let text = text.strip_prefix(prefix).ok_or(UnknownCursor)?;
    let numbers = text.split('-').map(|it| u64::from_str_radix(it, 16));
    let numbers: Vec<_> = numbers
        .collect::<Result<_, _>>()
        .map_err(|_| UnknownCursor)?;
    numbers.try_into().map_err(|_| UnknownCursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_is_read_from_its_text() {
        let position = Position {
            instance: u64::MAX,
            revision: 7,
        };
        for is_end in [false, true] {
            let cursor = SessionCursor { position, is_end };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        let cursor = HubCursor {
            instance: 1,
            tick: u64::MAX,
            at_ms: 1_700_000_000_000,
        };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        assert!(cursor.to_string().len() < 1024);
    }

    #[test]
    fn other_text_is_no_cursor() {
        for text in [
            "",
            "a",
            "a-",
            "s-1-2",
            "a-1-2-3-4",
            "a-1-2-x",
            "s-1-2-3 ",
            "a--1-2-3",
        ] {
            assert_eq!(text.parse::<SessionCursor>(), Err(UnknownCursor), "{text}");
            assert_eq!(text.parse::<HubCursor>(), Err(UnknownCursor), "{text}");
        }
        let session = SessionCursor::at(Position::default()).to_string();
        assert_eq!(session.parse::<HubCursor>(), Err(UnknownCursor));
    }
}
