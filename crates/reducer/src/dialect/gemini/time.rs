//! ISO 8601 times in UTC, such as `2026-11-23T05:24:37.290Z`.

/// Parses a time to milliseconds since the Unix epoch; `None` if it has another form.
pub(super) fn parse_ms(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let millis = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
    if !(1970..10_000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let seconds = (days_before(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    Some(seconds * 1000 + millis)
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// Days from the Unix epoch to a date of the Gregorian calendar. Years begin in March, so that the
/// day that leap years add is the last one.
const fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400;
    // From March on, the months have 153 days in each five.
    let before_month = (153 * month + 2) / 5;
    // 719,468 days lie between the first of March of year 0 and the epoch.
    days + before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_counted_from_the_epoch() {
        let known = [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799_000),
            ("2026-11-23T05:24:37.290Z", 1_795_411_477_290),
        ];
        for (text, ms) in known {
            assert_eq!(parse_ms(text), Some(ms), "{text}");
        }
        for bad in [
            "",
            "2026-11-23",
            "2026-11-23T05:24Z",
            "2026-13-01T00:00:00Z",
        ] {
            assert_eq!(parse_ms(bad), None, "{bad}");
        }
    }
}
