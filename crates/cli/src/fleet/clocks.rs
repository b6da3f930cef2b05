//! The clocks of a fleet's servers. Leases and times of silence are the servers': nothing compares them with a runner's.

use std::time::{SystemTime, UNIX_EPOCH};

use bowline_fleet::ServerState;
use jiff::Timestamp;

/// Largest difference of clocks that is no fault, in milliseconds.
const MAX_SKEW_MS: u64 = 2_000;

/// How far the clocks of the servers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clocks {
    servers: usize,
    /// At least so much between any two servers, in milliseconds.
    apart_ms: u64,
    /// At least so much between this machine and any server.
    here_ms: u64,
}

/// Compares the clocks of servers; `None` if none has reported. A reply was written between the request and its arrival,
/// so that the time in between is no difference.
pub(super) fn clocks(servers: &[ServerState]) -> Option<Clocks> {
    let bounds = servers.iter().filter_map(|it| {
        let clock = it.time.parse::<Timestamp>().ok()?.as_millisecond();
        let (asked, answered) = it.asked_and_answered;
        // This machine's clock less the server's is between these.
        Some((millis(asked)? - clock, millis(answered)? - clock))
    });
    let bounds: Vec<_> = bounds.collect();
    let apart = |a: &(i64, i64), b: &(i64, i64)| u64::try_from(a.0 - b.1).unwrap_or(0);
    let pairs = bounds
        .iter()
        .flat_map(|a| bounds.iter().map(move |b| apart(a, b)));
    let here = bounds
        .iter()
        .map(|it| apart(it, &(0, 0)).max(apart(&(0, 0), it)));
    Some(Clocks {
        servers: bounds.len(),
        apart_ms: pairs.max()?,
        here_ms: here.max()?,
    })
}

fn millis(time: SystemTime) -> Option<i64> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

impl Clocks {
    /// Returns whether the clocks differ so much that runners are shown as silent early or late.
    pub(super) const fn is_skewed(&self) -> bool {
        self.apart_ms > MAX_SKEW_MS
    }

    pub(super) fn text(&self) -> String {
        let Self {
            servers,
            apart_ms,
            here_ms,
        } = self;
        format!(
            "{servers} servers differ by at least {apart_ms} ms, this machine from them by at least {here_ms} ms"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A server whose clock is ahead of this machine's, and whose reply took 100 ms.
    fn server(ahead_ms: i64) -> ServerState {
        let asked = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let clock = Timestamp::from_millisecond(1_000_000_050 + ahead_ms).unwrap();
        ServerState {
            name: "n".to_owned(),
            time: clock.to_string(),
            asked_and_answered: (asked, asked + Duration::from_millis(100)),
            is_sync_always: true,
        }
    }

    #[test]
    fn clocks_differ_by_more_than_the_reply_took() {
        assert_eq!(clocks(&[]), None);
        let same = clocks(&[server(0), server(40), server(-40)]).unwrap();
        assert_eq!((same.apart_ms, same.here_ms), (0, 0));
        assert!(!same.is_skewed());
        let skewed = clocks(&[server(0), server(-5_000), server(1_000)]).unwrap();
        assert_eq!((skewed.apart_ms, skewed.here_ms), (5_900, 4_950));
        assert!(skewed.is_skewed());
    }
}
