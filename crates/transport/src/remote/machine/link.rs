//! The link: made, lost, made again, given up.

use std::time::Duration;

use super::Machine;
use super::io::{Breakage, Output};
use super::liveness::{Liveness, overslept};
use crate::connection::{ConnectionState, ReconnectFailed, ReconnectFailure};
use bowline_wire::Message;

/// A connection is there and has answered within this, or there is none.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long the owner may take to hear that its notice of the end was heard.
const FAREWELL: Duration = Duration::from_secs(5);

/// How often it is tried to tell it. It forgets the session by itself in the end.
const FAREWELLS: u32 = 3;

#[derive(Debug)]
pub(super) enum Link {
    /// Nobody has asked for one yet.
    Resting,
    /// The next try comes at a time.
    Waiting {
        until: Duration,
    },
    /// A connection is being made.
    Opening {
        by: Duration,
    },
    /// It is there, and the owner has not answered.
    Joining {
        by: Duration,
    },
    Up,
    /// The owner is being told that its notice of the end was heard.
    Leaving {
        by: Duration,
        nonce: u64,
    },
    Failed(ReconnectFailure),
    Over,
}

impl Link {
    pub(super) fn is_up(&self) -> bool {
        matches!(self, Self::Up)
    }

    pub(super) fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    pub(super) fn deadline(&self, live: &Liveness) -> Option<Duration> {
        match self {
            Self::Waiting { until } => Some(*until),
            Self::Opening { by } | Self::Joining { by } | Self::Leaving { by, .. } => Some(*by),
            Self::Up => Some(live.deadline()),
            Self::Resting | Self::Failed(_) | Self::Over => None,
        }
    }
}

impl Machine {
    pub(super) fn connect(&mut self, is_refused: bool) {
        self.connection += 1;
        let by = self.now + HANDSHAKE;
        self.link = Link::Opening { by };
        let connection = self.connection;
        self.outputs.push_back(Output::Connect {
            connection,
            is_refused,
        });
    }

    /// There is no connection, or none that can be used.
    pub(super) fn broken(&mut self, why: Breakage) {
        if matches!(self.link, Link::Resting | Link::Failed(_) | Link::Over) {
            return;
        }
        tracing::debug!(session = %self.joining.session, failure = %why.failure, detail = why.detail, "link broken");
        self.ask_for_less();
        self.outputs.push_back(Output::Disconnect);
        self.connection += 1;
        self.painting = None;
        self.missed = None;
        match why.failure {
            _ if self.is_released && self.farewells >= FAREWELLS => self.over(),
            ReconnectFailure::Auth if !self.has_renewed => {
                self.has_renewed = true;
                self.backoff.next();
                self.tell_reconnecting();
                self.connect(true);
            }
            ReconnectFailure::Lost => self.wait(why),
            _ => self.fail(why.failure, why.detail),
        }
    }

    pub(super) fn lost(&mut self, detail: impl Into<String>) {
        self.broken(Breakage::lost(detail));
    }

    fn wait(&mut self, why: Breakage) {
        let since = *self.down_since.get_or_insert(self.now);
        let patience = if self.is_released && self.exit_is_told {
            FAREWELL * FAREWELLS
        } else if self.was_up {
            self.joining.patience
        } else {
            self.joining.join_patience
        };
        if self.now - since >= patience {
            return self.fail(ReconnectFailure::Lost, why.detail);
        }
        let pause = self.backoff.next().max(why.after.unwrap_or_default());
        let until = self.now + pause;
        self.link = Link::Waiting { until };
        self.tell_reconnecting();
    }

    /// The host hears of the link only while it has a use for it.
    fn tell_reconnecting(&mut self) {
        if self.was_up && !self.is_released {
            let attempt = self.backoff.attempt();
            self.tell(ConnectionState::Reconnecting { attempt });
        }
    }

