//! Where the changes of a session come from: the fold of its driver, or a fold of its log that is continued while
//! the session grows.

use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::DialogueSession;
use bowline_reducer::{ChangeParts, Cursor, Revision, Transcript};
use bowline_transport::SessionId;
use bowline_transport::wire::{
    Attach, AttachMode, DEFAULT_CREDIT, Lease, Message, SessionKind, StreamId,
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::cursor::Position;
use super::item::{PhaseView, ReadChanges, SessionHead, SessionPermission};
use crate::api::problem::Problem;
use crate::api::rest::{HeldFold, read_record, use_fold};
use crate::app_state::{AppState, CachedFold};
use crate::conversations::{ConversationError, is_driven};
use crate::session_fold::random_instance;
use crate::sessions::{SessionRecord, ShimLink, ShimLinkError, ShimStatus};
use crate::shim::SessionDir;

/// Maximum number of changes that are read at once.
pub(super) const BATCH: usize = 256;

/// Pause before a session is watched again after its connection was lost.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// Where the changes of a session come from.
#[derive(Debug)]
pub(super) enum Source {
    /// The daemon drives the session.
    Conversation {
        session: DialogueSession,
        instance: u64,
    },
    /// Another host drives the session, or did.
    Log(LogSource),
}

/// A fold of a session's log.
#[derive(Debug)]
pub(super) struct LogSource {
    app: Arc<AppState>,
    id: SessionId,
    /// Keeps the fold in memory.
    _cached: Arc<CachedFold>,
    /// The memory of an ended session is counted against the limit.
    held: Mutex<Option<HeldFold>>,
    growth: Growth,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) changes: NewChanges,
    /// Where the reader is afterwards.
    pub(super) to: Position,
    /// Whether nothing follows.
    pub(super) has_ended: bool,
}

/// What is new to a reader.
#[derive(Debug)]
pub(super) enum NewChanges {
    Some(ReadChanges),
    /// The whole transcript, since the reader's position is not in the history.
    Whole(Box<ChangeParts>),
}

/// The state of a session, without its content.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SessionState {
    pub(super) phase: PhaseView,
    pub(super) permissions: Vec<SessionPermission>,
}

impl SessionState {
    fn of(transcript: &Transcript, head: &SessionHead) -> Self {
        Self {
            phase: PhaseView::of(transcript),
            permissions: head.open_permissions(transcript),
        }
    }
}

impl Source {
    /// Opens a session. One that the daemon drives, or should, is driven from now on.
    pub(super) async fn open(app: &Arc<AppState>, record: &SessionRecord) -> Result<Self, Problem> {
        if record.shim == ShimStatus::Running && is_driven(&record.info.labels) {
            match app.conversations.attach(record.info.id).await {
                Ok(conversation) => {
                    return Ok(Self::Conversation {
                        session: conversation.session().clone(),
                        instance: random_instance(),
                    });
                }
                Err(ConversationError::Ended) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let id = record.info.id;
        Ok(Self::Log(LogSource {
            app: Arc::clone(app),
            id,
            _cached: app.transcripts.get(id),
            held: Mutex::default(),
            growth: Growth::watch(record),
        }))
    }

    /// Reads what changed since a position.
    pub(super) async fn read(&self, from: Position, head: &SessionHead) -> Result<Read, Problem> {
        let since = move |instance| (from.instance == instance).then_some(from.revision);
        match self {
            Self::Conversation { session, instance } => {
                // Before the read: what an ended session has is final.
                let has_ended = session.has_ended();
                let (changes, cursor) = read_conversation(session, since(*instance), head).await;
                Ok(Read {
                    changes,
                    to: position(*instance, cursor),
                    has_ended,
                })
            }
            Self::Log(log) => {
                let head = head.clone();
                log.read(move |instance, has_ended, transcript| {
                    let (changes, cursor) = read_transcript(transcript, since(instance), &head);
                    Read {
                        changes,
                        to: position(instance, cursor),
                        has_ended,
                    }
                })
                .await
            }
        }
    }

    /// Reads the state, the position at which it holds, and whether it is final.
    pub(super) async fn state(
        &self,
        head: &SessionHead,
    ) -> Result<(SessionState, Position, bool), Problem> {
        match self {
            Self::Conversation { session, instance } => {
                let has_ended = session.has_ended();
                let newest = session.inspect(Transcript::revision).await;
                let head = head.clone();
                let read = session.changes_up_to(Cursor::at(newest), 1, move |changes| {
                    let transcript = changes.transcript();
                    (SessionState::of(transcript, &head), transcript.revision())
                });
                let (_, (state, revision)) = read.await;
                Ok((state, position(*instance, Cursor::at(revision)), has_ended))
            }
            Self::Log(log) => {
                let head = head.clone();
                log.read(move |instance, has_ended, transcript| {
                    let newest = Cursor::at(transcript.revision());
                    // A later change of what is logged already gets a newer revision.
                    transcript.changes_up_to(newest, 1);
                    let state = SessionState::of(transcript, &head);
                    (state, position(instance, newest), has_ended)
                })
                .await
            }
        }
    }

    /// Returns whether nothing follows what was read.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Conversation { session, .. } => session.has_ended(),
            Self::Log(log) => log.held.lock().is_some(),
        }
    }

    /// Returns a number that changes when there may be more to read.
    pub(super) fn growth(&self) -> u64 {
        match self {
            Self::Conversation { session, .. } => session.revision().number(),
            Self::Log(log) => *log.growth.seen.borrow(),
        }
    }

