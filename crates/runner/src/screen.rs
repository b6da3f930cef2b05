//! The screen of a terminal session, kept while no client is attached.
//!
//! [`SessionScreen`] models a terminal. Its [`ScreenSnapshot`] is a byte string that brings any
//! other terminal, whatever its state, to the same contents and modes, and the offset at which the
//! output continues. That offset is always between two escape sequences, and before the last
//! character if that may still be repeated (REP, ECMA-48 8.3.103) or combined: nothing is ever cut.
//!
//! While no client is attached that could, it replies to terminal queries. Its memory is bounded
//! for any output; if the engine panics, the screen is lost and the session continues.

mod modes;
mod query;
mod replay_filter;
mod scrollback;
mod sequence;
mod splitter;
#[cfg(test)]
mod tests;
mod tracker;
mod vterm;

use std::collections::VecDeque;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bowline_transport::WindowSize;
use bytes::Bytes;
use unicode_width::UnicodeWidthChar as _;

use crate::session_machine::ScreenSnapshot;

pub use replay_filter::ReplayFilter;
pub(crate) use scrollback::{BareSnapshot, ScrollbackLines};
pub use splitter::{OutputToken, SequenceKind, SequenceSplitter};

use modes::Modes;
use query::{Query, ReplyFacts, query, write_reply};
use scrollback::ScrollbackEngine;
use sequence::Sequence;
use tracker::StateTracker;
use vterm::Vterm;

/// Maximal bytes of replies that wait to be taken. Further queries get no reply.
const MAX_REPLY_BYTES: usize = 4 << 10;

/// Maximal bytes of a held-back character with its combining marks.
const MAX_CLUSTER_BYTES: usize = 64;

/// A terminal emulator that can dump its screen.
///
/// It is fed text and complete escape sequences, and no string of more than 64 KiB.
pub trait VtEngine: Debug + Send {
    /// Processes output.
    fn feed(&mut self, bytes: &[u8]);

    /// Resizes the terminal.
    fn resize(&mut self, size: WindowSize);

    /// Returns bytes that reproduce the contents, the cursor, the pen (SGR) and the modes known to
    /// the engine on a terminal of the same size. They contain no queries.
    fn contents(&self) -> Vec<u8>;

    /// Returns the cursor's row and column, from 1 and relative to the origin (DECOM).
    fn cursor(&self) -> (u16, u16);

    /// Returns what [`contents`](Self::contents) does, without the rows above the screen; the position in it
    /// at which those may be printed; and whether all rows of the screen are printed after it. `None` if the
    /// engine cannot tell.
    fn screen_contents(&self) -> Option<(Vec<u8>, usize, bool)> {
        None
    }

    /// Limits the lines above the screen that are kept for [`take_scrollback`](Self::take_scrollback).
    fn limit_scrollback(&mut self, _max_lines: usize) {}

    /// Returns how many lines have begun above the screen.
    fn count_scrollback(&mut self) -> u64 {
        0
    }

    /// Takes the lines above the screen, of an engine that keeps them, and returns whether the last one
    /// continues on the screen.
    fn take_scrollback(&mut self) -> (VecDeque<Vec<u8>>, bool) {
        Default::default()
    }
}

/// The screen of one session.
#[derive(Debug)]
pub struct SessionScreen {
    engine: Box<dyn VtEngine>,
    /// Creates the engine, again after a panic.
    create: fn(WindowSize) -> Box<dyn VtEngine>,
    splitter: SequenceSplitter,
    tracker: StateTracker,
    modes: Modes,
    /// The last character with its combining marks, held back from the engine.
    held_cluster: Vec<u8>,
    /// Offset after the last byte fed.
    end: u64,
    size: WindowSize,
    replies: Vec<u8>,
    replies_enabled: bool,
    faults: u32,
}

impl SessionScreen {
    /// Creates an empty screen with the built-in engine.
    #[must_use]
    pub fn new(size: WindowSize) -> Self {
        Self::with_engine(size, |size| Box::new(Vterm::new(size)))
    }

    /// Creates an empty screen with another engine.
    #[must_use]
    pub fn with_engine(size: WindowSize, create: fn(WindowSize) -> Box<dyn VtEngine>) -> Self {
        Self {
            engine: create(size),
            create,
            splitter: SequenceSplitter::default(),
            tracker: StateTracker::default(),
            modes: Modes::default(),
            held_cluster: Vec::new(),
            end: 0,
            size,
            replies: Vec::new(),
            replies_enabled: false,
            faults: 0,
        }
    }

