//! Place of a session in a list that is read in parts.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use bowline_transport::SessionId;

/// The time of a session's start and its id, by which lists are sorted. As text, it is the cursor after a part of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SessionPlace {
    /// In milliseconds since the Unix epoch.
    pub(super) started_ms: u64,
    pub(super) id: SessionId,
}

impl Display for SessionPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.started_ms, self.id)
    }
}

/// The text is no cursor of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoPlace;

impl FromStr for SessionPlace {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let (started_ms, id) = text.split_once('-').ok_or(NoPlace)?;
        Ok(Self {
            started_ms: u64::from_str_radix(started_ms, 16).map_err(|_| NoPlace)?,
            id: id.parse().map_err(|_| NoPlace)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_read_from_its_text() {
        let place = SessionPlace {
            started_ms: 0x018d_2c0a_5e00,
            id: SessionId::random(),
        };
        assert_eq!(place.to_string().parse(), Ok(place));
        for odd in ["", "-", "1", "1-", "x-00000000-0000-4000-8000-000000000000"] {
            assert_eq!(odd.parse::<SessionPlace>(), Err(NoPlace), "{odd}");
        }
    }
}
