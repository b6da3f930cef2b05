//! Transcripts of recordings, line by line.

use std::fs;
use std::path::{Path, PathBuf};

use bowline_jsonl::Framer;
use bowline_reducer::dialect::DialectName;
use bowline_reducer::{Cursor, Meta, Transcript, TranscriptChange};
use serde_json::Value;

/// A recorded run of an agent, to be folded step by step.
pub(crate) struct Recorded {
    pub(crate) name: String,
    pub(crate) transcript: Transcript,
    framer: Framer,
    /// Whether the host wrote it, and the line.
    lines: std::vec::IntoIter<(bool, String)>,
}

/// Claude Code's output that covers text, tools, permissions and sub-agents.
const CLAUDE: &[&str] = &[
    "ask_question.jsonl",
    "interrupt_during_tool.jsonl",
    "parallel_partial.jsonl",
    "permission_allow.jsonl",
    "permission_deny.jsonl",
    "permission_in_subagents.jsonl",
    "sub_fg_fwd.jsonl",
    "sub_nest_fg.jsonl",
    "sub_par_fg_partial.jsonl",
    "thinking_partial.jsonl",
    "tool_rwe.jsonl",
    "unicode_partial.jsonl",
];

/// The recordings of three dialects.
pub(crate) fn all() -> Vec<Recorded> {
    let mut all: Vec<_> = CLAUDE.iter().map(|name| named(name)).collect();
    for agent in fs::read_dir(fixtures().join("agents")).expect("the recordings") {
        let files = fs::read_dir(agent.expect("a folder").path()).expect("a folder");
        let paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        let traces = paths
            .iter()
            .filter(|path| path.to_string_lossy().ends_with(".trace.jsonl"));
        all.extend(traces.map(|path| read(path)));
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(all.len() >= 50, "{}", all.len());
    all
}

/// The recording with this name.
pub(crate) fn named(name: &str) -> Recorded {
    read(&fixtures().join(name))
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

fn read(path: &Path) -> Recorded {
    let text = fs::read_to_string(path).expect("a readable file");
    let file = path.file_name().expect("a file").to_string_lossy();
    let dialect = match file.split('.').next() {
        Some("acp") => DialectName::Acp,
        Some("app-server") => DialectName::Codex,
        _ => DialectName::Claude,
    };
    let line = |line: &str| {
        if !file.ends_with(".trace.jsonl") {
            return Some((false, line.to_owned()));
        }
        let line: Value = serde_json::from_str(line).expect("JSON");
        let is_host = match line["dir"].as_str()? {
            "host>" => true,
            "agent>" => false,
            _ => return None,
        };
        Some((is_host, line["msg"].to_string()))
    };
    let lines: Vec<_> = text.lines().filter_map(line).collect();
    Recorded {
        name: path
            .strip_prefix(fixtures())
            .unwrap_or(path)
            .display()
            .to_string(),
        transcript: Transcript::with_dialect(dialect),
        framer: Framer::default(),
        lines: lines.into_iter(),
    }
}

impl Recorded {
    /// Folds the next line; false at the end.
    pub(crate) fn step(&mut self) -> bool {
        let Some((is_host, line)) = self.lines.next() else {
            return false;
        };
        if is_host {
            self.transcript.apply_input(&line, Meta::default());
            return true;
        }
        self.framer.push(format!("{line}\n").into());
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                self.transcript.apply(&item, Meta::default());
            }
        }
        true
    }

    /// Folds up to the first state that `is_it`.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Transcript) -> bool) {
        while !is_it(&self.transcript) {
            assert!(self.step(), "{} has no such state", self.name);
        }
    }

    /// Folds the rest.
    pub(crate) fn finish(&mut self) {
        while self.step() {}
    }

    /// The number of lines that are left.
    pub(crate) fn left(&self) -> usize {
        self.lines.len()
    }

    /// What has changed since a cursor, which moves on.
    pub(crate) fn changes(&mut self, cursor: &mut Cursor) -> Vec<TranscriptChange> {
        let changes = self.transcript.changes_since(*cursor);
        *cursor = changes.cursor();
        changes.iter().map(Into::into).collect()
    }
}
