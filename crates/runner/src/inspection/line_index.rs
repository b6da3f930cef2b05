//! The lines of a session in one order: its output, what was written to it, its standard error, and what is
//! missing; and what each line became.

use std::collections::HashMap;
use std::ops::Range;

use bowline_jsonl::Item;
use bowline_reducer::{CallId, Change, Cursor, EntryId, Meta, PermissionId, TaskId, Transcript};

use super::line_kind::{KindNames, about, input_kind_of, kind_of};
use super::stderr_lines::StderrLine;

/// What a line became a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An entry, and that of the main thread which it is a part of.
    Entry(EntryId, EntryId),
    /// A call, and the entry of the main thread that it is a part of.
    Call(CallId, Option<EntryId>),
    Permission(PermissionId),
    Task(TaskId),
    Session,
    Status,
    Usage,
}

/// The stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineStream {
    Output,
    Input,
    Stderr,
    /// Lost output.
    Gap,
}

/// What is special about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineNote {
    None,
    /// It is repeated and was left out.
    Duplicate,
    /// This version does not know its type.
    Unknown,
    /// It is no line of the protocol.
    Invalid,
}

/// A line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRecord {
    /// Its offsets in its stream, with the line end.
    pub(super) offset: u64,
    pub(super) end: u64,
    /// 0 if unknown.
    pub(super) at_ms: u64,
    /// Offset in the output at which it comes.
    place: u64,
    /// Its number in its stream, from 1; 0 of a gap.
    pub(super) number: u32,
    /// Lines of output up to it.
    output_lines: u32,
    pub(super) kind: u32,
    targets_end: u32,
    pub(super) stream: LineStream,
    pub(super) note: LineNote,
}

/// The lines of a session. Lines of one kind that follow each other and became part of the same, such as the
/// deltas of a text, are one row.
#[derive(Debug, Default)]
pub(crate) struct LineIndex {
    records: Vec<LineRecord>,
    targets: Vec<Target>,
    kinds: KindNames,
    /// The first record of each row.
    rows: Vec<u32>,
    abouts: Vec<Option<Box<str>>>,
    errors: HashMap<u32, Box<str>>,
    cursor: Cursor,
    duplicates: u64,
    input_lines: u32,
    /// Offset past the last line of output, or past a gap.
    output_end: u64,
    times: OutputTimes,
}

/// Whether lines of output came in the order of their times.
#[derive(Clone, Copy, Debug, Default)]
struct OutputTimes {
    newest_ms: u64,
    known: u64,
    /// Lines before which one has a later time.
    earlier: u64,
}

impl OutputTimes {
    fn push(&mut self, at_ms: u64) {
        if at_ms == 0 {
            return;
        }
        self.known += 1;
        self.earlier += u64::from(at_ms < self.newest_ms);
        self.newest_ms = self.newest_ms.max(at_ms);
    }

    /// Agents write lines of sub-agents a little late, so that some lines may be earlier.
    const fn is_ordered(self) -> bool {
        self.earlier <= self.known / 4
    }
}

impl LineIndex {
    /// Nothing of a transcript that is empty.
    pub(super) fn new(transcript: &mut Transcript) -> Self {
        // The initial values are no change.
        transcript.seal();
        Self {
            cursor: Cursor::at(transcript.revision()),
            ..Self::default()
        }
    }

    /// Adds a line of output that was just folded, and returns what it became.
    pub(super) fn push_output(
        &mut self,
        transcript: &mut Transcript,
        item: &Item<'_>,
        at: Meta,
    ) -> &[Target] {
        let (kind, is_known, about) = match &item.event {
            Ok(event) => {
                let (kind, is_known) = kind_of(event);
                (kind, is_known, about(event))
            }
            Err(error) => {
                let text = error.kind().to_string().into_boxed_str();
                self.errors.insert(self.records.len() as u32, text);
                ("not an event".to_owned(), true, None)
            }
        };
        let duplicates = transcript.stats().duplicates();
        let note = if item.event.is_err() {
            LineNote::Invalid
        } else if duplicates > self.duplicates {
            LineNote::Duplicate
        } else if is_known {
            LineNote::None
        } else {
            LineNote::Unknown
        };
        self.duplicates = duplicates;
        self.output_end = item.at.end;
        self.times.push(at.at_ms);
        let number = u32::try_from(item.at.line).unwrap_or(u32::MAX);
        let first = self.take_targets(transcript);
        let record = LineRecord {
            place: item.at.end,
            number,
            output_lines: number,
            note,
            ..self.record(item.at.offset..item.at.end, at.at_ms, &kind)
        };
        self.push(record, first, about);
        &self.targets[first..]
    }

