//! The folded output of sessions, shared by concurrent requests and kept for the next ones.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use bowline_jsonl::{Framer, RawJson};
use bowline_reducer::dialect::{DialectName, recognize};
use bowline_reducer::{HostEvent, Meta, Transcript};
use bowline_transport::journal::{Arrival, Arrived, Damage, InputLines};
use bowline_transport::wire::Epoch;
use bowline_transport::{Piece, SessionId};
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;
use uuid::Uuid;

/// Maximum number of concurrent folds: half of the daemon's threads for blocking work, so that lists
/// and logs do not wait for them.
const MAX_FOLDS: usize = 2;

/// Maximum number of sessions whose fold is kept while no request uses it.
const MAX_IDLE: usize = 16;

/// Maximum bytes of output of all folds that are kept while no request uses them.
const MAX_IDLE_BYTES: u64 = 32 << 20;

/// Maximum KiB of output of all folds that requests use. A larger session is folded alone.
const MAX_USED_KIB: u32 = 96 << 10;

/// How long a request waits until others have finished with their folds.
const USE_TIMEOUT: Duration = Duration::from_secs(10);

/// A session's output, folded up to an offset.
#[derive(Debug)]
pub(crate) struct SessionFold {
    /// Distinguishes it from any other fold, whose revisions mean something else.
    pub(crate) instance: u64,
    pub(crate) epoch: Epoch,
    pub(crate) framer: Framer,
    pub(crate) transcript: Transcript,
    /// Offset of the next byte of output.
    pub(crate) next: u64,
    input: InputLines,
    /// Offset of the next byte of input.
    pub(crate) input_next: u64,
    /// When the last output arrived.
    at: Meta,
    /// Whether the agent's dialect is given or was recognized.
    has_dialect: bool,
    /// Whether the end of the child was folded.
    pub(crate) has_ended: bool,
    /// The damage of the journal that was folded.
    pub(crate) damage: Vec<Damage>,
}

impl SessionFold {
    /// Nothing of an incarnation of a child.
    pub(crate) fn new(epoch: Epoch, dialect: DialectName) -> Self {
        Self {
            instance: random_instance(),
            epoch,
            framer: Framer::default(),
            transcript: Transcript::with_dialect(dialect),
            next: 0,
            input: InputLines::default(),
            input_next: 0,
            at: Meta::default(),
            has_dialect: dialect != DialectName::default(),
            has_ended: false,
            damage: Vec::new(),
        }
    }

    /// Folds the next output.
    pub(crate) fn output(&mut self, Arrived { arrival, piece }: &Arrived) {
        self.at = meta(*arrival);
        match piece {
            Piece::Bytes { offset, bytes } => {
                self.framer.push(bytes.clone());
                self.next = offset + bytes.len() as u64;
            }
            &Piece::Gap { from, to } => {
                self.framer.skip_to(to);
                self.apply_lines();
                let gap = HostEvent::Gap { from, to };
                self.transcript.apply_host(gap, Meta::default());
                self.next = to;
            }
        }
        self.apply_lines();
    }

    /// Folds the lines of output that are complete.
    pub(crate) fn apply_lines(&mut self) {
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                if let Ok(event) = &item.event {
                    recognize_dialect(&mut self.transcript, &mut self.has_dialect, event.raw);
                }
                self.transcript.apply(&item, self.at);
            }
        }
    }

    /// Folds the next input.
    pub(crate) fn input(&mut self, input: &Arrived) {
        self.input_next = input.end();
        let Piece::Bytes { bytes, .. } = &input.piece else {
            return self.input.skip();
        };
        let (transcript, at) = (&mut self.transcript, meta(input.arrival));
        let has_dialect = &mut self.has_dialect;
        self.input.push(bytes, |line| {
            if let Some(line) = RawJson::parse(line) {
                recognize_dialect(transcript, has_dialect, line);
            }
            transcript.apply_input(line, at);
        });
    }
}

/// Returns a number that no other fold has, of this daemon or another one.
pub(crate) fn random_instance() -> u64 {
    Uuid::new_v4().as_u64_pair().1
}

/// Sets the dialect of a transcript by the first line that tells.
fn recognize_dialect(transcript: &mut Transcript, is_known: &mut bool, line: RawJson<'_>) {
    if !*is_known && let Some(dialect) = recognize([line]) {
        *is_known = true;
        if transcript.dialect() != dialect {
            transcript.set_dialect(dialect);
        }
    }
}

/// Returns the time of an arrival; 0 if it is unknown.
fn meta(arrival: Arrival) -> Meta {
    let at_ms = arrival.at_ms.unwrap_or(0);
    Meta { at_ms }
}

