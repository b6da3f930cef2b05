//! Timestamps of the session list.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970. As text and as JSON in ISO 8601, in UTC
/// (`2026-02-28T09:30:00.250Z`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    pub(crate) fn now() -> Self {
        let now = jiff::Timestamp::now().as_millisecond().max(0);
        Self(jiff::Timestamp::from_millisecond(now).unwrap_or(jiff::Timestamp::MAX))
    }

    /// Returns the milliseconds since 1970, UTC.
    #[must_use]
    pub fn unix_ms(self) -> u64 {
        u64::try_from(self.0.as_millisecond()).unwrap_or_default()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").fmt(f)
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

impl TryFrom<String> for Timestamp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parse(&text)
            .ok_or_else(|| format!("{text:?} is not a time such as 2026-02-28T09:30:00.250Z"))
    }
}

/// Parses the one format that [`Timestamp`] is written in.
fn parse(text: &str) -> Option<Timestamp> {
    let time = Timestamp(text.parse().ok()?);
    let is_exact = time.0 >= jiff::Timestamp::UNIX_EPOCH && time.to_string() == text;
    is_exact.then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_iso_8601() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_868_799_000, "2000-02-29T23:59:59.000Z"),
            (1_772_271_000_250, "2026-02-28T09:30:00.250Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            let time = parse(text).expect(text);
            assert_eq!((time.unix_ms(), time.to_string().as_str()), (ms, text));
        }
        for text in [
            "",
            "2026-02-30T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "1969-12-31T00:00:00.000Z",
            "2026-02-28 09:30:00.250Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
