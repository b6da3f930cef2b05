//! A window over a conversation: the newest part is kept, older parts can be reloaded from the log.
//!
//! The log is divided into segments at line boundaries, several to a window. At each boundary there
//! is a checkpoint: a transcript that holds only what was open there. When the window is full, its
//! oldest segment is evicted, except for what is open. To reload a segment, its checkpoint folds
//! the same lines again: up to the last line that changed the segment, and from as far back as
//! those lines depend on.

mod evict;
mod host_log;
mod page;
mod pins;

pub(crate) use host_log::{HostLogEntry, LoggedHostEvent};
pub use page::{Evicted, LogPosition, Page};

use std::ops::Range;

use crate::arena::ArenaMark;
use crate::host::Meta;
use crate::record::{CallId, EntryId, PermissionId, TaskId};
use crate::transcript::{LineContext, Transcript};

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
const STREAMING_FACTOR: usize = 4;

/// Most evicted segments; when there are more, pairs of them are merged.
const MAX_SEGMENTS: usize = 32;

/// Most evictions that are remembered, of 72 bytes each; when there are more, every second of the
/// older half is dropped. They matter only for lines that refer to something evicted long ago.
const MAX_EVICTIONS: usize = 2048;

/// Fewest uuids that are remembered; a repeated line comes with fewer lines in between.
const MIN_UUIDS: usize = 4096;

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
    fn segment_size(self) -> ContentSize {
        ContentSize {
            entries: (self.entries / SEGMENTS_PER_WINDOW).max(1),
            bytes: (self.bytes / SEGMENTS_PER_WINDOW as u64).max(1),
        }
    }
}

/// Amount of content between two positions.
#[derive(Clone, Copy, Debug)]
struct ContentSize {
    entries: usize,
    bytes: u64,
}

impl ContentSize {
    /// Whether it has `factor` as many entries or bytes as `limit`.
    const fn reaches(self, limit: Self, factor: usize) -> bool {
        self.entries >= limit.entries.saturating_mul(factor)
            || self.bytes >= limit.bytes.saturating_mul(factor as u64)
    }
}

/// The next number of each kind of record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NextIds {
    pub(crate) thread: usize,
    pub(crate) entry: usize,
    pub(crate) block: usize,
    pub(crate) call: usize,
    pub(crate) result: usize,
    pub(crate) task: usize,
    pub(crate) permission: usize,
}

/// The part of a conversation between two boundaries.
#[derive(Debug)]
struct Segment {
    number: u32,
    /// Its beginning: in the log, among the records, in the text, among the host events.
    position: LogPosition,
    ids: NextIds,
    arena: ArenaMark,
    written: u64,
    host_events: usize,
    checkpoint: Box<Transcript>,
    /// Number of the segment whose checkpoint must be used to reload this one.
    resume: u32,
    /// Position after the last line that changed a record of this segment.
    until: LogPosition,
    /// Byte ranges of duplicate lines, by run.
    duplicates: Vec<(u32, Range<u64>)>,
}

/// The state of a windowed transcript beyond its content.
#[derive(Debug)]
pub(crate) struct WindowState {
    limits: Window,
    segments: Vec<Segment>,
    /// Index of the first segment that is not evicted.
    first_kept: usize,
    host_events: Vec<HostLogEntry>,
    /// The evictions: a line after such a position did not find the evicted records.
    evictions: Vec<(LogPosition, NextIds)>,
}

