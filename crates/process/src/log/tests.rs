use proptest::prelude::*;

use super::*;

fn bytes(piece: Taken) -> (u64, Bytes) {
    match piece {
        Taken::Piece(Piece::Bytes { offset, bytes }) => (offset, bytes),
        other => panic!("expected bytes, got {other:?}"),
    }
}

#[test]
fn reader_gets_chunk_without_copy() {
    let mut log = Log::new(1024, Overflow::Block);
    let chunk = Bytes::from_static(b"hello");
    let address = chunk.as_ptr();
    let cursor = log.attach_oldest();
    log.push(chunk);
    let (offset, taken) = bytes(log.take(cursor));
    assert_eq!((offset, taken.as_ptr()), (0, address));
    assert_eq!(log.take(cursor), Taken::Pending);
    log.close();
    assert_eq!(log.take(cursor), Taken::Ended);
}

#[test]
fn received_chunk_keeps_no_read_buffer() {
    let mut log = Log::new(1 << 20, Overflow::DropOldest);
    let mut buffer = BytesMut::zeroed(128 << 10);
    let small = buffer.split_to(SHARED_BYTES - 1).freeze();
    drop(buffer);
    log.push_received(&small, false);
    assert!(small.is_unique());
    let large = Bytes::from(vec![1; SHARED_BYTES]);
    log.push_received(&large, false);
    assert!(!large.is_unique());
    assert_eq!(log.end, 2 * SHARED_BYTES as u64 - 1);
}

#[test]
fn block_waits_for_slowest_attached_reader() {
    let mut log = Log::new(128, Overflow::Block);
    let (fast, slow) = (log.attach_oldest(), log.attach_oldest());
    log.push(Bytes::from(vec![1; 128]));
    assert_eq!(log.room(), 0);
    bytes(log.take(fast));
    assert_eq!(log.room(), 0, "the slow reader still holds");
    log.detach(slow);
    assert_eq!(log.room(), 128);
    log.push(Bytes::from(vec![2; 100]));
    log.detach(fast);
    assert_eq!(log.room(), 28, "unread bytes are kept, read history is not");
}

#[test]
fn block_without_reader_fills_and_stops() {
    let mut log = Log::new(100, Overflow::Block);
    assert_eq!(log.room(), 100);
    log.push(Bytes::from(vec![1; 100]));
    assert_eq!(log.room(), 0);
    log.lift(10);
    assert_eq!(log.room(), 10);
}

#[tokio::test]
async fn observer_holds_nothing_back_and_gets_gaps() {
    let log = SharedLog::new(Log::new(100, Overflow::Block).with_history(30));
    let mut observer = log.observer_at(0);
    for chunk in 0..10 {
        assert_eq!(log.room(), 100, "the observer retains nothing");
        // As a child's reader does, which consumes the bytes itself.
        log.pass(&Bytes::from(vec![chunk; 20]));
    }
    assert_eq!(observer.next().await, Some(Piece::Gap { from: 0, to: 170 }));
    let (offset, tail) = (170, Bytes::from(vec![8; 10]));
    assert_eq!(
        observer.next().await,
        Some(Piece::Bytes {
            offset,
            bytes: tail
        })
    );
    // From any offset, the same bytes again.
    let mut late = log.observer_at(185);
    assert_eq!(
        late.next().await,
        Some(Piece::Bytes {
            offset: 185,
            bytes: Bytes::from(vec![9; 15])
        })
    );
    assert_eq!(observer.offset(), 180);
    let past = log.observer_at(1_000);
    assert_eq!(past.offset(), 200);
    log.close();
    assert_eq!(late.next().await, None);
}

#[tokio::test]
async fn waiting_observer_is_woken_by_passed_bytes() {
    let log = SharedLog::new(Log::new(100, Overflow::Block));
    let mut observer = log.observer_at(0);
    let reading = tokio::spawn(async move { (observer.next().await, observer.next().await) });
    tokio::task::yield_now().await;
    log.pass(&Bytes::from_static(b"x"));
    tokio::task::yield_now().await;
    log.close();
    let piece = Piece::Bytes {
        offset: 0,
        bytes: Bytes::from_static(b"x"),
    };
    assert_eq!(reading.await.unwrap(), (Some(piece), None));
}

