//! Several hosts, connections that are cut and come back, frames that arrive late: whatever the
//! schedule, bytes come contiguous or with a gap, and input is applied once, in order, by one
//! writer at a time.

use std::collections::HashSet;

use proptest::prelude::*;

use super::super::client::CursorWait;
use super::*;
use crate::wire::{Prompt, PromptMode};

const OUT: StreamId = StreamId::STDOUT;
const RING: usize = 8 * KIB;
const HOSTS: usize = 4;

/// What stale connections type: nothing else does.
const STALE: u8 = 0xff;

#[derive(Clone, Debug)]
enum Step {
    /// The child writes so many bytes, if it is not held.
    Output(usize),
    /// A host connects, as the one it was or as a new one.
    Connect { host: usize, fresh: bool },
    /// A host's connection breaks. The session does not notice yet.
    Cut(usize),
    /// A host leaves and says so.
    Detach(usize),
    /// The session notices that the oldest broken connection is gone.
    Notice,
    /// A broken connection delivers something that was under way.
    Stale(usize),
    /// A host is sent up to so many frames; the last of them are lost if its connection breaks.
    Deliver(usize, usize),
    /// A host makes place for what it has been sent.
    Consume(usize),
    /// A host types a line or a part of one.
    Type {
        host: usize,
        length: usize,
        ends: bool,
    },
    /// A host repeats what was not acknowledged, from the beginning.
    Repeat(usize),
    /// A host sends a prompt, perhaps one that it has sent before.
    Prompt { host: usize, id: u8 },
    /// The child takes what it was last written.
    Taken,
    /// Time passes.
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let host = 0..HOSTS;
    let step = prop_oneof![
        6 => (1..6_000_usize).prop_map(Step::Output),
        3 => (host.clone(), any::<bool>()).prop_map(|(host, fresh)| Step::Connect { host, fresh }),
        2 => host.clone().prop_map(Step::Cut),
        1 => host.clone().prop_map(Step::Detach),
        2 => Just(Step::Notice),
        3 => (0..8_usize).prop_map(Step::Stale),
        6 => (host.clone(), 1..9_usize).prop_map(|(host, most)| Step::Deliver(host, most)),
        4 => host.clone().prop_map(Step::Consume),
        5 => (host.clone(), 1..200_usize, any::<bool>())
            .prop_map(|(host, length, ends)| Step::Type { host, length, ends }),
        2 => host.clone().prop_map(Step::Repeat),
        2 => (host, 0..20_u8).prop_map(|(host, id)| Step::Prompt { host, id }),
        4 => Just(Step::Taken),
        1 => (1..4_000_u64).prop_map(Step::Wait),
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
    /// The next offset wanted.
    next: u64,
    consumed: u64,
    gaps: u64,
    /// The lease that it believes it has.
    generation: Option<u64>,
    /// What it typed under its generation, from the offset at which that began.
    typed: Vec<u8>,
    typed_from: u64,
    acked: u64,
    /// Offset behind what it has sent on this connection.
    sent: u64,
}

/// What a writer typed, by its generation: where it began, and what.
type Writers = BTreeMap<u64, (u64, Vec<u8>)>;

struct World {
    machine: SessionMachine,
    has_journal: bool,
    /// Whether there is one host alone, which is always waited for.
    is_alone: bool,
    hosts: Vec<Host>,
    /// Connections that their hosts have given up, with the generation they had.
    broken: VecDeque<(ClientId, u64)>,
    now: Duration,
    writers: Writers,
    /// What the child was written: typed bytes apart from prompts.
    applied: u64,
    line_is_open: bool,
    prompts: HashSet<String>,
    under_way: bool,
}

impl World {
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

