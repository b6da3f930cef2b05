//! The list of running terminals and of the last ones that ended.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use bowline_transport::SessionId;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::metrics::{Metrics, TurnCount};
use super::terminal::{RegisteredTerminal, TerminalTag, Tombstone};
use crate::attention::Attention;
use crate::error::DialogueError;
use crate::message::WeakDialogue;
use crate::permission::{PermissionAnswer, PermissionRecord};

/// Number of tombstones that are kept.
const MAX_TOMBSTONES: usize = 256;

/// A list of terminals. A terminal is listed while it runs; afterwards a tombstone records how it
/// ended. The list keeps no session alive.
///
/// A cheap handle; clones are handles of the same list.
///
/// # Example
///
/// ```
/// use bowline_lifecycle::{TerminalRegistry, TerminalTag};
///
/// let registry = TerminalRegistry::shared();
/// for terminal in registry.list() {
///     if terminal.tag == TerminalTag::AgentDialogue {
///         println!("{}, pid {:?}, {:?}", terminal.id, terminal.pid, terminal.connection());
///     }
/// }
/// for ended in registry.tombstones().iter().filter(|it| !it.expected) {
///     println!("{}: {}", ended.id, ended.reason);
/// }
/// println!("{} open permission requests", registry.open_permissions().len());
/// println!("{:?}", registry.metrics());
/// ```
#[derive(Clone, Default)]
pub struct TerminalRegistry {
    pub(super) inner: Arc<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    list: Mutex<List>,
    /// Changes with the permission requests and the attention of the sessions.
    pub(super) changed: watch::Sender<u64>,
    /// Outside of the lock, since each read counts them.
    pub(super) output_bytes: AtomicU64,
    pub(super) error_bytes: AtomicU64,
}

#[derive(Default)]
pub(super) struct List {
    running: BTreeMap<u64, RunningTerminal>,
    last_key: u64,
    tombstones: VecDeque<Tombstone>,
    pub(super) totals: Metrics,
    pub(super) turns: Vec<TurnCount>,
}

struct RunningTerminal {
    terminal: RegisteredTerminal,
    dialogue: Option<WeakDialogue>,
    attention: Option<Attention>,
}

/// A permission request with its session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionPermission {
    /// Id of the session.
    pub session: SessionId,
    /// The request.
    pub record: Arc<PermissionRecord>,
}

static SHARED: LazyLock<TerminalRegistry> = LazyLock::new(TerminalRegistry::default);

