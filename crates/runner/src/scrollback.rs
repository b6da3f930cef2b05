//! Rebuilds the lines above a terminal's screen from its recorded output.
//!
//! The owner of a session records the state of its screen from time to time, and each size
//! ([`ScreenRecord`]). The output from one of these states on, through a screen model that keeps what
//! leaves the screen, yields the lines that a terminal attached all the time has. Only as much is read as
//! has the wanted lines, from the end backwards; work and memory are bounded.

mod place;
mod record;
mod source;

use std::collections::VecDeque;
use std::io;

use bowline_transport::{Piece, WindowSize};

use crate::screen::{BareSnapshot, ScrollbackLines, SessionScreen};
use crate::session_machine::ScreenSnapshot;

pub(crate) use place::ScreenPlace;
#[cfg(feature = "fuzz")]
pub use record::fuzz_screen_record;
pub(crate) use record::{ScreenLog, ScreenRecord};
pub(crate) use source::{JournalSource, MemorySource, ScrollbackSource};

/// Lines of scrollback by default.
pub const DEFAULT_SCROLLBACK_LINES: u32 = 10_000;

/// Maximal bytes of output that are read for one scrollback.
const MAX_OUTPUT: u64 = 32 << 20;

/// Maximal bytes of a snapshot with its scrollback. Hosts accept 16 MiB.
const MAX_SNAPSHOT: usize = 15 << 20;

/// Factor by which more lines of output are read if those of the screen were fewer.
const RETRY_FACTOR: u64 = 4;

/// The lines above a screen at an offset of the output.
#[derive(Debug, Default)]
pub(crate) struct Scrollback {
    /// The wanted lines, oldest first.
    pub(crate) lines: ScrollbackLines,
    /// Where older lines are.
    pub(crate) older: Older,
}

/// What is before the oldest line of a scrollback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Older {
    /// More lines: those above the newest `skip` ones at a place.
    At { place: ScreenPlace, skip: u64 },
    /// Nothing: it is the first line.
    Nothing,
    /// Lines that are not recorded any more.
    #[default]
    Lost,
}

/// Which lines are wanted: `lines` above the newest `skip` ones of the scrollback at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScrollbackRequest {
    pub(crate) place: ScreenPlace,
    pub(crate) skip: u64,
    pub(crate) lines: u64,
}

/// Number of lines that were above the screen at a recorded state.
#[derive(Clone, Copy, Debug)]
struct Mark {
    place: ScreenPlace,
    begun: u64,
}

/// The lines that a run over recorded output has found.
struct Run {
    lines: ScrollbackLines,
    /// Number of lines that have begun above the screen since the state that the run began with.
    begun: u64,
    marks: Vec<Mark>,
    is_first: bool,
}

/// Returns a snapshot of the screen with the lines above it, up to a number of them; `None` if none are
/// recorded.
pub(crate) fn snapshot_with_scrollback(
    screen: &BareSnapshot,
    source: &mut impl ScrollbackSource,
    lines: u64,
) -> io::Result<Option<ScreenSnapshot>> {
    let request = ScrollbackRequest {
        place: ScreenPlace {
            offset: screen.snapshot.at_offset,
            size: screen.snapshot.size,
        },
        skip: 0,
        lines,
    };
    let found = read(source, request)?;
    if found.lines.iter().len() == 0 && found.older == Older::Lost {
        return Ok(None);
    }
    let snapshot = screen.with_lines(&found.lines);
    Ok(Some(snapshot).filter(|it| it.bytes.len() <= MAX_SNAPSHOT))
}

/// A screen of the past.
#[derive(Debug)]
pub(crate) struct PastScreen {
    /// Offset in the output.
    pub(crate) at: u64,
    pub(crate) size: WindowSize,
    /// Bring any terminal of that size to the screen.
    pub(crate) bytes: Vec<u8>,
}

/// Rebuilds the screen at an offset of the output; `None` if no state before it is recorded.
pub(crate) fn screen_at(
    source: &mut impl ScrollbackSource,
    offset: u64,
) -> io::Result<Option<PastScreen>> {
    let mut records: VecDeque<ScreenRecord> = VecDeque::new();
    let start = loop {
        if let Some(state) = records.iter().rposition(ScreenRecord::is_state) {
            break state;
        }
        let Some(older) = source.older_records()? else {
            return Ok(None);
        };
        let older = older.into_iter().rev().filter(|it| it.at <= offset);
        older.for_each(|record| records.push_front(record));
    };
    let Some(first) = records.get(start) else {
        return Ok(None);
    };
    let mut screen = SessionScreen::restore(&first.snapshot());
    let mut size = first.size;
    for record in records.range(start + 1..) {
        feed(source, &mut screen, record.fed.min(offset))?;
        resize(&mut screen, &mut size, record.size);
    }
    feed(source, &mut screen, offset)?;
    let snapshot = screen.snapshot();
    let mut bytes = snapshot.bytes.to_vec();
    // A snapshot ends before what may be continued, such as a part of an escape sequence.
    let mut at = snapshot.at_offset;
    while at < offset
        && let Some(piece) = source.read(at)?
    {
        if let Piece::Bytes { bytes: rest, .. } = &piece {
            let length = usize::try_from(offset - at).unwrap_or(usize::MAX);
            bytes.extend(rest.iter().take(length));
        }
        at = piece.end();
    }
    Ok(Some(PastScreen {
        at: offset,
        size,
        bytes,
    }))
}

