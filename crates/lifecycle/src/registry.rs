//! Every terminal of this process that holds an agent or a shell, in one list.

mod metrics;
mod registration;
mod terminal;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use bowline_transport::SessionId;

use crate::error::DialogueError;
use crate::permission::{PermissionAnswer, PermissionRecord};
use crate::session::WeakDialogue;

pub use self::metrics::Metrics;
pub use self::registration::Registration;
pub(crate) use self::terminal::describe;
pub use self::terminal::{RegisteredTerminal, TerminalTag, Tombstone};

use self::metrics::Totals;
pub(crate) use self::metrics::Used;

/// How many tombstones are kept: what ended long ago nobody asks for.
const TOMBSTONES: usize = 256;

/// Closed permission requests that are kept for each session.
const CLOSED_REQUESTS: usize = 256;

/// The list of terminals. A terminal is in it for as long as it lives; a tombstone then says how it
/// ended. It holds nothing alive.
///
/// A cheap handle; clones are handles of the same list.
#[derive(Clone, Default)]
pub struct TerminalRegistry {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    list: Mutex<List>,
    /// Apart from the list, since they are counted with each read.
    output_bytes: AtomicU64,
    error_bytes: AtomicU64,
}

#[derive(Default)]
struct List {
    live: BTreeMap<u64, Live>,
    births: u64,
    tombstones: VecDeque<Tombstone>,
    totals: Totals,
}

struct Live {
    terminal: RegisteredTerminal,
    dialogue: Option<WeakDialogue>,
    /// In the order of asking.
    permissions: Vec<Arc<PermissionRecord>>,
}

/// A permission request and the session that asks.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPermission {
    /// The session's terminal.
    pub session: SessionId,
    /// The request.
    pub record: Arc<PermissionRecord>,
}

static SHARED: LazyLock<TerminalRegistry> = LazyLock::new(TerminalRegistry::default);

impl TerminalRegistry {
    /// The registry of this process: every dialogue, shell and executor is in it.
    #[must_use]
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// The terminals that live, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<RegisteredTerminal> {
        self.lock()
            .live
            .values()
            .map(|live| live.terminal.clone())
            .collect()
    }

    /// One terminal, while it lives.
    #[must_use]
    pub fn get(&self, id: SessionId) -> Option<RegisteredTerminal> {
        self.lock().find(id).map(|live| live.terminal.clone())
    }

    /// How terminals ended, the oldest first; the last 256 of them.
    #[must_use]
    pub fn tombstones(&self) -> Vec<Tombstone> {
        self.lock().tombstones.iter().cloned().collect()
    }

    /// How a terminal ended, if it has and that was not too long ago.
    #[must_use]
    pub fn tombstone(&self, id: SessionId) -> Option<Tombstone> {
        let list = self.lock();
        list.tombstones.iter().rfind(|it| it.id == id).cloned()
    }

    /// The permission requests of all sessions that live, by session and in the order of asking:
    /// those that are open, and the last 256 of each session that are not.
    #[must_use]
    pub fn permissions(&self) -> Vec<SessionPermission> {
        let list = self.lock();
        let of = |live: &Live| {
            let session = live.terminal.id;
            let records = live.permissions.clone().into_iter();
            records.map(move |record| SessionPermission { session, record })
        };
        list.live.values().flat_map(of).collect()
    }

    /// The permission requests of all sessions that wait for an answer.
    #[must_use]
    pub fn open_permissions(&self) -> Vec<SessionPermission> {
        let mut all = self.permissions();
        all.retain(|it| it.record.state.is_open());
        all
    }

    /// Answers a permission request of any session, in the name of `by`.
    ///
    /// # Errors
    ///
    /// There is no such session any more, or as
    /// [`DialogueSession::answer_permission`](crate::DialogueSession::answer_permission).
    pub async fn answer_permission(
        &self,
        session: SessionId,
        request_id: &str,
        answer: impl Into<PermissionAnswer>,
        by: Option<String>,
    ) -> Result<(), DialogueError> {
        let dialogue = self
            .lock()
            .find(session)
            .and_then(|live| live.dialogue.clone());
        let dialogue = dialogue.ok_or(DialogueError::Ended)?;
        dialogue
            .answer(request_id.to_owned(), answer.into(), by)
            .await
    }

    /// What was counted since this process began.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let list = self.lock();
        let dialogues = list.live.values().filter(|it| it.dialogue.is_some());
        let open = list.live.values().flat_map(|it| &it.permissions);
        Metrics {
            terminals: list.live.len(),
            dialogues: dialogues.count(),
            open_permissions: open.filter(|it| it.state.is_open()).count(),
            output_bytes: self.inner.output_bytes.load(Ordering::Relaxed),
            error_bytes: self.inner.error_bytes.load(Ordering::Relaxed),
            ..list.totals.snapshot()
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.inner
            .list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    fn find(&self, id: SessionId) -> Option<&Live> {
        self.live.values().find(|live| live.terminal.id == id)
    }
}

impl fmt::Debug for TerminalRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalRegistry")
            .field("live", &self.list())
            .finish_non_exhaustive()
    }
}
