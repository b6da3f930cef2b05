//! Connections: made, heard, closed, and dead when they are silent.

use std::time::Duration;

use super::child_events::EXIT_LINGER;
use super::client::Client;
use super::input::InputAction;
use super::{ClientId, Effect, SessionMachine};
use crate::wire::{Frame, code};

/// Clients of one session (terminal notes, section 3.2, has 64 for each principal).
pub(super) const MAX_CLIENTS: usize = 64;

/// Refused clients that may still be told so.
pub(super) const MAX_REFUSED_CLIENTS: usize = 16;

/// Messages that wait for one client, beyond which nothing more is read from it.
pub(super) const MAX_OUTBOX: usize = 256;

impl SessionMachine {
    // What connections do.

    /// A connection was made. One too many is told so, and is closing at once.
    pub fn connect(&mut self, now: Duration) -> ClientId {
        self.now = now;
        let id = ClientId(self.next_client);
        self.next_client += 1;
        let others = self.clients.len();
        self.clients.insert(id, Client::new(now));
        if others >= MAX_CLIENTS {
            self.reject(id, code::LIMIT, "too many clients, close one of them");
        }
        if others >= MAX_CLIENTS + MAX_REFUSED_CLIENTS {
            self.clients.remove(&id);
        }
        id
    }

    /// A frame came from a client.
    pub fn on_frame(&mut self, id: ClientId, frame: Frame, now: Duration) {
        self.now = now;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        if client.closing {
            return;
        }
        client.on_received(now);
        self.request(id, frame);
    }

    /// What came from a client were no frames. It is the connection's fault as a rule: the client is
    /// told to make another.
    pub fn on_decode_error(&mut self, id: ClientId, detail: &str) {
        self.reject(id, code::DAMAGED, detail);
    }

    /// A connection is gone. Means nothing to the session unless it had the lease just now.
    pub fn on_closed(&mut self, id: ClientId) {
        self.release_lease(id, false);
        self.clients.remove(&id);
        self.watchers.retain(|_, watcher| *watcher != id);
        self.kills.waiters.retain(|(asker, _)| *asker != id);
    }

    /// Whether another frame should be read from a client: not while it does not take the answers.
    pub fn wants_frames(&self, id: ClientId) -> bool {
        let client = self.clients.get(&id);
        client.is_some_and(|client| !client.closing && client.outbox.len() < MAX_OUTBOX)
    }

    /// Whether a connection is to be closed once nothing more is to be sent on it.
    pub fn is_closing(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_none_or(|client| client.closing)
    }

    /// Clients that are attached.
    pub fn attached(&self) -> usize {
        let attached = self.clients.values().filter_map(Client::attachment);
        attached.count()
    }

    /// Whether somebody has the write lease just now.
    pub fn has_writer(&self) -> bool {
        self.writer.is_some()
    }

    /// The generation of the write lease; 0 if nobody ever had it.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether a connection is closing though something waits to be sent on it: it has been silent
    /// for so long that it is dead.
    pub fn is_timed_out(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_none_or(|client| client.dead)
    }

    /// The next thing to be done outside.
    pub fn next_effect(&mut self) -> Option<Effect> {
        if let Some(effect) = self.effects.pop_front() {
            return Some(effect);
        }
        self.input.next_action(self.now).map(|work| match work {
            InputAction::Write(bytes) => Effect::Write(bytes),
            InputAction::Close => Effect::CloseInput,
        })
    }

    /// When [`tick`](Self::tick) is due next.
    pub fn deadline(&self) -> Option<Duration> {
        let live = self.clients.values().filter(|client| !client.closing);
        let exit = self.exit.as_ref().map(|exit| {
            let linger = exit.acknowledged.map(|at| at + EXIT_LINGER);
            linger.unwrap_or(exit.at + self.exit_retention)
        });
        live.map(Client::deadline)
            .chain(self.input.deadline())
            .chain(exit)
            .min()
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Duration) {
        self.now = now;
        let live = self.clients.iter_mut().filter(|(_, it)| !it.closing);
        let dead: Vec<_> = live
            .filter_map(|(id, client)| client.tick(now).then_some(*id))
            .collect();
        for id in dead {
            self.release_lease(id, false);
            self.end_client(id);
            if let Some(client) = self.clients.get_mut(&id) {
                client.dead = true;
            }
        }
    }
}
