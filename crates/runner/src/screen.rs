//! The screen of a session, kept while nobody looks, so that whoever comes sees what is there.
//!
//! [`SessionScreen`] reads a terminal's output and can tell at any time which bytes make another
//! terminal, whatever state that one is in, look and behave the same: a [`ScreenSnapshot`], together with the
//! output from its offset on. That offset is always one between two sequences, and before the last
//! character if that may still be repeated or get an accent; nothing is ever cut.
//!
//! While nobody is there who could, it answers what programs ask of a terminal. Invariants: what it
//! keeps is bounded, whatever comes; an engine that fails costs the screen and not the session.

mod modes;
mod query;
mod replay_filter;
mod sequence;
mod splitter;
#[cfg(test)]
mod tests;
mod tracker;
mod vterm;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bowline_transport::WindowSize;
use bytes::Bytes;
use unicode_width::UnicodeWidthChar as _;

use crate::session_machine::ScreenSnapshot;

pub use replay_filter::ReplayFilter;

use modes::Modes;
use query::{Facts, Query, answer, query};
use sequence::Sequence;
use splitter::{SequenceKind, SequenceSplitter, Token};
use tracker::StateTracker;
use vterm::Vterm;

/// Bytes of answers that wait for a program to read them. One that asks more than that without
/// reading gets no more.
const MAX_REPLY_BYTES: usize = 4 << 10;

/// Bytes of a character and its accents that are held back.
const MAX_CLUSTER_BYTES: usize = 64;

/// A model of a terminal: it is fed output and tells which bytes make that screen.
///
/// What is fed is text and whole control sequences, and never a string longer than 64 KiB.
pub trait VtEngine: Debug + Send {
    /// Takes output.
    fn feed(&mut self, bytes: &[u8]);

    /// Takes a new size.
    fn resize(&mut self, size: WindowSize);

    /// The bytes that make any terminal of the same size show the screen, with the cursor, the pen
    /// and the modes that the engine knows of. They ask nothing.
    fn contents(&self) -> Vec<u8>;

    /// The cursor's row and column from 1, as programs address it.
    fn cursor(&self) -> (u16, u16);
}

/// The screen of one session.
#[derive(Debug)]
pub struct SessionScreen {
    engine: Box<dyn VtEngine>,
    /// Makes another engine when one has failed.
    make: fn(WindowSize) -> Box<dyn VtEngine>,
    splitter: SequenceSplitter,
    tracker: StateTracker,
    modes: Modes,
    /// The last character, with its accents, that the engine was not given yet.
    last: Vec<u8>,
    /// Offset behind the last byte that came.
    end: u64,
    size: WindowSize,
    answers: Vec<u8>,
    is_answering: bool,
    faults: u32,
}

impl SessionScreen {
    /// An empty screen with the engine that is built in.
    #[must_use]
    pub fn new(size: WindowSize) -> Self {
        Self::with_engine(size, |size| Box::new(Vterm::new(size)))
    }

    /// An empty screen with another engine.
    #[must_use]
    pub fn with_engine(size: WindowSize, make: fn(WindowSize) -> Box<dyn VtEngine>) -> Self {
        Self {
            engine: make(size),
            make,
            splitter: SequenceSplitter::default(),
            tracker: StateTracker::default(),
            modes: Modes::default(),
            last: Vec::new(),
            end: 0,
            size,
            answers: Vec::new(),
            is_answering: false,
            faults: 0,
        }
    }

    /// Whether questions are answered from here. Nobody else must do it then; it is off at first.
    pub fn set_answering(&mut self, is_answering: bool) {
        self.is_answering = is_answering;
        if !is_answering {
            self.answers.clear();
        }
    }

    /// Takes the answers that are to be written to the program's input.
    #[must_use]
    pub fn take_replies(&mut self) -> Bytes {
        std::mem::take(&mut self.answers).into()
    }

