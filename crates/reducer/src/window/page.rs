//! What was given up, had again from the log.

use std::ops::Range;

use bowline_jsonl::Item;

use crate::host::Meta;
use crate::record::{CallId, EntryId};
use crate::transcript::Transcript;
use crate::view::{Entry, ToolCall};
use crate::window::{Ids, Stretch, Told};

/// A place in the log of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// How often the process was started again; offsets count from 0 in each run.
    pub run: u32,
    /// Bytes before it in that run.
    pub offset: u64,
}

/// A stretch of a conversation that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// Its first entry.
    pub first: EntryId,
    /// The first entry behind it.
    pub end: EntryId,
    /// Where its lines begin.
    pub from: Place,
    /// Where to begin reading in order to have it again.
    pub resume: Place,
    /// Behind the last line that changed it.
    pub until: Place,
}

/// A stretch of a conversation that comes again: a fold over its part of the log.
///
/// Everything that [`Page::wants`] is to be read from the log, parsed and given to
/// [`Page::apply`]; then [`Page::entries`] are those of the stretch, as they were.
#[derive(Debug)]
pub struct Page {
    transcript: Transcript,
    entries: Range<usize>,
    calls: Range<usize>,
    until: Place,
    /// What the host said, in order, and how much of it was heard.
    told: Vec<Told>,
    heard: usize,
    /// What was given up when these lines came first, in order, and how much of it was again.
    passes: Vec<(Place, Ids)>,
    passed: usize,
    /// The transcript before some of the stretch was given up.
    before: Vec<Transcript>,
    dropped: Vec<(u32, Range<u64>)>,
}

impl Transcript {
    /// The stretches that were given up, the oldest first. They are cut at line boundaries; the
    /// older ones become longer as the conversation grows.
    pub fn evicted(&self) -> impl DoubleEndedIterator<Item = Evicted> {
        let keeper = self.keeper.as_deref();
        keeper.into_iter().flat_map(|keeper| {
            (0..keeper.kept).map(move |at| {
                let stretch = &keeper.stretches[at];
                let end = keeper.stretches[at + 1].ids.entry;
                Evicted {
                    first: EntryId::new(stretch.ids.entry as u32),
                    end: EntryId::new(end as u32),
                    from: stretch.place,
                    resume: keeper.stretches[keeper.resume(at)].place,
                    until: stretch.until,
                }
            })
        })
    }

    /// The first entry of the window: those before it were given up, unless they are open.
    #[must_use]
    pub fn first_kept(&self) -> EntryId {
        let first = self
            .keeper
            .as_deref()
            .map(|keeper| &keeper.stretches[keeper.kept]);
        EntryId::new(first.map_or(0, |first| first.ids.entry as u32))
    }

    /// The stretch that the entry `id` was given up with, to be had again; none when it is in the
    /// window.
    #[must_use]
    pub fn page(&self, id: EntryId) -> Option<Page> {
        let keeper = self.keeper.as_deref()?;
        let evicted = keeper.stretches.get(..keeper.kept)?;
        if id >= self.first_kept() {
            return None;
        }
        let behind = evicted.partition_point(|it| it.ids.entry <= id.at());
        let at = behind.checked_sub(1)?;
        let (stretch, next) = (&evicted[at], &keeper.stretches[at + 1]);
        let from = keeper.resume(at);
        let first = &keeper.stretches[from];
        let is_needed = |it: &&Stretch| it.place <= stretch.until;
        let needed = keeper.stretches.iter().skip(from).take_while(is_needed);
        let told = keeper.told.iter().skip(first.told);
        let mut page = Page {
            transcript: first.seed.planted(),
            entries: stretch.ids.entry..next.ids.entry,
            calls: stretch.ids.call..next.ids.call,
            until: stretch.until,
            told: told
                .take_while(|it| it.place <= stretch.until)
                .cloned()
                .collect(),
            heard: 0,
            passes: passes(&keeper.passes, first.place, stretch.until),
            passed: 0,
            before: Vec::new(),
            dropped: needed.flat_map(|it| it.dropped.iter().cloned()).collect(),
        };
        page.settle();
        Some(page)
    }
}

