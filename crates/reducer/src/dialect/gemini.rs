//! `gemini --output-format stream-json`: one turn a process, without input, requests and reasoning.
//!
//! | type | what it is |
//! |---|---|
//! | `init` | session id and model |
//! | `message`, role `user` | the prompt |
//! | `message`, role `assistant` | a chunk of text; messages have no ids |
//! | `tool_use`, `tool_result` | a call, and its end |
//! | `error` | a notice |
//! | `result` | the end of the turn, and what it used |
//!
//! Every line has the time at which it was written, as ISO 8601 in UTC.

#[cfg(test)]
mod tests;

use bowline_jsonl::{RawJson, Str};

use crate::fold::primitives::{CallEnd, CallUpdate, Place, Prompt, TextKind, TurnEnd};
use crate::state::{CallState, Outcome};
use crate::time::unix_ms;
use crate::transcript::{Dialect, Fold};
use crate::view::ModelUsage;

/// The members of each line.
const ENVELOPE: &[&str] = &["type", "timestamp"];

/// The fold of the stream. Its only state is the session id, under which usage is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeminiStreamJson {
    session: String,
}

impl Dialect for GeminiStreamJson {
    fn output(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        if let Some(at_ms) = text(line, "timestamp").and_then(|it| unix_ms(&it.decode())) {
            fold.set_at_ms(at_ms);
        }
        let kind = text(line, "type").unwrap_or_default().decode();
        match &*kind {
            "init" => self.init(line, fold),
            "message" => message(line, fold),
            "tool_use" => tool_use(line, fold),
            "tool_result" => tool_result(line, fold),
            "error" => {
                let message = text(line, "message").unwrap_or_default();
                fold.notice("error", &message.decode());
            }
            "result" => self.result(line, fold),
            _ => fold.unknown(if kind.is_empty() { "?" } else { &kind }),
        }
    }

    fn copy(&self) -> Box<dyn Dialect> {
        Box::new(self.clone())
    }
}

impl GeminiStreamJson {
    fn init(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        if let Some(id) = text(line, "session_id") {
            self.session = id.decode().into_owned();
            fold.set_conversation(&self.session);
        }
        if let Some(model) = text(line, "model") {
            fold.set_model(&model.decode());
        }
    }

    fn result(&self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        let status = text(line, "status").unwrap_or_default().decode();
        let error = line.get("error").and_then(|error| text(error, "message"));
        let error = error.map(Str::decode);
        let stats = line.get("stats");
        let end = TurnEnd {
            outcome: if status == "success" {
                Outcome::Completed
            } else {
                Outcome::Failed
            },
            reason: &status,
            text: error.as_deref(),
            duration_ms: stats.and_then(|stats| number(stats, "duration_ms")),
        };
        fold.end_turn(fold.main(), end);
        let models = stats.and_then(|stats| stats.get("models"));
        for (model, stats) in models.into_iter().flat_map(RawJson::members) {
            let cached = number(stats, "cached").unwrap_or_default();
            let input = number(stats, "input_tokens").unwrap_or_default();
            let usage = ModelUsage {
                input_tokens: input.saturating_sub(cached),
                output_tokens: number(stats, "output_tokens").unwrap_or_default(),
                cache_read_tokens: cached,
                cache_creation_tokens: 0,
            };
            fold.set_usage(&self.session, &model.decode(), usage, None);
        }
    }
}

/// Returns the members of a line that are read, by its type, beside those of [`ENVELOPE`].
pub(super) fn read_members(line: RawJson<'_>) -> Option<Vec<&'static str>> {
    let members: &[_] = match &*text(line, "type")?.decode() {
        "init" => &["session_id", "model"],
        "message" => &["role", "content"],
        "tool_use" => &["tool_id", "tool_name", "parameters"],
        "tool_result" => &["tool_id", "status", "output", "error/message"],
        "error" => &["message"],
        "result" => &[
            "status",
            "error/message",
            "stats/duration_ms",
            "stats/models/*/input_tokens",
            "stats/models/*/output_tokens",
            "stats/models/*/cached",
        ],
        _ => return None,
    };
    Some([ENVELOPE, members].concat())
}

fn message(line: RawJson<'_>, fold: &mut Fold<'_>) {
    let content = text(line, "content").unwrap_or_default();
    let thread = fold.main();
    fold.begin_turn(thread, None);
    if text(line, "role").is_some_and(|role| role == "user") {
        fold.close_message(thread);
        fold.prompt(
            thread,
            Prompt {
                text: &content.decode(),
                is_echo: true,
                ..Prompt::default()
            },
        );
        return;
    }
    let place = Place {
        thread,
        message: None,
        part: None,
    };
    fold.append(place, TextKind::Text, content);
}

fn tool_use(line: RawJson<'_>, fold: &mut Fold<'_>) {
    let id = text(line, "tool_id").unwrap_or_default().decode();
    let name = text(line, "tool_name").map(Str::decode);
    let update = CallUpdate {
        name: name.as_deref(),
        input: line.get("parameters"),
        state: Some(CallState::Running),
        ..CallUpdate::default()
    };
    fold.upsert_call(fold.main(), &id, update);
}

fn tool_result(line: RawJson<'_>, fold: &mut Fold<'_>) {
    let id = text(line, "tool_id").unwrap_or_default().decode();
    let is_success = text(line, "status").is_some_and(|status| status == "success");
    let error = line.get("error").and_then(|error| text(error, "message"));
    let output = text(line, "output").or(error).map(Str::decode);
    let call = fold.upsert_call(fold.main(), &id, CallUpdate::default());
    let end = CallEnd {
        state: if is_success {
            CallState::Succeeded
        } else {
            CallState::Failed
        },
        text: Some(output.as_deref().unwrap_or_default()),
        raw: None,
    };
    fold.end_call(call, end);
}

fn text<'a>(value: RawJson<'a>, key: &str) -> Option<Str<'a>> {
    value.get(key).and_then(RawJson::as_str)
}

fn number(value: RawJson<'_>, key: &str) -> Option<u64> {
    value.get(key).and_then(RawJson::as_u64)
}
