//! Recognizes a stream that is repeated from its beginning.
//!
//! A reader that begins again without an offset delivers the stream from its first line, and a
//! recording may hold a part of a stream and then the whole one. The uuids of all lines would show it,
//! but keeping them would double the size of a transcript that was streamed. Instead, the first line
//! with a uuid stands for the stream, since no other line has its uuid: when it comes again, the
//! stream begins again, and each line is repeated as far as the stream is known. The first lines are
//! compared; a later one is known by its position.

use std::hash::BuildHasher as _;

use bowline_jsonl::{Item, ParseError, ParseErrorKind};
use foldhash::fast::FixedState;

/// Number of lines that are compared.
const COMPARED_LINES: usize = 64;

/// Most bytes by which a line may be longer than when it came first: its CR and LF, before which
/// the stream was cut.
const LINE_END: u64 = 2;

/// A line at the beginning of the stream.
#[derive(Clone, Copy, Debug)]
struct FirstLine {
    hash: u64,
    len: usize,
    /// Its end, in bytes from the beginning of the stream.
    end: u64,
}

impl FirstLine {
    fn is(&self, raw: &[u8]) -> bool {
        self.len == raw.len() && self.hash == hash(raw)
    }
}

/// The beginning of a line that was cut short.
#[derive(Clone, Copy, Debug)]
struct Fragment {
    hash: u64,
    len: usize,
    /// Number of lines before it.
    lines: usize,
}

/// What a line is in relation to the lines before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineOrigin {
    /// It is not known to have come before.
    New,
    /// It came before.
    Repeated,
    /// The stream begins again with this line, which came before. What was shown of the lines
    /// since the entry with this number also came before, or comes again in full.
    Beginning(Option<usize>),
    /// It did not come before, but a cut copy of it did, which is the entry with this number.
    Completed(usize),
}

/// Lines that may have come before, and the state before them.
#[derive(Clone, Copy, Debug)]
struct Unsure {
    /// Whether one of them was cut short, so that the stream began again after it.
    is_cut: bool,
    /// Number of the first entry that they added.
    entry: usize,
    known: u64,
    lines: usize,
}

/// The beginning of the stream, and where its repetition stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repetition {
    first: Vec<FirstLine>,
    /// Lengths of the first line, and of the first one that has a uuid.
    lengths: [usize; 2],
    /// Index of the first line that has a uuid.
    named: Option<usize>,
    /// Offset at which the stream began, or began again. It wraps: a reader may count from any
    /// offset.
    start: u64,
    /// Length of the stream up to its last complete line, in bytes.
    known: u64,
    /// Index of the next repeated line, while the stream is repeated.
    next: Option<usize>,
    /// How many of the lines before the first named one came again in a row, up to here.
    before_named: usize,
    /// A line that was cut short, and lines that equal those before the first named one.
    unsure: Option<Unsure>,
    fragment: Option<Fragment>,
    /// Whether only a line of one of the `lengths`, or an error, needs a closer look.
    is_settled: bool,
    /// Offset at which a line was cut short last.
    cut_end: Option<u64>,
}

impl Repetition {
    /// Returns what a line is. `next_entry` is the number that the next entry gets.
    #[inline]
    pub(crate) fn observe(&mut self, item: &Item<'_>, next_entry: usize) -> LineOrigin {
        let len = item.raw.len();
        if self.is_settled && item.event.is_ok() && len != self.lengths[0] && len != self.lengths[1]
        {
            self.known = item.at.end.wrapping_sub(self.start);
            return LineOrigin::New;
        }
        let origin = self.observe_closely(item, next_entry);
        self.is_settled =
            self.next.is_none() && self.unsure.is_none() && self.first.len() == COMPARED_LINES;
        origin
    }

    #[inline(never)]
    fn observe_closely(&mut self, item: &Item<'_>, next_entry: usize) -> LineOrigin {
        let is_named = has_uuid(item);
        if is_named
            && let Some(named) = self.named
            && let Some(line) = self.first.get(named).filter(|line| line.is(item.raw))
        {
            self.start = item.at.end.wrapping_sub(line.end);
            self.next = Some(named + 1);
            self.before_named = 0;
            return LineOrigin::Beginning(self.take_unsure());
        }
        if self.repeats(item) {
            return LineOrigin::Repeated;
        }
        // More of the last line may follow.
        if item.at.is_tail && item.event.is_err() {
            return LineOrigin::New;
        }
        self.next = None;
        let unsure = Unsure {
            is_cut: false,
            entry: next_entry,
            known: self.known,
            lines: self.first.len(),
        };
        if is_cut(item) {
            self.cut(item, unsure);
            return LineOrigin::New;
        }
        let completed = self.completed(item, is_named);
        self.remember(item, is_named);
        self.known = item.at.end.wrapping_sub(self.start);
        if let Some(entry) = completed {
            return LineOrigin::Completed(entry);
        }
        self.match_unnamed(item, unsure);
        LineOrigin::New
    }

