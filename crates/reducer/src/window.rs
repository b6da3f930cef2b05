//! A window over a conversation: its newest part is kept, and the rest can be had again from the
//! log.
//!
//! The log is cut into stretches at line boundaries, some to a window. At each cut stands a seed: a
//! transcript that holds what was open there, and nothing else. When the window is full, its oldest
//! stretch is given up, but for what is open. To have it again, its seed is let fold the same lines
//! once more: as far as the last line that changed it, and from as far back as a line of it that
//! spoke of something older.

mod evict;
mod page;
mod pins;
mod told;

pub use page::{Evicted, Page, Place};
pub(crate) use told::{Told, What};

use std::ops::Range;

use crate::arena::ArenaMark;
use crate::host::Meta;
use crate::record::{CallId, EntryId, PermissionId, TaskId};
use crate::transcript::{Here, Transcript};

/// How much of a conversation a transcript keeps. What is open is kept beside it: tool calls
/// without a result, tasks, permission requests, sub-agents that run, and the messages they stand
/// in.
///
/// A line that speaks of something that was given up is taken as one whose beginning was missed, so
/// that a window is to hold a few turns at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Most entries, of all threads.
    pub entries: usize,
    /// Most text, in bytes.
    pub bytes: u64,
}

/// Stretches that a window is given up in: what is kept is an eighth less than the window at least.
const STEPS: usize = 8;

/// How much longer a stretch may be when a message streams at its end: a seed is smaller between
/// two messages.
const PATIENCE: usize = 4;

/// Most stretches that are remembered; when there are more, two at a time become one.
const STRETCHES: usize = 32;

/// Most times of giving up that are remembered, of 72 bytes each; when there are more, every second
/// of the older half is forgotten. It takes a line that speaks of something long given up to tell.
const PASSES: usize = 2048;

/// Fewest uuids that are remembered; the same line twice comes with less between.
const UUIDS: usize = 4096;

impl Window {
    /// At most so many entries of any length.
    #[must_use]
    pub const fn of_entries(entries: usize) -> Self {
        Self {
            entries,
            bytes: u64::MAX,
        }
    }

    /// At most so many bytes of text.
    #[must_use]
    pub const fn of_bytes(bytes: u64) -> Self {
        Self {
            entries: usize::MAX,
            bytes,
        }
    }

    /// Length of a stretch.
    fn step(self) -> Size {
        Size {
            entries: (self.entries / STEPS).max(1),
            bytes: (self.bytes / STEPS as u64).max(1),
        }
    }
}

/// How much stands between two places.
#[derive(Clone, Copy, Debug)]
struct Size {
    entries: usize,
    bytes: u64,
}

impl Size {
    /// Whether it is as long as `limit` or `times` as long in any respect.
    const fn reaches(self, limit: Self, times: usize) -> bool {
        self.entries >= limit.entries.saturating_mul(times)
            || self.bytes >= limit.bytes.saturating_mul(times as u64)
    }
}

/// The number of the next record of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    pub(crate) thread: usize,
    pub(crate) entry: usize,
    pub(crate) block: usize,
    pub(crate) call: usize,
    pub(crate) result: usize,
    pub(crate) task: usize,
    pub(crate) permission: usize,
}

/// What came between two cuts.
#[derive(Debug)]
struct Stretch {
    number: u32,
    /// Where it begins: in the log, among the records, in the text, in what the host said.
    place: Place,
    ids: Ids,
    arena: ArenaMark,
    written: u64,
    told: usize,
    seed: Box<Transcript>,
    /// The stretch to begin with in order to have this one again.
    resume: u32,
    /// Behind the last line that changed a record of this stretch.
    until: Place,
    /// Lines that were dropped because they had come before.
    dropped: Vec<(u32, Range<u64>)>,
}

/// What a transcript with a window knows beside it.
#[derive(Debug)]
pub(crate) struct Keeper {
    window: Window,
    stretches: Vec<Stretch>,
    /// The first stretch that is kept.
    kept: usize,
    told: Vec<Told>,
    /// When what was given up: a line behind such a place did not find it any more.
    passes: Vec<(Place, Ids)>,
}

impl Keeper {
    fn pass(&mut self, place: Place, to: Ids) {
        if self.passes.len() == PASSES {
            let mut number = 0;
            self.passes.retain(|_| {
                number += 1;
                number % 2 == 0 || number > PASSES / 2
            });
        }
        self.passes.push((place, to));
    }

