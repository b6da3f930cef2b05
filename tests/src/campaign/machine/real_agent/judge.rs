//! Compares two transcripts of one conversation, one of which may be incomplete.

use std::fmt;

use serde_json::Value;

use crate::normalize::difference;

/// How much of a scenario a transcript contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Completeness {
    /// All of it.
    Whole,
    /// A prefix, with the reason of its end.
    Begun,
}

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "whole",
            Self::Begun => "begun",
        })
    }
}

/// Checks that the transcripts are equal.
pub(super) fn whole(found: &Value, calm: &Value) -> Result<Completeness, String> {
    difference(found, calm, "transcript").map_or(Ok(Completeness::Whole), Err)
}

/// Checks that a turn is equal, or a prefix followed by an error of this kind, with no open entry.
pub(super) fn begun(found: &Value, calm: &Value, error: &str) -> Result<Completeness, String> {
    let is_open = |state: &Value| {
        let open = ["pending", "awaiting_permission", "running"];
        state.as_str().is_some_and(|state| open.contains(&state))
    };
    let calls = found["tool_calls"].as_object().into_iter().flatten();
    if let Some((id, call)) = calls.clone().find(|(_, call)| is_open(&call["state"])) {
        return Err(format!("the call {id} is {}", call["state"]));
    }
    if found["status"]["phase"] != "ended" {
        return Err(format!("the status is {}", found["status"]));
    }
    let (conversation, expected) = (conversation(found), conversation(calm));
    let is_over = conversation.iter().any(|entry| entry["kind"] == "result");
    if is_over && conversation.len() != expected.len() {
        let (conversation, expected) = (conversation.len(), expected.len());
        return Err(format!(
            "{conversation} entries of {expected} of a turn that ended"
        ));
    }
    if conversation.len() > expected.len() {
        return Err("more entries than the uninterrupted run has".to_owned());
    }
    for (at, (entry, whole)) in conversation.iter().zip(&expected).enumerate() {
        let is_last = !is_over && at + 1 == conversation.len();
        beginning(entry, whole, is_last).map_err(|why| format!("at entry {at}: {why}"))?;
    }
    let errors = found["entries"].as_array().into_iter().flatten();
    let is_reported = errors.clone().any(|entry| entry["error"] == error);
    match (is_over, is_reported) {
        (true, _) => Ok(Completeness::Whole),
        (false, true) => Ok(Completeness::Begun),
        (false, false) => {
            let entries: Vec<_> = errors.collect();
            let last = entries.last().map(ToString::to_string).unwrap_or_default();
            Err(format!("{error} is missing; the last entry is {last:.300}"))
        }
    }
}

/// Entries of the agent and the user.
fn conversation(transcript: &Value) -> Vec<&Value> {
    let entries = transcript["entries"].as_array().into_iter().flatten();
    let is_said = |entry: &&Value| entry["kind"] != "error" && entry["kind"] != "notice";
    entries.filter(is_said).collect()
}

/// Checks that an entry equals the expected one, or is a prefix of it if it is the last.
fn beginning(entry: &Value, whole: &Value, is_last: bool) -> Result<(), String> {
    if entry["kind"] != whole["kind"] {
        return Err(format!(
            "{} where {} is right",
            entry["kind"], whole["kind"]
        ));
    }
    let empty = Vec::new();
    let blocks = |of: &'_ Value| of["blocks"].as_array().cloned();
    let (blocks, expected) = (
        blocks(entry).unwrap_or_else(|| empty.clone()),
        blocks(whole).unwrap_or(empty),
    );
    if blocks.len() > expected.len() || !is_last && blocks.len() != expected.len() {
        return Err(format!("{} blocks of {}", blocks.len(), expected.len()));
    }
    for (at, (block, whole)) in blocks.iter().zip(&expected).enumerate() {
        if block["type"] != whole["type"] {
            return Err(format!(
                "{} where {} is right",
                block["type"], whole["type"]
            ));
        }
        let text = |of: &Value| of["text"].as_str().unwrap_or_default().to_owned();
        let may_be_short = is_last && at + 1 == blocks.len();
        let (text, expected) = (text(block), text(whole));
        if text != expected && !(may_be_short && expected.starts_with(&text)) {
            return Err(format!("{text:.200} where {expected:.200} is right"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scenario(text: &str, rest: &[Value]) -> Value {
        let block = json!({"type": "text", "text": text});
        let mut entries = vec![
            json!({"kind": "user", "text": "write"}),
            json!({"kind": "assistant", "blocks": [block]}),
        ];
        entries.extend_from_slice(rest);
        json!({"entries": entries, "tool_calls": {}, "status": {"phase": "ended"}})
    }

    #[test]
    fn prefix_requires_its_reason() {
        let calm = scenario("once upon a time", &[json!({"kind": "result"})]);
        let killed = [json!({"kind": "error", "error": "unexpected_exit"})];
        let judge = |found: &Value| begun(found, &calm, "unexpected_exit");
        assert_eq!(
            judge(&scenario("once upon", &killed)),
            Ok(Completeness::Begun)
        );
        assert_eq!(judge(&calm), Ok(Completeness::Whole));
        for wrong in [
            scenario("once upon", &[]),
            scenario("upon", &killed),
            scenario("once upon", &[json!({"kind": "result"})]),
            scenario("once upon a time and more", &killed),
        ] {
            judge(&wrong).expect_err("it is none");
        }
        let mut open = scenario("once", &killed);
        open["tool_calls"] = json!({"toolu_1": {"state": "running"}});
        judge(&open).expect_err("a call is open");
    }
}
