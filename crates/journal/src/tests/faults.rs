//! Every call of the disk fails once, for a while, or for good, in every way.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::super::{
    Degraded, DegradedKind, Disk, JournalEvent, JournalLimits, JournalReader, JournalWriter,
    SyncDone, SyncJob,
};
use super::disk::{Fault, Memory};
use super::{AT, bytes_of, ranges, small_limits};
use bowline_process::Piece;
use bowline_wire::{Epoch, StreamId};

const FAULTS: [Fault; 4] = [Fault::Full, Fault::Io, Fault::Short, Fault::Late];

/// What a session would write: the streams' ends step by step, with the clock.
struct Workload<D: Disk> {
    writer: JournalWriter<D>,
    /// A completed deferred sync whose result was not passed on yet.
    done: Option<SyncDone>,
    now: Instant,
    /// How far each stream has come, whatever the journal took of it.
    ends: [u64; 3],
    /// Appends that were acknowledged.
    acknowledged: Vec<(StreamId, u64, u64)>,
    refused: usize,
    events: Vec<JournalEvent>,
}

const STREAMS: [StreamId; 3] = [StreamId::STDOUT, StreamId::STDERR, StreamId::INPUT];

impl<D: Disk + Clone> Workload<D> {
    fn new(writer: JournalWriter<D>) -> Self {
        Self {
            writer,
            done: None,
            now: Instant::now(),
            ends: [0; 3],
            acknowledged: Vec::new(),
            refused: 0,
            events: Vec::new(),
        }
    }

    fn run(&mut self, steps: u64) {
        for step in 0..steps {
            let which = (step % 3) as usize;
            let count = 20 + step * 7 % 90;
            self.append(which, count);
            self.now += Duration::from_millis(70);
            self.writer.poll(self.now);
            // What was begun a step ago has come to its end, whatever was written meanwhile.
            if let Some(done) = self.done.take() {
                self.writer.synced(done, self.now);
            }
            self.done = self.writer.due_sync().map(SyncJob::run);
            self.events
                .extend(std::iter::from_fn(|| self.writer.next_event()));
        }
    }

    /// Appends what is new; what was refused earlier is lost to the journal.
    fn append(&mut self, which: usize, count: u64) {
        let (stream, from) = (STREAMS[which], self.ends[which]);
        let to = from + count;
        self.ends[which] = to;
        let before = self.writer.end(stream);
        match self
            .writer
            .append(stream, from, bytes_of(stream, from, to), AT, self.now)
        {
            Ok(()) => {
                assert_eq!(self.writer.end(stream), to);
                self.acknowledged.push((stream, from, to));
            }
            Err(_) => {
                self.refused += 1;
                let end = self.writer.end(stream);
                assert!(
                    end == before || end == from,
                    "a refused append leaves its bytes out"
                );
            }
        }
    }
}

/// All that was acknowledged is there, but for what the cap has dropped; and every byte that is there
/// is right, which [`ranges`] checks.
fn check<D: Disk + Clone>(work: &Workload<D>, disk: &D, what: &str) {
    let mut reader = JournalReader::open(disk.clone()).unwrap();
    let read = reader.kept().unwrap();
    for stream in STREAMS {
        let start = work.writer.kept().get(&stream).map_or(0, |kept| kept.start);
        let there = ranges(&mut reader, stream, 0, 100);
        let of_stream = work.acknowledged.iter().filter(|ack| ack.0 == stream);
        for &(_, from, to) in of_stream {
            let from = from.max(start);
            let is_there = from >= to || there.iter().any(|range| range.0 <= from && range.1 >= to);
            assert!(
                is_there,
                "{what}: stream {stream} {from}..{to} of {there:?}"
            );
        }
        let end = read.get(&stream).map_or(0, |kept| kept.end);
        assert!(
            end >= work.writer.end(stream),
            "{what}: stream {stream} ends at {end}"
        );
    }
}

fn without_fault(steps: u64) -> u64 {
    let disk = Memory::default();
    let mut work = Workload::new(begin(disk.clone()));
    work.run(steps);
    assert_eq!(work.refused, 0);
    check(&work, &disk, "no fault");
    disk.calls()
}

fn begin<D: Disk>(disk: D) -> JournalWriter<D> {
    super::begin(disk, small_limits())
}