    /// The stretch with this number, or the one that it became a part of.
    fn place_of(&self, number: u32) -> usize {
        let behind = self.stretches.partition_point(|it| it.number <= number);
        behind.saturating_sub(1)
    }

    /// The stretch to begin with in order to have one again: from there to the last line that is
    /// needed, no line speaks of anything older.
    fn resume(&self, stretch: usize) -> usize {
        let until = self.stretches[stretch].until;
        let end = self.stretches.partition_point(|it| it.place < until);
        let (mut first, mut seen) = (stretch, end.max(stretch + 1));
        while first < seen {
            let older = self.stretches[first..seen].iter().map(|it| it.resume);
            seen = first;
            first = older.min().map_or(first, |it| self.place_of(it)).min(first);
        }
        first
    }

    /// Halves the number of stretches that were given up.
    fn merge(&mut self) {
        let kept = self.stretches.split_off(self.kept);
        let mut evicted = std::mem::take(&mut self.stretches).into_iter();
        while let Some(mut stretch) = evicted.next() {
            if let Some(next) = evicted.next() {
                stretch.resume = stretch.resume.min(next.resume);
                stretch.until = stretch.until.max(next.until);
                stretch.dropped.extend(next.dropped);
            }
            self.stretches.push(stretch);
        }
        self.kept = self.stretches.len();
        self.stretches.extend(kept);
    }
}

impl Transcript {
    /// An empty transcript that keeps no more than `window` of a conversation.
    #[must_use]
    pub fn with_window(window: Window) -> Self {
        let mut transcript = Self::new();
        let mut keeper = Keeper {
            window,
            stretches: Vec::new(),
            kept: 0,
            told: Vec::new(),
            passes: Vec::new(),
        };
        transcript.cut_here(&mut keeper);
        transcript.keeper = Some(Box::new(keeper));
        transcript
    }

    /// Where the next line is expected.
    pub(crate) const fn here(&self) -> Place {
        Place {
            run: self.run,
            offset: self.applied,
        }
    }

    pub(crate) fn ids(&self) -> Ids {
        Ids {
            thread: self.threads.len(),
            entry: self.entries.len(),
            block: self.blocks.len(),
            call: self.calls.len(),
            result: self.results.len(),
            task: self.tasks.len(),
            permission: self.permissions.len(),
        }
    }

    fn since(&self, stretch: &Stretch) -> Size {
        Size {
            entries: self.entries.len() - stretch.ids.entry,
            bytes: self.arena.written().saturating_sub(stretch.written),
        }
    }

    /// Between two lines: ends the stretch when it is long enough, and gives up what the window has
    /// no room for.
    pub(crate) fn slide(&mut self) {
        let Some(mut keeper) = self.keeper.take() else {
            return;
        };
        let step = keeper.window.step();
        let size = keeper.stretches.last().map(|last| self.since(last));
        let times = if self.drafts.is_empty() { 1 } else { PATIENCE };
        if size.is_some_and(|size| size.reaches(step, times)) {
            self.cut_here(&mut keeper);
            self.give_up(&mut keeper);
        }
        self.keeper = Some(keeper);
    }