    /// Sets whether terminal queries are replied to; off by default. Drops pending replies when
    /// off.
    pub fn set_replies_enabled(&mut self, replies_enabled: bool) {
        self.replies_enabled = replies_enabled;
        if !replies_enabled {
            self.replies.clear();
        }
    }

    /// Takes the replies, to be written to the program's input.
    #[must_use]
    pub fn take_replies(&mut self) -> Bytes {
        std::mem::take(&mut self.replies).into()
    }

    /// Returns how often the engine has panicked and was replaced by an empty one.
    #[must_use]
    pub fn faults(&self) -> u32 {
        self.faults
    }

    /// Returns the offset after the last byte fed.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the size.
    pub(crate) fn size(&self) -> WindowSize {
        self.size
    }

    /// Returns the offset at which a snapshot continues.
    pub(crate) fn at_offset(&self) -> u64 {
        let held = self.held_cluster.len() + self.splitter.held().len();
        self.end - held as u64
    }

    /// Returns whether the alternate screen is shown.
    #[must_use]
    pub fn is_alternate(&self) -> bool {
        self.tracker.is_alternate()
    }

    /// Returns whether the program has enabled bracketed paste (mode 2004, xterm ctlseqs).
    #[must_use]
    pub fn has_bracketed_paste(&self) -> bool {
        let paste = Query::Mode {
            is_private: true,
            mode: 2004,
        };
        self.modes.mode(paste) == Some(true)
    }

    /// Processes output at `offset`. Bytes before [`end`](Self::end) are skipped; after a gap the
    /// model continues with the state that it has.
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

    /// Resizes the screen.
    pub fn resize(&mut self, size: WindowSize) {
        self.size = size;
        self.guard(|engine| engine.resize(size));
    }

    /// Restores the screen that a snapshot has.
    pub(crate) fn restore(snapshot: &ScreenSnapshot) -> Self {
        let mut screen = Self::new(snapshot.size);
        screen.feed(0, &snapshot.bytes);
        screen.end = snapshot.at_offset;
        screen
    }

    /// Restores the screen that a snapshot has, in a model that keeps the lines above it.
    pub(crate) fn restore_with_scrollback(snapshot: &ScreenSnapshot, max_lines: usize) -> Self {
        let create = |size| -> Box<dyn VtEngine> { Box::new(ScrollbackEngine::new(size)) };
        let mut screen = Self::with_engine(snapshot.size, create);
        screen.engine.limit_scrollback(max_lines);
        screen.feed(0, &snapshot.bytes);
        screen.end = snapshot.at_offset;
        screen
    }

    /// Returns how many lines have begun above the screen, of a model that keeps them.
    pub(crate) fn count_scrollback(&mut self) -> u64 {
        self.guard(|engine| engine.count_scrollback()).unwrap_or(0)
    }

    /// Takes the lines above the screen, of a model that keeps them.
    pub(crate) fn take_scrollback(&mut self) -> ScrollbackLines {
        let taken = self.guard(|engine| engine.take_scrollback());
        ScrollbackLines::of(taken.unwrap_or_default())
    }

    /// Returns a snapshot of the screen, to be followed by the output from its offset on.
    #[must_use]
    pub fn snapshot(&mut self) -> ScreenSnapshot {
        let contents = self.guard(|engine| engine.contents());
        self.snapshot_of(&contents.unwrap_or_default())
    }

    /// Returns a snapshot without the rows above the screen; `None` if the engine cannot make one.
    pub(crate) fn bare_snapshot(&mut self) -> Option<BareSnapshot> {
        let contents = self.guard(|engine| engine.screen_contents()).flatten()?;
        let (contents, start, is_full) = contents;
        let mut reset = Vec::new();
        self.tracker.write_reset(&mut reset, self.size.cols);
        Some(BareSnapshot {
            snapshot: self.snapshot_of(&contents),
            start: reset.len() + start,
            is_full,
        })
    }

