//! `bowline inspect`: counts the events of a recording.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::process::ExitCode;

use bowline_jsonl::{Body, Event, Item, ParseErrorKind, Str, TurnResult};
use bowline_lifecycle::journal::{Damage, DamageKind};
use bowline_recording::{JournalSummary, RecordedTranscript};
use bowline_reducer::Meta;
use bowline_reducer::dialect::DialectName;
use serde_json::{Value, json};

use crate::args;
use crate::failure::Failure;
use crate::recording::{LineReader, Recording, line_name, report_losses};
use crate::stdio::print;
use crate::text::{escape_json, one_line, text_width};

/// Number of parse errors that are listed; all are counted.
const LISTED_ERRORS: usize = 10;

/// Counts the lines of a recording and prints the counts.
pub(crate) fn inspect(options: &args::Inspect) -> Result<ExitCode, Failure> {
    let mut report = Report::new(options.dialect);
    let losses = Recording::open(&options.file)?.read_into(&mut report)?;
    report.count_conversation();
    print(&if options.json {
        report.json()
    } else {
        report.text()
    })?;
    let source = options.file.display().to_string();
    Ok(report_losses(&source, &losses, options.strict))
}

/// Counts of one recording.
struct Report {
    conversation: RecordedTranscript,
    bytes: u64,
    lines: u64,
    longest: Longest,
    types: BTreeMap<String, Count>,
    /// The lines of a journal's input.
    input: Count,
    unknown: BTreeMap<String, u64>,
    errors: Vec<BadLine>,
    error_count: u64,
    truncated: bool,
    sessions: Vec<String>,
    /// The same, to find one.
    known_sessions: HashSet<String>,
    turns: Vec<Turn>,
    first_timestamp: Option<String>,
    last_timestamp: Option<String>,
    missing: Vec<(u64, u64)>,
    journal: Option<JournalSummary>,
}

#[derive(Debug, Default)]
struct Count {
    lines: u64,
    bytes: u64,
    longest: u64,
}

impl Count {
    fn add(&mut self, bytes: u64) {
        self.lines += 1;
        self.bytes += bytes;
        self.longest = self.longest.max(bytes);
    }

    fn json(&self) -> Value {
        json!({ "lines": self.lines, "bytes": self.bytes, "longest": self.longest })
    }
}

#[derive(Debug, Default)]
struct Longest {
    line: u64,
    bytes: u64,
}

#[derive(Debug)]
struct BadLine {
    line: u64,
    offset: u64,
    error: String,
}

#[derive(Debug)]
struct Turn {
    subtype: String,
    is_error: bool,
    duration_ms: Option<u64>,
    api_ms: Option<u64>,
    round_trips: Option<u64>,
    cost_usd: Option<f64>,
}

impl LineReader for Report {
    fn on_line(&mut self, item: &Item<'_>, at: Meta) {
        let bytes = item.at.end - item.at.offset;
        self.lines += 1;
        self.bytes = self.bytes.max(item.at.end);
        if bytes > self.longest.bytes {
            self.longest = Longest {
                line: item.at.line,
                bytes,
            };
        }
        let name = match &item.event {
            Ok(event) => {
                self.observe(event, item, at);
                self.count_event(event)
            }
            Err(error) => {
                self.error_count += 1;
                self.truncated |= error.kind() == ParseErrorKind::Truncated;
                if self.errors.len() < LISTED_ERRORS {
                    let text = error.kind().to_string();
                    self.errors.push(BadLine {
                        line: error.line(),
                        offset: error.offset(),
                        error: text,
                    });
                }
                "(not an event)".to_owned()
            }
        };
        self.types.entry(name).or_default().add(bytes);
    }

    fn on_input(&mut self, line: &str, at: Meta) {
        self.input.add(line.len() as u64 + 1);
        self.conversation.apply_input(line, at);
    }

    fn on_gap(&mut self, from: u64, to: u64) {
        self.missing.push((from, to));
    }

    fn on_journal(&mut self, journal: JournalSummary) {
        self.journal = Some(journal);
    }
}

impl Report {
    fn new(dialect: Option<DialectName>) -> Self {
        Self {
            conversation: RecordedTranscript::new(dialect),
            bytes: 0,
            lines: 0,
            longest: Longest::default(),
            types: BTreeMap::new(),
            input: Count::default(),
            unknown: BTreeMap::new(),
            errors: Vec::new(),
            error_count: 0,
            truncated: false,
            sessions: Vec::new(),
            known_sessions: HashSet::new(),
            turns: Vec::new(),
            first_timestamp: None,
            last_timestamp: None,
            missing: Vec::new(),
            journal: None,
        }
    }

