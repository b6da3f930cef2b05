//! The state of the link: connecting, retrying, detaching, failing.

use std::time::Duration;

use super::Machine;
use super::io::{LinkError, Output};
use super::liveness::{Liveness, was_suspended};
use crate::connection::{ConnectionState, ReconnectFailed, ReconnectFailure};
use bowline_process::TerminationPolicy;
use bowline_wire::Message;

/// Time limit of connecting, and of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of the acknowledgement of the exit.
const EXIT_ACK_TIMEOUT: Duration = Duration::from_secs(5);

/// Attempts to acknowledge the exit. The session expires without it.
const MAX_EXIT_ACKS: u32 = 3;

/// How long a link must have been up before its loss is retried with the shortest delay again. A runner that
/// drops every connection sooner is retried as slowly as one that refuses them; one that drops them later
/// is tried less than 30 times a minute.
const STABLE_AFTER: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) enum LinkState {
    /// Not started.
    Resting,
    /// Waits for the next attempt.
    Waiting {
        until: Duration,
    },
    /// A connection is being made.
    Opening {
        by: Duration,
    },
    /// A connection is open, and the handshake is in progress.
    Joining {
        by: Duration,
    },
    Up,
    /// The acknowledgement of the exit was sent, followed by a ping.
    Leaving {
        by: Duration,
        nonce: u64,
    },
    Failed(ReconnectFailure),
    Over,
}