impl TerminalRegistry {
    /// Returns the registry of this process, which lists every dialogue, shell and executor.
    #[must_use]
    pub fn shared() -> &'static Self {
        &SHARED
    }

    /// Returns the running terminals, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<RegisteredTerminal> {
        let list = self.lock();
        let running = list.running.values();
        running.map(|it| it.terminal.clone()).collect()
    }

    /// Returns a running terminal.
    #[must_use]
    pub fn get(&self, id: SessionId) -> Option<RegisteredTerminal> {
        self.lock().find(id).map(|it| it.terminal.clone())
    }

    /// Returns how the last 256 terminals ended, the oldest first.
    #[must_use]
    pub fn tombstones(&self) -> Vec<Tombstone> {
        self.lock().tombstones.iter().cloned().collect()
    }

    /// Returns how a terminal ended, if it is one of the last 256.
    #[must_use]
    pub fn tombstone(&self, id: SessionId) -> Option<Tombstone> {
        let list = self.lock();
        list.tombstones.iter().rfind(|it| it.id == id).cloned()
    }

    /// Returns the permission requests of all running sessions, as
    /// [`DialogueSession::permissions`](crate::DialogueSession::permissions) of each.
    #[must_use]
    pub fn permissions(&self) -> Vec<SessionPermission> {
        let list = self.lock();
        let mut all = Vec::new();
        for (session, dialogue) in list.dialogues() {
            let records = dialogue.permissions();
            all.extend(records.iter().map(|record| SessionPermission {
                session,
                record: Arc::clone(record),
            }));
        }
        all
    }

    /// Returns the permission requests of all running sessions that wait for an answer.
    #[must_use]
    pub fn open_permissions(&self) -> Vec<SessionPermission> {
        let mut all = self.permissions();
        all.retain(|it| it.record.state.is_open());
        all
    }

    /// Answers a permission request of a session, in the name of the client `by`.
    ///
    /// # Errors
    ///
    /// The session does not run, or as
    /// [`DialogueSession::answer_permission`](crate::DialogueSession::answer_permission).
    pub async fn answer_permission(
        &self,
        session: SessionId,
        request_id: &str,
        answer: impl Into<PermissionAnswer>,
        by: Option<String>,
    ) -> Result<(), DialogueError> {
        let dialogue = self.lock().find(session).and_then(|it| it.dialogue.clone());
        let dialogue = dialogue.ok_or(DialogueError::Ended)?;
        dialogue
            .answer(request_id.to_owned(), answer.into(), by)
            .await
    }

    /// Returns what of each dialogue needs attention: of those that run, and of the last ones that ended. A session
    /// that the host left and attached to again is there once.
    #[must_use]
    pub fn attention(&self) -> Vec<(SessionId, Option<Attention>)> {
        let list = self.lock();
        let ended = list.tombstones.iter();
        let ended = ended.filter(|it| it.tag == TerminalTag::AgentDialogue);
        let ended = ended.map(|it| (it.id, it.attention.clone()));
        let running = list.running.values().filter(|it| it.dialogue.is_some());
        let running = running.map(|it| (it.terminal.id, it.attention.clone()));
        let newest: BTreeMap<_, _> = ended.chain(running).collect();
        newest.into_iter().collect()
    }

    /// Returns the number of turns that have ended, by agent and outcome.
    #[must_use]
    pub fn turns(&self) -> Vec<TurnCount> {
        self.lock().turns.clone()
    }

    /// Returns the counters of this process.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let list = self.lock();
        let open = |dialogue: &WeakDialogue| dialogue.permissions().open().count();
        Metrics {
            terminals: list.running.len(),
            dialogues: list.dialogues().count(),
            open_permissions: list.dialogues().map(|(_, it)| open(it)).sum(),
            output_bytes: self.inner.output_bytes.load(Ordering::Relaxed),
            error_bytes: self.inner.error_bytes.load(Ordering::Relaxed),
            ..list.totals
        }
    }

    /// Wakes the readers of inboxes.
    pub(super) fn note_change(&self) {
        self.inner.changed.send_modify(|it| *it += 1);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, List> {
        self.inner.list.lock()
    }
}

impl List {
    /// Lists a terminal and returns its key.
    pub(super) fn add(
        &mut self,
        terminal: RegisteredTerminal,
        dialogue: Option<WeakDialogue>,
    ) -> u64 {
        self.last_key += 1;
        self.totals.started += 1;
        let running = RunningTerminal {
            terminal,
            dialogue,
            attention: None,
        };
        self.running.insert(self.last_key, running);
        self.last_key
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<(RegisteredTerminal, Option<Attention>)> {
        let removed = self.running.remove(&key)?;
        Some((removed.terminal, removed.attention))
    }

    /// Records what of a dialogue needs attention. Returns whether that has changed.
    pub(super) fn set_attention(&mut self, key: u64, attention: Option<Attention>) -> bool {
        let Some(running) = self.running.get_mut(&key) else {
            return false;
        };
        let has_changed = running.attention != attention;
        running.attention = attention;
        has_changed
    }

    pub(super) fn add_tombstone(&mut self, tombstone: Tombstone) {
        self.totals.ended += 1;
        self.totals.unexpected_ends += u64::from(!tombstone.expected);
        if self.tombstones.len() >= MAX_TOMBSTONES {
            self.tombstones.pop_front();
        }
        self.tombstones.push_back(tombstone);
    }

    fn find(&self, id: SessionId) -> Option<&RunningTerminal> {
        self.running.values().find(|it| it.terminal.id == id)
    }

    fn dialogues(&self) -> impl Iterator<Item = (SessionId, &WeakDialogue)> {
        let running = self.running.values();
        running.filter_map(|it| Some((it.terminal.id, it.dialogue.as_ref()?)))
    }
}

impl fmt::Debug for TerminalRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalRegistry")
            .field("running", &self.list())
            .finish_non_exhaustive()
    }
}
