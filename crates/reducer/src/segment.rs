//! Segments of a windowed conversation, and what is needed to reload those that were evicted.

use std::ops::Range;

use crate::arena::ArenaMark;
use crate::host_log::HostLogEntry;
use crate::position::{LogPosition, NextIds};

/// How much of a conversation a transcript keeps.
///
/// What is open is kept in addition: tool calls without a result, tasks, permission requests,
/// running sub-agents, and the messages that contain them. A line that refers to something evicted
/// is handled as if the beginning had been missed, so a window should hold at least a few turns.
///
/// ```
/// use bowline_reducer::{Transcript, Window};
///
/// let transcript = Transcript::with_window(Window::of_entries(1_000));
/// assert_eq!(transcript.evicted().count(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Most entries, over all threads.
    pub entries: usize,
    /// Most text, in bytes.
    pub bytes: u64,
}

/// Segments in a window; after an eviction, at least seven eighths of the window are left.
const SEGMENTS_PER_WINDOW: usize = 8;

/// How much longer a segment may be while a message streams: a checkpoint between two messages is
/// smaller.
pub(crate) const STREAMING_FACTOR: usize = 4;

/// Most evicted segments; when there are more, pairs of them are merged.
pub(crate) const MAX_SEGMENTS: usize = 32;

/// Most evictions that are remembered, of 72 bytes each; when there are more, every second of the
/// older half is dropped. They matter only for lines that refer to something evicted long ago.
const MAX_EVICTIONS: usize = 2048;

/// Fewest uuids that are remembered; a repeated line comes with fewer lines in between.
pub(crate) const MIN_UUIDS: usize = 4096;

impl Window {
    /// Returns a window of `entries` entries, of any length.
    #[must_use]
    pub const fn of_entries(entries: usize) -> Self {
        Self {
            entries,
            bytes: u64::MAX,
        }
    }

    /// Returns a window of `bytes` bytes of text.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self {
            entries: usize::MAX,
            bytes,
        }
    }

    /// Length of a segment.
    pub(crate) fn segment_size(self) -> ContentSize {
        ContentSize {
            entries: (self.entries / SEGMENTS_PER_WINDOW).max(1),
            bytes: (self.bytes / SEGMENTS_PER_WINDOW as u64).max(1),
        }
    }
}

/// Amount of content between two positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentSize {
    pub(crate) entries: usize,
    pub(crate) bytes: u64,
}

impl ContentSize {
    /// Whether it has `factor` as many entries or bytes as `limit`.
    pub(crate) const fn reaches(self, limit: Self, factor: usize) -> bool {
        self.entries >= limit.entries.saturating_mul(factor)
            || self.bytes >= limit.bytes.saturating_mul(factor as u64)
    }
}

/// The part of a conversation between two boundaries; `C` is a checkpoint, a transcript.
#[derive(Debug)]
pub(crate) struct Segment<C> {
    pub(crate) number: u32,
    /// Its beginning: in the log, among the records, in the text, among the host events.
    pub(crate) position: LogPosition,
    pub(crate) ids: NextIds,
    pub(crate) arena: ArenaMark,
    pub(crate) written: u64,
    pub(crate) host_events: usize,
    pub(crate) checkpoint: Box<C>,
    /// Number of the segment whose checkpoint must be used to reload this one.
    pub(crate) resume: u32,
    /// Position after the last line that changed a record of this segment.
    pub(crate) until: LogPosition,
    /// Byte ranges of duplicate lines, by run.
    pub(crate) duplicates: Vec<(u32, Range<u64>)>,
}

/// The state of a windowed transcript beyond its content.
#[derive(Debug)]
pub(crate) struct WindowState<C> {
    pub(crate) limits: Window,
    pub(crate) segments: Vec<Segment<C>>,
    /// Index of the first segment that is not evicted.
    pub(crate) first_kept: usize,
    pub(crate) host_events: Vec<HostLogEntry>,
    /// The evictions: a line after such a position did not find the evicted records.
    pub(crate) evictions: Vec<(LogPosition, NextIds)>,
}

impl<C> WindowState<C> {
    pub(crate) const fn new(limits: Window) -> Self {
        Self {
            limits,
            segments: Vec::new(),
            first_kept: 0,
            host_events: Vec::new(),
            evictions: Vec::new(),
        }
    }

    pub(crate) fn record_eviction(&mut self, position: LogPosition, to: NextIds) {
        if self.evictions.len() == MAX_EVICTIONS {
            let mut number = 0;
            self.evictions.retain(|_| {
                number += 1;
                number % 2 == 0 || number > MAX_EVICTIONS / 2
            });
        }
        self.evictions.push((position, to));
    }

    /// Index of the segment with this number, or of the one that it was merged into.
    pub(crate) fn index_of(&self, number: u32) -> usize {
        let next = self.segments.partition_point(|it| it.number <= number);
        next.saturating_sub(1)
    }

    /// Index of the segment whose checkpoint reloads this one: from there to the last line that is
    /// needed, no line depends on anything older.
    pub(crate) fn resume(&self, segment: usize) -> usize {
        let until = self.segments[segment].until;
        let end = self.segments.partition_point(|it| it.position < until);
        let (mut first, mut seen) = (segment, end.max(segment + 1));
        while first < seen {
            let older = self.segments[first..seen].iter().map(|it| it.resume);
            seen = first;
            first = older.min().map_or(first, |it| self.index_of(it)).min(first);
        }
        first
    }

    /// Halves the number of evicted segments.
    pub(crate) fn merge(&mut self) {
        let kept = self.segments.split_off(self.first_kept);
        let mut evicted = std::mem::take(&mut self.segments).into_iter();
        while let Some(mut segment) = evicted.next() {
            if let Some(next) = evicted.next() {
                segment.resume = segment.resume.min(next.resume);
                segment.until = segment.until.max(next.until);
                segment.duplicates.extend(next.duplicates);
            }
            self.segments.push(segment);
        }
        self.first_kept = self.segments.len();
        self.segments.extend(kept);
    }
}
