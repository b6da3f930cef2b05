//! The beginning of each connection: who we are, what we have, what there is.

use super::io::Output;
use super::link::Link;
use super::{Machine, inbound};
use crate::connection::{ConnectionState, ReconnectFailure};
use bowline_wire::{
    Attach, AttachMode, Attached, Hello, Lease, Message, StreamId, VERSION, Welcome,
};

impl Machine {
    /// Says both at once: the answer to the first changes nothing about the second.
    pub(super) fn opened(&mut self) {
        let Link::Opening { by } = self.link else {
            return;
        };
        self.link = Link::Joining { by };
        self.say(Message::Hello(Hello {
            versions: (VERSION, VERSION),
            features: Vec::new(),
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
            size: self.asks.size(),
            credit,
            client: self.joining.client.clone(),
        };
        self.say(Message::Attach(attach));
    }

    /// A beginning that is known is gone on from, whatever was asked for at first.
    fn mode(&self) -> AttachMode {
        if self.streams.values().any(inbound::Inbound::is_known) {
            AttachMode::Resume
        } else {
            self.joining.mode
        }
    }

    pub(super) fn welcomed(&mut self, welcome: &Welcome) {
        if welcome.version != VERSION {
            let detail = format!(
                "it speaks version {}, this host version {VERSION}: bring both to the same one",
                welcome.version
            );
            return self.fail(ReconnectFailure::Version, detail);
        }
        self.input.set_window(welcome.limits.input_window);
    }

    pub(super) fn attached(&mut self, attached: Attached) {
        if self.epoch.is_some_and(|epoch| epoch != attached.epoch) {
            return self.gone("the child was started anew");
        }
        self.epoch = Some(attached.epoch);
        let mode = self.mode();
        self.streams
            .retain(|id, _| attached.streams.contains_key(id));
        let mut gap = 0;
        for (id, stream) in &mut self.streams {
            let known = attached.streams.get(id);
            let Some(lost) = known.and_then(|extent| stream.attached(extent, mode)) else {
                return self.gone("the output that it has ends before ours");
            };
            if matches!(*id, StreamId::TTY | StreamId::STDOUT) {
                gap = lost;
            }
        }
        if !self.take_lease(&attached) {
            return self.gone("it has forgotten input that it had taken");
        }
        self.link = Link::Up;
        self.come_up(attached, gap);
    }

    /// Settles where the input goes on. Answers whether that can be.
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
            self.tell(ConnectionState::Connected);
        } else if !self.is_released {
            let output = [StreamId::TTY, StreamId::STDOUT];
            let output = output.iter().find_map(|id| self.streams.get(id));
            let from = output.map_or(0, inbound::Inbound::cursor);
            self.tell(ConnectionState::Reconnected { from, gap });
        }
        self.was_up = true;
        self.has_renewed = false;
        self.down_since = None;
        self.live.heard(self.now);
        for ask in self.asks.again() {
            self.say(ask);
        }
        self.ping();
        self.grant_again();
        self.leave_if_done();
    }

    /// An attach grants every stream what the fullest of them can take; the rest is granted here.
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