    /// Whether a line was cut short at this offset, where another one begins.
    pub(crate) fn is_cut_at(&self, offset: u64) -> bool {
        self.cut_end == Some(offset)
    }

    /// Forgets the lines that turned out to have come before; returns the number of their first entry.
    fn take_unsure(&mut self) -> Option<usize> {
        let unsure = self.unsure.take()?;
        self.known = unsure.known;
        self.first.truncate(unsure.lines);
        Some(unsure.entry)
    }

    /// Whether the line continues a repetition.
    fn repeats(&mut self, item: &Item<'_>) -> bool {
        let Some(next) = self.next else { return false };
        let begin = item.at.offset.wrapping_sub(self.start);
        let end = item.at.end.wrapping_sub(self.start);
        let is_known = begin < self.known && end <= self.known + LINE_END;
        let is_same = match self.first.get(next) {
            Some(line) => line.is(item.raw),
            None => self.first.len() == COMPARED_LINES,
        };
        if is_known && is_same {
            self.next = Some(next + 1);
        }
        is_known && is_same
    }

    /// Remembers a line that was cut short.
    fn cut(&mut self, item: &Item<'_>, unsure: Unsure) {
        self.unsure.get_or_insert(unsure).is_cut = true;
        self.before_named = 0;
        self.cut_end = Some(item.at.end);
        self.fragment = Some(Fragment {
            hash: hash(item.raw),
            len: item.raw.len(),
            lines: self.first.len(),
        });
    }

    /// Before any line has a uuid, a stream that was cut short and begins again is known by the line
    /// that was cut: it comes again, after the same lines. Returns the entry of the cut line.
    fn completed(&mut self, item: &Item<'_>, is_named: bool) -> Option<usize> {
        if self.named.is_some() {
            return None;
        }
        let Fragment {
            hash: cut,
            len,
            lines,
        } = self.fragment?;
        let is_line = item.raw.get(..len).is_some_and(|begin| hash(begin) == cut);
        let (before, after) = self.first.split_at(lines.min(self.first.len()));
        let is_same =
            |(one, two): (&FirstLine, &FirstLine)| (one.hash, one.len) == (two.hash, two.len);
        let is_repeated = before.len() == after.len() && before.iter().zip(after).all(is_same);
        if !is_line || !is_repeated {
            if is_named {
                (self.fragment, self.unsure) = (None, None);
            }
            return None;
        }
        self.start = match (before.last(), after.last()) {
            (Some(one), Some(two)) => self.start.wrapping_add(two.end - one.end),
            _ => item.at.offset,
        };
        self.first.truncate(lines);
        self.fragment = None;
        self.unsure.take().map(|unsure| unsure.entry)
    }

    /// Adds a line to the beginning of the stream.
    fn remember(&mut self, item: &Item<'_>, is_named: bool) {
        if self.first.len() == COMPARED_LINES {
            return;
        }
        if self.first.is_empty() {
            self.lengths[0] = item.raw.len();
        }
        if is_named && self.named.is_none() {
            self.named = Some(self.first.len());
            self.lengths[1] = item.raw.len();
        }
        self.first.push(FirstLine {
            hash: hash(item.raw),
            len: item.raw.len(),
            end: item.at.end.wrapping_sub(self.start),
        });
    }

    /// Records a line that equals one before the first named line.
    fn match_unnamed(&mut self, item: &Item<'_>, unsure: Unsure) {
        let Some(named) = self.named else { return };
        let is_next = |at: usize| {
            let line = self.first.get(at).filter(|_| at < named);
            line.is_some_and(|line| line.is(item.raw))
        };
        if self.before_named > 0 && is_next(self.before_named) {
            self.before_named += 1;
        } else if is_next(0) {
            self.unsure = self.unsure.filter(|it| it.is_cut).or(Some(unsure));
            self.before_named = 1;
        } else {
            (self.unsure, self.before_named) = (None, 0);
        }
    }
}

fn hash(raw: &[u8]) -> u64 {
    FixedState::with_seed(2).hash_one(raw)
}

/// A line without a uuid may be written twice.
fn has_uuid(item: &Item<'_>) -> bool {
    let uuid = item.event.as_ref().ok().and_then(|event| event.uuid);
    uuid.is_some_and(|uuid| !uuid.is_empty())
}

/// Whether another line begins where this one was cut short.
fn is_cut(item: &Item<'_>) -> bool {
    let is_short = |error: &ParseError| !matches!(error.kind(), ParseErrorKind::TooLong { .. });
    let is_bad = item.event.as_ref().is_err_and(is_short);
    is_bad && !item.at.is_tail && item.at.end - item.at.offset == item.raw.len() as u64
}