#[test]
fn disk_fault_loses_no_acknowledged_bytes() {
    const STEPS: u64 = 60;
    let calls = without_fault(STEPS);
    let mut points = 0;
    for (fault, defers) in FAULTS.iter().flat_map(|it| [(*it, false), (*it, true)]) {
        for count in [1, 2, 5, 20] {
            for from in 2..calls {
                let what = format!("{fault:?} {count} times from call {from}, deferred: {defers}");
                let disk = Memory::failing(from, count, fault);
                let mut work = Workload::new(begin(disk.clone()));
                if defers {
                    work.writer.defer_syncs();
                }
                work.run(STEPS + 100);
                check(&work, &disk, &what);
                assert_eq!(work.writer.degraded(), None, "{what}: recovers");
                let degraded = |event: &JournalEvent| matches!(event, JournalEvent::Degraded(_));
                let recovered = work
                    .events
                    .iter()
                    .filter(|event| **event == JournalEvent::Recovered);
                assert!(
                    recovered.count() > 0 || !work.events.iter().any(degraded),
                    "{what}: {:?}",
                    work.events
                );
                points += 1;
            }
        }
    }
    assert!(points >= 1_000, "{points} points");
}

#[test]
fn fault_is_reported_and_leaves_an_explicit_gap() {
    let disk = Memory::failing(4, 1, Fault::Full);
    let mut writer = super::begin(disk.clone(), JournalLimits::default());
    let start = Instant::now();
    let put = |writer: &mut JournalWriter<Memory>, from, to, now| {
        writer.append(StreamId(0), from, bytes_of(StreamId(0), from, to), AT, now)
    };
    put(&mut writer, 0, 10, start).unwrap();
    put(&mut writer, 10, 20, start).unwrap();
    let degraded = put(&mut writer, 20, 30, start).unwrap_err();
    assert_eq!(degraded.kind, DegradedKind::Full);
    assert_eq!(
        writer.next_event(),
        Some(JournalEvent::Degraded(degraded.clone()))
    );
    assert_eq!(
        degraded.to_string(),
        "journal not written: No space left on device (os error 28); free disk space, and writing resumes"
    );
    let calls = disk.calls();
    assert_eq!(put(&mut writer, 20, 30, start), Err(degraded));
    assert_eq!(disk.calls(), calls, "nothing is tried before its time");
    let later = writer.deadline().unwrap();
    assert_eq!(later, start + Duration::from_millis(250));
    writer.poll(later);
    assert_eq!(writer.degraded(), None);
    put(&mut writer, 30, 40, later).unwrap();
    assert_eq!(writer.next_event(), Some(JournalEvent::Recovered));
    let mut reader = JournalReader::open(disk).unwrap();
    assert_eq!(
        ranges(&mut reader, StreamId(0), 0, 100),
        [(0, 20), (30, 40)]
    );
}

#[test]
fn bytes_appended_again_leave_no_gap() {
    let disk = Memory::failing(4, 1, Fault::Short);
    let mut writer = super::begin(disk.clone(), JournalLimits::default());
    let mut now = Instant::now();
    for _ in 0..10 {
        now += Duration::from_millis(100);
        let from = writer.end(StreamId(0));
        let _ = writer.append(
            StreamId(0),
            from,
            bytes_of(StreamId(0), from, from + 50),
            AT,
            now,
        );
    }
    assert!(writer.end(StreamId(0)) >= 300);
    let mut reader = JournalReader::open(disk).unwrap();
    assert_eq!(
        ranges(&mut reader, StreamId(0), 0, 1_000),
        [(0, writer.end(StreamId(0)))]
    );
}

#[test]
fn bytes_of_failed_sync_are_written_again() {
    let disk = Memory::failing(5, 1, Fault::Io);
    let mut writer = super::begin(disk.clone(), JournalLimits::default());
    let now = Instant::now();
    writer
        .append(StreamId(0), 0, bytes_of(StreamId(0), 0, 10), AT, now)
        .unwrap();
    writer.sync(now).unwrap();
    writer
        .append(StreamId(0), 10, bytes_of(StreamId(0), 10, 30), AT, now)
        .unwrap();
    writer.sync(now).unwrap();
    let kinds: Vec<_> = std::iter::from_fn(|| writer.next_event()).collect();
    let [JournalEvent::Degraded(degraded), JournalEvent::Recovered] = &kinds[..] else {
        panic!("{kinds:?}")
    };
    assert_eq!(degraded.kind, DegradedKind::Sync);
    assert_eq!(writer.kept()[&StreamId(0)].durable, 30);
    // The poisoned segment loses what it was not sure of, and nothing is missing.
    let mut contents = disk.contents();
    assert_eq!(contents.len(), 2);
    let poisoned = contents.get_mut(&0).unwrap();
    poisoned.truncate(poisoned.len() - 5);
    let mut reader = JournalReader::open(Memory::of(contents)).unwrap();
    assert_eq!(ranges(&mut reader, StreamId(0), 0, 100), [(0, 30)]);
}

