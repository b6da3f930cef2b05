//! How a client joins a session, what lease it gets, and how it leaves.

use std::collections::BTreeMap;
use std::ops::Range;

use super::client::{Attachment, Client, ClientStage, Cursor, CursorWait};
use super::input::InputEvent;
use super::{ClientId, Effect, SessionMachine};
use crate::wire::{
    Attach, AttachMode, Attached, Extent, Hello, Lease, Message, StreamId, VERSION, Welcome,
    WireLimits, code,
};

/// Bytes of the longest name that a client may give itself.
const MAX_NAME_BYTES: usize = 256;

impl SessionMachine {
    /// Agrees on a version, or parts.
    pub(super) fn negotiate(&mut self, id: ClientId, hello: &Hello) {
        let (oldest, newest) = hello.versions;
        if !(oldest..=newest).contains(&VERSION) {
            let detail = format!("version {VERSION} is spoken here, use a client that speaks it");
            return self.reject(id, code::VERSION, &detail);
        }
        self.send(
            id,
            Message::Welcome(Welcome {
                version: VERSION,
                features: Vec::new(),
                limits: WireLimits::default(),
            }),
        );
        if let Some(client) = self.clients.get_mut(&id) {
            client.stage = ClientStage::Greeted;
        }
    }

    /// Lets a client in.
    pub(super) fn attach(&mut self, id: ClientId, attach: Attach) {
        if attach.session != self.session {
            let detail = "this is another session, look its id up again";
            return self.reject(id, code::UNKNOWN_SESSION, detail);
        }
        let same_child = attach.epoch.is_none_or(|epoch| epoch == self.epoch);
        let Some(cursors) = self.cursors(&attach, same_child) else {
            let detail = "a cursor lies behind the end of its stream, attach with those you have";
            return self.reject(id, code::PROTOCOL, detail);
        };
        let resumes = attach.resume_generation.filter(|_| same_child);
        let generation = match attach.lease {
            Lease::Read | Lease::Append => 0,
            Lease::Write => match self.grant_lease(id, resumes) {
                Some(generation) => generation,
                None => return,
            },
        };
        self.release_floors(attach.lease, cursors.keys().copied().collect());
        let lease = attach.lease;
        let mut name = attach.client;
        name.truncate(name.floor_char_boundary(MAX_NAME_BYTES));
        let attachment = Attachment {
            lease,
            generation,
            name: name.clone(),
            cursors,
            exit_sent: false,
            input_ack_due: lease == Lease::Write,
            last_resize: None,
            last_served: StreamId::TTY,
        };
        self.admit(id, attachment);
        self.send_missed_notices(id, resumes.is_some());
        if attach.mode == AttachMode::Snapshot {
            self.request_snapshot(id);
        }
        if let Some(size) = attach.size.filter(|_| lease == Lease::Write) {
            self.resize(size);
        }
        // Who only looks, every second perhaps, is not worth a line on the disk.
        if lease != Lease::Read {
            self.effects.push_back(Effect::Attached {
                client: name,
                lease,
                generation,
            });
        }
    }

    fn admit(&mut self, id: ClientId, attachment: Attachment) {
        let attached = self.attached_message(attachment.generation);
        if let Some(client) = self.clients.get_mut(&id) {
            client.stage = ClientStage::Attached(attachment);
        }
        self.send(id, attached);
    }

    /// Where a client begins in each stream that it wants; `None` if it has more than there is.
    fn cursors(&self, attach: &Attach, same_child: bool) -> Option<BTreeMap<StreamId, Cursor>> {
        let mut cursors = BTreeMap::new();
        for (id, wanted) in &attach.cursors {
            let Some(stream) = self.streams.get(id) else {
                continue;
            };
            let next = match attach.mode {
                AttachMode::Tail => stream.end(),
                _ if same_child => *wanted,
                _ => 0,
            };
            if next > stream.end() {
                return None;
            }
            let replay = self.replay(
                *id,
                same_child.then_some(attach.resume_generation).flatten(),
            );
            cursors.insert(*id, Cursor::new(next, attach.credit, replay));
        }
        Some(cursors)
    }