    /// Adds a line of input that was just folded, and returns what it became.
    pub(super) fn push_input(
        &mut self,
        transcript: &mut Transcript,
        range: Range<u64>,
        line: Option<&str>,
        at: Meta,
    ) -> &[Target] {
        self.input_lines += 1;
        let kind = line.map_or_else(|| "not UTF-8".to_owned(), input_kind_of);
        let first = self.take_targets(transcript);
        let record = LineRecord {
            number: self.input_lines,
            stream: LineStream::Input,
            note: match line {
                Some(_) => LineNote::None,
                None => LineNote::Invalid,
            },
            ..self.record(range, at.at_ms, &kind)
        };
        self.push(record, first, None);
        &self.targets[first..]
    }

    /// Adds lost output.
    pub(super) fn push_gap(&mut self, transcript: &mut Transcript, lost: Range<u64>) {
        self.output_end = lost.end;
        let first = self.take_targets(transcript);
        let record = LineRecord {
            number: 0,
            stream: LineStream::Gap,
            ..self.record(lost, 0, "gap")
        };
        self.push(record, first, None);
    }

    /// Adds a line of standard error.
    pub(super) fn push_stderr(&mut self, line: &StderrLine) {
        let first = self.targets.len();
        let record = LineRecord {
            number: line.number,
            stream: LineStream::Stderr,
            ..self.record(line.range.clone(), line.at_ms, "stderr")
        };
        self.push(record, first, Some(line.about.clone()));
    }

    fn record(&mut self, range: Range<u64>, at_ms: u64, kind: &str) -> LineRecord {
        LineRecord {
            offset: range.start,
            end: range.end,
            at_ms,
            place: self.output_end,
            number: 0,
            output_lines: self.output_lines() as u32,
            kind: self.kinds.number(kind),
            targets_end: 0,
            stream: LineStream::Output,
            note: LineNote::None,
        }
    }

    /// Adds a record whose targets begin at `first`.
    fn push(&mut self, record: LineRecord, first: usize, about: Option<String>) {
        let targets_end = self.targets.len() as u32;
        let record = LineRecord {
            targets_end,
            ..record
        };
        if !self.continues_row(&record, first) {
            self.rows.push(self.records.len() as u32);
            self.abouts.push(about.map(String::into_boxed_str));
        }
        self.records.push(record);
    }

    /// Whether a line is one more of the last row.
    fn continues_row(&self, record: &LineRecord, first: usize) -> bool {
        let Some(last) = self.records.last() else {
            return false;
        };
        let targets = &self.targets[first..];
        let same_kind = last.kind == record.kind && last.stream == record.stream;
        let is_plain = record.note == LineNote::None && last.note == LineNote::None;
        let is_part = record.stream == LineStream::Output && !targets.is_empty();
        let last_targets = self.targets_of(self.records.len() - 1);
        same_kind && is_plain && is_part && targets == last_targets
    }

