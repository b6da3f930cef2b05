//! Types a prompt: waits for the program, keeps below the terminal's queue, presses Enter apart.

use std::time::Duration;

use bowline_transport::{Stream, TerminalSession, Tty, WriteError};
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::clean::clean;
use super::{Refusal, Stripped, Submission, SubmitOptions, SubmitOutcome};

/// Most bytes that are typed at once, and only when all before them were read. The terminal's queue
/// has 4,096 (Linux, `N_TTY_BUF_SIZE`; `MAX_CANON` of macOS is 1,024) and keeps one less of a line:
/// so nothing is lost even if the program begins to collect lines halfway.
const QUEUE: usize = if cfg!(target_os = "linux") {
    4095
} else {
    1023
};

/// How often the terminal is looked at while its mode or its queue must change: it rings no bell.
const LOOK: Duration = Duration::from_millis(1);
const LOOK_READY: Duration = Duration::from_millis(20);

/// Looks that only let other tasks run, before the first pause.
const QUICK_LOOKS: u32 = 20;

/// Longest wait for a quiet output, in times the quiet itself: some programs never stop drawing.
const SETTLE_ROUNDS: u32 = 4;

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// What is known of a program's output, told anew whenever some came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// The program has asked for bracketed paste.
    pub(crate) wants_paste: bool,
}

/// What is known of the input of one terminal. Whoever holds it is the one who types.
#[derive(Debug, Default)]
pub(crate) struct Typing {
    /// Bytes of a line that was begun while the terminal collects lines.
    pub(crate) open_line: usize,
    /// The foreground that did not ask for a paste in time.
    plain: Option<u32>,
}

impl Typing {
    /// The longest line that these bytes make; the first goes on where the last ones ended.
    pub(crate) fn longest_line(&self, bytes: &[u8]) -> usize {
        let mut lines = bytes.split(ends_line).map(<[u8]>::len);
        let first = lines.next().unwrap_or(0) + self.open_line;
        lines.fold(first, usize::max)
    }

    /// These bytes were typed, while lines were collected or not.
    pub(crate) fn typed(&mut self, bytes: &[u8], collects_lines: bool) {
        self.open_line = match bytes.iter().rposition(ends_line) {
            _ if !collects_lines => 0,
            Some(end) => bytes.len() - end - 1,
            None => self.open_line + bytes.len(),
        };
    }
}

/// Line ends, and the keys that hand over or throw away what was typed (termios(3): INTR, EOF,
/// KILL, QUIT).
fn ends_line(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x03 | 0x04 | 0x15 | 0x1c)
}

enum Ready {
    Paste,
    Keys,
    Lines(usize),
}

/// Types one prompt into one terminal.
pub(crate) struct Typist<'a> {
    pub(crate) terminal: &'a TerminalSession,
    pub(crate) activity: watch::Receiver<Activity>,
    pub(crate) options: SubmitOptions,
    pub(crate) typed: u64,
}