/// The fold of one session. Requests use it one after another.
#[derive(Debug, Default)]
pub(crate) struct CachedFold {
    /// `None` before the first request, and after a failed one.
    pub(crate) fold: AsyncMutex<Option<SessionFold>>,
    bytes: AtomicU64,
    /// The memory that all requests for this fold share.
    memory: Mutex<Weak<OwnedSemaphorePermit>>,
}

/// Keeps a fold in memory, and within the limit on the folds in use.
#[derive(Debug)]
pub(crate) struct FoldUse {
    _fold: Arc<CachedFold>,
    _memory: Arc<OwnedSemaphorePermit>,
}

impl CachedFold {
    /// Sets the number of bytes that the fold stands for.
    pub(crate) fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

/// The folds of sessions.
#[derive(Debug)]
pub(crate) struct TranscriptCache {
    /// With the number of the last request that used each.
    folds: Mutex<HashMap<SessionId, (u64, Arc<CachedFold>)>>,
    requests: AtomicU64,
    permits: Semaphore,
    /// One permit for each KiB of output.
    memory: Arc<Semaphore>,
}

impl Default for TranscriptCache {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            folds: Mutex::default(),
            requests: AtomicU64::new(0),
            permits: Semaphore::new(cores.min(MAX_FOLDS)),
            memory: Arc::new(Semaphore::new(MAX_USED_KIB as usize)),
        }
    }
}

impl TranscriptCache {
    /// Returns the fold of a session.
    pub(crate) fn get(&self, id: SessionId) -> Arc<CachedFold> {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let mut folds = self.folds.lock();
        let (used, fold) = folds.entry(id).or_default();
        *used = request;
        Arc::clone(fold)
    }

    /// Reserves memory for a fold of so many bytes of output, unless another request has. `None` if others
    /// use all of it for 10 s.
    pub(crate) async fn reserve(&self, fold: &Arc<CachedFold>, bytes: u64) -> Option<FoldUse> {
        let shared = fold.memory.lock().upgrade();
        let memory = match shared {
            Some(memory) => memory,
            None => {
                let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
                let kib = kib.clamp(1, MAX_USED_KIB);
                let permit = Arc::clone(&self.memory).acquire_many_owned(kib);
                let permit = Arc::new(timeout(USE_TIMEOUT, permit).await.ok()?.ok()?);
                *fold.memory.lock() = Arc::downgrade(&permit);
                permit
            }
        };
        Some(FoldUse {
            _fold: Arc::clone(fold),
            _memory: memory,
        })
    }

    /// Waits for one of the permits to fold; `None` never occurs while the daemon runs.
    pub(crate) async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    /// Drops the least recently used folds that exceed the limits and that no request uses.
    pub(crate) fn trim(&self) {
        let mut folds = self.folds.lock();
        let idle = folds
            .iter()
            .filter(|(_, (_, it))| Arc::strong_count(it) == 1);
        let bytes = |fold: &CachedFold| fold.bytes.load(Ordering::Relaxed);
        let mut idle: Vec<_> = idle
            .map(|(id, (used, it))| (*used, bytes(it), *id))
            .collect();
        idle.sort_unstable_by(|a, b| b.cmp(a));
        let mut total = 0;
        for (kept, (_, bytes, id)) in idle.into_iter().enumerate() {
            total += bytes;
            if kept >= MAX_IDLE || total > MAX_IDLE_BYTES {
                folds.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_folds_are_bounded() {
        let cache = TranscriptCache::default();
        let held = cache.get(SessionId::random());
        held.set_bytes(u64::MAX / 2);
        let large = SessionId::random();
        cache.get(large).set_bytes(MAX_IDLE_BYTES + 1);
        cache.trim();
        assert!(!cache.folds.lock().contains_key(&large));
        for _ in 0..3 * MAX_IDLE {
            cache.get(SessionId::random()).set_bytes(1);
            cache.trim();
        }
        assert_eq!(cache.folds.lock().len(), MAX_IDLE + 1, "one is in use");
    }

    #[tokio::test(start_paused = true)]
    async fn folds_in_use_are_bounded_and_shared() {
        let cache = TranscriptCache::default();
        let (one, other) = (SessionId::random(), SessionId::random());
        let (one, other) = (cache.get(one), cache.get(other));
        let first = cache.reserve(&one, u64::MAX).await.unwrap();
        let second = cache.reserve(&one, u64::MAX).await.unwrap();
        assert!(cache.reserve(&other, 1).await.is_none(), "all is in use");
        drop(first);
        assert!(cache.reserve(&other, 1).await.is_none());
        drop(second);
        assert!(cache.reserve(&other, 1).await.is_some());
    }
}