#[test]
fn disk_that_never_syncs_degrades_within_memory_limit() {
    let disk = Memory::failing(3, u64::MAX - 3, Fault::Io);
    let mut work = Workload::new(begin(disk));
    work.run(200);
    assert!(work.refused > 190);
    assert!(work.writer.degraded().is_some());
}

#[test]
fn failed_create_leaves_no_segment() {
    for from in 0..2 {
        let disk = Memory::failing(from, 1, Fault::Full);
        assert!(JournalWriter::create(disk.clone(), small_limits(), Epoch(1), 1).is_err());
        assert!(disk.contents().is_empty());
    }
    let empty = Bytes::new();
    assert!(super::super::recover(&empty).header.is_none());
}

#[test]
fn failed_deferred_sync_is_repeated_across_segments() {
    let disk = Memory::failing(9, 1, Fault::Io);
    let mut writer = begin(disk.clone());
    writer.defer_syncs();
    let now = Instant::now();
    let put = |writer: &mut JournalWriter<Memory>, from, to| {
        let bytes = bytes_of(StreamId(0), from, to);
        writer.append(StreamId(0), from, bytes, AT, now).unwrap();
    };
    for at in 0..3 {
        put(&mut writer, at * 240, at * 240 + 240);
    }
    assert_eq!(
        writer.kept()[&StreamId(0)].durable,
        0,
        "no sync has completed"
    );
    let job = writer.due_sync().expect("a segment is full");
    assert!(writer.due_sync().is_none(), "one at a time");
    put(&mut writer, 720, 900);
    writer.synced(job.run(), now);
    let events: Vec<_> = std::iter::from_fn(|| writer.next_event()).collect();
    let [JournalEvent::Degraded(degraded), JournalEvent::Recovered] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(degraded.kind, DegradedKind::Sync);
    assert_eq!(
        writer.kept()[&StreamId(0)].durable,
        900,
        "it is in a new one"
    );
    // The abandoned segments lose everything.
    let mut contents = disk.contents();
    let last = *contents.keys().last().unwrap();
    for (_, content) in contents.range_mut(..last) {
        content.truncate(50);
    }
    let mut reader = JournalReader::open(Memory::of(contents)).unwrap();
    assert_eq!(ranges(&mut reader, StreamId(0), 0, 100), [(0, 900)]);
}

fn put(
    writer: &mut JournalWriter<Memory>,
    from: u64,
    to: u64,
    now: Instant,
) -> Result<(), Degraded> {
    writer.append(StreamId(0), from, bytes_of(StreamId(0), from, to), AT, now)
}

/// A journal of ten bytes, a completed sync whose result was not passed on, and the time at which the write
/// of the next ten has failed.
fn write_failure_during_sync(disk: &Memory) -> (JournalWriter<Memory>, SyncDone, Instant) {
    let mut writer = super::begin(disk.clone(), JournalLimits::default());
    writer.defer_syncs();
    let start = Instant::now();
    put(&mut writer, 0, 10, start).unwrap();
    let later = start + Duration::from_secs(2);
    writer.poll(later);
    let done = writer.due_sync().expect("it is due").run();
    put(&mut writer, 10, 20, later).unwrap_err();
    (writer, done, later)
}

#[test]
fn sync_completed_after_failed_sync_is_ignored() {
    // The deferred sync fails, and so does a write before its result is passed on.
    let disk = Memory::failing(3, 2, Fault::Io);
    let (mut writer, done, later) = write_failure_during_sync(&disk);
    writer.synced(done, later);
    assert_eq!(writer.kept()[&StreamId(0)].durable, 0, "not reported");
    writer.poll(later + Duration::from_secs(1));
    assert_eq!(writer.kept()[&StreamId(0)].durable, 10, "carried");
    let mut contents = disk.contents();
    contents.remove(&0);
    let mut reader = JournalReader::open(Memory::of(contents)).unwrap();
    assert_eq!(ranges(&mut reader, StreamId(0), 0, 100), [(0, 10)]);
}