    fn run(&mut self, step: Step) {
        match step {
            Step::Output(length) => self.output(length),
            Step::Connect { host, fresh } => self.connect(host, fresh),
            Step::Cut(host) => self.cut(host),
            Step::Detach(host) => self.detach(host),
            Step::Notice => {
                if let Some((client, _)) = self.broken.pop_front() {
                    self.machine.on_closed(client);
                }
            }
            Step::Stale(which) => self.stale(which),
            Step::Deliver(host, most) => self.deliver(host, most),
            Step::Consume(host) => self.consume(host),
            Step::Type { host, length, ends } => self.accept_typed(host, length, ends),
            Step::Repeat(host) => {
                self.hosts[host].sent = self.hosts[host].acked;
                self.send_input(host);
            }
            Step::Prompt { host, id } => self.prompt(host, id),
            Step::Taken => self.taken(),
            Step::Wait(millis) => {
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

    /// The first host writes, and so does the last; the others look or append.
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
        say(&mut self.machine, client, Message::Attach(wanted));
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
            say(&mut self.machine, client, Message::Detach);
            self.cut(host);
        }
    }

    /// A connection that its host gave up still says things. What it typed before counts if it has
    /// the lease; what a fenced one says must not.
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
            say_as(&mut self.machine, client, generation, message);
        }
        say_as(
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
            // What it lacks may come from the journal first.
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
                assert!(right, "bytes are those of their offset");
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

    /// A host learns that it has the lease, and what of its input the session has.
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
        say_as(
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
            say(
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
            };
            say(&mut self.machine, client, Message::Prompt(prompt));
        }
    }

    fn taken(&mut self) {
        if std::mem::take(&mut self.under_way) {
            self.machine.on_written(Ok(()), self.now);
        }
    }

    /// Does what the machine asks for.
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
                        JournalRead::Bytes(bytes.into()),
                    );
                }
                Effect::Attached { .. } | Effect::Detached { .. } => {}
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    /// What the child reads.
    fn apply(&mut self, bytes: &[u8]) {
        if bytes[0] == b'P' {
            assert!(!self.line_is_open, "a prompt stands on its own line");
            let fresh = self
                .prompts
                .insert(String::from_utf8_lossy(bytes).into_owned());
            assert!(fresh, "a prompt is written once");
            return;
        }
        for byte in bytes {
            let mut writers = self.writers.values().rev();
            let writer = writers.find(|(from, _)| *from <= self.applied);
            let (from, typed) = writer.expect("somebody typed this");
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
                if let CursorWait::Ready(bytes) = &cursor.wait {
                    assert!(bytes.len() <= 64 * KIB);
                }
            }
        }
    }

    /// In the end, whoever comes back gets the rest, and what the writers typed has arrived.
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
            // A host that was fenced is told so in place of the rest.
            if host.client.is_some() {
                assert_eq!(host.next, self.machine.end(OUT), "host {index} has it all");
            }
            assert!(
                !self.has_journal || host.gaps == 0,
                "a journal leaves no gap"
            );
            assert!(
                index > 0 || !self.is_alone || host.gaps == 0,
                "the writer is waited for"
            );
        }
        self.last_word();
        while self.under_way {
            self.taken();
            self.settle();
        }
        let (from, typed) = self.writers.values().next_back().expect("the last word");
        let end = from + typed.len() as u64;
        assert_eq!(self.applied, end, "what was typed has arrived");
        assert_eq!(self.applied, self.machine.input.next());
    }

    /// A new writer types, and nothing that is left of older connections is in its way.
    fn last_word(&mut self) {
        self.connect(0, true);
        while let Some((client, _)) = self.broken.pop_front() {
            self.machine.on_closed(client);
        }
        self.deliver(0, 64);
        self.accept_typed(0, 10, true);
        self.settle();
    }
}

/// The same for one host that writes and is cut off, but never leaves.
fn alone(step: Step) -> Step {
    match step {
        Step::Connect { .. } => Step::Connect {
            host: 0,
            fresh: false,
        },
        Step::Cut(_) | Step::Detach(_) => Step::Cut(0),
        Step::Deliver(_, most) => Step::Deliver(0, most),
        Step::Consume(_) => Step::Consume(0),
        Step::Type { length, ends, .. } => Step::Type {
            host: 0,
            length,
            ends,
        },
        Step::Repeat(_) => Step::Repeat(0),
        Step::Prompt { id, .. } => Step::Prompt { host: 0, id },
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn one_writer_that_is_cut_off_misses_nothing(steps in steps(), has_journal in any::<bool>()) {
        let mut world = World::new(has_journal, true);
        for step in steps {
            world.run(alone(step));
        }
        world.finish();
    }

    #[test]
    fn any_schedule_keeps_order_and_fences(steps in steps(), has_journal in any::<bool>()) {
        let mut world = World::new(has_journal, false);
        for step in steps {
            world.run(step);
        }
        world.finish();
    }
}