    /// Ends the stretch in any case: offsets begin anew behind it.
    pub(crate) fn cut_run(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            self.cut_here(&mut keeper);
            self.keeper = Some(keeper);
        }
    }

    fn cut_here(&mut self, keeper: &mut Keeper) {
        let place = self.here();
        let number = keeper.stretches.last().map_or(0, |last| last.number + 1);
        if let Some(last) = keeper.stretches.last_mut() {
            last.until = last.until.max(place);
        }
        let ids = self.ids();
        keeper.stretches.push(Stretch {
            number,
            place,
            ids,
            arena: self.arena.mark(),
            written: self.arena.written(),
            told: keeper.told.len(),
            seed: Box::new(self.seed(ids)),
            resume: number,
            until: place,
            dropped: Vec::new(),
        });
        self.marked = ids;
    }

    fn give_up(&mut self, keeper: &mut Keeper) {
        let (window, step) = (keeper.window, keeper.window.step());
        let room = Size {
            entries: window
                .entries
                .saturating_sub(step.entries)
                .saturating_add(1),
            bytes: window.bytes.saturating_sub(step.bytes).saturating_add(1),
        };
        let is_too_long = |stretch: &&Stretch| self.since(stretch).reaches(room, 1);
        let old = keeper.stretches.iter().take_while(is_too_long).count();
        let kept = old.min(keeper.stretches.len() - 1).max(keeper.kept);
        if kept > keeper.kept {
            keeper.kept = kept;
            let first = &keeper.stretches[kept];
            let (ids, arena) = (first.ids, first.arena);
            keeper.pass(self.here(), ids);
            let pins = self.pins(&ids);
            self.evict(&ids, arena, &pins);
            self.uuids.age(UUIDS.max(2 * window.entries.min(1 << 24)));
            self.log.reset();
        }
        if keeper.kept > STRETCHES {
            keeper.merge();
        }
    }

    // What a stretch depends on.

    /// A line spoke of an entry: whoever folds the line again needs the entry too.
    #[inline]
    pub(crate) fn reach_entry(&mut self, id: EntryId) {
        if id.at() < self.marked.entry {
            self.reach(|ids| ids.entry, id.at(), |seed, at| seed.entries.has(at));
        }
    }

    /// A line spoke of a call.
    #[inline]
    pub(crate) fn reach_call(&mut self, id: CallId) {
        if id.at() < self.marked.call {
            self.reach(|ids| ids.call, id.at(), |seed, at| seed.calls.has(at));
        }
    }

    /// A line spoke of a permission request.
    pub(crate) fn reach_permission(&mut self, id: PermissionId) {
        if id.at() < self.marked.permission {
            let is_in = |seed: &Self, at| seed.permissions.get(at).is_some();
            self.reach(|ids| ids.permission, id.at(), is_in);
        }
    }

    /// A line spoke of a task.
    pub(crate) fn reach_task(&mut self, id: TaskId) {
        if id.at() < self.marked.task {
            let is_in = |seed: &Self, at| seed.tasks.get(at).is_some();
            self.reach(|ids| ids.task, id.at(), is_in);
        }
    }

    /// An entry changed: whoever wants it as it is needs the line.
    #[inline]
    pub(crate) fn change_entry(&mut self, id: EntryId) {
        if id.at() < self.marked.entry {
            self.reach_entry(id);
            self.change(|ids| ids.entry, id.at());
        }
    }

    /// A call changed.
    #[inline]
    pub(crate) fn change_call(&mut self, id: CallId) {
        if id.at() < self.marked.call {
            self.reach_call(id);
            self.change(|ids| ids.call, id.at());
        }
    }

    #[cold]
    fn reach(&mut self, number: fn(&Ids) -> usize, at: usize, is_in: fn(&Self, usize) -> bool) {
        let Some(keeper) = &mut self.keeper else {
            return;
        };
        let behind = keeper.stretches.partition_point(|it| number(&it.ids) <= at);
        let resume = keeper.stretches[behind.saturating_sub(1)].resume;
        if let Some(last) = keeper.stretches.last_mut()
            && !is_in(&last.seed, at)
        {
            last.resume = last.resume.min(resume);
        }
    }

    #[cold]
    fn change(&mut self, number: fn(&Ids) -> usize, at: usize) {
        let place = self.here();
        let Some(keeper) = &mut self.keeper else {
            return;
        };
        let behind = keeper.stretches.partition_point(|it| number(&it.ids) <= at);
        if let Some(stretch) = keeper.stretches.get_mut(behind.saturating_sub(1)) {
            stretch.until = stretch.until.max(place);
        }
    }

    /// A line was dropped because it had come before.
    pub(crate) fn note_dropped(&mut self, here: Here) {
        let run = self.run;
        let last = self.keeper.as_mut().and_then(|it| it.stretches.last_mut());
        let Some(last) = last else { return };
        match last.dropped.last_mut() {
            Some((its, lines)) if *its == run && lines.end == here.offset => lines.end = here.end,
            _ => last.dropped.push((run, here.offset..here.end)),
        }
    }

    /// The host said something, which is in no log.
    pub(crate) fn note_told(&mut self, what: impl FnOnce() -> What, at: Meta) {
        let place = self.here();
        if let Some(keeper) = &mut self.keeper {
            keeper.told.push(Told {
                place,
                at,
                what: what(),
            });
        }
    }
}
