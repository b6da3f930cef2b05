//! What a daemon is made from.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bowline_transport::wire::DEAD_AFTER;

use super::tickets;
use super::tls::Tls;
use crate::shim::{ShimProgram, StateDir};

/// Sessions at a time (terminal notes, section 3.2).
const SESSIONS: usize = 1024;

/// Attaches to one session a second (terminal notes, section 3.2); twice as many at once.
const ATTACHES: u32 = 10;

/// How long a session waits for its panel to come back (seed 002).
const DETACH_WINDOW: Duration = Duration::from_secs(60);

/// The variable that says how many milliseconds a session waits for its panel to come back.
pub(crate) const DETACH_VARIABLE: &str = "BOWLINE_DETACH_WINDOW_MS";

/// What a daemon is made from.
#[derive(Clone, Debug)]
pub struct ServeConfiguration {
    /// Where the sessions are.
    pub state: StateDir,
    /// What is run for each session.
    pub shim: ShimProgram,
    /// The Unix socket; `None` for none.
    pub socket: Option<PathBuf>,
    /// Addresses of the network. Others than loopback need [`tls`](Self::tls).
    pub listen: Vec<SocketAddr>,
    /// The file with the token; made with a fresh one if it is not there.
    pub token_file: PathBuf,
    /// Names of this machine, as clients say them in `Host`, beside the addresses themselves; with
    /// the port where it is not the scheme's own.
    pub hosts: Vec<String>,
    /// Pages that may ask, as `Origin` says them.
    pub origins: Vec<String>,
    /// How the network is encrypted.
    pub tls: Option<Tls>,
    /// What clients may take.
    pub limits: ServeLimits,
}

/// What clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeLimits {
    /// Sessions at a time: 1,024.
    pub sessions: usize,
    /// Attaches to one session a second, 10; twice as many at once.
    pub attaches_per_second: u32,
    /// How long a ticket can be used: 30 s.
    pub ticket_life: Duration,
    /// How long a session waits for its panel to come back: what `BOWLINE_DETACH_WINDOW_MS` says,
    /// else 60 s.
    pub detach_window: Duration,
    /// How long a panel may be silent before its connection counts as lost: 14 s. It is asked three
    /// times in that time.
    pub silence: Duration,
    /// How long clients may take to go when the daemon stops: 5 s.
    pub goodbye: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        let said = std::env::var(DETACH_VARIABLE).ok();
        let said = said.and_then(|text| text.parse().ok());
        Self {
            sessions: SESSIONS,
            attaches_per_second: ATTACHES,
            ticket_life: tickets::LIFE,
            detach_window: said.map_or(DETACH_WINDOW, Duration::from_millis),
            silence: DEAD_AFTER,
            goodbye: Duration::from_secs(5),
        }
    }
}