    /// Waits until there may be more than at a position, or the session has ended.
    pub(super) async fn changed(&self, from: Position, growth: u64) {
        match self {
            Self::Conversation { session, .. } => {
                let revision = Cursor::from_number(from.revision).revision();
                session.changed_since(revision).await;
            }
            Self::Log(log) => {
                let mut seen = log.growth.seen.clone();
                if seen.wait_for(|it| *it != growth).await.is_err() {
                    // Nothing more grows.
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

fn position(instance: u64, cursor: Cursor) -> Position {
    Position {
        instance,
        revision: Revision::number(cursor.revision()),
    }
}

async fn read_conversation(
    session: &DialogueSession,
    since: Option<u64>,
    head: &SessionHead,
) -> (NewChanges, Cursor) {
    if let Some(since) = since {
        let head = head.clone();
        let read = session.changes_up_to(Cursor::from_number(since), BATCH, move |changes| {
            (!changes.is_reset()).then(|| ReadChanges::of(changes, &head))
        });
        if let (cursor, Some(read)) = read.await {
            return (NewChanges::Some(read), cursor);
        }
    }
    let parts = session.change_parts().await;
    let cursor = parts.cursor();
    (NewChanges::Whole(Box::new(parts)), cursor)
}

fn read_transcript(
    transcript: &mut Transcript,
    since: Option<u64>,
    head: &SessionHead,
) -> (NewChanges, Cursor) {
    if let Some(since) = since {
        let changes = transcript.changes_up_to(Cursor::from_number(since), BATCH);
        if !changes.is_reset() {
            let read = ReadChanges::of(&changes, head);
            return (NewChanges::Some(read), changes.cursor());
        }
    }
    let parts = transcript.change_parts();
    let cursor = parts.cursor();
    (NewChanges::Whole(Box::new(parts)), cursor)
}

impl LogSource {
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(u64, bool, &mut Transcript) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let record = read_record(&self.app, self.id).await?;
        let read = use_fold(&self.app, record, move |fold| {
            let (instance, has_ended) = (fold.instance, fold.has_ended);
            (read(instance, has_ended, &mut fold.transcript), has_ended)
        });
        let ((value, has_ended), held) = read.await?;
        if has_ended {
            *self.held.lock() = Some(held);
        }
        Ok(value)
    }
}

/// Watches a session grow.
#[derive(Debug)]
struct Growth {
    seen: watch::Receiver<u64>,
    _task: Option<AbortOnDropHandle<()>>,
}

impl Growth {
    /// Watches a session, if its child runs.
    fn watch(record: &SessionRecord) -> Self {
        let (sender, seen) = watch::channel(0);
        let is_running = record.shim == ShimStatus::Running;
        let folder = record.session.clone();
        let watch = is_running.then(|| tokio::spawn(watch(folder, record.info.kind, sender)));
        Self {
            seen,
            _task: watch.map(AbortOnDropHandle::new),
        }
    }
}

/// Counts what a session's process sends, until the session has ended.
async fn watch(folder: SessionDir, kind: SessionKind, grown: watch::Sender<u64>) {
    while let Err(error) = watch_once(&folder, kind, &grown).await {
        tracing::debug!(session.id = %folder.id(), %error, "watching the session again");
        // A reader finds out whether the session has ended.
        grown.send_modify(|it| *it += 1);
        sleep(RECONNECT_PAUSE).await;
        if folder.connect().await.is_err() {
            break;
        }
    }
    grown.send_modify(|it| *it += 1);
    // The sender is kept while there are receivers, which would fail without it.
    grown.closed().await;
}

async fn watch_once(
    folder: &SessionDir,
    kind: SessionKind,
    grown: &watch::Sender<u64>,
) -> Result<(), ShimLinkError> {
    let mut link = ShimLink::open(folder).await?;
    let streams: &[StreamId] = match kind {
        SessionKind::Dialogue => &[StreamId::STDOUT, StreamId::TTY, StreamId::INPUT],
        SessionKind::Terminal => &[],
    };
    link.attach(Attach {
        session: folder.id(),
        epoch: None,
        cursors: streams.iter().map(|stream| (*stream, 0)).collect(),
        mode: AttachMode::Tail,
        lease: Lease::Read,
        resume_generation: None,
        size: None,
        credit: DEFAULT_CREDIT,
        client: "runner: events".to_owned(),
    })
    .await?;
    // Earlier output is not sent.
    grown.send_modify(|it| *it += 1);
    loop {
        match link.next().await? {
            Message::Data { stream, bytes, .. } => {
                let n = bytes.len() as u64;
                link.queue(Message::Credit { stream, n });
                grown.send_modify(|it| *it += 1);
            }
            Message::Gap { .. } => grown.send_modify(|it| *it += 1),
            Message::Exit(_) => return Ok(()),
            _ => {}
        }
    }
}

/// Waits until the child of a session that is no dialogue has exited, or its process is gone.
pub(super) async fn wait_for_exit(folder: &SessionDir) {
    let (grown, _seen) = watch::channel(0);
    loop {
        match watch_once(folder, SessionKind::Terminal, &grown).await {
            Ok(()) => return,
            Err(_) => sleep(RECONNECT_PAUSE).await,
        }
        if folder.connect().await.is_err() {
            return;
        }
    }
}
