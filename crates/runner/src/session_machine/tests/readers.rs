//! Readers do not pause the child: what they do, or do not do, changes nothing for it.

use proptest::prelude::*;

use super::*;

const OUT: StreamId = StreamId::STDOUT;
const RING: usize = 8 * KIB;

#[derive(Clone, Debug)]
enum Step {
    /// The child writes this number of bytes, also while it is paused.
    Output(usize),
    /// The writer acknowledges so much of what it lacks, in percent.
    WriterAcknowledges(u64),
    /// A reader attaches with so much credit, which may be none.
    ReaderJoins(u64),
    /// The readers receive what they can, and acknowledge the first bytes only.
    ReadersReceive,
    /// The oldest reader disconnects.
    ReaderLeaves,
    /// The journal has everything, and room for more or not.
    Journal(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..2 * RING).prop_map(Step::Output),
        2 => (0..=100_u64).prop_map(Step::WriterAcknowledges),
        2 => (0..4_000_u64).prop_map(Step::ReaderJoins),
        2 => Just(Step::ReadersReceive),
        1 => Just(Step::ReaderLeaves),
        1 => any::<bool>().prop_map(Step::Journal),
    ];
    prop::collection::vec(step, 1..80)
}

/// A session with a writer.
struct Session {
    machine: SessionMachine,
    writer: ClientId,
    generation: u64,
    acknowledged: u64,
    readers: Vec<ClientId>,
}

impl Session {
    fn new() -> Self {
        let mut machine = machine(OUT, OverflowPolicy::Block, RING);
        let (writer, attached) = join(&mut machine, attach(Lease::Write, OUT));
        Self {
            machine,
            writer,
            generation: attached.generation,
            acknowledged: 0,
            readers: Vec::new(),
        }
    }

    fn apply(&mut self, step: &Step, has_readers: bool) {
        let end = self.machine.end(OUT);
        match *step {
            Step::Output(length) => self.machine.on_output(OUT, vec![0; length].into()),
            Step::WriterAcknowledges(percent) => {
                self.acknowledged += (end - self.acknowledged) * percent / 100;
                let acknowledged = Message::Ack {
                    stream: OUT,
                    offset: self.acknowledged,
                };
                all(&mut self.machine, self.writer);
                send_as(
                    &mut self.machine,
                    self.writer,
                    self.generation,
                    acknowledged,
                );
            }
            Step::Journal(has_room) => self.machine.set_journal_extent(OUT, 0..end, has_room),
            _ if !has_readers => {}
            Step::ReaderJoins(credit) => {
                let attach = Attach {
                    credit,
                    mode: AttachMode::Tail,
                    ..attach(Lease::Read, OUT)
                };
                self.readers.push(join(&mut self.machine, attach).0);
            }
            Step::ReadersReceive => {
                for reader in self.readers.clone() {
                    all(&mut self.machine, reader);
                    let acknowledged = Message::Ack {
                        stream: OUT,
                        offset: 1,
                    };
                    send(&mut self.machine, reader, acknowledged);
                }
            }
            Step::ReaderLeaves if !self.readers.is_empty() => {
                let reader = self.readers.remove(0);
                self.machine.on_closed(reader);
            }
            Step::ReaderLeaves => {}
        }
    }
}

proptest! {
    #[test]
    fn readers_never_pause_the_child(steps in steps()) {
        let (mut alone, mut watched) = (Session::new(), Session::new());
        for step in &steps {
            alone.apply(step, false);
            watched.apply(step, true);
            prop_assert_eq!(alone.machine.is_paused(OUT), watched.machine.is_paused(OUT));
            let needed = alone.machine.oldest_needed(OUT);
            prop_assert_eq!(needed, watched.machine.oldest_needed(OUT));
        }
    }
}
