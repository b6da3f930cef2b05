//! The events of one session. Readers at the same position share what was read: the fold is read once, and its
//! changes are written as JSON once.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;

use super::cursor::Position;
use super::event::WrittenItems;
use super::item::{Item, SessionHead, part_items};
use super::source::{BATCH, NewChanges, SessionState, Source};
use super::whole::{WholeReader, WholeTranscript};
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::sessions::{SessionRecord, summary_of};

/// Maximum bytes of JSON that are kept for slower readers, for each reader.
const MAX_RECENT_BYTES: usize = 256 << 10;

/// Maximum number of readers for which bytes are kept.
const MAX_RECENT_READERS: usize = 16;

/// Minimum time between two publications of a session, so that changes are coalesced.
pub(super) const PACE: Duration = Duration::from_millis(10);

/// What each further reader adds to the time between two batches. A batch costs a write for each reader, so that the writes in a
/// second stay bounded.
const PACE_OF_READER: Duration = Duration::from_micros(400);

/// Maximum time between two batches.
const MAX_PACE: Duration = Duration::from_millis(100);

/// The events of one session.
#[derive(Debug)]
pub(super) struct SessionFeed {
    pub(super) head: SessionHead,
    app: Arc<AppState>,
    source: Source,
    recent: Mutex<Recent>,
    /// Held by the reader that reads the source for all.
    reading: AsyncMutex<()>,
    readers: AtomicUsize,
}

/// A feed that is read, for as long as this value exists.
#[derive(Debug)]
pub(super) struct ReadFeed(Arc<SessionFeed>);

/// Events that follow each other.
#[derive(Debug)]
pub(super) struct Batch {
    from: Position,
    pub(super) to: Position,
    pub(super) written: WrittenItems,
}

/// What follows a position.
#[derive(Debug)]
pub(super) enum Next {
    Batch(Arc<Batch>),
    /// The position is not in the history: everything follows.
    Whole(WholeReader),
    /// Nothing at present. The number is for [`SessionFeed::changed`].
    Nothing(u64),
    /// Nothing any more.
    End,
}

impl SessionFeed {
    /// Opens a session.
    pub(super) async fn open(app: &Arc<AppState>, record: &SessionRecord) -> Result<Self, Problem> {
        Ok(Self {
            head: SessionHead::of(&summary_of(record)),
            app: Arc::clone(app),
            source: Source::open(app, record).await?,
            recent: Mutex::default(),
            reading: AsyncMutex::default(),
            readers: AtomicUsize::new(0),
        })
    }

    /// Returns what follows a position. Cancel safe.
    pub(super) async fn next(&self, from: Position) -> Result<Next, Problem> {
        if let Some(known) = self.known(from) {
            return Ok(known);
        }
        let _reading = self.reading.lock().await;
        if let Some(known) = self.known(from) {
            return Ok(known);
        }
        let growth = self.source.growth();
        self.app.metrics.event_reads.add(1);
        let read = self.source.read(from, &self.head).await?;
        let to = read.to;
        let items = match read.changes {
            NewChanges::Some(read_changes) if read_changes.is_empty() => {
                self.recent.lock().nothing = Some((from, growth));
                return Ok(match read.has_ended {
                    true => Next::End,
                    false => Next::Nothing(growth),
                });
            }
            NewChanges::Some(changes) => changes.items(&self.head),
            NewChanges::Whole(parts) if parts.count() > BATCH => {
                let whole = WholeTranscript::new(*parts, to);
                return Ok(Next::Whole(self.recent.lock().begin(whole, to)));
            }
            // A small transcript is shared as a batch.
            NewChanges::Whole(parts) => part_items(&parts, 0, BATCH, &self.head),
        };
        let batch = Arc::new(Batch::new(from, to, items));
        self.recent.lock().push(&batch, self.recent_limit());
        Ok(Next::Batch(batch))
    }