/// The next segment would else carry all of it, for which a disk that ran full may have no room again.
#[test]
fn sync_completed_before_failed_write_is_kept() {
    let disk = Memory::failing(4, 1, Fault::Full);
    let (mut writer, done, later) = write_failure_during_sync(&disk);
    assert_eq!(writer.kept()[&StreamId(0)].durable, 0, "not reported yet");
    writer.synced(done, later);
    assert_eq!(writer.kept()[&StreamId(0)].durable, 10);
    let later = later + Duration::from_secs(1);
    put(&mut writer, 10, 20, later).unwrap();
    let mut contents = disk.contents();
    let mut reader = JournalReader::open(Memory::of(contents.clone())).unwrap();
    assert_eq!(ranges(&mut reader, StreamId(0), 0, 100), [(0, 20)]);
    contents.remove(&0);
    let mut reader = JournalReader::open(Memory::of(contents)).unwrap();
    assert_eq!(ranges(&mut reader, StreamId(0), 0, 100), [(10, 20)]);
}

/// Room for the header of the segment and for what is kept for the last records.
const LEAST: u64 = 44 + 4_096;

#[test]
fn exit_and_gap_are_recorded_on_a_disk_that_is_full_at_any_byte() {
    let (output, now) = (StreamId::STDOUT, Instant::now());
    // As much as fits beside what is kept for the exit, and more than the whole disk.
    let cases = [900, 9_000].map(|written| (LEAST..LEAST + 2_000).map(move |it| (written, it)));
    for (written, capacity) in cases.into_iter().flatten() {
        let disk = Memory::with_capacity(capacity);
        let mut writer = super::begin(disk.clone(), JournalLimits::one_segment());
        let step = written / 10;
        for from in (0..written).step_by(step as usize) {
            // What was refused before is offered again.
            let from = writer.end(output).min(from);
            let bytes = bytes_of(output, from, (from + step).min(written));
            let _ = writer.append(output, from, bytes, AT, now);
        }
        let kept = writer.end(output);
        assert_eq!(kept < written, writer.degraded().is_some(), "{capacity}");
        writer.use_reserve();
        writer
            .append_gap(output, written, "the disk is full", AT, now)
            .unwrap();
        let exit = Bytes::from(vec![b'x'; 300]);
        writer
            .append(StreamId::LIFECYCLE, 0, exit.clone(), AT, now)
            .unwrap();
        writer.sync(now).unwrap();
        drop(writer);
        let mut reader = JournalReader::open(disk).unwrap();
        let expected: &[_] = if kept > 0 { &[(0, kept)] } else { &[] };
        assert_eq!(
            ranges(&mut reader, output, 0, written as usize),
            expected,
            "{capacity}"
        );
        assert_eq!(reader.kept().unwrap()[&output].end, written);
        let read = reader.read(StreamId::LIFECYCLE, 0, 1_000).unwrap();
        let offset = 0;
        let bytes = exit;
        assert_eq!(read, Some(Piece::Bytes { offset, bytes }), "{capacity}");
        assert_eq!(reader.damage().len(), 0);
    }
}

#[test]
fn full_disk_with_new_space_is_written_again() {
    let (output, mut now) = (StreamId::STDOUT, Instant::now());
    let disk = Memory::with_capacity(LEAST + 200);
    let mut writer = super::begin(disk.clone(), JournalLimits::one_segment());
    let whole = bytes_of(output, 0, 500);
    let error = writer
        .append(output, 0, whole.clone(), AT, now)
        .unwrap_err();
    assert_eq!(error.kind, DegradedKind::Full);
    for capacity in [LEAST + 200, 1 << 20] {
        disk.set_capacity(capacity);
        now += JournalLimits::default().retry_after;
        writer.poll(now);
        assert_eq!(writer.degraded().is_some(), capacity < 1 << 20);
    }
    writer.append(output, 0, whole, AT, now).unwrap();
    assert_eq!(
        ranges(&mut JournalReader::open(disk).unwrap(), output, 0, 99),
        [(0, 500)]
    );
    let events: Vec<_> = std::iter::from_fn(|| writer.next_event()).collect();
    assert_eq!(
        events,
        [JournalEvent::Degraded(error), JournalEvent::Recovered]
    );
}