#[test]
fn replayed_bytes_are_marked() {
    let mut log = Log::new(100, Overflow::DropOldest);
    let cursor = log.attach_oldest();
    log.push_as("old".into(), true);
    log.push_as("new".into(), false);
    assert!(log.is_replay(log.position(cursor)));
    assert_eq!(bytes(log.take(cursor)), (0, "old".into()));
    assert!(!log.is_replay(log.position(cursor)));
    assert_eq!(bytes(log.take(cursor)), (3, "new".into()));
    assert!(!log.is_replay(log.position(cursor)), "nothing has come");
}

#[test]
fn drop_oldest_reports_gap() {
    let mut log = Log::new(100, Overflow::DropOldest);
    let cursor = log.attach_oldest();
    log.push(Bytes::from(vec![1; 100]));
    log.push(Bytes::from(vec![2; 30]));
    assert_eq!(
        log.take(cursor),
        Taken::Piece(Piece::Gap { from: 0, to: 30 })
    );
    let (offset, taken) = bytes(log.take(cursor));
    assert_eq!((offset, taken.len()), (30, 70));
    assert_eq!(bytes(log.take(cursor)), (100, Bytes::from(vec![2; 30])));
}

#[test]
fn oversized_chunk_keeps_its_end() {
    let mut log = Log::new(4, Overflow::DropOldest);
    log.push(Bytes::from_static(b"abcdefgh"));
    let cursor = log.attach_oldest();
    assert_eq!(bytes(log.take(cursor)), (4, Bytes::from_static(b"efgh")));
}

#[test]
fn dropped_offset_is_gap_and_future_offset_waits() {
    let mut log = Log::new(4, Overflow::DropOldest);
    log.push(Bytes::from_static(b"abcdefgh"));
    let (old, ahead) = (log.attach(1), log.attach(99));
    assert_eq!(log.take(old), Taken::Piece(Piece::Gap { from: 1, to: 4 }));
    assert_eq!(log.take(ahead), Taken::Pending);
}

#[test]
fn single_byte_chunks_are_limited() {
    let mut dropping = Log::new(1280, Overflow::DropOldest);
    let mut blocking = Log::new(1280, Overflow::Block);
    for _ in 0..20 {
        dropping.push(Bytes::from_static(b"x"));
        blocking.push(Bytes::from_static(b"x"));
    }
    assert_eq!(blocking.room(), 0);
    dropping.push(Bytes::from_static(b"y"));
    assert_eq!((dropping.chunks.len(), dropping.start), (20, 1));
}

#[test]
fn without_history_unread_bytes_are_kept() {
    let mut log = Log::new(128, Overflow::Block).with_history(0);
    let (fast, slow) = (log.attach_oldest(), log.attach_oldest());
    log.push(Bytes::from(vec![1; 100]));
    bytes(log.take(fast));
    assert_eq!((log.start, log.chunks.len()), (0, 1));
    bytes(log.take(slow));
    assert_eq!((log.start, log.chunks.len()), (100, 0));
    log.push(Bytes::from(vec![2; 20]));
    log.detach(slow);
    assert_eq!(bytes(log.take(fast)), (100, Bytes::from(vec![2; 20])));
}

#[test]
fn passed_bytes_are_kept_for_attached_readers_only() {
    let mut log = Log::new(128, Overflow::Block).with_history(0);
    assert_eq!(log.pass(&Bytes::from(vec![1; 100])), Some(0));
    assert_eq!((log.room(), log.chunks.len()), (128, 0));
    let reader = log.attach(0);
    assert_eq!(
        log.take(reader),
        Taken::Piece(Piece::Gap { from: 0, to: 100 })
    );
    assert_eq!(log.pass(&Bytes::from(vec![2; 100])), Some(100));
    assert_eq!(
        log.room(),
        28,
        "an attached reader reduces the room for passed bytes"
    );
    assert_eq!(bytes(log.take(reader)).0, 100);
    assert_eq!((log.room(), log.start), (128, 200));
    log.close();
    assert_eq!(log.pass(&Bytes::from_static(b"late")), None);
}

