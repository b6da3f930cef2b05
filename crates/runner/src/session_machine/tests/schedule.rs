//! Random schedules of several hosts whose connections break, resume and deliver late: data is
//! contiguous or has a gap, and input is applied once, in order, by one writer at a time.

use std::collections::HashSet;

use proptest::prelude::*;

use super::super::client::CursorWait;
use super::*;
use crate::wire::{Prompt, PromptMode};

const OUT: StreamId = StreamId::STDOUT;
const RING: usize = 8 * KIB;
const HOSTS: usize = 4;

/// The byte that only stale connections type.
const STALE: u8 = 0xff;

#[derive(Clone, Debug)]
enum ScheduleStep {
    /// The child writes this number of bytes, unless it is paused.
    Output(usize),
    /// A host connects, with its state or without.
    Connect { host: usize, fresh: bool },
    /// A host's connection breaks. The session does not notice yet.
    Cut(usize),
    /// A host detaches.
    Detach(usize),
    /// The session notices that the oldest broken connection is closed.
    Notice,
    /// A broken connection delivers frames that were in transit.
    Stale(usize),
    /// A host receives up to this number of frames.
    Deliver(usize, usize),
    /// A host returns credit for what it has received.
    Consume(usize),
    /// A host types a line or a part of one.
    Type {
        host: usize,
        length: usize,
        ends: bool,
    },
    /// A host repeats all unacknowledged input.
    Repeat(usize),
    /// A host sends a prompt, possibly a repeated one.
    Prompt { host: usize, id: u8 },
    /// The child completes its pending write.
    Taken,
    /// Time passes, in milliseconds.
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<ScheduleStep>> {
    let host = 0..HOSTS;
    let step = prop_oneof![
        6 => (1..6_000_usize).prop_map(ScheduleStep::Output),
        3 => (host.clone(), any::<bool>()).prop_map(|(host, fresh)| ScheduleStep::Connect { host, fresh }),
        2 => host.clone().prop_map(ScheduleStep::Cut),
        1 => host.clone().prop_map(ScheduleStep::Detach),
        2 => Just(ScheduleStep::Notice),
        3 => (0..8_usize).prop_map(ScheduleStep::Stale),
        6 => (host.clone(), 1..9_usize).prop_map(|(host, most)| ScheduleStep::Deliver(host, most)),
        4 => host.clone().prop_map(ScheduleStep::Consume),
        5 => (host.clone(), 1..200_usize, any::<bool>())
            .prop_map(|(host, length, ends)| ScheduleStep::Type { host, length, ends }),
        2 => host.clone().prop_map(ScheduleStep::Repeat),
        2 => (host, 0..20_u8).prop_map(|(host, id)| ScheduleStep::Prompt { host, id }),
        4 => Just(ScheduleStep::Taken),
        1 => (1..4_000_u64).prop_map(ScheduleStep::Wait),
    ];
    prop::collection::vec(step, 1..250)
}

fn byte_at(offset: u64) -> u8 {
    (offset % 251) as u8
}

#[derive(Debug, Default)]
struct Host {
    client: Option<ClientId>,
    epoch: Option<Epoch>,
    /// The next offset to receive.
    next: u64,
    consumed: u64,
    gaps: u64,
    /// The generation that it last received.
    generation: Option<u64>,
    /// Its input under its generation, from the offset at which that began.
    typed: Vec<u8>,
    typed_from: u64,
    acked: u64,
    /// Offset after the last byte sent on this connection.
    sent: u64,
}

/// Input of each generation, with its first offset.
type Writers = BTreeMap<u64, (u64, Vec<u8>)>;

struct Simulation {
    machine: SessionMachine,
    has_journal: bool,
    /// Whether there is only one host, for which the child is always paused.
    is_alone: bool,
    hosts: Vec<Host>,
    /// Connections that their hosts have abandoned, with their generations.
    broken: VecDeque<(ClientId, u64)>,
    now: Duration,
    writers: Writers,
    /// Typed bytes that the child has received, without prompts.
    applied: u64,
    line_is_open: bool,
    prompts: HashSet<String>,
    under_way: bool,
}

impl Simulation {
    fn new(has_journal: bool, is_alone: bool) -> Self {
        Self {
            machine: machine(OUT, OverflowPolicy::Block, RING),
            has_journal,
            is_alone,
            hosts: (0..HOSTS).map(|_| Host::default()).collect(),
            broken: VecDeque::new(),
            now: Duration::ZERO,
            writers: BTreeMap::new(),
            applied: 0,
            line_is_open: false,
            prompts: HashSet::new(),
            under_way: false,
        }
    }

