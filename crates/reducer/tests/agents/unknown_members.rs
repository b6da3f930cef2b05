//! The members of lines that a fold does not read: they are stated, and have no part in what is shown.

use std::collections::BTreeSet;

use bowline_jsonl::{Framer, RawJson};
use bowline_reducer::dialect::{DialectName, unknown_members};
use bowline_reducer::{End, Meta, Transcript};
use serde_json::Value;

use crate::recording::{drain, recordings_of};

/// The lines of the recordings in a dialect, a list for each recording.
fn lines_of(dialect: DialectName) -> Vec<Vec<Value>> {
    let all: Vec<_> = recordings_of(dialect).map(|it| it.messages).collect();
    assert!(!all.is_empty(), "{dialect} has recordings");
    let lines = all.into_iter();
    let lines = lines.map(|lines| lines.into_iter().map(|(_, line)| line).collect());
    lines.collect()
}

fn unknown_in(dialect: DialectName, line: &Value) -> Option<Vec<String>> {
    let text = line.to_string();
    unknown_members(dialect, RawJson::parse(&text).expect("JSON"))
}

/// Each member of a value, as a pointer.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let names: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, it)| (name.clone(), it))
            .collect(),
        Value::Array(elements) => (0..)
            .map(|at: usize| at.to_string())
            .zip(elements)
            .collect(),
        _ => return,
    };
    for (name, member) in names {
        let pointer = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        pointers(member, &pointer, found);
        if value.is_object() {
            found.push(pointer);
        }
    }
}

/// A pointer without the places and names that differ between lines.
fn general(pointer: &str) -> String {
    let parts = pointer.split('/').scan("", |before, part| {
        let is_any = part.parse::<usize>().is_ok() || *before == "models";
        *before = part;
        Some(if is_any { "*" } else { part })
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Gives a member another name of the same length.
fn rename(line: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let members = line.pointer_mut(parent).and_then(Value::as_object_mut);
    let members = members.expect("an object");
    let value = members.remove(name).expect("a member");
    let other = std::iter::once('~').chain(name.chars().skip(1));
    members.insert(other.collect(), value);
}

fn shown(dialect: DialectName, lines: &[Value]) -> Value {
    let mut transcript = Transcript::with_dialect(dialect);
    let mut framer = Framer::default();
    for line in lines {
        framer.push(format!("{line}\n").into());
    }
    framer.finish();
    drain(&mut framer, &mut transcript);
    transcript.end(End::Recording, Meta::default());
    serde_json::to_value(&transcript).expect("JSON")
}

/// Returns the members that are not read in a dialect's recordings, after it is checked that nothing depends on them.
fn unread(dialect: DialectName) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for lines in lines_of(dialect) {
        let before = shown(dialect, &lines);
        let mut without = lines.clone();
        for line in &mut without {
            for pointer in unknown_in(dialect, line).unwrap_or_default() {
                rename(line, &pointer);
                found.insert(general(&pointer));
            }
        }
        assert_eq!(shown(dialect, &without), before, "{dialect}");
    }
    found
}

/// Returns the members that are known in a dialect's recordings and have no part in what any of them shows.
fn without_effect(dialect: DialectName) -> BTreeSet<String> {
    let recordings = lines_of(dialect);
    let is_known = |line: &Value, pointer: &str| {
        let mut renamed = line.clone();
        rename(&mut renamed, pointer);
        // Within a value that is kept whole, no name is looked at; and a line of another type is kept whole.
        let count = |line| unknown_in(dialect, line).map(|it| it.len());
        let (before, after) = (count(line), count(&renamed));
        after
            .zip(before)
            .is_some_and(|(after, before)| after > before)
    };
    let mut known = BTreeSet::new();
    for line in recordings.iter().flatten() {
        let mut all = Vec::new();
        pointers(line, "", &mut all);
        let all = all.into_iter().filter(|pointer| is_known(line, pointer));
        known.extend(all.map(|pointer| general(&pointer)));
    }
    let has_effect = |member: &String| {
        recordings.iter().any(|lines| {
            let mut renamed = lines.clone();
            for line in &mut renamed {
                let mut all = Vec::new();
                pointers(line, "", &mut all);
                let of_member = all.iter().filter(|it| general(it) == *member);
                of_member.for_each(|pointer| rename(line, pointer));
            }
            shown(dialect, &renamed) != shown(dialect, lines)
        })
    };
    known.retain(|member| !has_effect(member));
    known
}

/// Returns the members that are found in each dialect that is only for reading, as text.
fn of_each(found: impl Fn(DialectName) -> BTreeSet<String>) -> String {
    let dialects = [
        DialectName::GeminiStreamJson,
        DialectName::CodexExec,
        DialectName::CopilotJson,
        DialectName::OpencodeRunJson,
    ];
    let list = |dialect: DialectName| {
        let members: Vec<_> = found(dialect).into_iter().collect();
        format!("{dialect}: {}\n", members.join(" "))
    };
    dialects.into_iter().map(list).collect()
}

#[test]
fn unknown_members_are_those_that_nothing_reads() {
    let expected = "\
gemini-stream-json: /delta /error/type /stats/cached /stats/input /stats/input_tokens /stats/models/*/input \
    /stats/models/*/total_tokens /stats/output_tokens /stats/tool_calls /stats/total_tokens
codex-exec: /usage/reasoning_output_tokens
copilot-json: /data/apiCallId /data/delivery /data/interactionId /data/model /data/originatingMessageId \
    /data/parentAgentTaskId /data/reasoningText /data/result/detailedContent /data/rte \
    /data/supportedNativeDocumentMimeTypes /data/toolRequests/*/intentionSummary /data/toolRequests/*/type \
    /data/toolTelemetry /data/transformedContent /data/turnId /usage/codeChanges /usage/premiumRequests \
    /usage/totalApiDurationMs
opencode-run-json: /part/messageID /part/snapshot /part/state/metadata/model /part/state/metadata/output \
    /part/state/metadata/parentSessionId /part/state/metadata/sessionId /part/state/metadata/truncated \
    /part/state/time /part/time /part/tokens/reasoning /part/tokens/total
";
    assert_eq!(of_each(unread), expected);
}

#[test]
fn known_members_are_read() {
    // Beside the members that a dialect skips by name, these are 0 in the recordings, or repeat what another line says.
    let expected = "\
gemini-stream-json: /stats/models/*/cached
codex-exec: /item/status /usage/cache_write_input_tokens /usage/cached_input_tokens
copilot-json: /data/toolName /data/toolRequests/*/arguments /data/toolRequests/*/name \
    /data/toolRequests/*/toolTitle /data/toolTitle /ephemeral /id /parentId /timestamp
opencode-run-json: /part/cost /part/sessionID /part/tokens/cache /part/tokens/cache/read /part/tokens/cache/write \
    /part/type
";
    assert_eq!(of_each(without_effect), expected);
}
