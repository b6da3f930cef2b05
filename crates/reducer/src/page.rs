//! Reloading evicted segments from the log.

use std::borrow::Cow;
use std::ops::Range;

use bowline_jsonl::Item;

use crate::host::{End, HostDecision, HostEvent, Meta};
use crate::host_log::{HostLogEntry, LoggedHostEvent};
use crate::position::{LogPosition, NextIds};
use crate::record::{CallId, EntryId};
use crate::segment::Segment;
use crate::state::ErrorKind;
use crate::transcript::Transcript;
use crate::view::{Entry, ToolCall};

/// An evicted segment of a conversation. See [`Transcript::evicted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its first entry.
    pub first: EntryId,
    /// The first entry after it.
    pub end: EntryId,
    /// Position of its first line.
    pub from: LogPosition,
    /// Position at which reloading starts reading.
    pub resume: LogPosition,
    /// Position after the last line that changed it.
    pub until: LogPosition,
}

/// An evicted segment that is being reloaded: a fold over its part of the log.
///
/// Read what [`Page::next_range`] returns from the log, parse it and pass the lines to
/// [`Page::apply`], until there is no more; then [`Page::entries`] returns the entries as they
/// were.
///
/// ```
/// use bowline_jsonl::{DEFAULT_MAX_LINE, Framer};
/// use bowline_reducer::{Meta, Transcript, Window};
///
/// let line = |n: u32| format!("{{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"{n}\"}}\n");
/// let stream: String = (0..9).map(line).collect();
/// let at = Meta { at_ms: 0 };
/// let mut transcript = Transcript::with_window(Window::of_entries(2));
/// let mut framer = Framer::default();
/// framer.push(stream.clone().into());
/// while let Some(frame) = framer.next_frame() {
///     frame.items().for_each(|item| transcript.apply(&item, at));
/// }
///
/// let evicted = transcript.evicted().next().unwrap();
/// let mut page = transcript.page(evicted.first).unwrap();
/// while let Some((_run, range)) = page.next_range() {
///     let mut framer = Framer::at(DEFAULT_MAX_LINE, range.start, 1);
///     framer.push(stream[range.start as usize..range.end as usize].to_owned().into());
///     while let Some(frame) = framer.next_frame() {
///         frame.items().for_each(|item| page.apply(&item, at));
///     }
/// }
/// assert_eq!(page.entries().next().unwrap().id(), evicted.first);
/// ```
#[derive(Debug)]
pub struct Page {
    transcript: Transcript,
    entries: Range<usize>,
    calls: Range<usize>,
    until: LogPosition,
    /// Host events of the segment in order, and how many are applied.
    host_events: Vec<HostLogEntry>,
    applied_events: usize,
    /// Evictions while these lines were first applied, in order, and how many are replayed.
    evictions: Vec<(LogPosition, NextIds)>,
    replayed: usize,
    /// Copies of the transcript from before evictions of its own content.
    older: Vec<Transcript>,
    duplicates: Vec<(u32, Range<u64>)>,
}

impl Transcript {
    /// Returns the evicted segments, the oldest first. Older segments grow longer as the
    /// conversation grows.
    pub fn evicted(&self) -> impl DoubleEndedIterator<Item = Evicted> {
        let window = self.window.as_deref();
        window.into_iter().flat_map(|window| {
            (0..window.first_kept).map(move |at| {
                let segment = &window.segments[at];
                let end = window.segments[at + 1].ids.entry;
                Evicted {
                    first: EntryId::new(segment.ids.entry as u32),
                    end: EntryId::new(end as u32),
                    from: segment.position,
                    resume: window.segments[window.resume(at)].position,
                    until: segment.until,
                }
            })
        })
    }

    /// Returns the first entry of the window. Entries before it were evicted unless they are open.
    #[must_use]
    pub fn first_kept(&self) -> EntryId {
        let first = self
            .window
            .as_deref()
            .map(|window| &window.segments[window.first_kept]);
        EntryId::new(first.map_or(0, |first| first.ids.entry as u32))
    }