    fn run(&mut self, step: ScheduleStep) {
        match step {
            ScheduleStep::Output(length) => self.output(length),
            ScheduleStep::Connect { host, fresh } => self.connect(host, fresh),
            ScheduleStep::Cut(host) => self.cut(host),
            ScheduleStep::Detach(host) => self.detach(host),
            ScheduleStep::Notice => {
                if let Some((client, _)) = self.broken.pop_front() {
                    self.machine.on_closed(client);
                }
            }
            ScheduleStep::Stale(which) => self.stale(which),
            ScheduleStep::Deliver(host, most) => self.deliver(host, most),
            ScheduleStep::Consume(host) => self.consume(host),
            ScheduleStep::Type { host, length, ends } => self.accept_typed(host, length, ends),
            ScheduleStep::Repeat(host) => {
                self.hosts[host].sent = self.hosts[host].acked;
                self.send_input(host);
            }
            ScheduleStep::Prompt { host, id } => self.prompt(host, id),
            ScheduleStep::Taken => self.taken(),
            ScheduleStep::Wait(millis) => {
                self.now += Duration::from_millis(millis);
                self.machine.tick(self.now);
            }
        }
        self.settle();
        self.check_memory();
    }

    fn output(&mut self, length: usize) {
        if self.machine.is_paused(OUT) {
            return;
        }
        let from = self.machine.end(OUT);
        let bytes: Vec<u8> = (from..from + length as u64).map(byte_at).collect();
        self.machine.on_output(OUT, bytes.into());
        if self.has_journal {
            self.machine
                .set_journal_extent(OUT, 0..self.machine.end(OUT), true);
        }
    }

    /// The first and the last host write; the others read or append.
    fn lease(host: usize) -> Lease {
        match host {
            1 => Lease::Read,
            2 => Lease::Append,
            _ => Lease::Write,
        }
    }

    fn connect(&mut self, index: usize, fresh: bool) {
        self.cut(index);
        let lease = Self::lease(index);
        let host = &mut self.hosts[index];
        if fresh {
            *host = Host::default();
        }
        let mut wanted = attach(lease, OUT);
        wanted.epoch = host.epoch;
        wanted.cursors = BTreeMap::from([(OUT, host.next)]);
        wanted.resume_generation = host.generation;
        wanted.credit = RING as u64;
        host.consumed = host.next;
        let client = greeted(&mut self.machine);
        send(&mut self.machine, client, Message::Attach(wanted));
        host.client = Some(client);
    }

    fn cut(&mut self, host: usize) {
        if let Some(client) = self.hosts[host].client.take() {
            let generation = self.hosts[host].generation.unwrap_or(0);
            self.broken.push_back((client, generation));
        }
    }

    fn detach(&mut self, host: usize) {
        if let Some(client) = self.hosts[host].client {
            send(&mut self.machine, client, Message::Detach);
            self.cut(host);
        }
    }

    /// An abandoned connection delivers input. It counts only if the connection still has the
    /// lease.
    fn stale(&mut self, which: usize) {
        let Some((client, generation)) = self.broken.get(which).copied() else {
            return;
        };
        if self.machine.writer == Some(client) {
            return;
        }
        let offset = self.machine.input.next();
        let bytes = Bytes::from_static(&[STALE; 3]);
        for generation in [generation, self.machine.generation()] {
            let bytes = bytes.clone();
            let message = Message::Input { offset, bytes };
            send_as(&mut self.machine, client, generation, message);
        }
        send_as(
            &mut self.machine,
            client,
            generation,
            Message::InputEnd { offset },
        );
    }

    fn deliver(&mut self, index: usize, most: usize) {
        let Some(client) = self.hosts[index].client else {
            return;
        };
        for _ in 0..most {
            let frame = self.machine.next_frame(client);
            // Data may have to be read from the journal first.
            self.settle();
            let Some(frame) = frame.or_else(|| self.machine.next_frame(client)) else {
                break;
            };
            self.receive(index, frame.message);
            self.settle();
        }
        if self.machine.is_closing(client) {
            self.hosts[index].client = None;
            self.machine.on_closed(client);
        }
    }

