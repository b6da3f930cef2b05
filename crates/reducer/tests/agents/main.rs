//! The recordings of agents, folded by their dialects, against independent readers.

mod acp_oracle;
mod codex_oracle;
mod laws;
mod other_oracles;
mod quirks;
mod recording;
mod seen;
mod unknown_members;

use std::collections::BTreeSet;

use bowline_reducer::Phase;
use bowline_reducer::dialect::DialectName;

use crate::recording::{Recording, recordings};
use crate::seen::Seen;

/// Types of lines that no dialect knows, and whose lines say nothing of the conversation.
const UNKNOWN: &[&str] = &[
    "_auth/status_update",
    "craft/drainMidTurnQueue",
    "fs/read_text_file",
    "fs/write_text_file",
    "qwen/notify/session/prompt-suggestion",
    "remoteControl/status/changed",
    "thread/readState/changed",
];

fn oracle(recording: &Recording) -> Seen {
    match recording.dialect {
        DialectName::Acp => acp_oracle::read(&recording.messages),
        DialectName::Codex => codex_oracle::read(&recording.messages),
        _ => other_oracles::read(recording),
    }
}

#[test]
fn recording_is_shown_once_in_order() {
    let (mut count, mut wrong) = (0, Vec::new());
    for recording in recordings() {
        let shown = Seen::of_transcript(&recording.fold());
        let differences = shown.differences(&oracle(&recording));
        if !differences.is_empty() {
            wrong.push(format!("{}:\n{}", recording.name, differences.join("\n")));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 110, "{count}");
}

#[test]
fn unknown_lines_are_listed() {
    let mut unknown = BTreeSet::new();
    for recording in recordings() {
        let transcript = recording.fold();
        let counts = transcript.stats().unknown();
        unknown.extend(counts.map(|(name, _)| name.to_owned()));
    }
    let unknown: Vec<_> = unknown.iter().map(String::as_str).collect();
    assert_eq!(unknown, UNKNOWN);
}

#[test]
fn dialect_is_recognized_by_first_lines() {
    for recording in recordings() {
        let lines: Vec<_> = recording.output.lines().take(8).collect();
        let lines = lines
            .iter()
            .map(|line| bowline_jsonl::RawJson::parse(line).expect("JSON"));
        let dialect = bowline_reducer::dialect::recognize(lines);
        assert_eq!(dialect, Some(recording.dialect), "{}", recording.name);
    }
}

#[test]
fn nothing_is_open_at_the_end() {
    for recording in recordings() {
        let transcript = recording.fold();
        let name = &recording.name;
        assert_eq!(transcript.status().phase, Phase::Ended, "{name}");
        assert_eq!(transcript.pending_permissions().count(), 0, "{name}");
    }
}

#[test]
fn recorded_session_is_idle_before_the_stream_ends() {
    for recording in recordings() {
        let phase = recording.fold_open().status().phase;
        // These end while something is open.
        let is_cut = recording.name.starts_with("opencode/acp.sub");
        assert_eq!(
            phase == Phase::Idle,
            !is_cut,
            "{} is {phase:?}",
            recording.name
        );
    }
}