    /// Returns what follows a position, if another reader has read it.
    fn known(&self, from: Position) -> Option<Next> {
        let recent = self.recent.lock();
        if let Some(batch) = recent.after(from) {
            return Some(Next::Batch(batch));
        }
        if let Some(whole) = recent.begun(from) {
            return Some(Next::Whole(whole));
        }
        let growth = self.source.growth();
        let is_nothing = recent.nothing == Some((from, growth)) && !self.source.has_ended();
        is_nothing.then_some(Next::Nothing(growth))
    }

    /// Returns how many bytes are kept for slower readers.
    pub(super) fn recent_limit(&self) -> usize {
        let readers = self.readers.load(Ordering::Relaxed);
        MAX_RECENT_BYTES * readers.clamp(1, MAX_RECENT_READERS)
    }

    /// Returns the least time between two batches for a reader, so that changes are coalesced.
    pub(super) fn pace(&self) -> Duration {
        pace_of(self.readers.load(Ordering::Relaxed))
    }

    /// Waits until something may follow a position, or the session has ended.
    pub(super) async fn changed(&self, from: Position, growth: u64) {
        self.source.changed(from, growth).await;
    }

    /// Returns whether the session is to be opened again: its driver has stopped, and another one or its log continues.
    pub(super) fn is_outdated(&self, record: &SessionRecord) -> bool {
        match &self.source {
            Source::Conversation { session, .. } => session.has_ended() || record.has_ended(),
            Source::Log(_) => self.has_ended() && !record.has_ended(),
        }
    }

    /// Returns whether nothing follows what was read.
    pub(super) fn has_ended(&self) -> bool {
        self.source.has_ended()
    }

    /// Returns the state, the position at which it holds, whether it is final, and a number for
    /// [`changed`](Self::changed).
    pub(super) async fn state(&self) -> Result<(SessionState, Position, bool, u64), Problem> {
        let growth = self.source.growth();
        let (state, position, has_ended) = self.source.state(&self.head).await?;
        Ok((state, position, has_ended, growth))
    }
}

fn pace_of(readers: usize) -> Duration {
    let others = u32::try_from(readers.saturating_sub(1)).unwrap_or(u32::MAX);
    let pace = PACE.saturating_add(PACE_OF_READER.saturating_mul(others));
    pace.min(MAX_PACE)
}

impl ReadFeed {
    pub(super) fn new(feed: Arc<SessionFeed>) -> Self {
        feed.readers.fetch_add(1, Ordering::Relaxed);
        Self(feed)
    }
}

impl Deref for ReadFeed {
    type Target = SessionFeed;

    fn deref(&self) -> &SessionFeed {
        &self.0
    }
}

impl Drop for ReadFeed {
    fn drop(&mut self) {
        self.readers.fetch_sub(1, Ordering::Relaxed);
        self.recent.lock().trim(self.recent_limit());
    }
}

impl Batch {
    fn new(from: Position, to: Position, items: Vec<Item>) -> Self {
        Self {
            from,
            to,
            written: WrittenItems::new(items, from, to),
        }
    }

    const fn bytes(&self) -> usize {
        self.written.bytes
    }
}

/// The last batches, each of which follows the one before.
#[derive(Debug, Default)]
struct Recent {
    batches: VecDeque<Arc<Batch>>,
    /// Where the last one ends.
    end: Position,
    bytes: usize,
    /// The last one that was too large to keep, while a reader has it.
    large: Weak<Batch>,
    /// The whole transcript up to the beginning of one of them, or to their end.
    whole: Option<Arc<Batch>>,
    /// The last one that was too long for a batch, while a reader has it.
    beginning: Weak<WholeTranscript>,
    /// Where nothing followed, and how far the session had grown then.
    nothing: Option<(Position, u64)>,
}

impl Recent {
    /// Returns the batch that follows a position, if it is kept.
    fn after(&self, from: Position) -> Option<Arc<Batch>> {
        let large = self.large.upgrade();
        let is_known = from.instance == self.end.instance;
        if !is_known {
            let is_whole = |it: &Arc<Batch>| it.from.instance != it.to.instance;
            return self.whole.clone().or_else(|| large.filter(is_whole));
        }
        // Each follows the one before.
        let at = self
            .batches
            .binary_search_by_key(&from.revision, |it| it.from.revision);
        let kept = at.ok().and_then(|at| self.batches.get(at).cloned());
        kept.or_else(|| large.filter(|it| it.from == from))
    }

