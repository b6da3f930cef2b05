//! The task that reads a session's output, splits it into lines and derives the state.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_lifecycle::{Registration, TerminalRegistry, TerminalTag};
use bowline_transport::{ExitStatus, LogReader, Piece, Stream, TerminalSession};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep};
use tracing::{Span, info};

use super::log::{SessionExit, SessionLog};
use super::state::{Evidence, Foreground};
use super::{SessionState, ShellConfiguration};
use crate::line_buffer::{LineBuffer, LineLimits};
use crate::submit::{Activity, PasteMode};

/// Number of pieces processed before subscribers are woken.
const BATCH: usize = 32;

/// State shared by the reader and the handles.
#[derive(Debug, Default)]
pub(super) struct Shared {
    typed: Notify,
    lines: Mutex<LineBuffer>,
    /// Whether the caller has requested the end.
    is_ending: AtomicBool,
    /// Whether the caller detaches: the program continues.
    #[cfg(feature = "remote")]
    is_detached: AtomicBool,
}

impl Shared {
    pub(super) fn new(limits: LineLimits) -> Self {
        Self {
            typed: Notify::new(),
            lines: Mutex::new(LineBuffer::new(limits)),
            ..Self::default()
        }
    }

    /// Records that the caller has requested the end, which makes it expected.
    pub(super) fn expect_end(&self) {
        self.is_ending.store(true, Ordering::Release);
    }

    /// Records that the caller detaches, which is an expected end of this session alone.
    #[cfg(feature = "remote")]
    pub(super) fn expect_detach(&self) {
        self.is_detached.store(true, Ordering::Release);
        self.expect_end();
    }

    #[cfg(feature = "remote")]
    pub(super) fn is_detached(&self) -> bool {
        self.is_detached.load(Ordering::Acquire)
    }

    /// Reports input to the reader.
    pub(super) fn notify_typed(&self) {
        self.typed.notify_one();
    }

    pub(super) fn lines(&self) -> MutexGuard<'_, LineBuffer> {
        self.lines.lock()
    }
}

/// Ends the log when dropped, also if the reader's task is dropped with its runtime.
struct EndedLog(Arc<SessionLog>);

impl Drop for EndedLog {
    fn drop(&mut self) {
        self.0.end(SessionExit::default());
    }
}

pub(super) struct Reader {
    output: LogReader,
    /// `None` after the last handle was dropped.
    terminal: Option<TerminalSession>,
    log: Arc<SessionLog>,
    _end: EndedLog,
    shared: Arc<Shared>,
    registration: Registration,
    paste: PasteMode,
    activity: watch::Sender<Activity>,
    /// The time of the last output or input.
    last_activity: Instant,
    has_begun: bool,
    idle_after: Duration,
}

impl Reader {
    pub(super) fn new(
        terminal: &TerminalSession,
        configuration: &ShellConfiguration,
        log: &Arc<SessionLog>,
        shared: &Arc<Shared>,
    ) -> (Self, watch::Receiver<Activity>) {
        let (activity, watched) = watch::channel(Activity::default());
        let reader = Self {
            output: terminal.reader(Stream::Output),
            terminal: Some(terminal.clone()),
            log: Arc::clone(log),
            _end: EndedLog(Arc::clone(log)),
            shared: Arc::clone(shared),
            registration: TerminalRegistry::shared().register(terminal, TerminalTag::Shell),
            paste: PasteMode::default(),
            activity,
            last_activity: Instant::now(),
            has_begun: false,
            idle_after: configuration.idle_after,
        };
        (reader, watched)
    }

    pub(super) async fn run(mut self, mut dropped: oneshot::Receiver<()>) {
        let shared = Arc::clone(&self.shared);
        loop {
            let update_after = self.update_state();
            tokio::select! {
                piece = self.output.next() => match piece {
                    Some(piece) => self.process(piece),
                    None => break,
                },
                () = shared.typed.notified() => self.note_activity(),
                () = due(update_after) => {}
                _ = &mut dropped, if self.terminal.is_some() => self.terminal = None,
            }
        }
        self.finish(dropped).await;
    }

    fn note_activity(&mut self) {
        self.has_begun = true;
        self.last_activity = Instant::now();
    }

    /// Processes a piece and those that are ready, then wakes subscribers once.
    fn process(&mut self, first: Piece) {
        self.piece(first);
        for _ in 1..BATCH {
            let Some(piece) = self.output.try_next() else {
                break;
            };
            self.piece(piece);
        }
        self.note_activity();
        self.log.notify();
        let wants_paste = self.paste.is_on();
        self.activity.send_replace(Activity { wants_paste });
    }

    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Bytes { bytes, .. } => {
                self.registration.output(bytes.len());
                self.paste.push(&bytes);
                self.shared
                    .lines()
                    .push(&bytes, |line| self.log.push_line(line));
            }
            Piece::Gap { from, to } => {
                self.paste.gap();
                self.finish_line();
                self.log.push_gap(to - from);
            }
        }
    }

    fn finish_line(&self) {
        if let Some(line) = self.shared.lines().finish() {
            self.log.push_line(line);
        }
    }

    /// Derives the state. Returns the time after which it may change without output.
    fn update_state(&mut self) -> Option<Duration> {
        let silence = self.last_activity.elapsed();
        let is_silent = silence >= self.idle_after;
        let has_begun = self.has_begun;
        // Queried only when it matters: it is a system call.
        let foreground = if is_silent && has_begun {
            self.foreground()
        } else {
            Foreground::Unknown
        };
        let wants_paste = self.paste.is_on();
        let evidence = Evidence {
            has_begun,
            silence,
            foreground,
            wants_paste,
        };
        let state = evidence.state(self.idle_after);
        self.log.set_state(state);
        match state {
            SessionState::Active if is_silent => Some(self.idle_after),
            SessionState::Active => Some(self.idle_after.saturating_sub(silence)),
            _ => None,
        }
    }

    fn foreground(&self) -> Foreground {
        let terminal = self.terminal.as_ref();
        let group = terminal.and_then(|terminal| terminal.terminal_state()?.foreground);
        match (group, terminal.and_then(TerminalSession::pid)) {
            (Some(group), Some(own)) if group == own => Foreground::Own,
            (Some(_), Some(_)) => Foreground::Other,
            _ => Foreground::Unknown,
        }
    }

    async fn finish(mut self, mut dropped: oneshot::Receiver<()>) {
        self.finish_line();
        let status = match self.terminal.take() {
            // A program may close its terminal and keep running.
            Some(terminal) => tokio::select! {
                exit = terminal.exited() => exit.status,
                _ = &mut dropped => ExitStatus::Unknown,
            },
            None => ExitStatus::Unknown,
        };
        // Dropping the last handle requests the end, too.
        let expected =
            status == ExitStatus::Unknown || self.shared.is_ending.load(Ordering::Acquire);
        if let ExitStatus::Code(code) = status {
            Span::current().record("process.exit.code", code);
        }
        info!(expected, "shell ended");
        self.registration.exited(status, expected);
        // The registry is up to date before waiters learn of the end.
        drop(self.registration);
        self.log.end(status.into());
    }
}

async fn due(after: Option<Duration>) {
    match after {
        Some(after) => sleep(after).await,
        None => std::future::pending().await,
    }
}