    /// Counts an event; returns its name.
    fn count_event(&mut self, event: &Event<'_>) -> String {
        if let Some(id) = event.session_id.map(Str::decode) {
            self.add_session(&id);
        }
        let timestamp = match &event.body {
            Body::Assistant(line) => line.timestamp,
            Body::User(line) => line.timestamp,
            _ => None,
        };
        if let Some(time) = timestamp.map(|time| time.decode().into_owned()) {
            self.first_timestamp.get_or_insert_with(|| time.clone());
            self.last_timestamp = Some(time);
        }
        if let Body::Result(line) = &event.body {
            self.turns.push(Turn::new(line));
        }
        let name = line_name(event);
        if !event.is_known() && !self.has_dialect() {
            *self.unknown.entry(name.clone()).or_default() += 1;
        }
        name
    }

    /// Folds the lines of other agents: only their dialect tells what is unknown.
    fn observe(&mut self, event: &Event<'_>, item: &Item<'_>, at: Meta) {
        self.conversation.decide(event.raw);
        if self.has_dialect() || !event.is_known() {
            self.conversation.apply(item, at);
        }
    }

    /// Whether the agent's dialect is another than Claude Code's and its variants.
    fn has_dialect(&self) -> bool {
        let dialect = self.conversation.transcript().dialect();
        !matches!(dialect, DialectName::Claude | DialectName::Qwen)
    }

    /// Adds what only the conversation shows: its dialect's unknown lines and its sessions.
    fn count_conversation(&mut self) {
        if !self.has_dialect() {
            return;
        }
        let transcript = self.conversation.transcript();
        let unknown = transcript.stats();
        let unknown = unknown
            .unknown()
            .map(|(name, count)| (name.to_owned(), count));
        self.unknown.extend(unknown);
        let conversations = transcript.session().conversations();
        let ids: Vec<String> = conversations.map(|id| id.to_owned()).collect();
        for id in ids {
            self.add_session(&id);
        }
    }

    /// Adds the id of a session, once. A recording may have thousands.
    fn add_session(&mut self, id: &str) {
        if self.sessions.last().is_some_and(|last| last == id) {
            return;
        }
        if !self.known_sessions.contains(id) {
            self.known_sessions.insert(id.to_owned());
            self.sessions.push(id.to_owned());
        }
    }

    /// The counts as one JSON object.
    fn json(&self) -> String {
        let types: BTreeMap<_, _> = self
            .types
            .iter()
            .map(|(name, count)| (name, count.json()))
            .collect();
        let errors: Vec<_> = self
            .errors
            .iter()
            .map(|bad| json!({ "line": bad.line, "offset": bad.offset, "error": bad.error }))
            .collect();
        let value = json!({
            "dialect": self.conversation.transcript().dialect().as_str(),
            "bytes": self.bytes,
            "lines": self.lines,
            "longest_line": { "line": self.longest.line, "bytes": self.longest.bytes },
            "types": types,
            "input": self.journal.is_some().then(|| self.input.json()),
            "unknown": self.unknown,
            "parse_errors": self.error_count,
            "errors": errors,
            "truncated": self.truncated,
            "sessions": self.sessions,
            "turns": self.turns.iter().map(Turn::json).collect::<Vec<_>>(),
            "first_timestamp": self.first_timestamp,
            "last_timestamp": self.last_timestamp,
            "missing": self.missing,
            "journal": self.journal.as_ref().map(journal_json),
        });
        escape_json(format!("{value:#}\n"))
    }

