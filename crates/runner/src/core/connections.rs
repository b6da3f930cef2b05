//! Connections: made, heard, closed, and dead when they are silent.

use std::time::Duration;

use super::client::Client;
use super::input::Work;
use super::life::LINGER;
use super::{ClientId, Core, Effect};
use crate::wire::{Frame, code};

/// Clients of one session (terminal notes, section 3.2, has 64 for each principal).
pub(super) const CLIENTS: usize = 64;

/// Refused clients that may still be told so.
pub(super) const REFUSED_CLIENTS: usize = 16;

/// Messages that wait for one client, beyond which nothing more is read from it.
pub(super) const OUTBOX: usize = 256;

impl Core {
    // What connections do.

    /// A connection was made. One too many is told so, and is closing at once.
    pub fn connect(&mut self, now: Duration) -> ClientId {
        self.now = now;
        let id = ClientId(self.next_client);
        self.next_client += 1;
        let others = self.clients.len();
        self.clients.insert(id, Client::new(now));
        if others >= CLIENTS {
            self.dismiss(id, code::LIMIT, "too many clients, close one of them");
        }
        if others >= CLIENTS + REFUSED_CLIENTS {
            self.clients.remove(&id);
        }
        id
    }

    /// A frame came from a client.
    pub fn frame(&mut self, id: ClientId, frame: Frame, now: Duration) {
        self.now = now;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        if client.closing {
            return;
        }
        client.heard(now);
        self.request(id, frame);
    }

    /// What came from a client were no frames. It is the connection's fault as a rule: the client is
    /// told to make another.
    pub fn garbled(&mut self, id: ClientId, detail: &str) {
        self.dismiss(id, code::DAMAGED, detail);
    }

    /// A connection is gone. Means nothing to the session unless it had the lease just now.
    pub fn closed(&mut self, id: ClientId) {
        self.leave(id, false);
        self.clients.remove(&id);
        self.watchers.retain(|_, watcher| *watcher != id);
        self.kills.asked.retain(|(asker, _)| *asker != id);
    }

    /// Whether another frame should be read from a client: not while it does not take the answers.
    pub fn wants_frames(&self, id: ClientId) -> bool {
        let client = self.clients.get(&id);
        client.is_some_and(|client| !client.closing && client.outbox.len() < OUTBOX)
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
    pub fn is_cut_off(&self, id: ClientId) -> bool {
        self.clients.get(&id).is_none_or(|client| client.dead)
    }

    /// The next thing to be done outside.
    pub fn next_effect(&mut self) -> Option<Effect> {
        if let Some(effect) = self.effects.pop_front() {
            return Some(effect);
        }
        self.input.work(self.now).map(|work| match work {
            Work::Write(bytes) => Effect::Write(bytes),
            Work::Close => Effect::CloseInput,
        })
    }

    /// When [`tick`](Self::tick) is due next.
    pub fn deadline(&self) -> Option<Duration> {
        let live = self.clients.values().filter(|client| !client.closing);
        let exit = self.exit.as_ref().map(|exit| {
            let linger = exit.acknowledged.map(|at| at + LINGER);
            linger.unwrap_or(exit.at + self.exit_kept)
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
            self.leave(id, false);
            self.end_client(id);
            if let Some(client) = self.clients.get_mut(&id) {
                client.dead = true;
            }
        }
    }
}