    /// Returns a reader of the whole transcript that others read, if a position is of another fold.
    fn begun(&self, from: Position) -> Option<WholeReader> {
        if from.instance == self.end.instance {
            return None;
        }
        let whole = self.beginning.upgrade();
        let whole = whole.filter(|it| it.leads_to(self.end));
        whole.map(WholeReader::new)
    }

    /// Returns a reader of a whole transcript that ends at a position: of the one that others read, if that is new
    /// enough.
    fn begin(&mut self, new: WholeTranscript, to: Position) -> WholeReader {
        if to.instance != self.end.instance {
            self.restart(to);
        }
        let begun = self.beginning.upgrade().filter(|it| it.leads_to(to));
        let whole = begun.unwrap_or_else(|| Arc::new(new));
        self.beginning = Arc::downgrade(&whole);
        WholeReader::new(whole)
    }

    fn push(&mut self, batch: &Arc<Batch>, limit: usize) {
        if batch.bytes() > MAX_RECENT_BYTES {
            self.large = Arc::downgrade(batch);
            return;
        }
        if batch.from.instance != batch.to.instance {
            self.whole = Some(Arc::clone(batch));
            if batch.to != self.end {
                self.restart(batch.to);
            }
            return;
        }
        if batch.from != self.end {
            // A slower reader.
            if batch.to.instance == self.end.instance && batch.to.revision <= self.end.revision {
                return;
            }
            self.restart(batch.from);
        }
        self.end = batch.to;
        self.bytes += batch.bytes();
        self.batches.push_back(Arc::clone(batch));
        self.trim(limit);
    }

