//! Two tellings of one conversation: one of them may have been broken off.

use std::fmt;

use serde_json::Value;

use crate::faceless::difference;

/// How much of a story was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// All of it.
    Whole,
    /// Its beginning, and why it ends there.
    Begun,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "whole",
            Self::Begun => "begun",
        })
    }
}

/// The same story.
pub(super) fn whole(told: &Value, calm: &Value) -> Result<Told, String> {
    difference(told, calm, "transcript").map_or(Ok(Told::Whole), Err)
}

/// The same turn, or the beginning of it with an error of this kind behind; nothing is open.
pub(super) fn begun(told: &Value, calm: &Value, error: &str) -> Result<Told, String> {
    let is_open = |state: &Value| {
        let open = ["pending", "awaiting_permission", "running"];
        state.as_str().is_some_and(|state| open.contains(&state))
    };
    let calls = told["tool_calls"].as_object().into_iter().flatten();
    if let Some((id, call)) = calls.clone().find(|(_, call)| is_open(&call["state"])) {
        return Err(format!("the call {id} is {}", call["state"]));
    }
    if told["status"]["phase"] != "ended" {
        return Err(format!("the status is {}", told["status"]));
    }
    let (said, expected) = (said(told), said(calm));
    let is_over = said.iter().any(|entry| entry["kind"] == "result");
    if is_over && said.len() != expected.len() {
        let (said, expected) = (said.len(), expected.len());
        return Err(format!("{said} entries of {expected} of a turn that ended"));
    }
    if said.len() > expected.len() {
        return Err("more was told than was said".to_owned());
    }
    for (at, (entry, whole)) in said.iter().zip(&expected).enumerate() {
        let is_last = !is_over && at + 1 == said.len();
        beginning(entry, whole, is_last).map_err(|why| format!("at entry {at}: {why}"))?;
    }
    let errors = told["entries"].as_array().into_iter().flatten();
    let is_told = errors.clone().any(|entry| entry["error"] == error);
    match (is_over, is_told) {
        (true, _) => Ok(Told::Whole),
        (false, true) => Ok(Told::Begun),
        (false, false) => {
            let entries: Vec<_> = errors.collect();
            let last = entries.last().map(ToString::to_string).unwrap_or_default();
            Err(format!(
                "nobody says {error}; the last entry is {last:.300}"
            ))
        }
    }
}

/// What the agent and the user said.
fn said(transcript: &Value) -> Vec<&Value> {
    let entries = transcript["entries"].as_array().into_iter().flatten();
    let is_said = |entry: &&Value| entry["kind"] != "error" && entry["kind"] != "notice";
    entries.filter(is_said).collect()
}

/// An entry as it is in the calm story, or its beginning if nothing follows.
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

    fn story(text: &str, rest: &[Value]) -> Value {
        let block = json!({"type": "text", "text": text});
        let mut entries = vec![
            json!({"kind": "user", "text": "tell"}),
            json!({"kind": "assistant", "blocks": [block]}),
        ];
        entries.extend_from_slice(rest);
        json!({"entries": entries, "tool_calls": {}, "status": {"phase": "ended"}})
    }

    #[test]
    fn a_beginning_is_one_with_its_reason_alone() {
        let calm = story("once upon a time", &[json!({"kind": "result"})]);
        let killed = [json!({"kind": "error", "error": "unexpected_exit"})];
        let judge = |told: &Value| begun(told, &calm, "unexpected_exit");
        assert_eq!(judge(&story("once upon", &killed)), Ok(Told::Begun));
        assert_eq!(judge(&calm), Ok(Told::Whole));
        for wrong in [
            story("once upon", &[]),
            story("upon", &killed),
            story("once upon", &[json!({"kind": "result"})]),
            story("once upon a time and more", &killed),
        ] {
            judge(&wrong).expect_err("it is none");
        }
        let mut open = story("once", &killed);
        open["tool_calls"] = json!({"toolu_1": {"state": "running"}});
        judge(&open).expect_err("a call is open");
    }
}
