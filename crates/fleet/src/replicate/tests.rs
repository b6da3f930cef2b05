//! Replication of journals on disk to a broker in memory, under virtual time.

use std::time::Instant as StdInstant;

use bowline_journal::{Arrival, JournalLimits, JournalWriter};
use bowline_wire::StreamId;
use tokio::task::JoinHandle;

use super::*;
use crate::fake::FakeBus;
use crate::log::Replica;

struct Session {
    _folder: tempfile::TempDir,
    journal: LocalJournal,
    writer: JournalWriter<Folder>,
    state: watch::Sender<ReplicaState>,
    has_ended: watch::Sender<bool>,
}

impl Session {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let limits = JournalLimits {
            segment_bytes: 100_000,
            cap_bytes: 10_000_000,
            ..JournalLimits::default()
        };
        let disk = Folder::make(&path).unwrap();
        let writer = JournalWriter::create(disk, limits, Epoch(3), 9).unwrap();
        let session = SessionId::random();
        Self {
            _folder: folder,
            journal: LocalJournal { session, path },
            writer,
            state: watch::Sender::new(ReplicaState::default()),
            has_ended: watch::Sender::new(false),
        }
    }

    fn write(&mut self, count: usize) {
        for n in 0..count {
            let stream = if n % 5 == 0 {
                StreamId::STDERR
            } else {
                StreamId::STDOUT
            };
            let at = self.writer.end(stream);
            let bytes = vec![(at / 7) as u8; 700];
            let arrival = Arrival::at(at + 1);
            self.writer
                .append(stream, at, bytes.into(), arrival, StdInstant::now())
                .unwrap();
        }
    }

    fn start(&self, bus: &FakeBus) -> JoinHandle<io::Result<()>> {
        let (bus, journal, state) = (bus.clone(), self.journal.clone(), self.state.clone());
        let has_ended = self.has_ended.subscribe();
        tokio::spawn(async move { replicate(&bus, journal, &state, has_ended).await })
    }

    fn records(&self) -> Vec<Record> {
        let mut tail = JournalTail::new(Folder::at(&self.journal.path), BTreeMap::new());
        std::iter::from_fn(|| tail.next_record().unwrap()).collect()
    }

    fn ends(&self) -> Positions {
        let kept = self
            .writer
            .kept()
            .iter()
            .map(|(&stream, kept)| (stream, kept.end));
        kept.collect::<BTreeMap<_, _>>().into()
    }

    /// Waits until everything written is copied.
    async fn copied(&self) {
        let ends = self.ends();
        let mut state = self.state.subscribe();
        state.wait_for(|it| it.copied.covers(&ends)).await.unwrap();
    }

    fn replica(&self, bus: &FakeBus) -> Vec<Record> {
        let mut replica = Replica::default();
        for message in bus.log(&log_subject(self.journal.session, Epoch(3))) {
            replica.take(message.sequence, &message.body);
        }
        replica.finish();
        replica.take_records()
    }
}

#[tokio::test(start_paused = true)]
async fn wiped_broker_is_filled_again_from_the_journal() {
    let (bus, mut session) = (FakeBus::default(), Session::new());
    session.write(1000);
    let running = session.start(&bus);
    session.copied().await;
    session.write(50);
    session.copied().await;
    assert_eq!(session.replica(&bus), session.records());
    bus.cut();
    session.write(500);
    bus.wipe();
    session
        .state
        .send_modify(|it| it.copied = Positions::default());
    bus.connect();
    session.copied().await;
    assert_eq!(session.replica(&bus), session.records());
    session.has_ended.send_replace(true);
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn restarted_replication_goes_on_where_the_stream_ends() {
    let (bus, mut session) = (FakeBus::default(), Session::new());
    session.write(300);
    session.has_ended.send_replace(true);
    session.start(&bus).await.unwrap().unwrap();
    let before = bus
        .log(&log_subject(session.journal.session, Epoch(3)))
        .len();
    session.write(300);
    session.start(&bus).await.unwrap().unwrap();
    assert_eq!(session.replica(&bus), session.records());
    session.start(&bus).await.unwrap().unwrap();
    let after = bus
        .log(&log_subject(session.journal.session, Epoch(3)))
        .len();
    assert!(after > before && after <= before + 2, "{before} {after}");
    // The index leads to the message of an offset.
    let index = session.state.borrow().index.clone();
    assert!(index.sequence_for(u64::MAX) >= 1);
}

#[tokio::test(start_paused = true)]
async fn transient_refusals_are_repeated() {
    let (bus, mut session) = (FakeBus::default(), Session::new());
    bus.fail_appends([
        BusError::InProcess,
        BusError::NoStream("BL_LOG".into()),
        BusError::Unanswered,
        BusError::WrongLast,
        BusError::Denied("publish".into()),
    ]);
    session.write(100);
    session.start(&bus);
    session.copied().await;
    assert_eq!(session.replica(&bus), session.records());
}

#[tokio::test(start_paused = true)]
async fn lost_tail_is_found_without_a_reconnect() {
    let (bus, mut session) = (FakeBus::default(), Session::new());
    session.write(2000);
    session.start(&bus);
    session.copied().await;
    bus.lose_tail(2);
    session.write(10);
    session.copied().await;
    assert_eq!(session.replica(&bus), session.records());
}