impl LinkState {
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
        let by = self.now.saturating_add(HANDSHAKE_TIMEOUT);
        self.link = LinkState::Opening { by };
        let connection = self.connection;
        self.outputs.push_back(Output::Connect {
            connection,
            is_refused,
        });
    }

    /// Ends the child. The kill is repeated on each connection until its report or its deadline.
    pub(super) fn kill(&mut self, policy: TerminationPolicy) {
        let kill = self.requests.kill(policy, self.now);
        self.kill_due = self.requests.kill_deadline();
        self.send_if_up(kill);
        if self.link.is_failed() {
            self.give_up();
        }
    }

    /// Handles the loss of the connection.
    pub(super) fn broken(&mut self, why: LinkError) {
        if matches!(
            self.link,
            LinkState::Resting | LinkState::Failed(_) | LinkState::Over
        ) {
            return;
        }
        tracing::debug!(session = %self.joining.session, failure = %why.failure, detail = why.detail, "link broken");
        let up_since = self.up_since.take();
        if up_since.is_some_and(|since| self.now.saturating_sub(since) >= STABLE_AFTER) {
            self.backoff.reset();
            self.token_replaced = false;
        }
        self.shrink_window();
        self.outputs.push_back(Output::Disconnect);
        self.connection += 1;
        self.snapshot = None;
        self.gap_end = None;
        match why.failure {
            _ if self.is_released && self.exit_acks >= MAX_EXIT_ACKS => self.over(),
            ReconnectFailure::Auth if !self.token_replaced => {
                self.token_replaced = true;
                self.down_since.get_or_insert(self.now);
                self.backoff.next();
                self.report_reconnecting();
                self.connect(true);
            }
            ReconnectFailure::Lost => self.wait(why),
            // The runner was there before: what answers now may be a hotel's login page.
            ReconnectFailure::Misconfigured if self.was_up => self.wait(why),
            _ => self.fail(why.failure, why.detail),
        }
    }

    pub(super) fn lost(&mut self, detail: impl Into<String>) {
        self.broken(LinkError::lost(detail));
    }

    fn wait(&mut self, why: LinkError) {
        let since = *self.down_since.get_or_insert(self.now);
        let timeout = if self.is_released && self.exit_is_reported {
            EXIT_ACK_TIMEOUT * MAX_EXIT_ACKS
        } else if self.was_up {
            self.joining.reconnect_timeout
        } else {
            self.joining.connect_timeout
        };
        let left = timeout.saturating_sub(self.now.saturating_sub(since));
        if left.is_zero() {
            return self.fail(why.failure, why.detail);
        }
        // A delay that the runner requests does not exceed the timeout: the last attempt is at its end.
        let pause = self.backoff.next();
        let pause = pause.max(why.after.unwrap_or_default()).min(left);
        let until = self.now.saturating_add(pause);
        self.link = LinkState::Waiting { until };
        self.report_reconnecting();
    }

    /// Reports the attempt, unless the link was never up or the host has detached.
    fn report_reconnecting(&mut self) {
        if self.was_up && !self.is_released {
            let attempt = self.backoff.attempt();
            self.report_state(ConnectionState::Reconnecting { attempt });
        }
    }

    pub(super) fn fail(&mut self, failure: ReconnectFailure, detail: String) {
        self.outputs.push_back(Output::Disconnect);
        self.connection += 1;
        self.link = LinkState::Failed(failure);
        if !self.is_released {
            let failed = ReconnectFailed { failure, detail };
            self.report_state(ConnectionState::Failed(failed));
        }
        if !failure.can_retry() || self.requests.is_killing() || self.is_released {
            self.give_up();
        }
    }

    /// Ends the session locally without a result from the child.
    pub(super) fn give_up(&mut self) {
        self.end_streams();
        if !std::mem::replace(&mut self.exit_is_reported, true) {
            self.outputs.push_back(Output::Exited(None));
        }
        if let Some(took) = self.requests.killed(self.now) {
            self.outputs.push_back(Output::Killed(None, took));
        }
        self.over();
    }

    pub(super) fn over(&mut self) {
        self.link = LinkState::Over;
        self.kill_due = None;
        self.connection += 1;
        self.outputs.push_back(Output::Disconnect);
        if let Some((report, took)) = self.report.take() {
            self.outputs.push_back(Output::Killed(Some(report), took));
        }
        self.outputs.push_back(Output::Over);
    }

    pub(super) fn retry(&mut self) {
        let LinkState::Failed(failure) = self.link else {
            return;
        };
        if failure == ReconnectFailure::Fenced {
            // The retry takes the lease from its current holder.
            self.lease = None;
        }
        self.start_over();
        self.token_replaced = false;
        self.backoff.next();
        self.report_reconnecting();
        self.connect(failure == ReconnectFailure::Auth);
    }

    /// Resets the delays and the timeout.
    fn start_over(&mut self) {
        self.backoff.reset();
        self.down_since = None;
    }

    pub(super) fn woke(&mut self) {
        match self.link {
            LinkState::Up => {
                self.live.woke(self.now);
                self.ping();
            }
            // An attempt that began before the change may never complete.
            LinkState::Waiting { .. } | LinkState::Opening { .. } | LinkState::Joining { .. } => {
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
        if self.kill_due.is_some_and(|due| due <= self.now) {
            return self.give_up();
        }
        if was_suspended(due, self.now) {
            self.start_over();
        }
        match self.link {
            LinkState::Up | LinkState::Waiting { .. } if was_suspended(due, self.now) => {
                self.woke()
            }
            LinkState::Waiting { .. } => self.connect(false),
            LinkState::Opening { .. } => self.lost("no connection within 10 s"),
            LinkState::Joining { .. } => self.lost("no response within 10 s"),
            LinkState::Up if self.live.is_dead(self.now) => {
                self.lost("nothing was received for 14 s")
            }
            LinkState::Up => drop(self.ping()),
            LinkState::Leaving { .. } => {
                self.lost("the acknowledgement of the exit was not confirmed")
            }
            LinkState::Resting | LinkState::Failed(_) | LinkState::Over => {}
        }
    }

    pub(super) fn ping(&mut self) -> u64 {
        let nonce = self.live.ping(self.now);
        self.requests.ping(nonce);
        self.send(Message::Ping { nonce });
        nonce
    }

    /// Detaches from the session, after acknowledging an exit that was reported.
    pub(super) fn detach(&mut self) {
        self.is_released = true;
        match self.link {
            LinkState::Up if self.exit_is_reported => self.leave(),
            LinkState::Up => {
                self.send(Message::Detach);
                self.over();
            }
            LinkState::Leaving { .. } | LinkState::Over => {}
            // Without the acknowledgement the session is kept for a day.
            LinkState::Waiting { .. } | LinkState::Opening { .. } | LinkState::Joining { .. }
                if self.exit_is_reported => {}
            _ => self.over(),
        }
    }

    /// Acknowledges the exit once nothing else is pending.
    pub(super) fn leave_if_done(&mut self) {
        if self.link.is_up()
            && self.exit_is_reported
            && self.is_released
            && !self.requests.is_killing()
        {
            self.leave();
        }
    }

    fn leave(&mut self) {
        self.exit_acks += 1;
        let mut followed = self.joining.cursors.keys();
        if followed.any(|id| id.output().is_some()) {
            self.send(Message::ExitAck);
        }
        let nonce = self.ping();
        let by = self.now.saturating_add(EXIT_ACK_TIMEOUT);
        self.link = LinkState::Leaving { by, nonce };
    }

    pub(super) fn report_state(&mut self, state: ConnectionState) {
        self.outputs.push_back(Output::State(state));
    }
}