impl WindowState {
    fn record_eviction(&mut self, position: LogPosition, to: NextIds) {
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
    fn index_of(&self, number: u32) -> usize {
        let next = self.segments.partition_point(|it| it.number <= number);
        next.saturating_sub(1)
    }

    /// Index of the segment whose checkpoint reloads this one: from there to the last line that is
    /// needed, no line depends on anything older.
    fn resume(&self, segment: usize) -> usize {
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
    fn merge(&mut self) {
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

impl Transcript {
    /// Returns an empty transcript that keeps no more than `window` of a conversation.
    #[must_use]
    pub fn with_window(window: Window) -> Self {
        let mut transcript = Self::new();
        let mut state = WindowState {
            limits: window,
            segments: Vec::new(),
            first_kept: 0,
            host_events: Vec::new(),
            evictions: Vec::new(),
        };
        transcript.begin_segment(&mut state);
        transcript.window = Some(Box::new(state));
        transcript
    }

    /// Position of the next line.
    pub(crate) const fn position(&self) -> LogPosition {
        LogPosition {
            run: self.run,
            offset: self.applied,
        }
    }

    pub(crate) fn ids(&self) -> NextIds {
        NextIds {
            thread: self.threads.len(),
            entry: self.entries.len(),
            block: self.blocks.len(),
            call: self.calls.len(),
            result: self.results.len(),
            task: self.tasks.len(),
            permission: self.permissions.len(),
        }
    }

    fn since(&self, segment: &Segment) -> ContentSize {
        ContentSize {
            entries: self.entries.len() - segment.ids.entry,
            bytes: self.arena.written().saturating_sub(segment.written),
        }
    }

    /// Between two lines: ends the segment if it is long enough, and evicts what exceeds the
    /// window.
    pub(crate) fn maintain_window(&mut self) {
        let Some(mut state) = self.window.take() else {
            return;
        };
        let segment_size = state.limits.segment_size();
        let size = state.segments.last().map(|last| self.since(last));
        let factor = if self.drafts.is_empty() {
            1
        } else {
            STREAMING_FACTOR
        };
        if size.is_some_and(|size| size.reaches(segment_size, factor)) {
            self.begin_segment(&mut state);
            self.evict_excess(&mut state);
        }
        self.window = Some(state);
    }

    /// Ends the segment in any case, because offsets restart.
    pub(crate) fn end_segment(&mut self) {
        if let Some(mut state) = self.window.take() {
            self.begin_segment(&mut state);
            self.window = Some(state);
        }
    }

    fn begin_segment(&mut self, state: &mut WindowState) {
        let position = self.position();
        let number = state.segments.last().map_or(0, |last| last.number + 1);
        if let Some(last) = state.segments.last_mut() {
            last.until = last.until.max(position);
        }
        let ids = self.ids();
        state.segments.push(Segment {
            number,
            position,
            ids,
            arena: self.arena.mark(),
            written: self.arena.written(),
            host_events: state.host_events.len(),
            checkpoint: Box::new(self.checkpoint(ids)),
            resume: number,
            until: position,
            duplicates: Vec::new(),
        });
        self.segment_start = ids;
    }

    fn evict_excess(&mut self, state: &mut WindowState) {
        let (window, segment_size) = (state.limits, state.limits.segment_size());
        let room = ContentSize {
            entries: window
                .entries
                .saturating_sub(segment_size.entries)
                .saturating_add(1),
            bytes: window
                .bytes
                .saturating_sub(segment_size.bytes)
                .saturating_add(1),
        };
        let exceeds_window = |segment: &&Segment| self.since(segment).reaches(room, 1);
        let evicted = state.segments.iter().take_while(exceeds_window).count();
        let first_kept = evicted.min(state.segments.len() - 1).max(state.first_kept);
        if first_kept > state.first_kept {
            state.first_kept = first_kept;
            let first = &state.segments[first_kept];
            let (ids, arena) = (first.ids, first.arena);
            state.record_eviction(self.position(), ids);
            let pins = self.pins(&ids);
            self.evict(&ids, arena, &pins);
            self.uuids
                .age(MIN_UUIDS.max(2 * window.entries.min(1 << 24)));
            self.log.reset();
        }
        if state.first_kept > MAX_SEGMENTS {
            state.merge();
        }
    }

    /// Records that a line depends on an entry, which a reload needs, too.
    #[inline]
    pub(crate) fn depend_on_entry(&mut self, id: EntryId) {
        if id.index() < self.segment_start.entry {
            self.depend_on(
                |ids| ids.entry,
                id.index(),
                |checkpoint, at| checkpoint.entries.contains(at),
            );
        }
    }

    /// Records that a line depends on a call.
    #[inline]
    pub(crate) fn depend_on_call(&mut self, id: CallId) {
        if id.index() < self.segment_start.call {
            self.depend_on(
                |ids| ids.call,
                id.index(),
                |checkpoint, at| checkpoint.calls.contains(at),
            );
        }
    }

    /// Records that a line depends on a permission request.
    pub(crate) fn depend_on_permission(&mut self, id: PermissionId) {
        if id.index() < self.segment_start.permission {
            let is_in_checkpoint = |checkpoint: &Self, at| checkpoint.permissions.get(at).is_some();
            self.depend_on(|ids| ids.permission, id.index(), is_in_checkpoint);
        }
    }

    /// Records that a line depends on a task.
    pub(crate) fn depend_on_task(&mut self, id: TaskId) {
        if id.index() < self.segment_start.task {
            let is_in_checkpoint = |checkpoint: &Self, at| checkpoint.tasks.get(at).is_some();
            self.depend_on(|ids| ids.task, id.index(), is_in_checkpoint);
        }
    }

    /// Records that a line changed an entry, so that a reload needs the line.
    #[inline]
    pub(crate) fn mark_entry_changed(&mut self, id: EntryId) {
        if id.index() < self.segment_start.entry {
            self.depend_on_entry(id);
            self.mark_changed(|ids| ids.entry, id.index());
        }
    }

    /// Records that a line changed a call.
    #[inline]
    pub(crate) fn mark_call_changed(&mut self, id: CallId) {
        if id.index() < self.segment_start.call {
            self.depend_on_call(id);
            self.mark_changed(|ids| ids.call, id.index());
        }
    }

    #[cold]
    fn depend_on(
        &mut self,
        number: fn(&NextIds) -> usize,
        at: usize,
        is_in_checkpoint: fn(&Self, usize) -> bool,
    ) {
        let Some(state) = &mut self.window else {
            return;
        };
        let next = state.segments.partition_point(|it| number(&it.ids) <= at);
        let resume = state.segments[next.saturating_sub(1)].resume;
        if let Some(last) = state.segments.last_mut()
            && !is_in_checkpoint(&last.checkpoint, at)
        {
            last.resume = last.resume.min(resume);
        }
    }

    #[cold]
    fn mark_changed(&mut self, number: fn(&NextIds) -> usize, at: usize) {
        let position = self.position();
        let Some(state) = &mut self.window else {
            return;
        };
        let next = state.segments.partition_point(|it| number(&it.ids) <= at);
        if let Some(segment) = state.segments.get_mut(next.saturating_sub(1)) {
            segment.until = segment.until.max(position);
        }
    }

    /// Records a line that was dropped as a duplicate.
    pub(crate) fn note_duplicate(&mut self, context: LineContext) {
        let run = self.run;
        let last = self.window.as_mut().and_then(|it| it.segments.last_mut());
        let Some(last) = last else { return };
        match last.duplicates.last_mut() {
            Some((its, lines)) if *its == run && lines.end == context.offset => {
                lines.end = context.end
            }
            _ => last.duplicates.push((run, context.offset..context.end)),
        }
    }

    /// Records a host event, which is in no log.
    pub(crate) fn log_host_event(&mut self, event: impl FnOnce() -> LoggedHostEvent, at: Meta) {
        let position = self.position();
        if let Some(state) = &mut self.window {
            state.host_events.push(HostLogEntry {
                position,
                at,
                event: event(),
            });
        }
    }
}
