//! The one task that reads a shell session's output: makes lines of it, and derives the state.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_lifecycle::{Registration, TerminalRegistry, TerminalTag};
use bowline_transport::{ExitStatus, LogReader, Piece, Stream, TerminalSession};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep};

use super::log::SessionLog;
use super::state::{Evidence, Foreground};
use super::{SessionState, ShellConfiguration};
use crate::line_buffer::{LineBuffer, LineLimits};
use crate::submit::{Activity, PasteMode};

/// Pieces that are taken before subscribers are woken. A program that floods is told in bursts.
const BURST: usize = 32;

/// What the reader shares with the handles.
#[derive(Debug, Default)]
pub(super) struct Desk {
    typed: Notify,
    lines: Mutex<LineBuffer>,
    /// Whether the host has asked for the end.
    is_ending: AtomicBool,
}

impl Desk {
    pub(super) fn new(limits: LineLimits) -> Self {
        Self {
            typed: Notify::new(),
            lines: Mutex::new(LineBuffer::new(limits)),
            is_ending: AtomicBool::new(false),
        }
    }

    /// The host asks for the end: what comes is expected from now on.
    pub(super) fn ending(&self) {
        self.is_ending.store(true, Ordering::Release);
    }

    /// Something was typed.
    pub(super) fn typed(&self) {
        self.typed.notify_one();
    }

    pub(super) fn lines(&self) -> MutexGuard<'_, LineBuffer> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Reader {
    output: LogReader,
    /// Let go of when the last handle is dropped.
    terminal: Option<TerminalSession>,
    log: Arc<SessionLog>,
    desk: Arc<Desk>,
    registration: Registration,
    paste: PasteMode,
    activity: watch::Sender<Activity>,
    /// When something was last said or typed.
    stirred: Instant,
    has_begun: bool,
    idle_after: Duration,
}

impl Reader {
    pub(super) fn new(
        terminal: &TerminalSession,
        configuration: &ShellConfiguration,
        log: &Arc<SessionLog>,
        desk: &Arc<Desk>,
    ) -> (Self, watch::Receiver<Activity>) {
        let (activity, watched) = watch::channel(Activity::default());
        let reader = Self {
            output: terminal.reader(Stream::Output),
            terminal: Some(terminal.clone()),
            log: Arc::clone(log),
            desk: Arc::clone(desk),
            registration: TerminalRegistry::shared().register(terminal, TerminalTag::Shell),
            paste: PasteMode::default(),
            activity,
            stirred: Instant::now(),
            has_begun: false,
            idle_after: configuration.idle_after,
        };
        (reader, watched)
    }

    pub(super) async fn run(mut self, mut dropped: oneshot::Receiver<()>) {
        let desk = Arc::clone(&self.desk);
        loop {
            let look_after = self.look();
            tokio::select! {
                piece = self.output.next() => match piece {
                    Some(piece) => self.take(piece),
                    None => break,
                },
                () = desk.typed.notified() => self.stir(),
                () = due(look_after) => {}
                _ = &mut dropped, if self.terminal.is_some() => self.terminal = None,
            }
        }
        self.finish(dropped).await;
    }

    fn stir(&mut self) {
        self.has_begun = true;
        self.stirred = Instant::now();
    }

    /// Takes a piece and those that are there already, then tells once.
    fn take(&mut self, first: Piece) {
        self.piece(first);
        for _ in 1..BURST {
            let Some(piece) = self.output.try_next() else {
                break;
            };
            self.piece(piece);
        }
        self.stir();
        self.log.notify();
        let wants_paste = self.paste.is_on();
        self.activity.send_replace(Activity { wants_paste });
    }

    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Bytes { bytes, .. } => {
                self.registration.output(bytes.len());
                self.paste.push(&bytes);
                self.desk
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
        if let Some(line) = self.desk.lines().finish() {
            self.log.push_line(line);
        }
    }

    /// Derives the state; answers when it may change without a word.
    fn look(&mut self) -> Option<Duration> {
        let quiet = self.stirred.elapsed();
        let is_quiet = quiet >= self.idle_after;
        let has_begun = self.has_begun;
        // The kernel is asked only when its answer counts.
        let foreground = if is_quiet && has_begun {
            self.foreground()
        } else {
            Foreground::Unknown
        };
        let wants_paste = self.paste.is_on();
        let evidence = Evidence {
            has_begun,
            quiet,
            foreground,
            wants_paste,
        };
        let state = evidence.state(self.idle_after);
        self.log.set_state(state);
        match state {
            SessionState::Active if is_quiet => Some(self.idle_after),
            SessionState::Active => Some(self.idle_after.saturating_sub(quiet)),
            _ => None,
        }
    }

    fn foreground(&self) -> Foreground {
        let terminal = self.terminal.as_ref();
        let group = terminal.and_then(|terminal| terminal.tty()?.foreground);
        match (group, terminal.and_then(TerminalSession::pid)) {
            (Some(group), Some(own)) if group == own => Foreground::Own,
            (Some(_), Some(_)) => Foreground::Other,
            _ => Foreground::Unknown,
        }
    }

    async fn finish(mut self, mut dropped: oneshot::Receiver<()>) {
        self.finish_line();
        let status = match self.terminal.take() {
            // A program may close its terminal and go on.
            Some(terminal) => tokio::select! {
                exit = terminal.exited() => exit.status,
                _ = &mut dropped => ExitStatus::Unknown,
            },
            None => ExitStatus::Unknown,
        };
        // Whoever lets go of the last handle wants the end as well.
        let expected = status == ExitStatus::Unknown || self.desk.is_ending.load(Ordering::Acquire);
        self.registration.exited(status, expected);
        // The list is told before those who wait for the end.
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
