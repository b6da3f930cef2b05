//! The publisher against a model of a stream that loses its tail, repeats, answers late and damages.

use bowline_journal::Arrival;
use bowline_wire::StreamId;
use proptest::prelude::*;

use super::*;
use crate::log::Replica;

/// A stream of one subject: sequence, `B-At` and body of each message.
#[derive(Debug, Default)]
struct ModelStream {
    messages: Vec<(u64, Positions, Bytes)>,
    next: u64,
}

impl ModelStream {
    fn last_sequence(&self) -> u64 {
        self.messages.last().map_or(0, |it| it.0)
    }

    fn perform(&mut self, step: &PublishStep) -> PublishReply {
        match step {
            PublishStep::Last => PublishReply::Last(self.messages.last().map(|it| LastMessage {
                sequence: it.0,
                begin: Some(it.1.clone()),
                body: it.2.clone(),
            })),
            PublishStep::Append { expected, .. } if *expected != self.last_sequence() => {
                PublishReply::WrongLast
            }
            PublishStep::Append { begin, body, .. } => {
                self.next += 1;
                self.messages.push((self.next, begin.clone(), body.clone()));
                PublishReply::Stored(self.next)
            }
        }
    }

    fn lose(&mut self, count: usize) {
        self.messages
            .truncate(self.messages.len().saturating_sub(count));
        // A server that lost its tail gives the same sequences again.
        self.next = self.last_sequence();
    }

    fn replica(&self) -> Replica {
        let mut replica = Replica::default();
        for (sequence, _, body) in &self.messages {
            replica.take(*sequence, body);
        }
        replica.finish();
        replica
    }
}

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    /// The session writes a record.
    Write {
        stream: u16,
        length: usize,
    },
    /// The publisher's request reaches the stream, and so does the reply.
    Answer,
    /// It reaches the stream, and the reply is lost.
    LoseReply,
    /// It is lost, but a server may deliver it later.
    LoseRequest,
    /// A lost request is delivered.
    Deliver(usize),
    InProcess,
    NoStream,
    Denied,
    LoseTail(usize),
    Wipe,
    Connect,
    /// The publisher is started again, and remembers nothing.
    Restart,
    Pass(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        7 => (1_u16..4, 1_usize..500).prop_map(|(stream, length)| Event::Write { stream, length }),
        1 => (1_u16..4, 1_usize..60_000).prop_map(|(stream, length)| Event::Write { stream, length }),
        12 => Just(Event::Answer),
        2 => Just(Event::LoseReply),
        2 => Just(Event::LoseRequest),
        2 => (0_usize..8).prop_map(Event::Deliver),
        1 => Just(Event::InProcess),
        1 => Just(Event::NoStream),
        1 => Just(Event::Denied),
        1 => (1_usize..4).prop_map(Event::LoseTail),
        1 => Just(Event::Wipe),
        1 => Just(Event::Connect),
        6 => (1_u64..400).prop_map(Event::Pass),
    ]
}

struct Simulation {
    journal: Vec<Record>,
    ends: Positions,
    stream: ModelStream,
    publisher: Publisher,
    in_flight: Option<PublishRequest>,
    late: Vec<PublishRequest>,
    now: Instant,
}

impl Simulation {
    fn new() -> Self {
        Self {
            journal: Vec::new(),
            ends: Positions::default(),
            stream: ModelStream::default(),
            publisher: Publisher::new(Epoch(7), 5),
            in_flight: None,
            late: Vec::new(),
            now: Instant::now(),
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Write { stream, length } => self.write(StreamId(stream), length),
            Event::Answer => self.answer(|stream, request| Some(stream.perform(&request.step))),
            Event::LoseReply => self.answer(|stream, request| {
                stream.perform(&request.step);
                Some(PublishReply::Unanswered)
            }),
            Event::LoseRequest => {
                self.late.extend(self.in_flight.clone());
                self.answer(|_, _| Some(PublishReply::Unanswered));
            }
            Event::Deliver(which) => {
                if !self.late.is_empty() {
                    let request = self.late.swap_remove(which % self.late.len());
                    let reply = self.stream.perform(&request.step);
                    self.publisher.on_reply(request.attempt, reply, self.now);
                }
            }
            Event::InProcess => self.answer(|_, request| match request.step {
                PublishStep::Append { .. } => Some(PublishReply::InProcess),
                PublishStep::Last => None,
            }),
            Event::NoStream => self.answer(|_, _| Some(PublishReply::NoStream)),
            Event::Denied => self.answer(|_, _| Some(PublishReply::Denied)),
            Event::LoseTail(count) => self.stream.lose(count),
            Event::Wipe => self.stream = ModelStream::default(),
            Event::Connect => {
                self.late.extend(self.in_flight.take());
                self.publisher.on_connect();
            }
            Event::Restart => {
                self.in_flight = None;
                self.publisher = Publisher::new(Epoch(7), 5);
            }
            Event::Pass(ms) => self.now += Duration::from_millis(ms),
        }
        self.feed();
        if self.in_flight.is_none() {
            self.in_flight = self.publisher.poll(self.now);
        }
    }

