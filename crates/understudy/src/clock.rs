//! Wall-clock time in the format of the agent.

use jiff::Timestamp;

/// Returns the milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// Returns the time in UTC, as `2026-11-21T20:23:30.639Z`.
pub(crate) fn timestamp() -> String {
    format!("{:.3}", Timestamp::now())
}

/// Parses an ISO 8601 time; returns its milliseconds since the Unix epoch.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_milliseconds_and_round_trip() {
        let now = timestamp();
        assert_eq!((now.len(), now.ends_with('Z')), (24, true), "{now}");
        assert!(parse(&now).is_some());
        assert_eq!(parse("2026-11-21T20:23:30.639Z"), Some(1_795_292_610_639));
        assert_eq!(parse("yesterday"), None);
    }
}