    fn snapshot_of(&self, contents: &[u8]) -> ScreenSnapshot {
        let mut bytes = Vec::new();
        self.tracker.write_reset(&mut bytes, self.size.cols);
        bytes.extend(contents);
        self.tracker.write_state(&mut bytes);
        if let Some(kind) = self.splitter.open_string() {
            // The rest of the string follows and must not be taken for text.
            let introducer: &[u8] = match kind {
                SequenceKind::Osc => b"\x1b]999;",
                _ => b"\x1b_",
            };
            bytes.extend(introducer);
        }
        ScreenSnapshot {
            at_offset: self.at_offset(),
            size: self.size,
            bytes: bytes.into(),
        }
    }

    fn token(&mut self, token: OutputToken<'_>) {
        match token {
            OutputToken::Text(text) => self.text(text),
            OutputToken::Sequence(kind, bytes) => {
                self.flush();
                self.guard(|engine| engine.feed(bytes));
                if let Some(sequence) = Sequence::read(kind, bytes) {
                    self.sequence(&sequence);
                }
            }
            OutputToken::Aborted(bytes) => {
                self.flush();
                self.guard(|engine| engine.feed(bytes));
            }
            OutputToken::Skipped => {}
        }
    }

    fn sequence(&mut self, sequence: &Sequence<'_>) {
        self.tracker.take(sequence);
        self.modes.take(sequence);
        if let Some(query) = query(sequence).filter(|_| self.replies_enabled) {
            self.reply(query);
        }
    }

    /// Feeds text to the engine, except for its last character.
    fn text(&mut self, text: &[u8]) {
        if last_is_partial(&self.held_cluster) {
            let mut joined = std::mem::take(&mut self.held_cluster);
            joined.extend(text);
            return self.whole_text(&joined);
        }
        self.whole_text(text);
    }

    fn whole_text(&mut self, text: &[u8]) {
        let keep = last_cluster(text);
        if keep == text.len()
            && self.held_cluster.len() + keep <= MAX_CLUSTER_BYTES
            && !begins(text)
        {
            self.held_cluster.extend(text);
            return;
        }
        self.flush();
        let (given, kept) = text.split_at(text.len() - keep);
        self.guard(|engine| engine.feed(given));
        self.held_cluster.extend(kept);
    }

    fn flush(&mut self) {
        if !self.held_cluster.is_empty() {
            let held = std::mem::take(&mut self.held_cluster);
            self.guard(|engine| engine.feed(&held));
        }
    }

    /// Runs the engine, and replaces it if it panics.
    fn guard<T>(&mut self, work: impl FnOnce(&mut dyn VtEngine) -> T) -> Option<T> {
        let engine = &mut *self.engine;
        // The engine is dropped after a panic, so its broken invariants do not matter.
        let worked = catch_unwind(AssertUnwindSafe(|| work(engine)));
        if worked.is_err() {
            tracing::error!(offset = self.end, "screen model panicked and was reset");
            self.engine = (self.create)(self.size);
            self.faults += 1;
        }
        worked.ok()
    }

    fn reply(&mut self, query: Query<'_>) {
        if self.replies.len() >= MAX_REPLY_BYTES {
            return;
        }
        let is_cursor = matches!(query, Query::Cursor { .. });
        let cursor = if is_cursor {
            self.guard(|engine| engine.cursor())
        } else {
            None
        };
        let facts = ReplyFacts {
            rows: self.size.rows,
            cols: self.size.cols,
            cursor: cursor.unwrap_or((1, 1)),
            keyboard_flags: self.tracker.keyboard_flags(),
            mode: self.modes.mode(query),
            color: self.modes.color(query),
        };
        write_reply(query, &facts, &mut self.replies);
    }
}

/// Returns whether text ends within a character.
fn last_is_partial(text: &[u8]) -> bool {
    let last = text.utf8_chunks().last();
    last.is_some_and(|last| is_partial(last.invalid()))
}

/// Returns whether text begins a new cluster, rather than continuing the previous character or
/// combining with it.
fn begins(text: &[u8]) -> bool {
    let first = text.utf8_chunks().next();
    let first = first.and_then(|chunk| chunk.valid().chars().next());
    first.is_some_and(|first| first.width() != Some(0))
}

/// Returns the length of the last cluster of a text, an incomplete character included; 0 after a
/// control character.
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

/// Returns whether invalid UTF-8 is an incomplete character.
fn is_partial(bytes: &[u8]) -> bool {
    let error = std::str::from_utf8(bytes).err();
    error.is_some_and(|error| error.error_len().is_none())
}
