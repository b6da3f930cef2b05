//! Writes a prompt to a terminal: as a bracketed paste, as keys, or as lines.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bowline_transport::{Stream, TerminalSession, TerminalState, WriteError};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::clean::clean;
use super::{Refusal, Stripped, Submission, SubmitOptions, SubmitOutcome};

/// Bytes written at once, and only after all earlier ones were read. The terminal's queue
/// has 4,096 (Linux, `N_TTY_BUF_SIZE`; `MAX_CANON` of macOS is 1,024) and keeps one less of a line:
/// so nothing is lost even if the program begins to collect lines halfway.
const QUEUE: usize = if cfg!(target_os = "linux") {
    4095
} else {
    1023
};

/// Interval for polling the terminal: changes of its mode and its queue are not signalled.
const POLL: Duration = Duration::from_millis(1);
const POLL_READY: Duration = Duration::from_millis(20);

/// Number of polls that only yield, before the first pause.
const BUSY_POLLS: u32 = 20;

/// Limit of the wait for silence, as a multiple of the silence: some programs never stop drawing.
const SETTLE_ROUNDS: u32 = 4;

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// What is known of a program's output; updated with each output.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// The program has enabled bracketed paste.
    pub(crate) wants_paste: bool,
}

/// What is known of the input of one terminal. Held locked while typing.
#[derive(Default)]
pub(crate) struct TypingState {
    /// Bytes of an unfinished line in canonical mode.
    open_line: usize,
    /// The foreground process that did not enable bracketed paste in time.
    plain: Option<u32>,
    /// A write whose caller has stopped waiting for it.
    unfinished: Option<TerminalWrite>,
}

/// A write to the terminal. It is kept until its outcome is known, since only then it is known which
/// bytes belong to the open line.
struct TerminalWrite {
    written: Pin<Box<dyn Future<Output = Result<(), WriteError>> + Send>>,
    bytes: Bytes,
    collects_lines: bool,
}

impl TypingState {
    /// Writes to the terminal, after any earlier write. `collects_lines` is whether the terminal is in
    /// canonical mode. If the future is dropped, a write that has begun is completed.
    pub(crate) async fn write(
        &mut self,
        terminal: &TerminalSession,
        bytes: Bytes,
        collects_lines: bool,
    ) -> Result<(), WriteError> {
        self.settle().await;
        let (terminal, line) = (terminal.clone(), bytes.clone());
        self.unfinished = Some(TerminalWrite {
            written: Box::pin(async move { terminal.write(line).await }),
            bytes,
            collects_lines,
        });
        self.finish_write().await
    }

    /// Waits for the outcome of an earlier write.
    pub(crate) async fn settle(&mut self) {
        // The caller of that write is no longer interested in its error.
        let _ = self.finish_write().await;
    }

    async fn finish_write(&mut self) -> Result<(), WriteError> {
        let Some(write) = &mut self.unfinished else {
            return Ok(());
        };
        let outcome = write.written.as_mut().await;
        if let Some(write) = self.unfinished.take() {
            let taken = match &outcome {
                Ok(()) | Err(WriteError::Unconfirmed) => write.bytes.len(),
                Err(WriteError::Stalled { taken, .. }) => *taken,
                Err(_) => 0,
            };
            let taken = write.bytes.get(..taken).unwrap_or(&write.bytes);
            self.typed(taken, write.collects_lines);
        }
        outcome
    }

    /// Returns the longest line of these bytes; the first continues the open line.
    pub(crate) fn longest_line(&self, bytes: &[u8]) -> usize {
        let mut lines = bytes.split(ends_line).map(<[u8]>::len);
        let first = lines.next().unwrap_or(0) + self.open_line;
        lines.fold(first, usize::max)
    }

    /// Records input, in canonical mode or not.
    fn typed(&mut self, bytes: &[u8], collects_lines: bool) {
        self.open_line = match bytes.iter().rposition(ends_line) {
            _ if !collects_lines => 0,
            Some(end) => bytes.len() - end - 1,
            None => self.open_line + bytes.len(),
        };
    }
}

/// Shows no input: it may hold secrets.
impl fmt::Debug for TypingState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypingState")
            .field("open_line", &self.open_line)
            .finish_non_exhaustive()
    }
}