/// Reads lines above the screen.
pub(crate) fn read(
    source: &mut impl ScrollbackSource,
    request: ScrollbackRequest,
) -> io::Result<Scrollback> {
    let wanted = request.skip.saturating_add(request.lines);
    let mut states = States::new(source, request.place);
    let mut estimate = wanted;
    loop {
        let Some((start, is_limit)) = states.begin(estimate)? else {
            return Ok(Scrollback::default());
        };
        let run = states.run(start, wanted)?;
        if is_limit || run.begun > wanted {
            return Ok(select(run, request));
        }
        estimate = estimate.max(1).saturating_mul(RETRY_FACTOR);
    }
}

/// Selects the wanted lines of a run.
fn select(run: Run, request: ScrollbackRequest) -> Scrollback {
    let Run {
        mut lines,
        begun,
        marks,
        is_first,
    } = run;
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    lines.drop_newest(count(request.skip));
    lines.keep_newest(count(request.lines));
    // The number of the oldest selected line.
    let oldest = begun
        .saturating_sub(request.skip)
        .saturating_sub(lines.iter().len() as u64);
    let older = if oldest == 0 {
        if is_first {
            Older::Nothing
        } else {
            Older::Lost
        }
    } else {
        let mark = marks.iter().find(|mark| mark.begun >= oldest);
        mark.map_or(
            Older::At {
                place: request.place,
                skip: begun - oldest,
            },
            |mark| Older::At {
                place: mark.place,
                skip: mark.begun - oldest,
            },
        )
    };
    Scrollback { lines, older }
}

/// The recorded states of a screen, read from the end backwards.
struct States<'a, S> {
    source: &'a mut S,
    place: ScreenPlace,
    records: VecDeque<ScreenRecord>,
    has_all: bool,
}

impl<'a, S: ScrollbackSource> States<'a, S> {
    fn new(source: &'a mut S, place: ScreenPlace) -> Self {
        Self {
            source,
            place,
            records: VecDeque::new(),
            has_all: false,
        }
    }

    /// Returns the newest state that is followed by an estimated number of lines, else the oldest one, and
    /// whether no older one can be used; `None` if there is none.
    fn begin(&mut self, lines: u64) -> io::Result<Option<(usize, bool)>> {
        loop {
            let last = self.records.iter().rev().find(|it| it.is_state());
            let newest = last.map_or(0, |it| it.newlines);
            let has_lines = |it: &ScreenRecord| newest.saturating_sub(it.newlines) >= lines;
            let is_near = |it: &ScreenRecord| self.place.offset - it.at <= MAX_OUTPUT;
            let found = self
                .records
                .iter()
                .rposition(|it| it.is_state() && (has_lines(it) || !is_near(it)));
            if let Some(found) = found {
                return Ok(Some((found, !is_near(&self.records[found]))));
            }
            if self.has_all {
                let oldest = self.records.iter().position(ScreenRecord::is_state);
                return Ok(oldest.map(|oldest| (oldest, true)));
            }
            self.load()?;
        }
    }

    /// Reads older records.
    fn load(&mut self) -> io::Result<()> {
        let Some(older) = self.source.older_records()? else {
            self.has_all = true;
            return Ok(());
        };
        for record in older.into_iter().rev() {
            // A size that was set at the same offset may be a later one.
            let is_later = record.at > self.place.offset
                || record.at == self.place.offset
                    && self.records.is_empty()
                    && record.size != self.place.size;
            if !is_later {
                self.records.push_front(record);
            }
        }
        Ok(())
    }

    /// Feeds the output from a state to the place to a model.
    fn run(&mut self, start: usize, lines: u64) -> io::Result<Run> {
        let until = self.place.offset;
        let first = &self.records[start];
        let is_first = first.at == 0;
        let max = usize::try_from(lines)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        let mut screen = SessionScreen::restore_with_scrollback(&first.snapshot(), max);
        let mut size = first.size;
        let mut marks = Vec::new();
        let mut has_gap = false;
        for record in self.records.range(start + 1..) {
            if feed(self.source, &mut screen, record.fed.min(until))? {
                (has_gap, marks) = (true, Vec::new());
            }
            resize(&mut screen, &mut size, record.size);
            if record.is_state() {
                marks.push(Mark {
                    place: ScreenPlace {
                        offset: record.fed,
                        size,
                    },
                    begun: screen.count_scrollback(),
                });
            }
        }
        if feed(self.source, &mut screen, until)? {
            (has_gap, marks) = (true, Vec::new());
        }
        let begun = screen.count_scrollback();
        Ok(Run {
            lines: screen.take_scrollback(),
            begun,
            marks,
            is_first: is_first && !has_gap,
        })
    }
}

fn resize(screen: &mut SessionScreen, size: &mut WindowSize, to: WindowSize) {
    if std::mem::replace(size, to) != to {
        screen.resize(to);
    }
}

/// Feeds output up to an offset. Lines before a gap are dropped, since those after it do not continue them.
/// Returns whether there was one.
fn feed(
    source: &mut impl ScrollbackSource,
    screen: &mut SessionScreen,
    until: u64,
) -> io::Result<bool> {
    let (mut at, mut has_gap) = (screen.end(), false);
    while at < until {
        match source.read(at)? {
            None => break,
            Some(Piece::Gap { to, .. }) => {
                at = to.max(at + 1);
                has_gap = true;
                screen.take_scrollback();
            }
            Some(Piece::Bytes { offset, bytes }) => {
                let length = usize::try_from(until - offset).unwrap_or(usize::MAX);
                let bytes = bytes.slice(..bytes.len().min(length));
                screen.feed(offset, &bytes);
                at = offset + bytes.len() as u64;
            }
        }
    }
    Ok(has_gap)
}

#[cfg(test)]
mod tests;