    /// Returns the page for the segment that the entry `id` was evicted with; `None` if it is in
    /// the window.
    #[must_use]
    pub fn page(&self, id: EntryId) -> Option<Page> {
        let window = self.window.as_deref()?;
        let evicted = window.segments.get(..window.first_kept)?;
        if id >= self.first_kept() {
            return None;
        }
        let next = evicted.partition_point(|it| it.ids.entry <= id.index());
        let at = next.checked_sub(1)?;
        let (segment, next) = (&evicted[at], &window.segments[at + 1]);
        let from = window.resume(at);
        let first = &window.segments[from];
        let is_needed = |it: &&Segment<Self>| it.position <= segment.until;
        let needed = window.segments.iter().skip(from).take_while(is_needed);
        let host_events = window.host_events.iter().skip(first.host_events);
        let mut page = Page {
            transcript: first.checkpoint.fork_checkpoint(),
            entries: segment.ids.entry..next.ids.entry,
            calls: segment.ids.call..next.ids.call,
            until: segment.until,
            host_events: host_events
                .take_while(|it| it.position <= segment.until)
                .cloned()
                .collect(),
            applied_events: 0,
            evictions: evictions(&window.evictions, first.position, segment.until),
            replayed: 0,
            older: Vec::new(),
            duplicates: needed
                .flat_map(|it| it.duplicates.iter().cloned())
                .collect(),
        };
        page.apply_trailing_events();
        Some(page)
    }
}

impl Page {
    /// Returns the run and byte range of the log that it needs next; `None` when it is complete.
    #[must_use]
    pub fn next_range(&self) -> Option<(u32, Range<u64>)> {
        let LogPosition { run, offset } = self.transcript.position();
        let next = self
            .host_events
            .get(self.applied_events..)?
            .iter()
            .find(|it| it.position.run > run);
        let end = match next {
            Some(_) => self.end_of(run),
            None => self.until.offset,
        };
        (offset < end).then_some((run, offset..end))
    }

    /// Position of the last host event of a run that has ended.
    fn end_of(&self, run: u32) -> u64 {
        let its = self.host_events.iter().filter(|it| it.position.run == run);
        its.map(|it| it.position.offset).max().unwrap_or_default()
    }

    /// Applies the next line of the requested range; other lines are ignored.
    pub fn apply(&mut self, item: &Item<'_>, at: Meta) {
        let run = self.transcript.run;
        let position = LogPosition {
            run,
            offset: item.at.offset,
        };
        let is_partial = item.at.is_tail && item.event.is_err();
        if is_partial && self.is_replayed(position) {
            return;
        }
        let mut item = Cow::Borrowed(item);
        if is_partial {
            // It was cut short, and another line follows in the log.
            item.to_mut().at.is_tail = false;
        }
        self.apply_host_events(position);
        self.replay_evictions(position);
        if self.transcript.run != run || position >= self.until {
            return;
        }
        let is_match =
            |(its, lines): &(u32, Range<u64>)| *its == run && lines.contains(&position.offset);
        if self.duplicates.iter().any(is_match) {
            self.transcript.skip_duplicate(&item);
        } else {
            self.transcript.apply(&item, at);
        }
        self.apply_trailing_events();
    }

    /// Whether the incomplete line at a position is replayed as a host event.
    fn is_replayed(&self, position: LogPosition) -> bool {
        let is_partial =
            |it: &HostLogEntry| matches!(it.event, LoggedHostEvent::PartialLine { .. });
        let mut its = self.host_events.iter().filter(|it| it.position == position);
        its.any(is_partial)
    }

    /// Applies the host events after the last line of a run, and after the last line of the
    /// segment.
    fn apply_trailing_events(&mut self) {
        while self.next_range().is_none() && self.applied_events < self.host_events.len() {
            let LogPosition { run, .. } = self.transcript.position();
            if self.until.run == run {
                return self.apply_host_events(self.until);
            }
            let offset = self.end_of(run);
            self.apply_host_events(LogPosition { run, offset });
            if self.transcript.run == run {
                return;
            }
        }
    }

    /// Replays the evictions up to a position, and keeps the content that they remove.
    fn replay_evictions(&mut self, position: LogPosition) {
        while let Some((_, to)) = self
            .evictions
            .get(self.replayed)
            .filter(|it| it.0 <= position)
        {
            let older = self.transcript.share();
            self.transcript.replay_eviction(to);
            self.replayed += 1;
            let now = &self.transcript;
            let is_evicted = |at: &usize| older.entries.contains(*at) && !now.entries.contains(*at);
            let is_evicted_call =
                |at: &usize| older.calls.contains(*at) && !now.calls.contains(*at);
            if self.entries.clone().any(|at| is_evicted(&at))
                || self.calls.clone().any(|at| is_evicted_call(&at))
            {
                self.older.push(older);
            }
        }
    }

