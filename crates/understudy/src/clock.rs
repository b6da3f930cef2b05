//! Wall-clock time as the agent writes it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Now, as `2026-11-21T20:23:30.639Z`.
pub(crate) fn timestamp() -> String {
    format(now_ms())
}

/// `ms` since 1970 as an ISO 8601 time in UTC.
pub(crate) fn format(ms: u64) -> String {
    let (days, rest) = (ms / 86_400_000, ms % 86_400_000);
    let (year, month, day) = date(days);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The inverse of [`format`], for exactly that form.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let clock = number(11, 13)? * 3_600_000 + number(14, 16)? * 60_000 + number(17, 19)? * 1000;
    Some(days(year, month, day)? * 86_400_000 + clock + number(20, 23)?)
}

/// Year, month and day of a day number, by the 400-year cycle of 146,097 days that begins in March.
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (
        year + era * 400 + u64::from(month <= 2),
        month,
        of_year - (153 * march + 2) / 5 + 1,
    )
}

fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year.checked_sub(u64::from(month <= 2))?;
    let march = (month + 9) % 12;
    let of_year = (153 * march + 2) / 5 + day.checked_sub(1)?;
    let of_era = year % 400 * 365 + year % 400 / 4 - year % 400 / 100 + of_year;
    (year / 400 * 146_097 + of_era).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_795_292_610_639, "2026-11-21T20:23:30.639Z"),
        ] {
            assert_eq!(format(ms), text);
            assert_eq!(parse(text), Some(ms));
        }
        assert_eq!(parse("yesterday"), None);
    }
}