    fn receive(&mut self, index: usize, message: Message) {
        let host = &mut self.hosts[index];
        match message {
            Message::Attached(attached) => {
                host.epoch = Some(attached.epoch);
                if attached.generation > 0 {
                    self.holds(index, attached.generation, attached.input_next);
                }
            }
            Message::Data { offset, bytes, .. } => {
                assert_eq!(offset, host.next, "bytes come in order");
                let right = bytes
                    .iter()
                    .zip(offset..)
                    .all(|(byte, at)| *byte == byte_at(at));
                assert!(right, "bytes match their offset");
                host.next += bytes.len() as u64;
                assert!(host.next - host.consumed <= RING as u64, "credit is kept");
            }
            Message::Gap { from, to, .. } => {
                assert_eq!(from, host.next);
                assert!(to > from);
                host.gaps += to - from;
                host.next = to;
                host.consumed = to;
            }
            Message::InputAck { offset, .. } => host.acked = host.acked.max(offset),
            Message::Fenced { .. } => {
                *host = Host {
                    next: host.next,
                    epoch: host.epoch,
                    client: host.client,
                    ..Host::default()
                }
            }
            Message::PromptState { .. } | Message::Error { .. } | Message::Ping { .. } => {}
            other => panic!("unexpected: {other:?}"),
        }
    }

    /// A host is granted the lease and learns which of its input has arrived.
    fn holds(&mut self, index: usize, generation: u64, input_next: u64) {
        let host = &mut self.hosts[index];
        if host.generation != Some(generation) {
            host.generation = Some(generation);
            host.typed.clear();
            host.typed_from = input_next;
        }
        host.acked = host.acked.max(host.typed_from);
        host.sent = input_next;
        self.send_input(index);
    }

    fn accept_typed(&mut self, index: usize, length: usize, ends: bool) {
        let host = &mut self.hosts[index];
        let Some(generation) = host.generation else {
            return;
        };
        for _ in 0..length {
            let key = b'a' + (host.typed.len() % 23) as u8;
            host.typed.push(key);
        }
        if ends {
            host.typed.push(b'\n');
        }
        let record = (host.typed_from, host.typed.clone());
        self.writers.insert(generation, record);
        self.send_input(index);
    }

    fn send_input(&mut self, index: usize) {
        let host = &mut self.hosts[index];
        let (Some(client), Some(generation)) = (host.client, host.generation) else {
            return;
        };
        let Some(rest) = host.typed.get((host.sent - host.typed_from) as usize..) else {
            return;
        };
        if rest.is_empty() {
            return;
        }
        let (offset, bytes) = (host.sent, Bytes::copy_from_slice(rest));
        host.sent += bytes.len() as u64;
        send_as(
            &mut self.machine,
            client,
            generation,
            Message::Input { offset, bytes },
        );
    }

    fn consume(&mut self, index: usize) {
        let host = &mut self.hosts[index];
        let n = host.next - host.consumed;
        if let Some(client) = host.client.filter(|_| n > 0) {
            host.consumed = host.next;
            send(
                &mut self.machine,
                client,
                Message::Credit { stream: OUT, n },
            );
        }
    }

    fn prompt(&mut self, index: usize, id: u8) {
        if let Some(client) = self.hosts[index].client {
            let prompt = Prompt {
                id: id.to_string(),
                bytes: format!("P{id}").into(),
                mode: PromptMode::Line,
                request_id: None,
            };
            send(&mut self.machine, client, Message::Prompt(prompt));
        }
    }

    fn taken(&mut self) {
        if std::mem::take(&mut self.under_way) {
            self.machine.on_written(Ok(()), self.now);
        }
    }

