//! A page of the lines of a session, as JSON.

use bowline_reducer::EntryId;
use serde::Serialize;
use utoipa::ToSchema;

use super::line_index::{LineIndex, LineNote, LineRecord, LineStream, Target};

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageStart {
    /// A row, or a line if rows are not folded, by its index from 0.
    Index(usize),
    /// The line with an offset of the output, with some before it.
    Offset(u64),
    /// A line of output by its number, with some before it.
    Line(u64),
    /// The first line that became a part of an entry, with some before it.
    Entry(u32),
}

/// Lines of a session.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LinePage)]
pub(crate) struct LinePage {
    /// Number of rows in all.
    rows: usize,
    /// Number of lines in all, of every stream.
    lines: usize,
    /// Index of the first item.
    from: usize,
    /// Index of the item that was asked for.
    at: usize,
    /// The rows, or the lines.
    items: Vec<LineItem>,
}

/// A line, or lines of one kind that follow each other and became a part of the same.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Line)]
struct LineItem {
    /// Index of its first line among those of every stream.
    index: usize,
    /// Number of lines.
    lines: usize,
    /// `output`, `input`, `stderr`, or `gap` for lost output.
    stream: &'static str,
    /// Number of its first line in its stream, from 1; 0 of a gap.
    number: u32,
    /// Offsets in its stream, with line ends.
    bytes: [u64; 2],
    /// The type of the line, such as `system/init` or `session/update tool_call`.
    kind: String,
    /// The beginning of what the line says.
    about: Option<String>,
    /// When the first line arrived, in milliseconds since the Unix epoch. `null` if unknown.
    at_ms: Option<u64>,
    /// What it became a part of. Empty if it changed nothing in the transcript.
    became: Vec<LineTarget>,
    /// `duplicate`, `unknown` (a type that this version does not know) or `invalid`; `null` for others.
    note: Option<&'static str>,
    /// Why it is no event of the agent.
    error: Option<String>,
}

/// What a line became a part of.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LineTarget)]
struct LineTarget {
    /// `entry`, `tool_call`, `permission`, `task`, `session`, `status` or `usage`.
    r#type: &'static str,
    /// The number of the entry, the call, the permission request or the task, as in changes.
    number: Option<u32>,
    /// The number of the entry of the main thread that it is a part of.
    main_entry: Option<u32>,
}

impl LinePage {
    /// Returns at most `max` rows or lines.
    pub(crate) fn read(index: &LineIndex, start: PageStart, max: usize, is_folded: bool) -> Self {
        let count = if is_folded {
            index.row_count()
        } else {
            index.len()
        };
        let place = |record: usize| {
            if is_folded {
                index.row_of(record)
            } else {
                record
            }
        };
        let before = max / 3;
        let (from, at) = match start {
            PageStart::Index(from) => (from, from),
            PageStart::Offset(offset) => centered(place(index.record_at(offset)), before),
            PageStart::Line(line) => centered(place(index.record_of_line(line)), before),
            PageStart::Entry(entry) => {
                let record = index.record_of_entry(entry).unwrap_or(0);
                centered(place(record), before)
            }
        };
        let from = from.min(count);
        let items = from..count.min(from.saturating_add(max));
        let items = items.map(|it| match is_folded {
            true => LineItem::of_row(index, it),
            false => LineItem::of_line(index, it),
        });
        Self {
            rows: index.row_count(),
            lines: index.len(),
            from,
            at: at.min(count.saturating_sub(1)),
            items: items.collect(),
        }
    }
}

const fn centered(at: usize, before: usize) -> (usize, usize) {
    (at.saturating_sub(before), at)
}

impl LineItem {
    fn of_row(index: &LineIndex, row: usize) -> Self {
        let records = index.row(row);
        let first = Self::of_line(index, records.start);
        let last = records.end.checked_sub(1).and_then(|it| index.get(it));
        Self {
            lines: records.len(),
            bytes: [first.bytes[0], last.map_or(first.bytes[1], |it| it.end)],
            about: index.about(row).map(str::to_owned),
            ..first
        }
    }

    fn of_line(index: &LineIndex, at: usize) -> Self {
        let Some(record) = index.get(at) else {
            return Self::nothing(at);
        };
        let row = index.row_of(at);
        let is_first = index.row(row).start == at;
        Self {
            index: at,
            lines: 1,
            stream: stream_name(record),
            number: record.number,
            bytes: [record.offset, record.end],
            kind: index.kind(record).to_owned(),
            about: index.about(row).filter(|_| is_first).map(str::to_owned),
            at_ms: (record.at_ms > 0).then_some(record.at_ms),
            became: index.targets_of(at).iter().map(LineTarget::of).collect(),
            note: note_name(record.note),
            error: index.error(at).map(str::to_owned),
        }
    }

    const fn nothing(index: usize) -> Self {
        Self {
            index,
            lines: 0,
            stream: "output",
            number: 0,
            bytes: [0, 0],
            kind: String::new(),
            about: None,
            at_ms: None,
            became: Vec::new(),
            note: None,
            error: None,
        }
    }
}

const fn stream_name(record: &LineRecord) -> &'static str {
    match record.stream {
        LineStream::Output => "output",
        LineStream::Input => "input",
        LineStream::Stderr => "stderr",
        LineStream::Gap => "gap",
    }
}

const fn note_name(note: LineNote) -> Option<&'static str> {
    match note {
        LineNote::None => None,
        LineNote::Duplicate => Some("duplicate"),
        LineNote::Unknown => Some("unknown"),
        LineNote::Invalid => Some("invalid"),
    }
}

impl LineTarget {
    fn of(target: &Target) -> Self {
        let (r#type, number, main_entry) = match *target {
            Target::Entry(entry, main) => ("entry", Some(entry.number()), Some(main)),
            Target::Call(call, main) => ("tool_call", Some(call.number()), main),
            Target::Permission(it) => ("permission", Some(it.number()), None),
            Target::Task(it) => ("task", Some(it.number()), None),
            Target::Session => ("session", None, None),
            Target::Status => ("status", None, None),
            Target::Usage => ("usage", None, None),
        };
        Self {
            r#type,
            number,
            main_entry: main_entry.map(EntryId::number),
        }
    }
}
