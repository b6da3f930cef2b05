//! Ids of streams and of child incarnations.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

use bowline_process::{ParseIdError, Stream};

/// Identifies a stream of a session. A number in JSON, its digits as an object key.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct StreamId(pub u16);

impl StreamId {
    /// The output of a terminal.
    pub const TTY: Self = Self(0);
    /// stdout on pipes.
    pub const STDOUT: Self = Self(1);
    /// stderr on pipes.
    pub const STDERR: Self = Self(2);
    /// The session's life cycle as JSON lines, written by its owner.
    pub const LIFECYCLE: Self = Self(4);
    /// The input from hosts.
    pub const INPUT: Self = Self(8);
    /// The decisions of the session's driver as JSON lines, each with an id, written before they take effect.
    pub const CONTROL: Self = Self(16);
    /// The events of the agent's hooks as JSON lines, of a session whose hooks its owner serves.
    pub const HOOKS: Self = Self(32);
    /// States of a terminal's screen and its sizes, each with its offset in the output. Only in journals.
    pub const SCREENS: Self = Self(64);

    /// Returns the output stream of a terminal session that this id names, if any.
    #[must_use]
    pub const fn output(self) -> Option<Stream> {
        match self {
            Self::TTY | Self::STDOUT => Some(Stream::Output),
            Self::STDERR => Some(Stream::Errors),
            _ => None,
        }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TTY => f.write_str("tty"),
            Self::STDOUT => f.write_str("stdout"),
            Self::STDERR => f.write_str("stderr"),
            Self::LIFECYCLE => f.write_str("lifecycle"),
            Self::INPUT => f.write_str("input"),
            Self::CONTROL => f.write_str("control"),
            Self::HOOKS => f.write_str("hooks"),
            Self::SCREENS => f.write_str("screens"),
            Self(other) => write!(f, "stream {other}"),
        }
    }
}

/// Identifies one incarnation of a session's child, at random. In another epoch offsets restart, and
/// cursors of the old one are invalid. 32 hexadecimal digits in JSON and as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Epoch(pub u128);

impl Epoch {
    /// Returns a new epoch with 122 random bits.
    #[must_use]
    pub fn random() -> Self {
        Self(Uuid::new_v4().as_u128())
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Epoch({self})")
    }
}

impl FromStr for Epoch {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let is_whole = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = is_whole.then(|| u128::from_str_radix(text, 16).ok());
        number.flatten().map(Self).ok_or(ParseIdError {
            expected: "32 hexadecimal digits",
        })
    }
}

impl Serialize for Epoch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Epoch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