    /// The counts as a table.
    fn text(&self) -> String {
        let mut out = String::new();
        let types = || self.types.iter().map(|(name, count)| (cell(name), count));
        let widths = types().map(|(name, _)| text_width(&name));
        let width = widths.max().unwrap_or(0).max(4);
        // Writing into a string cannot fail.
        let _ = writeln!(
            out,
            "{:width$} {:>8} {:>12} {:>10}",
            "type", "lines", "bytes", "longest"
        );
        for (name, count) in types() {
            let Count {
                lines,
                bytes,
                longest,
            } = count;
            let _ = writeln!(out, "{name:width$} {lines:>8} {bytes:>12} {longest:>10}");
        }
        let (lines, bytes) = (self.lines, self.bytes);
        let _ = writeln!(
            out,
            "{:width$} {lines:>8} {bytes:>12} {:>10}",
            "total", self.longest.bytes
        );
        let _ = writeln!(out, "\nlongest line   number {}", self.longest.line);
        if self.input.lines > 0 {
            let Count {
                lines,
                bytes,
                longest,
            } = self.input;
            let _ = writeln!(
                out,
                "input          {lines} lines, {bytes} bytes, longest {longest}"
            );
        }
        let dialect = self.conversation.transcript().dialect();
        let _ = writeln!(out, "dialect        {dialect}");
        for id in &self.sessions {
            let _ = writeln!(out, "session        {}", cell(id));
        }
        if let (Some(first), Some(last)) = (&self.first_timestamp, &self.last_timestamp) {
            let _ = writeln!(out, "time           {} to {}", cell(first), cell(last));
        }
        for (number, turn) in (1..).zip(&self.turns) {
            let _ = writeln!(out, "turn {number:<9} {}", turn.text());
        }
        for (name, count) in &self.unknown {
            let _ = writeln!(out, "unknown        {}: {count}", cell(name));
        }
        let _ = writeln!(out, "parse errors   {}", self.error_count);
        for bad in &self.errors {
            let _ = writeln!(
                out,
                "  line {}, byte {}: {}",
                bad.line,
                bad.offset,
                cell(&bad.error)
            );
        }
        if self.truncated {
            let _ = writeln!(out, "truncated      the last line is cut");
        }
        for (from, to) in &self.missing {
            let _ = writeln!(out, "missing        bytes {from} to {to}");
        }
        out.push_str(&self.journal.as_ref().map(journal_text).unwrap_or_default());
        out
    }
}

impl Turn {
    fn new(line: &TurnResult<'_>) -> Self {
        Self {
            subtype: line.subtype.unwrap_or_default().decode().into_owned(),
            is_error: line.is_error,
            duration_ms: line.duration_ms,
            api_ms: line.duration_api_ms,
            round_trips: line.num_turns,
            cost_usd: line.total_cost_usd,
        }
    }

    fn json(&self) -> Value {
        json!({
            "subtype": self.subtype, "is_error": self.is_error, "duration_ms": self.duration_ms,
            "duration_api_ms": self.api_ms, "num_turns": self.round_trips,
            "total_cost_usd": self.cost_usd,
        })
    }

    fn text(&self) -> String {
        let mut out = cell(&self.subtype);
        if self.is_error {
            out.push_str(" (error)");
        }
        let _ = write!(out, ", {} ms", self.duration_ms.unwrap_or(0));
        let _ = write!(out, " ({} ms in the API)", self.api_ms.unwrap_or(0));
        let round_trips = self.round_trips.unwrap_or(0);
        let plural = if round_trips == 1 { "" } else { "s" };
        let _ = write!(out, ", {round_trips} round trip{plural}");
        if let Some(cost) = self.cost_usd {
            let _ = write!(out, ", ${cost:.4} so far");
        }
        out
    }
}

/// A text of a recording, safe for a terminal and on one line: it must not look like a row of its own.
fn cell(text: &str) -> String {
    one_line(text, usize::MAX)
}

/// The journal as a JSON object.
fn journal_json(journal: &JournalSummary) -> Value {
    let streams: BTreeMap<_, _> = journal
        .streams
        .iter()
        .map(|(stream, kept)| {
            let range = json!({ "start": kept.start, "end": kept.end });
            (stream.to_string(), range)
        })
        .collect();
    json!({
        "started_ms": journal.started_ms,
        "streams": streams,
        "broken": journal.damage.first().map(|damage| broken(damage.kind)),
        "damage": journal.damage.iter().map(damage_json).collect::<Vec<_>>(),
        "exit": journal.exit_ends.is_some(),
    })
}

/// The journal as lines of text.
fn journal_text(journal: &JournalSummary) -> String {
    let mut out = String::new();
    for (stream, kept) in &journal.streams {
        let (stream, start, end) = (stream.to_string(), kept.start, kept.end);
        let _ = writeln!(out, "stream         {stream}, bytes {start} to {end}");
    }
    for damage in &journal.damage {
        let why = broken(damage.kind);
        let _ = writeln!(out, "journal        {why}");
        let _ = writeln!(out, "damage         {damage}");
    }
    if journal.exit_ends.is_none() {
        let _ = writeln!(out, "exit           not recorded");
    }
    out
}

fn damage_json(damage: &Damage) -> Value {
    let text = damage.kind.to_string();
    json!({ "segment": damage.segment, "offset": damage.offset, "damage": text })
}

fn broken(kind: DamageKind) -> &'static str {
    match kind {
        DamageKind::Cut => "the last record is cut",
        _ => "what follows is damaged",
    }
}
