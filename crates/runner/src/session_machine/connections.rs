//! Connections: opened, read from, closed, and timed out.

use std::time::Duration;

use super::child_events::EXIT_LINGER;
use super::client::Client;
use super::input::InputAction;
use super::{ClientId, Effect, SessionMachine};
use crate::wire::{Frame, code};

/// Maximal number of clients of a session.
pub(super) const MAX_CLIENTS: usize = 64;

/// Maximal number of refused clients whose error is still to be sent.
pub(super) const MAX_REFUSED_CLIENTS: usize = 16;

/// Messages queued for a client beyond which nothing more is read from it.
pub(super) const MAX_OUTBOX: usize = 256;

impl SessionMachine {
    /// Adds a connection. One over the limit is sent an error and closes.
    pub fn connect(&mut self, now: Duration) -> ClientId {
        self.now = now;
        let id = ClientId(self.next_client);
        self.next_client += 1;
        let others = self.clients.len();
        self.clients.insert(id, Client::new(now));
        if others >= MAX_CLIENTS {
            self.reject(id, code::LIMIT, "too many clients; close one of them");
        }
        if others >= MAX_CLIENTS + MAX_REFUSED_CLIENTS {
            self.clients.remove(&id);
        }
        id
    }

    /// Handles a frame of a client.
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

    /// Disconnects a client whose bytes could not be decoded. The error is retryable, since damage
    /// is most likely that of the connection.
    pub fn on_decode_error(&mut self, id: ClientId, detail: &str) {
        self.reject(id, code::DAMAGED, detail);
    }

    /// Removes a connection, and releases the write lease if it holds it.
    pub fn on_closed(&mut self, id: ClientId) {
        self.release_lease(id, false);
        self.clients.remove(&id);
        self.watchers.retain(|_, watcher| *watcher != id);
        self.kills.waiters.retain(|(asker, _)| *asker != id);
    }

    /// Returns whether to read further frames of a client: not while its outbox is full.
    pub fn wants_frames(&self, id: ClientId) -> bool {
        let client = self.clients.get(&id);
        client.is_some_and(|client| !client.closing && client.outbox.len() < MAX_OUTBOX)
    }

    /// Returns whether to close a connection once it has no further frames.
    pub fn is_closing(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_none_or(|client| client.closing)
    }

    /// Returns the number of attached clients.
    pub fn attached(&self) -> usize {
        let attached = self.clients.values().filter_map(Client::attachment);
        attached.count()
    }

    /// Returns whether a client holds the write lease.
    pub fn has_writer(&self) -> bool {
        self.writer.is_some()
    }

    /// Returns the generation of the write lease; 0 before the first writer.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns whether a client has timed out: its connection is closed without sending its frames.
    pub fn is_timed_out(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_none_or(|client| client.dead)
    }

    /// Returns the next effect to perform.
    pub fn next_effect(&mut self) -> Option<Effect> {
        if let Some(effect) = self.effects.pop_front() {
            return Some(effect);
        }
        self.input.next_action(self.now).map(|work| match work {
            InputAction::Write(bytes) => Effect::Write(bytes),
            InputAction::Close => Effect::CloseInput,
        })
    }

    /// Returns when [`tick`](Self::tick) is due.
    pub fn deadline(&self) -> Option<Duration> {
        let live = self.clients.values().filter(|client| !client.closing);
        let exit = self.exit.as_ref().map(|exit| {
            let removal = exit.acknowledged.map(|at| at + EXIT_LINGER);
            removal.unwrap_or(exit.at + self.exit_retention)
        });
        let attached = self.clients.values().filter_map(Client::attachment);
        let acks = attached.filter_map(|it| it.input_ack_at);
        live.map(Client::deadline)
            // One that is due already waits for its connection.
            .chain(acks.filter(|at| *at > self.now))
            .chain(self.input.deadline())
            .chain(exit)
            .min()
    }

    /// Advances the time, which pings idle clients and times out dead ones.
    pub fn tick(&mut self, now: Duration) {
        self.now = now;
        let live = self.clients.iter_mut().filter(|(_, it)| !it.closing);
        let dead: Vec<_> = live
            .filter_map(|(id, client)| client.tick(now).then_some(*id))
            .collect();
        for id in dead {
            self.release_lease(id, false);
            self.close_client(id);
            if let Some(client) = self.clients.get_mut(&id) {
                client.dead = true;
            }
        }
    }
}
