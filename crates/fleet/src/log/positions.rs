//! Offsets of the streams of a session.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt;
use std::str::FromStr;

use bowline_wire::StreamId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An offset of each stream of a session; a stream that is not named is at 0. As text, which is the value of
/// the header `B-At`: `STREAM:OFFSET` with commas between, by stream, such as `1:4096,2:10`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions(BTreeMap<StreamId, u64>);

impl Positions {
    /// Returns the offset of a stream.
    #[must_use]
    pub fn at(&self, stream: StreamId) -> u64 {
        self.0.get(&stream).copied().unwrap_or(0)
    }

    /// Sets the offset of a stream.
    pub fn set(&mut self, stream: StreamId, offset: u64) {
        self.0.insert(stream, offset);
    }

    /// Sets the offset of each stream of `other` that is past it.
    pub fn advance(&mut self, other: &Self) {
        for (&stream, &at) in other.iter() {
            self.set(stream, at.max(self.at(stream)));
        }
    }

    /// Returns the streams that are named, and their offsets.
    pub fn iter(&self) -> btree_map::Iter<'_, StreamId, u64> {
        self.0.iter()
    }

    /// Returns the sum of the offsets.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, at| sum.saturating_add(*at))
    }

    /// Returns whether no stream is before its offset in `other`.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        other.iter().all(|(&stream, &at)| self.at(stream) >= at)
    }

    /// Returns the number of bytes that `self` is past `other`, of all streams.
    #[must_use]
    pub fn past(&self, other: &Self) -> u64 {
        let past = |(&stream, &at): (&StreamId, &u64)| at.saturating_sub(other.at(stream));
        self.iter().map(past).fold(0, u64::saturating_add)
    }
}

impl From<BTreeMap<StreamId, u64>> for Positions {
    fn from(positions: BTreeMap<StreamId, u64>) -> Self {
        Self(positions)
    }
}

impl From<Positions> for BTreeMap<StreamId, u64> {
    fn from(positions: Positions) -> Self {
        positions.0
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (stream, at)) in self.0.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            write!(f, "{comma}{}:{at}", stream.0)?;
        }
        Ok(())
    }
}

/// A text that is not [`Positions`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not offsets of streams, such as 1:4096,2:10")]
pub struct BadPositions;

impl FromStr for Positions {
    type Err = BadPositions;

    fn from_str(text: &str) -> Result<Self, BadPositions> {
        let mut positions = BTreeMap::new();
        for part in text.split(',').filter(|it| !it.is_empty()) {
            let (stream, at) = part.split_once(':').ok_or(BadPositions)?;
            let stream = stream.parse().map_err(|_| BadPositions)?;
            let at = at.parse().map_err(|_| BadPositions)?;
            if positions.insert(StreamId(stream), at).is_some() {
                return Err(BadPositions);
            }
        }
        Ok(Self(positions))
    }
}

impl Serialize for Positions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Positions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_round_trip_as_text() {
        for text in ["", "1:0", "0:1,2:18446744073709551615"] {
            assert_eq!(text.parse::<Positions>().unwrap().to_string(), text);
        }
        for bad in ["1", "a:1", "1:", "1:2,1:3", "70000:1", "1:-1"] {
            assert_eq!(bad.parse::<Positions>(), Err(BadPositions), "{bad}");
        }
    }
}