    /// What of a stream is no events any more for a client that comes. Who comes back under its own lease
    /// answers for all that was written while it had it, come or not; what came of a terminal while
    /// nobody had it, the screen has answered.
    fn replay(&self, id: StreamId, resumes: Option<u64>) -> Range<u64> {
        let end = self.streams.get(&id).map_or(0, super::Stream::end);
        let is_back = resumes.is_some_and(|it| it == self.generation && it > 0);
        let from = match (is_back && id == StreamId::TTY, self.writer) {
            (false, _) => 0,
            (true, None) => self.unattended_from.min(end),
            (true, Some(_)) => end,
        };
        from..end
    }

    /// Gives the write lease to a client, which fences whoever had it. A client that had it before
    /// keeps its generation if nobody has had the lease since; otherwise it is the one that is
    /// fenced, and may come back as a new one.
    fn grant_lease(&mut self, id: ClientId, resumes: Option<u64>) -> Option<u64> {
        match resumes {
            Some(generation) if generation == self.generation && generation > 0 => {
                if let Some(old) = self.writer.take() {
                    self.end_client(old);
                }
            }
            Some(_) => {
                let generation = self.generation;
                self.send(id, Message::Fenced { generation });
                self.end_client(id);
                return None;
            }
            None => {
                self.generation += 1;
                if let Some(old) = self.writer.take() {
                    let generation = self.generation;
                    self.send(old, Message::Fenced { generation });
                    self.end_client(old);
                }
            }
        }
        self.writer = Some(id);
        Some(self.generation)
    }

    /// Somebody has come who takes what was kept for him: a writer everything, anybody else what
    /// was kept for the first client.
    fn release_floors(&mut self, lease: Lease, follows: Vec<StreamId>) {
        let first = self.generation == 0;
        for (id, stream) in &mut self.streams {
            if lease == Lease::Write || (first && follows.contains(id)) {
                stream.set_floor(None);
            }
        }
    }

    fn attached_message(&self, generation: u64) -> Message {
        let extent = |stream: &super::Stream| Extent {
            start: stream.start(),
            end: stream.end(),
            durable: stream.durability(),
        };
        let streams = self.streams.iter();
        Message::Attached(Attached {
            epoch: self.epoch,
            generation,
            streams: streams.map(|(id, stream)| (*id, extent(stream))).collect(),
            input_next: self.input.next(),
            exit: self.exit().cloned(),
            info: self.facts.clone(),
        })
    }

    fn send_missed_notices(&mut self, id: ClientId, resumes: bool) {
        for (kind, detail) in self.degraded.clone() {
            self.send(id, Message::Degraded { kind, detail });
        }
        if !resumes {
            return;
        }
        for refusal in self.refusals.clone() {
            if let InputEvent::Refused { from, to, reason } = refusal {
                self.send(id, Message::InputRefused { from, to, reason });
            }
        }
    }

    /// Lets a terminal's client begin with the screen as it is.
    pub(super) fn request_snapshot(&mut self, id: ClientId) {
        if !self.has_screen {
            return;
        }
        let client = self.clients.get_mut(&id);
        let attachment = client.and_then(Client::attachment_mut);
        if let Some(cursor) = attachment.and_then(|it| it.cursors.get_mut(&StreamId::TTY)) {
            cursor.wait = CursorWait::Snapshot { gone: false };
            self.effects.push_back(Effect::Snapshot { client: id });
        }
    }

    /// A client goes. A writer that was cut off comes back as a rule, so what it has yet to take is
    /// kept for it.
    pub(super) fn release_lease(&mut self, id: ClientId, requested: bool) {
        if self.writer != Some(id) {
            return;
        }
        self.writer = None;
        let terminal = self.streams.get(&StreamId::TTY);
        self.unattended_from = terminal.map_or(0, super::Stream::end);
        let Some(attachment) = self.clients.get(&id).and_then(Client::attachment) else {
            return;
        };
        if !requested {
            for (stream, cursor) in &attachment.cursors {
                if let Some(stream) = self.streams.get_mut(stream) {
                    stream.set_floor(Some(cursor.acked));
                }
            }
        }
        self.effects.push_back(Effect::Detached {
            client: attachment.name.clone(),
            generation: attachment.generation,
            requested,
        });
    }
}
