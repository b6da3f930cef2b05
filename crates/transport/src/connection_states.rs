//! The states of a link as a stream.

use std::collections::VecDeque;

use bowline_process::Exit;
use tokio::sync::watch;

use crate::connection::ConnectionState;

/// Number of states that are kept for readers that fall behind.
const KEPT_STATES: usize = 64;

/// The states of the link to the child's machine in their order: the current one, then each later one.
/// Consecutive [`Reconnecting`](ConnectionState::Reconnecting) states that were not read are one, the
/// newest. A reader that falls 64 states behind skips the oldest. The stream ends with the session; it does
/// not keep the session alive.
#[derive(Debug)]
pub struct ConnectionStates {
    history: watch::Receiver<StateHistory>,
    /// Number of the next state to return.
    next: u64,
    exit: watch::Receiver<Option<Exit>>,
}

/// The newest states, numbered in their order.
#[derive(Clone, Debug)]
pub(crate) struct StateHistory {
    states: VecDeque<(u64, ConnectionState)>,
    /// Number of the next state.
    next: u64,
}

impl Default for StateHistory {
    fn default() -> Self {
        let mut history = Self {
            states: VecDeque::new(),
            next: 0,
        };
        history.push(ConnectionState::Connected);
        history
    }
}

impl StateHistory {
    pub(crate) fn push(&mut self, state: ConnectionState) {
        use ConnectionState::Reconnecting;

        let newest = self.states.back().map(|(_, state)| state);
        let is_same = newest == Some(&state);
        let is_next_attempt = matches!(
            (newest, &state),
            (Some(Reconnecting { .. }), Reconnecting { .. })
        );
        if is_same {
            return;
        }
        if is_next_attempt || self.states.len() == KEPT_STATES {
            let index = if is_next_attempt {
                self.states.len() - 1
            } else {
                0
            };
            self.states.remove(index);
        }
        self.states.push_back((self.next, state));
        self.next += 1;
    }

    /// Returns the first state from a number on, with its number.
    fn from(&self, number: u64) -> Option<&(u64, ConnectionState)> {
        self.states.iter().find(|(at, _)| *at >= number)
    }
}

impl ConnectionStates {
    pub(crate) fn new(
        history: watch::Receiver<StateHistory>,
        exit: watch::Receiver<Option<Exit>>,
    ) -> Self {
        let newest = history.borrow().next - 1;
        Self {
            history,
            next: newest,
            exit,
        }
    }

    /// Returns the states of a local session, which is always connected.
    pub(crate) fn of_local(exit: watch::Receiver<Option<Exit>>) -> Self {
        Self::new(watch::Sender::default().subscribe(), exit)
    }

    /// Waits for the next state; the first one is that of the time when the stream was made. Returns `None`
    /// once the session has ended and all states were returned.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<ConnectionState> {
        loop {
            let found = self.history.borrow_and_update().from(self.next).cloned();
            if let Some((number, state)) = found {
                self.next = number + 1;
                return Some(state);
            }
            if self.history.changed().await.is_err() {
                // An error means that the session's runtime was dropped.
                let _ = self.exit.wait_for(Option::is_some).await;
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reconnecting(attempt: u32) -> ConnectionState {
        ConnectionState::Reconnecting { attempt }
    }

    fn restored(from: u64) -> ConnectionState {
        ConnectionState::Reconnected { from, gap: 0 }
    }

    fn stream() -> (watch::Sender<StateHistory>, ConnectionStates) {
        let sender = watch::Sender::<StateHistory>::default();
        let exit = watch::Sender::new(None).subscribe();
        let states = ConnectionStates::new(sender.subscribe(), exit);
        (sender, states)
    }

    async fn rest(mut states: ConnectionStates) -> Vec<ConnectionState> {
        let mut all = Vec::new();
        while let Some(state) = states.next().await {
            all.push(state);
        }
        all
    }

    #[tokio::test]
    async fn unread_attempts_are_one_and_no_outage_is_lost() {
        let (sender, states) = stream();
        for state in [1, 2, 3].map(reconnecting).into_iter().chain([
            restored(7),
            reconnecting(1),
            restored(7),
        ]) {
            sender.send_modify(|history| history.push(state));
        }
        drop(sender);
        let expected = [
            ConnectionState::Connected,
            reconnecting(3),
            restored(7),
            reconnecting(1),
            restored(7),
        ];
        assert_eq!(rest(states).await, expected);
    }

    #[tokio::test]
    async fn read_attempt_is_followed_by_the_next() {
        let (sender, mut states) = stream();
        assert_eq!(states.next().await, Some(ConnectionState::Connected));
        for attempt in 1..4 {
            sender.send_modify(|history| history.push(reconnecting(attempt)));
            assert_eq!(states.next().await, Some(reconnecting(attempt)));
        }
        // Begins with the current state, whatever was before.
        let late = ConnectionStates::new(sender.subscribe(), states.exit.clone());
        drop(sender);
        assert_eq!(rest(late).await, [reconnecting(3)]);
        assert_eq!(rest(states).await, []);
    }

    #[tokio::test]
    async fn slow_reader_is_bounded_and_gets_the_newest() {
        let (sender, states) = stream();
        for at in 0..1_000 {
            sender.send_modify(|history| history.push(reconnecting(1)));
            sender.send_modify(|history| history.push(restored(at)));
        }
        drop(sender);
        let all = rest(states).await;
        assert_eq!(all.len(), KEPT_STATES);
        assert_eq!(all.last(), Some(&restored(999)));
    }
}