    fn write(&mut self, stream: StreamId, length: usize) {
        let offset = self.ends.at(stream);
        let bytes = (0..length)
            .map(|n| (offset as usize + n) as u8)
            .collect::<Bytes>();
        let arrival = Arrival::at(self.journal.len() as u64 + 1);
        let record = Record {
            stream,
            offset,
            arrival,
            body: Body::Bytes(bytes),
        };
        self.ends.set(stream, record.end());
        self.journal.push(record);
    }

    fn answer(&mut self, with: impl Fn(&mut ModelStream, &PublishRequest) -> Option<PublishReply>) {
        if let Some(request) = self.in_flight.take() {
            match with(&mut self.stream, &request) {
                Some(reply) => self.publisher.on_reply(request.attempt, reply, self.now),
                None => self.in_flight = Some(request),
            }
        }
    }

    /// Pushes the records that follow the publisher's position, as a tail of the journal does.
    fn feed(&mut self) {
        let Some(from) = self.publisher.position().cloned() else {
            return;
        };
        let lacks = |record: &&Record| record.end() > from.at(record.stream);
        for record in self.journal.iter().filter(lacks) {
            if self.publisher.position().is_none() {
                return;
            }
            self.publisher.push(record.clone(), self.now);
        }
    }

    /// Lets everything succeed until the stream has the journal.
    fn settle(&mut self) {
        self.late.clear();
        for _ in 0..10_000 {
            self.step(Event::Answer);
            let has_all = self.publisher.copied() == &self.ends;
            if has_all && self.publisher.is_settled() && self.in_flight.is_none() {
                return;
            }
            self.step(Event::Pass(31_000));
        }
        panic!("the stream never had the journal: {:?}", self.publisher);
    }

