//! Points in time as hosts exchange them.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970. As text and as JSON in ISO 8601, in UTC
/// (`2026-02-28T09:30:00.250Z`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(u64);

const MS_PER_DAY: u64 = 86_400_000;

impl Timestamp {
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or(Duration::ZERO).as_millis();
        Self(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// Milliseconds since 1970, UTC.
    pub fn unix_ms(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0 / MS_PER_DAY);
        let ms = self.0 % MS_PER_DAY;
        let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
        let (second, ms) = (ms / 1_000 % 60, ms % 1_000);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"
        )
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
        parse(&text).ok_or_else(|| format!("{text:?} is no time such as 2026-02-28T09:30:00.250Z"))
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let shape = |pattern: &str| {
        text.len() == pattern.len()
            && text
                .bytes()
                .zip(pattern.bytes())
                .all(|(byte, wanted)| match wanted {
                    b'0' => byte.is_ascii_digit(),
                    _ => byte == wanted,
                })
    };
    if !shape("0000-00-00T00:00:00.000Z") {
        return None;
    }
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|it| it.parse::<u64>().ok());
    let mut next = || numbers.next();
    let days = days(next()?, next()?, next()?)?;
    let seconds = next()? * 3_600 + next()? * 60 + next()?;
    Some(Timestamp(days * MS_PER_DAY + seconds * 1_000 + next()?))
}

/// The civil date of a day since 1970 (H. Hinnant, "chrono-compatible low-level date algorithms").
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

/// The inverse of [`date`]; none before 1970 or for a date that is not there.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let shifted = if month > 2 {
        month.checked_sub(3)?
    } else {
        month + 9
    };
    let year_of = year.checked_sub(u64::from(month <= 2))?;
    let (era, of_era) = (year_of / 400, year_of % 400);
    let of_year = (153 * shifted + 2) / 5 + day.checked_sub(1)?;
    let days = (era * 146_097 + of_era * 365 + of_era / 4 + of_year).checked_sub(of_era / 100)?;
    let days = days.checked_sub(719_468)?;
    (date(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_004_times_are_iso_8601() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_868_799_000, "2000-02-29T23:59:59.000Z"),
            (1_772_271_000_250, "2026-02-28T09:30:00.250Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), text);
            assert_eq!(parse(text), Some(Timestamp(ms)));
        }
        for day in 0..200_000 {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), Some(day));
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
