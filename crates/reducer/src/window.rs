//! A window over a conversation: the newest part is kept, older parts can be reloaded from the log.
//!
//! The log is divided into segments at line boundaries, several to a window. At each boundary there
//! is a checkpoint: a transcript that holds only what was open there. When the window is full, its
//! oldest segment is evicted, except for what is open. To reload a segment, its checkpoint folds
//! the same lines again: up to the last line that changed the segment, and from as far back as
//! those lines depend on.

mod evict;
mod pins;

use crate::host::Meta;
use crate::host_log::{HostLogEntry, LoggedHostEvent};
use crate::segment::{
    ContentSize, MAX_SEGMENTS, MIN_UUIDS, STREAMING_FACTOR, Segment, Window, WindowState,
};
use crate::transcript::{LineContext, Transcript};

impl Transcript {
    /// Returns an empty transcript that keeps no more than `window` of a conversation.
    #[must_use]
    pub fn with_window(window: Window) -> Self {
        Self::new().windowed(window)
    }

    /// Gives an empty transcript a window.
    pub(crate) fn windowed(mut self, window: Window) -> Self {
        let mut state = WindowState::new(window);
        self.begin_segment(&mut state);
        self.window = Some(Box::new(state));
        self
    }

    fn since(&self, segment: &Segment<Self>) -> ContentSize {
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
        // A segment ends with a whole line: its part is read from the log.
        let is_cut = self.repetition.is_cut_at(self.applied);
        if size.is_some_and(|size| size.reaches(segment_size, factor)) && !is_cut {
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

    fn begin_segment(&mut self, state: &mut WindowState<Self>) {
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

    fn evict_excess(&mut self, state: &mut WindowState<Self>) {
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
        let exceeds_window = |segment: &&Segment<Self>| self.since(segment).reaches(room, 1);
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
