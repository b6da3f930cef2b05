//! What is made of the output of sessions, shared by concurrent requests and kept for the next ones.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use bowline_transport::SessionId;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::session_fold::SessionFold;

/// Maximum number of concurrent folds: half of the daemon's threads for blocking work, so that lists
/// and logs do not wait for them.
const MAX_FOLDS: usize = 2;

/// What is kept while no request uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleLimits {
    /// Maximum number of sessions.
    pub(crate) sessions: usize,
    /// Maximum memory of all of them, roughly, in bytes.
    pub(crate) bytes: u64,
}

impl Default for IdleLimits {
    fn default() -> Self {
        Self {
            sessions: 16,
            bytes: 32 << 20,
        }
    }
}

/// Maximum KiB of output of all folds that requests use. A larger session is folded alone.
const MAX_USED_KIB: u32 = 96 << 10;

/// How long a request waits until others have finished with their folds.
const USE_TIMEOUT: Duration = Duration::from_secs(10);

/// The fold of one session. Requests use it one after another.
#[derive(Debug)]
pub(crate) struct CachedFold<F = SessionFold> {
    /// `None` before the first request, and after a failed one.
    pub(crate) fold: AsyncMutex<Option<F>>,
    bytes: AtomicU64,
    /// The memory that all requests for this fold share.
    memory: Mutex<Weak<OwnedSemaphorePermit>>,
}

impl<F> Default for CachedFold<F> {
    fn default() -> Self {
        Self {
            fold: AsyncMutex::new(None),
            bytes: AtomicU64::new(0),
            memory: Mutex::default(),
        }
    }
}

/// Keeps a fold in memory, and within the limit on the folds in use.
#[derive(Debug)]
pub(crate) struct FoldUse<F = SessionFold> {
    _fold: Arc<CachedFold<F>>,
    _memory: Arc<OwnedSemaphorePermit>,
}

impl<F> CachedFold<F> {
    /// Sets the memory that the fold takes up, roughly, in bytes.
    pub(crate) fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

/// A fold, with the number of the last request that used it.
type UsedFold<F> = (u64, Arc<CachedFold<F>>);

/// The folds of sessions, or what else is made of their output.
#[derive(Debug)]
pub(crate) struct FoldCache<F = SessionFold> {
    folds: Mutex<HashMap<SessionId, UsedFold<F>>>,
    idle: IdleLimits,
    requests: AtomicU64,
    permits: Semaphore,
    /// One permit for each KiB of output.
    memory: Arc<Semaphore>,
}

impl<F> Default for FoldCache<F> {
    fn default() -> Self {
        Self::new(IdleLimits::default())
    }
}

impl<F> FoldCache<F> {
    /// Creates an empty cache.
    pub(crate) fn new(idle: IdleLimits) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            folds: Mutex::default(),
            idle,
            requests: AtomicU64::new(0),
            permits: Semaphore::new(cores.min(MAX_FOLDS)),
            memory: Arc::new(Semaphore::new(MAX_USED_KIB as usize)),
        }
    }

    /// Returns the fold of a session.
    pub(crate) fn get(&self, id: SessionId) -> Arc<CachedFold<F>> {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let mut folds = self.folds.lock();
        let (used, fold) = folds.entry(id).or_default();
        *used = request;
        Arc::clone(fold)
    }

    /// Reserves memory for a fold of this number of bytes of output, unless another request has. `None` if others
    /// use all of it for 10 s.
    pub(crate) async fn reserve(
        &self,
        fold: &Arc<CachedFold<F>>,
        bytes: u64,
    ) -> Option<FoldUse<F>> {
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
        let bytes = |fold: &CachedFold<F>| fold.bytes.load(Ordering::Relaxed);
        let mut idle: Vec<_> = idle
            .map(|(id, (used, it))| (*used, bytes(it), *id))
            .collect();
        idle.sort_unstable_by(|a, b| b.cmp(a));
        let mut total = 0;
        for (kept, (_, bytes, id)) in idle.into_iter().enumerate() {
            total += bytes;
            if kept >= self.idle.sessions || total > self.idle.bytes {
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
        let cache = FoldCache::<()>::default();
        let held = cache.get(SessionId::random());
        held.set_bytes(u64::MAX / 2);
        let large = SessionId::random();
        cache.get(large).set_bytes(cache.idle.bytes + 1);
        cache.trim();
        assert!(!cache.folds.lock().contains_key(&large));
        for _ in 0..3 * cache.idle.sessions {
            cache.get(SessionId::random()).set_bytes(1);
            cache.trim();
        }
        assert_eq!(
            cache.folds.lock().len(),
            cache.idle.sessions + 1,
            "one is in use"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn folds_in_use_are_bounded_and_shared() {
        let cache = FoldCache::<()>::default();
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
