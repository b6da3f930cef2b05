//! Limits on what clients of the daemon may use.

use std::time::Duration;

use bowline_transport::wire::DEAD_AFTER;

/// Overrides the default [`detach_window`](ServeLimits::detach_window), in milliseconds.
const DETACH_VARIABLE: &str = "BOWLINE_DETACH_WINDOW_MS";

const DEFAULT_DETACH_WINDOW: Duration = Duration::from_secs(60);

/// Limits on what clients of the daemon may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeLimits {
    /// Maximum number of sessions that run at the same time. Default: 1,024.
    pub sessions: usize,
    /// Attaches per second to one session, with a burst of twice as many. Default: 10.
    pub attaches_per_second: u32,
    /// Validity of a ticket. Default: 30 s.
    pub ticket_life: Duration,
    /// How long a session waits for a disconnected web terminal to reconnect before it is
    /// terminated. Default: `BOWLINE_DETACH_WINDOW_MS` milliseconds if set, else 60 s.
    pub detach_window: Duration,
    /// Silence after which the connection of a web terminal counts as lost; it is pinged three
    /// times in that period. Default: 14 s.
    pub silence: Duration,
    /// How long clients may take to disconnect when the daemon stops. Default: 5 s.
    pub goodbye: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        let variable = std::env::var(DETACH_VARIABLE).ok();
        let milliseconds = variable.and_then(|text| text.parse().ok());
        Self {
            sessions: 1024,
            attaches_per_second: 10,
            ticket_life: Duration::from_secs(30),
            detach_window: milliseconds.map_or(DEFAULT_DETACH_WINDOW, Duration::from_millis),
            silence: DEAD_AFTER,
            goodbye: Duration::from_secs(5),
        }
    }
}
