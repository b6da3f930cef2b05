//! The handshake of each connection: hello and attach.

use super::io::Output;
use super::link::LinkState;
use super::{Machine, inbound};
use crate::connection::{ConnectionState, ReconnectFailure};
use bowline_wire::{
    ARRIVALS, Attach, AttachMode, Attached, Hello, Lease, Message, StreamId, VERSION, Welcome,
};

impl Machine {
    /// Sends hello and attach without waiting, since the reply to hello does not affect the attach.
    pub(super) fn opened(&mut self) {
        let LinkState::Opening { by } = self.link else {
            return;
        };
        self.link = LinkState::Joining { by };
        self.send(Message::Hello(Hello {
            versions: (VERSION, VERSION),
            features: self.features(),
        }));
        let rooms = self.streams.values().map(inbound::Inbound::room);
        let credit = rooms.chain([self.window]).min().unwrap_or(0);
        for stream in self.streams.values_mut() {
            stream.attach(credit);
        }
        let cursors = self.streams.iter();
        let attach = Attach {
            session: self.joining.session,
            epoch: self.epoch,
            cursors: cursors.map(|(id, it)| (*id, it.cursor())).collect(),
            mode: self.mode(),
            lease: self.joining.lease,
            resume_generation: self.lease,
            size: self.requests.size(),
            credit,
            client: self.joining.client.clone(),
        };
        self.send(Message::Attach(attach));
    }

    /// Returns the optional parts of the protocol that this host uses: a reader of the input needs its place.
    fn features(&self) -> Vec<String> {
        let follows_input = self.joining.cursors.contains_key(&StreamId::INPUT);
        follows_input
            .then(|| ARRIVALS.to_owned())
            .into_iter()
            .collect()
    }

    /// Returns the attach mode. Streams with known offsets are resumed.
    fn mode(&self) -> AttachMode {
        if self.streams.values().any(inbound::Inbound::is_known) {
            AttachMode::Resume
        } else {
            self.joining.mode
        }
    }

    pub(super) fn welcomed(&mut self, welcome: &Welcome) {
        if welcome.version != VERSION {
            let theirs = format!("the runner uses protocol version {}", welcome.version);
            return self.fail(ReconnectFailure::Version, other_version(&theirs));
        }
        self.input.set_window(welcome.limits.input_window);
    }

    pub(super) fn attached(&mut self, attached: Attached) {
        if self.epoch.is_some_and(|epoch| epoch != attached.epoch) {
            return self.gone("the child was restarted");
        }
        self.epoch = Some(attached.epoch);
        let mode = self.mode();
        self.streams
            .retain(|id, _| attached.streams.contains_key(id));
        let mut gap = 0;
        for (id, stream) in &mut self.streams {
            let known = attached.streams.get(id);
            let Some(lost) = known.and_then(|extent| stream.attached(extent, mode)) else {
                return self.gone("the session has lost output that this host has received");
            };
            if matches!(*id, StreamId::TTY | StreamId::STDOUT) {
                gap = lost;
            }
        }
        if !self.take_lease(&attached) {
            return self.gone("the session has lost input that it had acknowledged");
        }
        self.link = LinkState::Up;
        self.come_up(attached, gap);
    }

    /// Resumes the input under the new lease. Returns whether the session's offset is possible.
    fn take_lease(&mut self, attached: &Attached) -> bool {
        if self.joining.lease != Lease::Write {
            return true;
        }
        let is_same = self.lease == Some(attached.generation);
        self.lease = Some(attached.generation);
        match self.input.attach(attached.input_next, is_same) {
            Ok(settled) => {
                self.settle(settled);
                true
            }
            Err(_) => false,
        }
    }

    fn come_up(&mut self, attached: Attached, gap: u64) {
        self.outputs.push_back(Output::Attached(Box::new(attached)));
        let begins = self.streams.iter().filter(|(_, it)| it.is_known());
        let begins = begins.map(|(id, it)| Output::Begin(*id, it.cursor()));
        if !self.was_up {
            self.outputs.extend(begins);
            self.report_state(ConnectionState::Connected);
        } else if !self.is_released {
            let output = [StreamId::TTY, StreamId::STDOUT];
            let output = output.iter().find_map(|id| self.streams.get(id));
            let from = output.map_or(0, inbound::Inbound::cursor);
            self.report_state(ConnectionState::Reconnected { from, gap });
        }
        self.was_up = true;
        self.up_since = Some(self.now);
        self.down_since = None;
        self.live.received_frame(self.now);
        for request in self.requests.unacknowledged() {
            self.send(request);
        }
        self.ping();
        self.grant_again();
        self.leave_if_done();
    }

    /// Grants the remaining credit: an attach grants each stream only as much as the fullest log has
    /// space for.
    fn grant_again(&mut self) {
        let window = self.window;
        let streams = self.streams.iter_mut();
        let grants: Vec<_> = streams
            .filter_map(|(id, it)| Some((*id, it.make_room(it.room(), window)?)))
            .collect();
        for (stream, n) in grants {
            self.grant(stream, n);
        }
    }

    pub(super) fn gone(&mut self, detail: &str) {
        self.fail(ReconnectFailure::Gone, detail.to_owned());
    }
}

/// Completes what is known of a runner of another version by the remedy.
pub(super) fn other_version(theirs: &str) -> String {
    format!("{theirs}; this host uses protocol version {VERSION}; use the same version of both")
}
