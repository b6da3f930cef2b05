//! Past conversations, which come before the stream of a session.

use bowline_jsonl::{Body, Event, Framer, Item, Str};

use crate::host::{HostEvent, Meta};
use crate::transcript::Transcript;

impl Transcript {
    /// Applies a whole past conversation, before the stream of the session that resumes it: all lines that were pushed
    /// to `framer`, as [`apply_history`](Self::apply_history) does, and its end, at `at`.
    pub fn fold_history(&mut self, mut framer: Framer, at: Meta) {
        framer.finish();
        while let Some(frame) = framer.next_frame() {
            frame.items().for_each(|item| self.apply_history(&item));
        }
        self.apply_host(HostEvent::HistoryEnded, at);
    }

    /// Applies a line of a past conversation: a stream in the agent's output format, whose lines have a
    /// `timestamp`. The arrival time is that of the line, or 0. Its entries are marked as history.
    ///
    /// [`HostEvent::HistoryEnded`] ends the past. A line of the session with the `uuid` of a past one is a
    /// duplicate.
    pub fn apply_history(&mut self, item: &Item<'_>) {
        let time = item.event.as_ref().ok().and_then(timestamp);
        let at_ms = time.and_then(|time| unix_ms(&time.decode()));
        let at = Meta {
            at_ms: at_ms.unwrap_or_default(),
        };
        if !self.is_history {
            self.apply_host(HostEvent::HistoryStarted, at);
        }
        self.apply(item, at);
    }

    /// Closes what the past left open, and begins the stream of the session. A call without a result was
    /// cut off, since an agent adds the result of every call that it resumes with.
    pub(crate) fn end_history(&mut self) {
        self.close_all();
        self.is_history = false;
        self.restart_stream();
        self.evidence.has_output = false;
        self.touch_status();
    }
}

fn timestamp<'a>(event: &Event<'a>) -> Option<Str<'a>> {
    match &event.body {
        Body::Assistant(line) => line.timestamp,
        Body::User(line) => line.timestamp,
        _ => None,
    }
}

/// Returns the milliseconds since 1970 of a time in UTC as agents write it: RFC 3339, with or without
/// fractions of a second.
fn unix_ms(time: &str) -> Option<u64> {
    let (date, time) = time.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(seconds, ':')?;
    let ms: u64 = format!("{:0<3.3}", fraction).parse().ok()?;
    let is_sound = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24;
    if !is_sound || !(1970..=9999).contains(&year) || minute > 59 || second > 60 {
        return None;
    }
    // Days from civil: years begin in March, so that the leap day is the last one.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(DAYS_TO_1970)?;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + ms)
}

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: u64 = 719_468;

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
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T23:59:59.5Z", Some(951_868_799_500)),
            ("2026-11-23T17:46:24.978Z", Some(1_795_455_984_978)),
            ("2026-11-23T17:46:24.978123456Z", Some(1_795_455_984_978)),
            ("2100-03-01T00:00:00.000Z", Some(4_107_542_400_000)),
            ("1969-12-31T23:59:59.999Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-11-23T17:46:24+01:00", None),
            ("99999999999999999-01-01T00:00:00Z", None),
            ("", None),
        ] {
            assert_eq!(unix_ms(time), ms, "{time}");
        }
    }
}