    pub(super) fn fail(&mut self, failure: ReconnectFailure, detail: String) {
        self.outputs.push_back(Output::Disconnect);
        self.connection += 1;
        self.link = Link::Failed(failure);
        if !self.is_released {
            let failed = ReconnectFailed { failure, detail };
            self.tell(ConnectionState::Failed(failed));
        }
        if !failure.can_retry() || self.asks.is_killing() || self.is_released {
            self.give_up();
        }
    }

    /// Nothing will ever be heard of the child again.
    pub(super) fn give_up(&mut self) {
        self.end_streams();
        if !std::mem::replace(&mut self.exit_is_told, true) {
            self.outputs.push_back(Output::Exited(None));
        }
        if let Some(took) = self.asks.killed(self.now) {
            self.outputs.push_back(Output::Killed(None, took));
        }
        self.over();
    }

    pub(super) fn over(&mut self) {
        self.link = Link::Over;
        self.connection += 1;
        self.outputs.push_back(Output::Disconnect);
        if let Some((report, took)) = self.report.take() {
            self.outputs.push_back(Output::Killed(Some(report), took));
        }
        self.outputs.push_back(Output::Over);
    }

    pub(super) fn retry(&mut self) {
        let Link::Failed(failure) = self.link else {
            return;
        };
        if failure == ReconnectFailure::Fenced {
            // Whoever asks again wants the lease back from whoever has it now.
            self.lease = None;
        }
        self.start_over();
        self.has_renewed = false;
        self.backoff.next();
        self.tell_reconnecting();
        self.connect(failure == ReconnectFailure::Auth);
    }

    /// What was tried before does not count against the next try.
    fn start_over(&mut self) {
        self.backoff.reset();
        self.down_since = None;
    }

    pub(super) fn woke(&mut self) {
        match self.link {
            Link::Up => {
                self.live.woke(self.now);
                self.ping();
            }
            // A connection that was begun before may be waited for in vain.
            Link::Waiting { .. } | Link::Opening { .. } | Link::Joining { .. } => {
                self.start_over();
                self.backoff.next();
                self.connect(false);
            }
            _ => {}
        }
    }

    pub(super) fn timeout(&mut self) {
        let Some(due) = self.poll_timeout().filter(|due| *due <= self.now) else {
            return;
        };
        if overslept(due, self.now) {
            self.start_over();
        }
        match self.link {
            Link::Up | Link::Waiting { .. } if overslept(due, self.now) => self.woke(),
            Link::Waiting { .. } => self.connect(false),
            Link::Opening { .. } => self.lost("no connection within 10 s"),
            Link::Joining { .. } => self.lost("no answer within 10 s"),
            Link::Up if self.live.is_dead(self.now) => self.lost("nothing was heard for 14 s"),
            Link::Up => drop(self.ping()),
            Link::Leaving { .. } => self.lost("no answer to a farewell"),
            Link::Resting | Link::Failed(_) | Link::Over => {}
        }
    }

    pub(super) fn ping(&mut self) -> u64 {
        let nonce = self.live.ping(self.now);
        self.asks.ping(nonce);
        self.say(Message::Ping { nonce });
        nonce
    }

    /// The host lets go of the session.
    pub(super) fn detach(&mut self) {
        self.is_released = true;
        match self.link {
            Link::Up if self.exit_is_told => self.leave(),
            Link::Up => {
                self.say(Message::Detach);
                self.over();
            }
            Link::Leaving { .. } | Link::Over => {}
            // An owner that is never told keeps the session for a day.
            Link::Waiting { .. } | Link::Opening { .. } | Link::Joining { .. }
                if self.exit_is_told => {}
            _ => self.over(),
        }
    }

    /// Tells the owner that its notice of the end was heard, once nothing else is wanted of it.
    pub(super) fn leave_if_done(&mut self) {
        if self.link.is_up() && self.exit_is_told && self.is_released && !self.asks.is_killing() {
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.farewells += 1;
        self.say(Message::ExitAck);
        let nonce = self.ping();
        let by = self.now + FAREWELL;
        self.link = Link::Leaving { by, nonce };
    }

    pub(super) fn tell(&mut self, state: ConnectionState) {
        self.outputs.push_back(Output::State(state));
    }
}