    /// How often the engine has failed and was replaced by an empty one.
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.faults
    }

    /// Offset behind the last byte that came.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether the alternate screen is shown.
    #[must_use]
    pub fn is_alternate(&self) -> bool {
        self.tracker.is_alternate()
    }

    /// Whether the program takes a paste in brackets (mode 2004).
    #[must_use]
    pub fn has_bracketed_paste(&self) -> bool {
        let paste = Query::Mode {
            is_private: true,
            mode: 2004,
        };
        self.modes.mode(paste) == Some(true)
    }

    /// Takes output. Bytes that came before are left out; after a gap the model goes on with what it
    /// has.
    pub fn feed(&mut self, offset: u64, bytes: &[u8]) {
        let known = self.end.saturating_sub(offset);
        let Some(fresh) = usize::try_from(known)
            .ok()
            .and_then(|known| bytes.get(known..))
        else {
            return;
        };
        if offset > self.end {
            self.flush();
            self.splitter = SequenceSplitter::default();
        }
        self.end = self.end.max(offset + bytes.len() as u64);
        let mut splitter = std::mem::take(&mut self.splitter);
        splitter.feed(fresh, |token| self.token(token));
        self.splitter = splitter;
        if self.splitter.open_string().is_some() {
            self.flush();
        }
    }

    /// Takes a new size. Take the snapshot before, if one is needed.
    pub fn resize(&mut self, size: WindowSize) {
        self.size = size;
        self.guard(|engine| engine.resize(size));
    }

    /// The screen: bytes that bring a terminal of its size from any state to that of this one at the
    /// screen's offset. The output from there on is to follow.
    #[must_use]
    pub fn snapshot(&mut self) -> ScreenSnapshot {
        let mut bytes = Vec::new();
        self.tracker.prelude(&mut bytes, self.size.cols);
        let contents = self.guard(|engine| engine.contents());
        bytes.extend(contents.unwrap_or_default());
        self.tracker.restore(&mut bytes);
        let held = self.last.len() + self.splitter.held().len();
        if let Some(kind) = self.splitter.open_string() {
            // The string's rest is still to come: it must not be taken for text.
            let introducer: &[u8] = match kind {
                SequenceKind::Osc => b"\x1b]999;",
                _ => b"\x1b_",
            };
            bytes.extend(introducer);
        }
        ScreenSnapshot {
            at_offset: self.end - held as u64,
            size: self.size,
            bytes: bytes.into(),
        }
    }

    fn token(&mut self, token: Token<'_>) {
        match token {
            Token::Text(text) => self.text(text),
            Token::Sequence(kind, bytes) => {
                self.flush();
                self.guard(|engine| engine.feed(bytes));
                if let Some(sequence) = Sequence::read(kind, bytes) {
                    self.sequence(&sequence);
                }
            }
            Token::Broken(bytes) => {
                self.flush();
                self.guard(|engine| engine.feed(bytes));
            }
            Token::Skipped => {}
        }
    }

    fn sequence(&mut self, sequence: &Sequence<'_>) {
        self.tracker.take(sequence);
        self.modes.take(sequence);
        if let Some(query) = query(sequence).filter(|_| self.is_answering) {
            self.answer(query);
        }
    }

    /// Gives text to the engine, all but the last character of it.
    fn text(&mut self, text: &[u8]) {
        if last_is_partial(&self.last) {
            let mut joined = std::mem::take(&mut self.last);
            joined.extend(text);
            return self.whole_text(&joined);
        }
        self.whole_text(text);
    }

    fn whole_text(&mut self, text: &[u8]) {
        let keep = last_cluster(text);
        if keep == text.len() && self.last.len() + keep <= MAX_CLUSTER_BYTES && !begins(text) {
            self.last.extend(text);
            return;
        }
        self.flush();
        let (given, kept) = text.split_at(text.len() - keep);
        self.guard(|engine| engine.feed(given));
        self.last.extend(kept);
    }

    fn flush(&mut self) {
        if !self.last.is_empty() {
            let last = std::mem::take(&mut self.last);
            self.guard(|engine| engine.feed(&last));
        }
    }

    /// Lets the engine work. When it panics, an empty one takes its place.
    fn guard<T>(&mut self, work: impl FnOnce(&mut dyn VtEngine) -> T) -> Option<T> {
        let engine = &mut *self.engine;
        // An engine that has panicked is thrown away, whatever state it is in.
        let worked = catch_unwind(AssertUnwindSafe(|| work(engine)));
        if worked.is_err() {
            tracing::error!(
                at = self.end,
                "the model of the screen failed and is begun anew"
            );
            self.engine = (self.make)(self.size);
            self.faults += 1;
        }
        worked.ok()
    }

    fn answer(&mut self, query: Query<'_>) {
        if self.answers.len() >= MAX_REPLY_BYTES {
            return;
        }
        let is_cursor = matches!(query, Query::Cursor { .. });
        let cursor = if is_cursor {
            self.guard(|engine| engine.cursor())
        } else {
            None
        };
        let facts = Facts {
            rows: self.size.rows,
            cols: self.size.cols,
            cursor: cursor.unwrap_or((1, 1)),
            keyboard_flags: self.tracker.keyboard_flags(),
            mode: self.modes.mode(query),
            color: self.modes.color(query),
        };
        answer(query, &facts, &mut self.answers);
    }
}

/// Whether a text ends within a character.
fn last_is_partial(text: &[u8]) -> bool {
    let last = text.utf8_chunks().last();
    last.is_some_and(|last| is_partial(last.invalid()))
}

/// Whether text begins with a character of its own, and not with the rest or an accent of the one
/// before.
fn begins(text: &[u8]) -> bool {
    let first = text.utf8_chunks().next();
    let first = first.and_then(|chunk| chunk.valid().chars().next());
    first.is_some_and(|first| first.width() != Some(0))
}

/// How many bytes the last character of a text has, with its accents, and with what there is of one
/// that is not whole. 0 after a control.
fn last_cluster(text: &[u8]) -> usize {
    let tail = &text[text.len() - text.len().min(MAX_CLUSTER_BYTES)..];
    let mut length = 0;
    for chunk in tail.utf8_chunks().collect::<Vec<_>>().into_iter().rev() {
        let invalid = chunk.invalid();
        let is_partial = length == 0 && is_partial(invalid);
        if !invalid.is_empty() && !is_partial {
            return length;
        }
        length += invalid.len();
        for c in chunk.valid().chars().rev() {
            match c.width() {
                None => return length,
                Some(0) => length += c.len_utf8(),
                Some(_) => return length + c.len_utf8(),
            }
        }
    }
    length
}

/// Whether bytes that are no character may become one.
fn is_partial(bytes: &[u8]) -> bool {
    let error = std::str::from_utf8(bytes).err();
    error.is_some_and(|error| error.error_len().is_none())
}
