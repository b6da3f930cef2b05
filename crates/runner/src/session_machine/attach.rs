//! The handshake of a client, the write lease, and replay ranges.

use std::collections::BTreeMap;
use std::ops::Range;

use super::client::{Attachment, Client, ClientStage, Cursor, CursorWait};
use super::input::InputEvent;
use super::{ClientId, Effect, SessionMachine};
use crate::wire::{
    ARRIVALS, Attach, AttachMode, Attached, Extent, Hello, Lease, Message, StreamId, VERSION,
    Welcome, WireLimits, code,
};

/// Maximal length of a client's name in bytes.
const MAX_NAME_BYTES: usize = 256;

impl SessionMachine {
    /// Negotiates the protocol version, or rejects the client.
    pub(super) fn negotiate(&mut self, id: ClientId, hello: &Hello) {
        let (oldest, newest) = hello.versions;
        if !(oldest..=newest).contains(&VERSION) {
            let detail =
                format!("unsupported protocol version; this session supports version {VERSION}");
            return self.reject(id, code::VERSION, &detail);
        }
        let has_arrivals = hello.features.iter().any(|it| it == ARRIVALS);
        let features = has_arrivals.then(|| ARRIVALS.to_owned());
        self.send(
            id,
            Message::Welcome(Welcome {
                version: VERSION,
                features: features.into_iter().collect(),
                limits: WireLimits::default(),
            }),
        );
        if let Some(client) = self.clients.get_mut(&id) {
            client.stage = ClientStage::Greeted;
            client.has_arrivals = has_arrivals;
        }
    }

    /// Attaches a client.
    pub(super) fn attach(&mut self, id: ClientId, attach: Attach) {
        if attach.session != self.session {
            let detail = "unknown session; look up its id";
            return self.reject(id, code::UNKNOWN_SESSION, detail);
        }
        let same_child = attach.epoch.is_none_or(|epoch| epoch == self.epoch);
        let Some(cursors) = self.cursors(&attach, same_child) else {
            let detail =
                "offset is past the end of the stream; attach with offsets that were received";
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
            input_ack_at: (lease == Lease::Write).then_some(self.now),
            last_resize: None,
            last_served: StreamId::TTY,
        };
        self.admit(id, attachment);
        self.send_missed_notices(id, resumes.is_some());
        // The size comes first: the snapshot is for the client's window.
        if let Some(size) = attach.size.filter(|_| lease == Lease::Write) {
            self.resize(size);
        }
        if attach.mode == AttachMode::Snapshot {
            self.request_snapshot(id);
        }
        // Readers are not recorded: monitoring may attach one every second.
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

    /// Returns a cursor per requested stream; `None` if one is past the end of its stream.
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

    /// Returns the range of a stream that is replay for a client: its terminal queries must not be
    /// replied to again. A writer that resumes its own lease is responsible for everything written
    /// under that lease, whether received or not; queries written while no writer was attached were
    /// replied to by the screen model.
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

    /// Grants a client the write lease, which fences the previous holder. A client that resumes the
    /// present generation keeps it; one that resumes an older generation is fenced itself, and may
    /// attach anew.
    fn grant_lease(&mut self, id: ClientId, resumes: Option<u64>) -> Option<u64> {
        match resumes {
            Some(generation) if generation == self.generation && generation > 0 => {
                if let Some(old) = self.writer.take() {
                    self.close_client(old);
                }
            }
            Some(_) => {
                let generation = self.generation;
                self.send(id, Message::Fenced { generation });
                self.close_client(id);
                return None;
            }
            None => {
                self.generation += 1;
                if let Some(old) = self.writer.take() {
                    let generation = self.generation;
                    self.send(old, Message::Fenced { generation });
                    self.close_client(old);
                }
            }
        }
        self.writer = Some(id);
        Some(self.generation)
    }

    /// Releases the bytes that were retained for an absent client: all of them if a writer
    /// attaches, those of the followed streams if this is the first client.
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

    /// Lets a client of the terminal begin with a snapshot of the screen.
    pub(super) fn request_snapshot(&mut self, id: ClientId) {
        if !self.has_screen {
            return;
        }
        let client = self.clients.get_mut(&id);
        let attachment = client.and_then(Client::attachment_mut);
        if let Some(cursor) = attachment.and_then(|it| it.cursors.get_mut(&StreamId::TTY)) {
            cursor.wait = CursorWait::Snapshot { gone: false };
            self.effects.push_back(Effect::Snapshot {
                client: id,
                with_scrollback: true,
            });
        }
    }

    /// Releases the write lease if a client holds it. Bytes that the client has not acknowledged
    /// are retained unless it detached by request, since it is expected to reconnect.
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