impl Page {
    /// The bytes of the log that it needs next, and of which run; none when it is whole.
    #[must_use]
    pub fn wants(&self) -> Option<(u32, Range<u64>)> {
        let Place { run, offset } = self.transcript.here();
        let next = self
            .told
            .get(self.heard..)?
            .iter()
            .find(|it| it.place.run > run);
        let end = match next {
            Some(_) => self.end_of(run),
            None => self.until.offset,
        };
        (offset < end).then_some((run, offset..end))
    }

    /// Where the last thing was said in a run that has ended.
    fn end_of(&self, run: u32) -> u64 {
        let its = self.told.iter().filter(|it| it.place.run == run);
        its.map(|it| it.place.offset).max().unwrap_or_default()
    }

    /// Takes the next line of what it wants; other lines change nothing.
    pub fn apply(&mut self, item: &Item<'_>, at: Meta) {
        let run = self.transcript.run;
        let place = Place {
            run,
            offset: item.at.offset,
        };
        // What was cut off is known already.
        if item.at.is_tail && item.event.is_err() {
            return;
        }
        self.hear(place);
        self.give_up(place);
        if self.transcript.run != run || place >= self.until {
            return;
        }
        let is_it = |(its, lines): &(u32, Range<u64>)| *its == run && lines.contains(&place.offset);
        if self.dropped.iter().any(is_it) {
            self.transcript.pass(item);
        } else {
            self.transcript.apply(item, at);
        }
        self.settle();
    }

    /// Hears what was said behind the last line of a run, and of all that is wanted.
    fn settle(&mut self) {
        while self.wants().is_none() && self.heard < self.told.len() {
            let Place { run, .. } = self.transcript.here();
            if self.until.run == run {
                return self.hear(self.until);
            }
            let offset = self.end_of(run);
            self.hear(Place { run, offset });
            if self.transcript.run == run {
                return;
            }
        }
    }

    /// Gives up what was given up at a place before, and remembers what it said.
    fn give_up(&mut self, place: Place) {
        while let Some((_, to)) = self.passes.get(self.passed).filter(|it| it.0 <= place) {
            let before = self.transcript.share();
            self.transcript.evict_again(to);
            self.passed += 1;
            let now = &self.transcript;
            let is_gone = |at: &usize| before.entries.has(*at) && !now.entries.has(*at);
            let was_here = |at: &usize| before.calls.has(*at) && !now.calls.has(*at);
            if self.entries.clone().any(|at| is_gone(&at))
                || self.calls.clone().any(|at| was_here(&at))
            {
                self.before.push(before);
            }
        }
    }

    /// The transcript in which a record was last.
    fn last(&self, is_in: impl Fn(&Transcript) -> bool) -> &Transcript {
        let mut all = std::iter::once(&self.transcript).chain(self.before.iter().rev());
        all.find(|it| is_in(it)).unwrap_or(&self.transcript)
    }

    /// Hears what the host said up to a place.
    fn hear(&mut self, place: Place) {
        while let Some(told) = self.told.get(self.heard).filter(|it| it.place <= place) {
            self.transcript.hear_again(told);
            self.heard += 1;
        }
    }

    /// The entries of the stretch, of all threads, in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = Entry<'_>> {
        let ids = self.entries.clone().map(|at| EntryId::new(at as u32));
        ids.filter_map(|id| self.last(|it| it.entries.has(id.at())).entry_by_id(id))
    }

    /// The tool calls of the stretch, of all threads, in the order of announcement.
    pub fn tool_calls(&self) -> impl DoubleEndedIterator<Item = ToolCall<'_>> {
        let ids = self.calls.clone().map(|at| CallId::new(at as u32));
        ids.filter_map(|id| self.last(|it| it.calls.has(id.at())).tool_call_by_id(id))
    }

    /// A tool call of the stretch, by its `tool_use` id.
    #[must_use]
    pub fn tool_call(&self, tool_use_id: &str) -> Option<ToolCall<'_>> {
        self.tool_calls().find(|call| call.id() == tool_use_id)
    }
}

/// What was given up between two places.
fn passes(all: &[(Place, Ids)], from: Place, until: Place) -> Vec<(Place, Ids)> {
    let passes = all
        .iter()
        .filter(|(place, _)| *place > from && *place <= until);
    passes.copied().collect()
}