impl Typist<'_> {
    pub(crate) async fn submit(
        mut self,
        prompt: &[u8],
        typing: &tokio::sync::Mutex<Typing>,
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
        typing: &tokio::sync::Mutex<Typing>,
    ) -> Result<SubmitOutcome, Refusal> {
        if self.options.refuse_controls && stripped.is_any() {
            return Err(Refusal::Controls);
        }
        if text.is_empty() {
            return Err(Refusal::Empty);
        }
        let turn = timeout(self.options.ready_within, typing.lock());
        let mut typing = turn.await.map_err(|_| Refusal::Busy)?;
        match self.ready(&mut typing).await? {
            Ready::Paste => self.paste(&text).await,
            Ready::Keys => self.keys(text).await,
            Ready::Lines(limit) => self.lines(text, limit, &mut typing).await,
        }
    }

    /// Waits until the program takes a paste, as long as it may take.
    async fn ready(&mut self, typing: &mut Typing) -> Result<Ready, Refusal> {
        let start = Instant::now();
        loop {
            let tty = self.tty()?;
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
            // The mode of the terminal changes without a word.
            if let Ok(Err(_)) = timeout(LOOK_READY, self.activity.changed()).await {
                return Err(Refusal::Ended);
            }
        }
    }

    async fn paste(&mut self, text: &[u8]) -> Result<SubmitOutcome, Refusal> {
        let paste = Bytes::from([PASTE_BEGIN, text, PASTE_END].concat());
        self.type_raw(paste, true).await?;
        self.enter(true).await
    }

    async fn keys(&mut self, text: Vec<u8>) -> Result<SubmitOutcome, Refusal> {
        if text.iter().any(|byte| matches!(byte, b'\n' | b'\t')) {
            return Err(Refusal::NeedsPaste);
        }
        self.type_raw(text.into(), false).await?;
        self.enter(false).await
    }

    /// The terminal collects lines and takes each whole, or it is not typed.
    async fn lines(
        &mut self,
        mut text: Vec<u8>,
        limit: usize,
        typing: &mut Typing,
    ) -> Result<SubmitOutcome, Refusal> {
        let length = typing.longest_line(&text);
        if length > limit {
            return Err(Refusal::LineTooLong { length, limit });
        }
        text.push(b'\n');
        let before = self.output_end();
        for line in split_lines(text.into()) {
            if self.tty()?.line_limit.is_none() {
                return Err(Refusal::ModeChanged);
            }
            self.write(line).await?;
        }
        typing.open_line = 0;
        self.verify(before).await
    }

    /// Types no more than the queue holds, waits until it was read, and goes on.
    async fn type_raw(&mut self, mut bytes: Bytes, as_paste: bool) -> Result<(), Refusal> {
        while !bytes.is_empty() {
            self.raw_tty(as_paste)?;
            self.write(bytes.split_to(QUEUE.min(bytes.len()))).await?;
            self.read_out(as_paste).await?;
        }
        Ok(())
    }

    /// Presses Enter, when the program has had the time to see that the burst is over.
    async fn enter(&mut self, as_paste: bool) -> Result<SubmitOutcome, Refusal> {
        self.settle().await;
        self.raw_tty(as_paste)?;
        let before = self.output_end();
        self.write(Bytes::from_static(b"\r")).await?;
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

    /// Waits until the program has read all that was typed, or for nothing where the system does not
    /// tell.
    async fn read_out(&mut self, as_paste: bool) -> Result<(), Refusal> {
        let (mut since, mut before) = (Instant::now(), usize::MAX);
        for looks in 0.. {
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
            pause(looks).await;
        }
        Err(Refusal::NotRead)
    }

    /// Looks for evidence: nothing of what was typed is unread, and output came since.
    async fn verify(&mut self, before: u64) -> Result<SubmitOutcome, Refusal> {
        let started = Instant::now();
        loop {
            let is_read = match self.terminal.tty() {
                Some(tty) => tty.unread.is_none_or(|unread| unread == 0),
                None => true,
            };
            if is_read && self.output_end() > before {
                return Ok(SubmitOutcome::Submitted);
            }
            if started.elapsed() >= self.options.verify_within {
                return Ok(SubmitOutcome::TypedUnverified);
            }
            sleep(LOOK).await;
        }
    }

    /// Hands bytes to the kernel. What could not be handed over in time may still be read later.
    async fn write(&mut self, bytes: Bytes) -> Result<(), Refusal> {
        self.typed += bytes.len() as u64;
        match timeout(self.options.read_within, self.terminal.write(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(WriteError::LineTooLong { .. })) => Err(Refusal::ModeChanged),
            Ok(Err(WriteError::Stalled { .. } | WriteError::QueueFull { .. })) | Err(_) => {
                Err(Refusal::NotRead)
            }
            Ok(Err(_)) => Err(Refusal::Ended),
        }
    }

    /// The terminal, as long as it takes what is being typed.
    fn raw_tty(&mut self, as_paste: bool) -> Result<Tty, Refusal> {
        let tty = self.tty()?;
        let takes_paste = !as_paste || self.activity.borrow().wants_paste;
        if tty.line_limit.is_some() || !takes_paste {
            return Err(Refusal::ModeChanged);
        }
        Ok(tty)
    }

    fn tty(&self) -> Result<Tty, Refusal> {
        self.terminal.tty().ok_or(Refusal::Ended)
    }

    fn output_end(&self) -> u64 {
        self.terminal.end(Stream::Output)
    }
}

async fn pause(looks: u32) {
    if looks < QUICK_LOOKS {
        tokio::task::yield_now().await;
    } else {
        sleep(LOOK).await;
    }
}

/// Whole lines, together no longer than one may be.
fn split_lines(mut text: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        let first = text.iter().position(|byte| *byte == b'\n')? + 1;
        let more = text.iter().take(QUEUE).rposition(|byte| *byte == b'\n');
        Some(text.split_to(more.map_or(first, |last| last + 1)))
    })
}
