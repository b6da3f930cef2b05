//! `opencode run --format json`: one prompt a process, whole parts, without requests and without the
//! prompt; only for reading.
//!
//! Each line has `type`, `timestamp` (milliseconds since the Unix epoch), `sessionID` and `part`. A
//! turn has several steps; the one whose `reason` is not `tool-calls` is the last.

use bowline_jsonl::{RawJson, Str};

use crate::fold::primitives::{CallEnd, CallUpdate, Place, TextKind, TurnEnd};
use crate::model::ToolKind;
use crate::state::{CallState, Outcome};
use crate::transcript::{Dialect, Fold};
use crate::view::ModelUsage;

/// The members of each line and part. The type and the session of the part are those of the line.
const ENVELOPE: &[&str] = &[
    "type",
    "timestamp",
    "sessionID",
    "part/id",
    "part/type",
    "part/sessionID",
];

/// The fold of the stream, which has no state.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpencodeRunJson;

impl Dialect for OpencodeRunJson {
    fn output(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        if let Some(at_ms) = line.get("timestamp").and_then(RawJson::as_u64) {
            fold.set_at_ms(at_ms);
        }
        if let Some(session) = text(line, "sessionID") {
            fold.set_agent(Some("opencode"), None);
            fold.set_conversation(&session.decode());
        }
        let kind = text(line, "type").unwrap_or_default().decode();
        if kind == "error" {
            return failed(line, fold);
        }
        let Some(part) = line.get("part") else {
            return fold.unknown(if kind.is_empty() { "?" } else { &kind });
        };
        match &*kind {
            "step_start" => fold.begin_turn(fold.main(), None),
            "text" => message(part, TextKind::Text, fold),
            "reasoning" => message(part, TextKind::Thinking, fold),
            "tool_use" => tool(part, fold),
            "step_finish" => step_finish(part, fold),
            _ => fold.unknown(&kind),
        }
    }

    fn copy(&self) -> Box<dyn Dialect> {
        Box::new(self.clone())
    }
}

/// Returns the members of a line that are read, by its type, and those that repeat what the line has.
pub(super) fn read_members(line: RawJson<'_>) -> Option<Vec<&'static str>> {
    let members: &[_] = match &*text(line, "type")?.decode() {
        "error" => &["error/name", "error/data/message"],
        "step_start" => &[],
        "text" | "reasoning" => &["part/text"],
        "tool_use" => &[
            "part/callID",
            "part/tool",
            "part/state/status",
            "part/state/input",
            "part/state/title",
            "part/state/output",
            "part/state/error",
            "part/state/metadata/exit",
        ],
        "step_finish" => &[
            "part/reason",
            "part/cost",
            "part/tokens/input",
            "part/tokens/output",
            "part/tokens/cache/read",
            "part/tokens/cache/write",
        ],
        _ => return None,
    };
    Some([ENVELOPE, members].concat())
}

fn message(part: RawJson<'_>, kind: TextKind, fold: &mut Fold<'_>) {
    let id = text(part, "id").unwrap_or_default().decode();
    let place = Place {
        thread: fold.main(),
        message: Some(&id),
        part: Some(0),
    };
    fold.set_text(
        place,
        kind,
        &text(part, "text").unwrap_or_default().decode(),
    );
    fold.close_message(fold.main());
}

fn tool(part: RawJson<'_>, fold: &mut Fold<'_>) {
    let id = text(part, "callID").unwrap_or_default().decode();
    let name = text(part, "tool").unwrap_or_default().decode();
    let Some(state) = part.get("state") else {
        return fold.unknown("tool_use without state");
    };
    let exit = state
        .get("metadata")
        .and_then(|metadata| metadata.get("exit"));
    let title = text(state, "title").map(Str::decode);
    let update = CallUpdate {
        name: Some(&name),
        input: state.get("input"),
        title: title.as_deref(),
        kind: Some(kind_of(&name)),
        exit_code: exit.and_then(|exit| exit.text().parse().ok()),
        ..CallUpdate::default()
    };
    let call = fold.upsert_call(fold.main(), &id, update);
    let status = text(state, "status").unwrap_or_default().decode();
    let end = match &*status {
        "completed" => CallState::Succeeded,
        "error" => CallState::Failed,
        _ => return,
    };
    let output = text(state, "output").or_else(|| text(state, "error"));
    let end = CallEnd {
        state: end,
        text: Some(&output.unwrap_or_default().decode()),
        raw: None,
    };
    fold.end_call(call, end);
}

fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "bash" => ToolKind::Execute,
        "read" => ToolKind::Read,
        "write" | "edit" | "patch" => ToolKind::Edit,
        "grep" | "glob" | "list" => ToolKind::Search,
        "webfetch" => ToolKind::Fetch,
        "task" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

fn step_finish(part: RawJson<'_>, fold: &mut Fold<'_>) {
    let scope = text(part, "id").unwrap_or_default().decode();
    let tokens = part.get("tokens");
    let count = |value: Option<RawJson<'_>>, key: &str| {
        let count = value
            .and_then(|value| value.get(key))
            .and_then(RawJson::as_u64);
        count.unwrap_or_default()
    };
    let cache = tokens.and_then(|tokens| tokens.get("cache"));
    let usage = ModelUsage {
        input_tokens: count(tokens, "input"),
        output_tokens: count(tokens, "output"),
        cache_read_tokens: count(cache, "read"),
        cache_creation_tokens: count(cache, "write"),
    };
    let cost = part.get("cost").and_then(RawJson::as_f64);
    fold.set_usage(&scope, "default", usage, cost);
    let reason = text(part, "reason").unwrap_or_default().decode();
    if reason != "tool-calls" {
        let end = TurnEnd {
            outcome: Outcome::Completed,
            reason: &reason,
            ..TurnEnd::default()
        };
        fold.end_turn(fold.main(), end);
    }
}

fn failed(line: RawJson<'_>, fold: &mut Fold<'_>) {
    let error = line.get("error");
    let data = error.and_then(|error| error.get("data"));
    let message = data.and_then(|data| text(data, "message"));
    let message = message.or_else(|| error.and_then(|error| text(error, "name")));
    let message = message.map(Str::decode);
    let end = TurnEnd {
        outcome: Outcome::Failed,
        reason: "error",
        text: message.as_deref(),
        duration_ms: None,
    };
    fold.end_turn(fold.main(), end);
}

fn text<'a>(value: RawJson<'a>, key: &str) -> Option<Str<'a>> {
    value.get(key).and_then(RawJson::as_str)
}