    /// Appends what changed since the last line, and returns where that begins. What concerns the session as a
    /// whole is left out beside a part of the conversation.
    fn take_targets(&mut self, transcript: &mut Transcript) -> usize {
        let first = self.targets.len();
        let changes = transcript.changes_since(self.cursor);
        self.cursor = changes.cursor();
        let mut whole = None;
        let it = changes.transcript();
        let entry = |id| Target::Entry(id, main_entry(it, id));
        let call = |id| {
            let holder = it.tool_call_by_id(id)?.entry()?;
            Some(main_entry(it, holder.id()))
        };
        for change in changes.iter() {
            let target = match change {
                Change::Entry { entry: id, .. }
                | Change::EntryRemoved { entry: id }
                | Change::Block { entry: id, .. } => entry(id),
                Change::Append { block, .. } => match it.block_by_id(block) {
                    Some(block) => entry(block.entry().id()),
                    None => continue,
                },
                Change::ToolCall { call: id, .. } => Target::Call(id, call(id)),
                Change::Permission { permission, .. } => Target::Permission(permission),
                Change::Task { value, .. } => Target::Task(value.task_id()),
                Change::Session { .. } => {
                    whole = Some(Target::Session);
                    continue;
                }
                Change::Usage { .. } => {
                    whole = whole.or(Some(Target::Usage));
                    continue;
                }
                Change::Status { .. } => {
                    whole = whole.or(Some(Target::Status));
                    continue;
                }
                _ => continue,
            };
            if !self.targets[first..].contains(&target) {
                self.targets.push(target);
            }
        }
        if self.targets.len() == first {
            self.targets.extend(whole);
        }
        first
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of lines of output.
    pub(crate) fn output_lines(&self) -> u64 {
        let last = self.records.last();
        last.map_or(0, |last| u64::from(last.output_lines))
    }

    /// Returns whether a time tells which lines had arrived by then.
    pub(super) const fn is_ordered_by_time(&self) -> bool {
        self.times.is_ordered()
    }

    /// Returns the records of a row.
    pub(super) fn row(&self, row: usize) -> Range<usize> {
        let first = self.rows.get(row).map_or(self.len(), |it| *it as usize);
        let end = self.rows.get(row + 1).map_or(self.len(), |it| *it as usize);
        first..end
    }

    /// Returns the row of a record.
    pub(super) fn row_of(&self, record: usize) -> usize {
        let after = self.rows.partition_point(|first| *first as usize <= record);
        after.saturating_sub(1)
    }

    pub(super) fn about(&self, row: usize) -> Option<&str> {
        self.abouts.get(row)?.as_deref()
    }

    pub(super) fn get(&self, record: usize) -> Option<&LineRecord> {
        self.records.get(record)
    }

    pub(super) fn kind(&self, record: &LineRecord) -> &str {
        self.kinds.name(record.kind)
    }

    pub(super) fn error(&self, record: usize) -> Option<&str> {
        self.errors.get(&(record as u32)).map(|text| &**text)
    }

    pub(super) fn targets_of(&self, record: usize) -> &[Target] {
        let end = |record: usize| {
            let record = self.records.get(record);
            record.map_or(0, |it| it.targets_end as usize)
        };
        let first = record.checked_sub(1).map_or(0, end);
        self.targets.get(first..end(record)).unwrap_or_default()
    }

    /// Returns the record of the line that has an offset of the output; of the one before it in a gap.
    pub(super) fn record_at(&self, offset: u64) -> usize {
        let found = self.records.partition_point(|it| it.place <= offset);
        let is_output =
            |it: &&LineRecord| matches!(it.stream, LineStream::Output | LineStream::Gap);
        let later = self.records[found.min(self.len())..].iter();
        let skipped = later.take_while(|it| !is_output(it)).count();
        (found + skipped).min(self.len().saturating_sub(1))
    }

    /// Returns the record of a line of output, by its number from 1.
    pub(super) fn record_of_line(&self, line: u64) -> usize {
        let before = |it: &LineRecord| u64::from(it.output_lines) < line;
        let found = self.records.partition_point(before);
        found.min(self.len().saturating_sub(1))
    }

    /// Returns the offset past a line of output, by its number from 1.
    pub(crate) fn end_of_line(&self, line: u64) -> Option<u64> {
        let record = self.records.get(self.record_of_line(line))?;
        (u64::from(record.output_lines) == line).then_some(record.place)
    }

    /// Returns how much of the output and of the input had arrived at a time.
    pub(crate) fn arrived_at(&self, at_ms: u64) -> (u64, u64) {
        let (mut output, mut input) = (0, 0);
        for record in &self.records {
            if record.at_ms > at_ms {
                break;
            }
            match record.stream {
                LineStream::Output | LineStream::Gap => output = record.end,
                LineStream::Input => input = record.end,
                LineStream::Stderr => {}
            }
        }
        (output, input)
    }

    /// Returns the first line that became a part of an entry.
    pub(super) fn record_of_entry(&self, entry: u32) -> Option<usize> {
        let is_part = |target: &Target| match *target {
            Target::Entry(it, main) => it.number() == entry || main.number() == entry,
            Target::Call(_, it) => it.is_some_and(|it| it.number() == entry),
            _ => false,
        };
        (0..self.len()).find(|record| self.targets_of(*record).iter().any(is_part))
    }

    pub(super) fn size(&self) -> u64 {
        (self.records.len() * (size_of::<LineRecord>() + 8)) as u64
    }
}

/// Returns the entry of the main thread that an entry is a part of.
fn main_entry(transcript: &Transcript, id: EntryId) -> EntryId {
    let mut main = id;
    while let Some(entry) = transcript.entry_by_id(main)
        && let Some(call) = entry.thread().call()
        && let Some(holder) = call.entry()
    {
        main = holder.id();
    }
    main
}