    /// The newest transcript that contains a record.
    fn newest_with(&self, contains: impl Fn(&Transcript) -> bool) -> &Transcript {
        let mut all = std::iter::once(&self.transcript).chain(self.older.iter().rev());
        all.find(|it| contains(it)).unwrap_or(&self.transcript)
    }

    /// Applies the host events up to a position.
    fn apply_host_events(&mut self, position: LogPosition) {
        while let Some(entry) = self
            .host_events
            .get(self.applied_events)
            .filter(|it| it.position <= position)
        {
            self.transcript.replay_host_event(entry);
            self.applied_events += 1;
        }
    }

    /// Returns the entries of the segment, of all threads, in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        let ids = self.entries.clone().map(|at| EntryId::new(at as u32));
        ids.filter_map(|id| {
            self.newest_with(|it| it.entries.contains(id))
                .entry_by_id(id)
        })
    }

    /// Returns the tool calls of the segment, of all threads, in the order of announcement.
    pub fn tool_calls(&self) -> impl DoubleEndedIterator<Item = ToolCall<'_>> {
        let ids = self.calls.clone().map(|at| CallId::new(at as u32));
        ids.filter_map(|id| {
            self.newest_with(|it| it.calls.contains(id))
                .tool_call_by_id(id)
        })
    }

    /// Returns a tool call of the segment by its `tool_use` id.
    #[must_use]
    pub fn tool_call(&self, tool_use_id: &str) -> Option<ToolCall<'_>> {
        self.tool_calls().find(|call| call.id() == tool_use_id)
    }
}

/// The evictions between two positions.
fn evictions(
    all: &[(LogPosition, NextIds)],
    from: LogPosition,
    until: LogPosition,
) -> Vec<(LogPosition, NextIds)> {
    let evictions = all
        .iter()
        .filter(|(position, _)| *position > from && *position <= until);
    evictions.copied().collect()
}

impl Transcript {
    /// Applies a recorded host event again.
    fn replay_host_event(&mut self, entry: &HostLogEntry) {
        let event = match &entry.event {
            LoggedHostEvent::HistoryStarted => HostEvent::HistoryStarted,
            LoggedHostEvent::HistoryEnded => HostEvent::HistoryEnded,
            LoggedHostEvent::Started => HostEvent::ProcessStarted,
            LoggedHostEvent::Prompt { uuid, text } => HostEvent::PromptSent {
                uuid: uuid.as_deref(),
                text,
            },
            LoggedHostEvent::Dropped { uuid } => HostEvent::PromptDropped { uuid },
            LoggedHostEvent::Allowed { request, input } => HostEvent::PermissionAnswered {
                request_id: request,
                decision: HostDecision::Allow {
                    updated_input: input.as_deref(),
                },
            },
            LoggedHostEvent::Denied { request } => HostEvent::PermissionAnswered {
                request_id: request,
                decision: HostDecision::Deny,
            },
            LoggedHostEvent::Attributed { request, who, how } => HostEvent::PermissionAttributed {
                request_id: request,
                who,
                how: how.as_deref(),
            },
            LoggedHostEvent::Asked(asked) => HostEvent::HostAsked {
                request_id: &asked.request,
                tool_name: &asked.tool_name,
                reason: &asked.reason,
                question: &asked.question,
                options: &asked.options,
            },
            LoggedHostEvent::Interrupted => HostEvent::InterruptRequested,
            &LoggedHostEvent::Gap { from, to } => HostEvent::Gap { from, to },
            LoggedHostEvent::Error { kind, reason } => match kind {
                ErrorKind::Gap => HostEvent::Damaged { reason },
                ErrorKind::ReconnectFailed => HostEvent::ReconnectFailed { reason },
                ErrorKind::AnswerUndelivered => HostEvent::AnswerUndelivered { reason },
                _ => HostEvent::SessionTimeout { reason },
            },
            LoggedHostEvent::PartialLine { kind, text, bytes } => {
                return self.replay_partial_line(*kind, text, *bytes, entry.at);
            }
            LoggedHostEvent::Retracted { entries } => {
                return entries.iter().for_each(|&id| self.remove_entry(id));
            }
            LoggedHostEvent::Input { line } => return self.apply_input(line, entry.at),
            LoggedHostEvent::RecordingEnded => return self.end(End::Recording, entry.at),
            &LoggedHostEvent::ProcessEnded { ref exit, expected } => {
                return self.end(End::Process { exit, expected }, entry.at);
            }
        };
        self.apply_host(event, entry.at);
    }
}