#[test]
fn skipped_bytes_are_a_gap() {
    let mut log = Log::new(1000, Overflow::Block);
    log.begin_at(10);
    let reader = log.attach_oldest();
    log.push(Bytes::from_static(b"ab"));
    log.skip_to(20);
    log.skip_to(15);
    log.push(Bytes::from_static(b"cd"));
    log.begin_at(99);
    assert_eq!(bytes(log.take(reader)), (10, Bytes::from_static(b"ab")));
    let (from, to) = (12, 20);
    assert_eq!(log.take(reader), Taken::Piece(Piece::Gap { from, to }));
    assert_eq!(bytes(log.take(reader)), (20, Bytes::from_static(b"cd")));
    assert_eq!((log.take(reader), log.end()), (Taken::Pending, 22));
    let late = log.attach(15);
    let from = 15;
    assert_eq!(log.take(late), Taken::Piece(Piece::Gap { from, to }));
}

#[test]
fn gap_longer_than_capacity_drops_old_bytes() {
    let mut log = Log::new(10, Overflow::DropOldest);
    let reader = log.attach_oldest();
    log.push(Bytes::from_static(b"old"));
    log.skip_to(1 << 40);
    log.push(Bytes::from_static(b"new"));
    let mut at = 0;
    while let Taken::Piece(Piece::Gap { from, to }) = log.take(reader) {
        assert_eq!(from, at);
        at = to;
    }
    assert_eq!((at, log.end()), (1 << 40, (1 << 40) + 3));
    assert!(log.chunks.len() <= 2);
}

#[derive(Clone, Debug)]
enum Step {
    Pass(usize),
    Push(usize),
    Attach,
    Take(usize),
    Detach(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (1..200_usize).prop_map(Step::Push),
        2 => (1..200_usize).prop_map(Step::Pass),
        1 => Just(Step::Attach),
        4 => (0..4_usize).prop_map(Step::Take),
        1 => (0..4_usize).prop_map(Step::Detach),
    ];
    prop::collection::vec(step, 0..200)
}

/// Returns the byte that every log of these tests has at an offset.
fn byte_at(offset: u64) -> u8 {
    (offset % 251) as u8
}

struct Model {
    log: Log,
    readers: Vec<(Cursor, u64)>,
    gaps: bool,
}

impl Model {
    fn push(&mut self, length: usize) {
        let length = length.min(self.log.room());
        let from = self.log.end();
        let bytes: Vec<u8> = (from..from + length as u64).map(byte_at).collect();
        self.log.push(bytes.into());
    }

    fn pass(&mut self, length: usize) {
        let length = length.min(self.log.room());
        let from = self.log.end();
        let bytes: Vec<u8> = (from..from + length as u64).map(byte_at).collect();
        assert_eq!(self.log.pass(&bytes.into()), Some(from));
    }

    fn take(&mut self, reader: usize) {
        let Some((cursor, seen)) = self.readers.get_mut(reader) else {
            return;
        };
        match self.log.take(*cursor) {
            Taken::Piece(Piece::Bytes { offset, bytes }) => {
                assert_eq!(offset, *seen);
                let wanted = (offset..).map(byte_at).take(bytes.len());
                assert!(bytes.iter().copied().eq(wanted));
                *seen += bytes.len() as u64;
            }
            Taken::Piece(Piece::Gap { from, to }) => {
                assert!(self.gaps && from == *seen && to > from);
                *seen = to;
            }
            Taken::Pending => assert_eq!(*seen, self.log.end()),
            Taken::Ended => unreachable!("the model never closes the log"),
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Push(length) => self.push(length),
            Step::Pass(length) => self.pass(length),
            Step::Attach => {
                let cursor = self.log.attach_oldest();
                self.readers.push((cursor, self.log.start));
            }
            Step::Take(reader) => self.take(reader),
            Step::Detach(reader) if reader < self.readers.len() => {
                let (cursor, _) = self.readers.remove(reader);
                self.log.detach(cursor);
            }
            Step::Detach(_) => {}
        }
        let kept: usize = self
            .log
            .chunks
            .iter()
            .map(|chunk| chunk.length() as usize)
            .sum();
        assert_eq!(kept as u64, self.log.end - self.log.start);
        assert!(
            kept <= self.log.capacity,
            "memory stays within the capacity"
        );
    }
}

proptest! {
    #[test]
    fn every_byte_is_read_once_or_reported_as_gap(
        steps in steps(),
        blocks in any::<bool>(),
        history in prop_oneof![Just(0), 1..512_usize, Just(usize::MAX)],
    ) {
        let overflow = if blocks { Overflow::Block } else { Overflow::DropOldest };
        let log = Log::new(512, overflow).with_history(history);
        let mut model = Model { log, readers: Vec::new(), gaps: !blocks };
        for step in &steps {
            model.step(step);
        }
    }
}