    /// Forgets the oldest batches over the limit.
    fn trim(&mut self, limit: usize) {
        while self.bytes > limit
            && let Some(oldest) = self.batches.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.forget_whole_before(oldest.to);
        }
    }

    fn restart(&mut self, end: Position) {
        self.batches.clear();
        self.bytes = 0;
        self.end = end;
        self.forget_whole_before(end);
    }

    /// Forgets the whole transcript if what follows it is not kept.
    fn forget_whole_before(&mut self, start: Position) {
        let is_before =
            |it: &Arc<Batch>| it.to.instance != start.instance || it.to.revision < start.revision;
        if self.whole.as_ref().is_some_and(is_before) {
            self.whole = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(revision: u64) -> Position {
        Position {
            instance: 1,
            revision,
        }
    }

    fn batch(from: Position, to: Position, bytes: usize) -> Arc<Batch> {
        Arc::new(Batch::new(from, to, vec![Item::blank(bytes)]))
    }

    fn ends(recent: &Recent, from: Position) -> Option<u64> {
        recent.after(from).map(|it| it.to.revision)
    }

    #[test]
    fn reader_finds_what_another_has_read() {
        let mut recent = Recent::default();
        let whole = batch(Position::default(), at(5), 1);
        recent.push(&whole, MAX_RECENT_BYTES);
        assert_eq!(ends(&recent, Position::default()), Some(5));
        assert_eq!(ends(&recent, at(5)), None);
        recent.push(&batch(at(5), at(9), 1), MAX_RECENT_BYTES);
        recent.push(&batch(at(9), at(10), 1), MAX_RECENT_BYTES);
        assert_eq!(ends(&recent, at(5)), Some(9));
        assert_eq!(ends(&recent, at(9)), Some(10));
        assert_eq!(
            ends(&recent, Position::default()),
            Some(5),
            "and goes on from there"
        );
        assert_eq!(ends(&recent, at(7)), None, "not the beginning of a batch");
    }

    #[test]
    fn reader_behind_the_others_changes_nothing_for_them() {
        let mut recent = Recent::default();
        recent.push(&batch(Position::default(), at(5), 1), MAX_RECENT_BYTES);
        recent.push(&batch(at(5), at(9), 1), MAX_RECENT_BYTES);
        recent.push(&batch(at(2), at(9), 1), MAX_RECENT_BYTES);
        assert_eq!(ends(&recent, at(2)), None);
        assert_eq!(ends(&recent, at(5)), Some(9));
        // One that is ahead is where they will be.
        recent.push(&batch(at(12), at(20), 1), MAX_RECENT_BYTES);
        assert_eq!(ends(&recent, at(12)), Some(20));
        assert_eq!(ends(&recent, at(5)), None);
        assert_eq!(ends(&recent, Position::default()), None);
    }

    #[test]
    fn kept_bytes_are_bounded() {
        let mut recent = Recent::default();
        recent.push(&batch(Position::default(), at(0), 1), MAX_RECENT_BYTES);
        for n in 0..10 {
            recent.push(
                &batch(at(n), at(n + 1), MAX_RECENT_BYTES / 3),
                MAX_RECENT_BYTES,
            );
        }
        assert_eq!(recent.batches.len(), 3);
        assert_eq!(ends(&recent, at(7)), Some(8));
        assert_eq!(ends(&recent, at(6)), None);
        assert_eq!(
            ends(&recent, Position::default()),
            None,
            "what follows it is gone"
        );
    }

    #[test]
    fn readers_that_leave_take_their_bytes_along() {
        let mut recent = Recent::default();
        recent.push(&batch(Position::default(), at(0), 1), MAX_RECENT_BYTES);
        for n in 0..10 {
            let batch = batch(at(n), at(n + 1), MAX_RECENT_BYTES);
            recent.push(&batch, 4 * MAX_RECENT_BYTES);
        }
        assert_eq!(recent.batches.len(), 4);
        recent.trim(MAX_RECENT_BYTES);
        assert_eq!(recent.batches.len(), 1);
        assert_eq!(ends(&recent, at(9)), Some(10));
    }

    #[test]
    fn pace_bounds_writes_of_many_readers() {
        assert_eq!(pace_of(1), PACE);
        assert!(pace_of(5) < 2 * PACE, "a few readers are as good as one");
        let writes = |readers| readers as f64 / pace_of(readers).as_secs_f64();
        for readers in 1..=200 {
            assert!(writes(readers) < 2500.0, "{readers}");
        }
        assert_eq!(pace_of(usize::MAX), MAX_PACE);
    }

    #[test]
    fn readers_of_another_fold_begin_together() {
        let mut recent = Recent::default();
        let whole = || {
            let parts = bowline_reducer::Transcript::new().change_parts();
            WholeTranscript::new(parts, at(5))
        };
        assert!(recent.begun(Position::default()).is_none());
        let first = recent.begin(whole(), at(5));
        let second = recent.begun(Position::default()).expect("it is read");
        assert!(first.is_with(&second));
        assert!(first.is_with(&recent.begin(whole(), at(5))));
        assert!(recent.begun(at(3)).is_none(), "a position of the fold");
        drop((first, second));
        assert!(recent.begun(Position::default()).is_none());
    }

    #[test]
    fn large_batch_is_kept_while_a_reader_has_it() {
        let mut recent = Recent::default();
        recent.push(&batch(Position::default(), at(1), 1), MAX_RECENT_BYTES);
        let large = batch(at(1), at(2), MAX_RECENT_BYTES + 1);
        recent.push(&large, MAX_RECENT_BYTES);
        assert_eq!(ends(&recent, at(1)), Some(2));
        assert_eq!(ends(&recent, Position::default()), Some(1));
        drop(large);
        assert_eq!(ends(&recent, at(1)), None);
        let whole = batch(Position::default(), at(9), MAX_RECENT_BYTES + 1);
        let mut recent = Recent::default();
        recent.push(&whole, MAX_RECENT_BYTES);
        assert_eq!(ends(&recent, Position::default()), Some(9));
        drop(whole);
        assert_eq!(ends(&recent, Position::default()), None);
    }
}