    /// Whatever the stream has was written, and a message never has more than its limit.
    fn check(&self) {
        let mut replica = self.stream.replica();
        for record in replica.take_records() {
            if let Body::Bytes(bytes) = &record.body {
                let is_written = (record.offset..)
                    .zip(bytes)
                    .all(|(at, byte)| at as u8 == *byte);
                assert!(is_written, "{record:?}");
            }
        }
        for (_, _, body) in &self.stream.messages {
            assert!(body.len() < MESSAGE_BYTES + 60_000 + 400);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn stream_equals_journal_after_any_faults(events in prop::collection::vec(event(), 0..150)) {
        let mut simulation = Simulation::new();
        for event in events {
            simulation.step(event);
        }
        simulation.check();
        // The last loss may have been after the last connect.
        simulation.step(Event::Connect);
        simulation.settle();
        prop_assert_eq!(simulation.stream.replica().take_records(), simulation.journal);
    }

    /// Without late requests, a publisher that remembers nothing is enough.
    #[test]
    fn stream_equals_journal_after_restarts(
        events in prop::collection::vec(
            prop_oneof![
                4 => event().prop_filter("kept in order", |it| !matches!(it, Event::Deliver(_))),
                1 => Just(Event::Restart),
            ],
            0..150,
        )
    ) {
        let mut simulation = Simulation::new();
        for event in events {
            simulation.step(event);
        }
        simulation.step(Event::Restart);
        simulation.settle();
        prop_assert_eq!(simulation.stream.replica().take_records(), simulation.journal);
    }
}

/// A stream that loses its tail gives the same sequences again, so that an append that was given up fits.
#[test]
fn late_append_takes_the_place_of_no_record() {
    use Event::{Answer, Connect, Deliver, LoseTail, Pass};
    let write = || Event::Write {
        stream: 1,
        length: 1,
    };
    let acknowledged = vec![
        write(),
        Answer,
        write(),
        Pass(250),
        Connect,
        Answer,
        write(),
        Pass(250),
        Answer,
        LoseTail(1),
        Deliver(0),
        write(),
        Pass(250),
        Answer,
    ];
    let found = vec![
        write(),
        Answer,
        Pass(250),
        Connect,
        Answer,
        Pass(250),
        Connect,
        Deliver(0),
        write(),
        Answer,
        LoseTail(1),
        Deliver(0),
        Pass(250),
        Answer,
    ];
    for events in [acknowledged, found] {
        let mut simulation = Simulation::new();
        for event in events {
            simulation.step(event);
        }
        simulation.step(Connect);
        simulation.settle();
        assert_eq!(
            simulation.stream.replica().take_records(),
            simulation.journal
        );
    }
}

#[test]
fn nothing_in_flight_is_published_twice() {
    let mut simulation = Simulation::new();
    for n in 0..20 {
        simulation.step(Event::Write {
            stream: 1,
            length: 100,
        });
        simulation.step(Event::Pass(300));
        simulation.step(if n % 3 == 0 {
            Event::LoseReply
        } else {
            Event::Answer
        });
    }
    simulation.settle();
    let sizes: Vec<_> = simulation
        .stream
        .messages
        .iter()
        .map(|it| it.1.total())
        .collect();
    assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]), "{sizes:?}");
}

#[test]
fn records_wait_for_others_that_share_their_message() {
    let mut simulation = Simulation::new();
    simulation.step(Event::Pass(0));
    simulation.step(Event::Answer);
    simulation.step(Event::Write {
        stream: 1,
        length: 1,
    });
    assert_eq!(simulation.in_flight, None);
    let due = simulation.publisher.deadline().expect("a record waits");
    assert_eq!(due, simulation.now + FLUSH_AFTER);
    // A full message does not wait.
    for _ in 0..5 {
        simulation.step(Event::Write {
            stream: 1,
            length: 60_000,
        });
    }
    assert!(simulation.in_flight.is_some());
}

#[test]
fn message_in_process_is_repeated_as_it_is() {
    let mut simulation = Simulation::new();
    simulation.step(Event::Pass(0));
    simulation.step(Event::Answer);
    simulation.step(Event::Write {
        stream: 1,
        length: 9,
    });
    simulation.step(Event::Pass(300));
    let first = simulation.in_flight.clone().expect("an append").step;
    simulation.step(Event::InProcess);
    simulation.step(Event::Pass(2_000));
    assert_eq!(simulation.in_flight.clone().expect("an append").step, first);
}

#[test]
fn damaged_last_message_is_published_again() {
    let mut simulation = Simulation::new();
    for _ in 0..3 {
        simulation.step(Event::Write {
            stream: 1,
            length: 500,
        });
        simulation.settle();
    }
    let last = simulation.stream.messages.last_mut().expect("a message");
    let mut body = last.2.to_vec();
    *body.last_mut().expect("a byte") ^= 1;
    last.2 = body.into();
    simulation.step(Event::Restart);
    simulation.settle();
    let mut replica = simulation.stream.replica();
    assert_eq!(replica.damage().len(), 1);
    assert_eq!(replica.take_records(), simulation.journal);
}

#[test]
fn bytes_the_journal_dropped_are_a_gap() {
    let mut simulation = Simulation::new();
    simulation.step(Event::Write {
        stream: 1,
        length: 500,
    });
    simulation.step(Event::Write {
        stream: 1,
        length: 500,
    });
    let dropped = simulation.journal.remove(0);
    simulation.settle();
    let records = simulation.stream.replica().take_records();
    let expected = Body::Gap {
        to: dropped.end(),
        reason: MISSING.to_owned(),
    };
    assert_eq!(records[0].body, expected);
    assert_eq!(records[1], simulation.journal[0]);
}