    /// Performs the effects.
    fn settle(&mut self) {
        while let Some(effect) = self.machine.next_effect() {
            match effect {
                Effect::Write(bytes) => {
                    assert!(!self.under_way, "one write at a time");
                    self.under_way = true;
                    self.apply(&bytes);
                }
                Effect::ReadJournal {
                    client,
                    stream,
                    offset,
                    max,
                } => {
                    assert!(self.has_journal);
                    let end = self.machine.end(OUT).min(offset + max as u64);
                    let bytes: Vec<u8> = (offset..end).map(byte_at).collect();
                    self.machine.on_journal_read(
                        client,
                        stream,
                        offset,
                        JournalRead::Bytes(bytes.into(), Arrival::default()),
                    );
                }
                Effect::Attached { .. } | Effect::Detached { .. } | Effect::Requested { .. } => {}
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    /// Takes input as the child.
    fn apply(&mut self, bytes: &[u8]) {
        if bytes[0] == b'P' {
            assert!(!self.line_is_open, "a prompt is inserted between lines");
            let fresh = self
                .prompts
                .insert(String::from_utf8_lossy(bytes).into_owned());
            assert!(fresh, "a prompt is written once");
            return;
        }
        for byte in bytes {
            let mut writers = self.writers.values().rev();
            let writer = writers.find(|(from, _)| *from <= self.applied);
            let (from, typed) = writer.expect("a writer typed this");
            let expected = typed.get((self.applied - from) as usize);
            assert_eq!(Some(byte), expected, "at {}", self.applied);
            self.applied += 1;
        }
        self.line_is_open = bytes.last() != Some(&b'\n');
    }

    fn check_memory(&self) {
        for client in self.machine.clients.values() {
            assert!(client.outbox.len() <= MAX_OUTBOX);
            let cursors = client
                .attachment()
                .into_iter()
                .flat_map(|it| it.cursors.values());
            for cursor in cursors {
                if let CursorWait::Ready(bytes, _) = &cursor.wait {
                    assert!(bytes.len() <= 64 * KIB);
                }
            }
        }
    }

    /// At the end, every reconnecting host receives the rest, and all typed input has arrived.
    fn finish(mut self) {
        for index in 0..HOSTS {
            self.connect(index, false);
            for _ in 0..10_000 {
                let before = self.hosts[index].next;
                self.deliver(index, 64);
                self.consume(index);
                if self.hosts[index].next == before {
                    break;
                }
            }
            let host = &self.hosts[index];
            // A fenced host receives `Fenced` in place of the rest.
            if host.client.is_some() {
                assert_eq!(host.next, self.machine.end(OUT), "host {index} has it all");
            }
            assert!(
                !self.has_journal || host.gaps == 0,
                "a journaled stream has no gap"
            );
            assert!(
                index > 0 || !self.is_alone || host.gaps == 0,
                "the child is paused for the writer"
            );
        }
        self.write_last();
        while self.under_way {
            self.taken();
            self.settle();
        }
        let (from, typed) = self.writers.values().next_back().expect("a last writer");
        let end = from + typed.len() as u64;
        assert_eq!(self.applied, end, "all typed input has arrived");
        assert_eq!(self.applied, self.machine.input.next());
    }

    /// A new writer types; remaining stale connections have no effect.
    fn write_last(&mut self) {
        self.connect(0, true);
        while let Some((client, _)) = self.broken.pop_front() {
            self.machine.on_closed(client);
        }
        self.deliver(0, 64);
        self.accept_typed(0, 10, true);
        self.settle();
    }
}

/// Maps a step to the single-host variant, whose host never detaches.
fn alone(step: ScheduleStep) -> ScheduleStep {
    match step {
        ScheduleStep::Connect { .. } => ScheduleStep::Connect {
            host: 0,
            fresh: false,
        },
        ScheduleStep::Cut(_) | ScheduleStep::Detach(_) => ScheduleStep::Cut(0),
        ScheduleStep::Deliver(_, most) => ScheduleStep::Deliver(0, most),
        ScheduleStep::Consume(_) => ScheduleStep::Consume(0),
        ScheduleStep::Type { length, ends, .. } => ScheduleStep::Type {
            host: 0,
            length,
            ends,
        },
        ScheduleStep::Repeat(_) => ScheduleStep::Repeat(0),
        ScheduleStep::Prompt { id, .. } => ScheduleStep::Prompt { host: 0, id },
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn disconnected_writer_loses_nothing(steps in steps(), has_journal in any::<bool>()) {
        let mut simulation = Simulation::new(has_journal, true);
        for step in steps {
            simulation.run(alone(step));
        }
        simulation.finish();
    }

    #[test]
    fn any_schedule_keeps_order_and_fencing(steps in steps(), has_journal in any::<bool>()) {
        let mut simulation = Simulation::new(has_journal, false);
        for step in steps {
            simulation.run(step);
        }
        simulation.finish();
    }
}