/// Whether a byte ends a line in canonical mode: line ends and INTR, EOF, KILL, QUIT (termios(3)).
fn ends_line(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x03 | 0x04 | 0x15 | 0x1c)
}

enum Ready {
    Paste,
    Keys,
    Lines(usize),
}

/// Writes one prompt to one terminal.
pub(crate) struct PasteWriter<'a> {
    pub(crate) terminal: &'a TerminalSession,
    pub(crate) activity: watch::Receiver<Activity>,
    pub(crate) options: SubmitOptions,
    pub(crate) typed: u64,
}

impl PasteWriter<'_> {
    pub(crate) async fn submit(
        mut self,
        prompt: &[u8],
        typing: &tokio::sync::Mutex<TypingState>,
    ) -> Submission {
        let (text, stripped) = clean(prompt);
        let outcome = match self.deliver(text, stripped, typing).await {
            Ok(outcome) => outcome,
            Err(refusal) => SubmitOutcome::Refused(refusal),
        };
        Submission {
            outcome,
            stripped,
            typed: self.typed,
        }
    }

    async fn deliver(
        &mut self,
        text: Vec<u8>,
        stripped: Stripped,
        typing: &tokio::sync::Mutex<TypingState>,
    ) -> Result<SubmitOutcome, Refusal> {
        if self.options.refuse_controls && stripped.is_any() {
            return Err(Refusal::Controls);
        }
        if text.is_empty() {
            return Err(Refusal::Empty);
        }
        let turn = timeout(self.options.ready_within, typing.lock());
        let mut typing = turn.await.map_err(|_| Refusal::Busy)?;
        let settled = timeout(self.options.read_within, typing.settle());
        settled.await.map_err(|_| Refusal::NotRead)?;
        match self.ready(&mut typing).await? {
            Ready::Paste => self.paste(&text, &mut typing).await,
            Ready::Keys => self.keys(text, &mut typing).await,
            Ready::Lines(limit) => self.lines(text, limit, &mut typing).await,
        }
    }

    /// Waits for bracketed paste, for the configured time, and returns the input mode.
    async fn ready(&mut self, typing: &mut TypingState) -> Result<Ready, Refusal> {
        let start = Instant::now();
        loop {
            let tty = self.terminal_state()?;
            let wants_paste = self.activity.borrow_and_update().wants_paste;
            if wants_paste && tty.line_limit.is_none() {
                typing.plain = None;
                return Ok(Ready::Paste);
            }
            let is_plain = tty.foreground.is_some() && tty.foreground == typing.plain;
            if start.elapsed() >= self.options.ready_within || (is_plain && !wants_paste) {
                typing.plain = tty.foreground;
                return Ok(tty.line_limit.map_or(Ready::Keys, Ready::Lines));
            }
            // A change of the terminal mode is not signalled.
            if let Ok(Err(_)) = timeout(POLL_READY, self.activity.changed()).await {
                return Err(Refusal::Ended);
            }
        }
    }

    async fn paste(
        &mut self,
        text: &[u8],
        typing: &mut TypingState,
    ) -> Result<SubmitOutcome, Refusal> {
        let paste = Bytes::from([PASTE_BEGIN, text, PASTE_END].concat());
        self.type_raw(paste, true, typing).await?;
        self.enter(true, typing).await
    }

    async fn keys(
        &mut self,
        text: Vec<u8>,
        typing: &mut TypingState,
    ) -> Result<SubmitOutcome, Refusal> {
        if text.iter().any(|byte| matches!(byte, b'\n' | b'\t')) {
            return Err(Refusal::NeedsPaste);
        }
        self.type_raw(text.into(), false, typing).await?;
        self.enter(false, typing).await
    }

    /// Types lines in canonical mode, if none would be truncated.
    async fn lines(
        &mut self,
        mut text: Vec<u8>,
        limit: usize,
        typing: &mut TypingState,
    ) -> Result<SubmitOutcome, Refusal> {
        let length = typing.longest_line(&text);
        if length > limit {
            return Err(Refusal::LineTooLong { length, limit });
        }
        text.push(b'\n');
        let before = self.output_end();
        for line in split_lines(text.into()) {
            if self.terminal_state()?.line_limit.is_none() {
                return Err(Refusal::ModeChanged);
            }
            self.write(line, true, typing).await?;
        }
        self.verify(before).await
    }

    /// Types at most as much as the terminal's queue holds, until it was read; then the rest.
    async fn type_raw(
        &mut self,
        mut bytes: Bytes,
        as_paste: bool,
        typing: &mut TypingState,
    ) -> Result<(), Refusal> {
        while !bytes.is_empty() {
            self.raw_tty(as_paste)?;
            let next = bytes.split_to(QUEUE.min(bytes.len()));
            self.write(next, false, typing).await?;
            self.read_out(as_paste).await?;
        }
        Ok(())
    }

    /// Presses Enter after a silence, so that it does not count as part of the paste.
    async fn enter(
        &mut self,
        as_paste: bool,
        typing: &mut TypingState,
    ) -> Result<SubmitOutcome, Refusal> {
        self.settle().await;
        self.raw_tty(as_paste)?;
        let before = self.output_end();
        self.write(Bytes::from_static(b"\r"), false, typing).await?;
        self.verify(before).await
    }

    async fn settle(&mut self) {
        for _ in 0..SETTLE_ROUNDS {
            self.activity.mark_unchanged();
            if timeout(self.options.settle, self.activity.changed())
                .await
                .is_err()
            {
                return;
            }
        }
    }

    /// Waits until the program has read all input, where the system reports that.
    async fn read_out(&mut self, as_paste: bool) -> Result<(), Refusal> {
        let (mut since, mut before) = (Instant::now(), usize::MAX);
        for polls in 0.. {
            let unread = self.raw_tty(as_paste)?.unread.unwrap_or(0);
            if unread == 0 {
                return Ok(());
            }
            if unread < before {
                (since, before) = (Instant::now(), unread);
            }
            if since.elapsed() >= self.options.read_within {
                break;
            }
            pause(polls).await;
        }
        Err(Refusal::NotRead)
    }

    /// Waits for evidence: no input is unread, and there is new output.
    async fn verify(&mut self, before: u64) -> Result<SubmitOutcome, Refusal> {
        let started = Instant::now();
        loop {
            let is_read = match self.terminal.terminal_state() {
                Some(tty) => tty.unread.is_none_or(|unread| unread == 0),
                None => true,
            };
            if is_read && self.output_end() > before {
                return Ok(SubmitOutcome::Submitted);
            }
            if started.elapsed() >= self.options.verify_within {
                return Ok(SubmitOutcome::TypedUnverified);
            }
            sleep(POLL).await;
        }
    }

    /// Writes to the terminal. Bytes that were not accepted in time may still be read later.
    async fn write(
        &mut self,
        bytes: Bytes,
        collects_lines: bool,
        typing: &mut TypingState,
    ) -> Result<(), Refusal> {
        self.typed += bytes.len() as u64;
        let write = typing.write(self.terminal, bytes, collects_lines);
        match timeout(self.options.read_within, write).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(WriteError::LineTooLong { .. })) => Err(Refusal::ModeChanged),
            Ok(Err(WriteError::Stalled { .. } | WriteError::QueueFull { .. })) | Err(_) => {
                Err(Refusal::NotRead)
            }
            Ok(Err(_)) => Err(Refusal::Ended),
        }
    }

    /// Returns the terminal, unless it has left the input mode.
    fn raw_tty(&mut self, as_paste: bool) -> Result<TerminalState, Refusal> {
        let tty = self.terminal_state()?;
        let takes_paste = !as_paste || self.activity.borrow().wants_paste;
        if tty.line_limit.is_some() || !takes_paste {
            return Err(Refusal::ModeChanged);
        }
        Ok(tty)
    }

    fn terminal_state(&self) -> Result<TerminalState, Refusal> {
        self.terminal.terminal_state().ok_or(Refusal::Ended)
    }

    fn output_end(&self) -> u64 {
        self.terminal.end(Stream::Output)
    }
}

async fn pause(polls: u32) {
    if polls < BUSY_POLLS {
        tokio::task::yield_now().await;
    } else {
        sleep(POLL).await;
    }
}

/// Splits text into groups of whole lines that fit the terminal's queue.
fn split_lines(mut text: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let first = text.iter().position(|byte| *byte == b'\n')? + 1;
        let more = text.iter().take(QUEUE).rposition(|byte| *byte == b'\n');
        Some(text.split_to(more.map_or(first, |last| last + 1)))
    })
}
