//! Times that agents write into their lines: RFC 3339 in UTC, such as `2026-11-23T05:24:37.290Z`.

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: u64 = 719_468;

/// Parses a time, with or without fractions of a second, to milliseconds since the Unix epoch. Returns
/// `None` if it has another form, is before 1970 or after 9999.
pub(crate) fn unix_ms(time: &str) -> Option<u64> {
    let (date, time) = time.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(seconds, ':')?;
    let ms: u64 = format!("{:0<3.3}", fraction).parse().ok()?;
    let is_date =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    // A minute with a leap second has 61.
    if !is_date || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_before(year, month, day).checked_sub(DAYS_TO_1970)?;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + ms)
}

/// Days from 0000-03-01 to a date of the Gregorian calendar. Years begin in March, so that the day that
/// leap years add is the last one; from March on, the months have 153 days in each five.
const fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse::<u64>().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::unix_ms;

    #[test]
    fn times_are_utc() {
        for (time, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59.5Z", 951_868_799_500),
            ("2026-11-23T17:46:24.978Z", 1_795_455_984_978),
            ("2026-11-23T17:46:24.978123456Z", 1_795_455_984_978),
            ("2100-03-01T00:00:00.000Z", 4_107_542_400_000),
        ] {
            assert_eq!(unix_ms(time), Some(ms), "{time}");
        }
    }

    #[test]
    fn other_forms_and_numbers_out_of_range_are_no_times() {
        for text in [
            "",
            "2026-11-23",
            "2026-11-23T05:24Z",
            "2026-11-23T17:46:24+01:00",
            "2026-11-23T17:46:24.é0Z",
            "1969-12-31T23:59:59.999Z",
            "2026-13-01T00:00:00Z",
            "99999999999999999-01-01T00:00:00Z",
            "2026-01-03T9541147922005:04:09Z",
            "2026-01-03T00:18446744073709551615:09Z",
        ] {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }
}
