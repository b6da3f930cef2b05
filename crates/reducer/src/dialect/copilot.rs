//! `copilot --output-format json`: one prompt a process, with deltas, without requests; only for
//! reading.
//!
//! Each line has `type` and `data`. A message and its reasoning stream under ids of their own, come
//! whole in `assistant.message` and `assistant.reasoning`, and the calls of a message stand in its
//! `toolRequests`. What Copilot calls a turn is one call of the model; `result` is the end of the
//! process and of the turn.

use bowline_jsonl::{RawJson, Str};

use crate::fold::primitives::{CallEnd, CallUpdate, Place, Prompt, TextKind, TurnEnd};
use crate::model::{Content, ToolKind};
use crate::state::{CallState, Outcome};
use crate::transcript::{Dialect, Fold};

/// Families of lines that say nothing of the conversation.
const WITHOUT_EFFECT: [&str; 2] = ["session.", "model."];

/// The members of each line, of which only the type is read.
const ENVELOPE: &[&str] = &["type", "id", "parentId", "timestamp", "ephemeral"];

/// The fold of the stream, which has no state.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopilotJson;

impl Dialect for CopilotJson {
    fn output(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        let kind = line
            .get("type")
            .and_then(RawJson::as_str)
            .unwrap_or_default();
        let kind = kind.decode();
        if kind == "result" {
            return end(line, fold);
        }
        let Some(data) = line.get("data") else {
            return fold.unknown(if kind.is_empty() { "?" } else { &kind });
        };
        match &*kind {
            "user.message" => prompt(data, fold),
            "assistant.message_delta" => {
                delta(data, "messageId", "deltaContent", TextKind::Text, fold);
            }
            "assistant.reasoning_delta" => {
                delta(
                    data,
                    "reasoningId",
                    "deltaContent",
                    TextKind::Thinking,
                    fold,
                );
            }
            "assistant.message" => message(data, fold),
            "assistant.reasoning" => {
                whole(data, "reasoningId", TextKind::Thinking, fold);
                fold.close_message(fold.main());
            }
            "tool.execution_start" => {
                call(data, "toolName", Some(CallState::Running), fold);
                command(data, fold);
            }
            "tool.execution_partial_result" => {
                let call = call(data, "toolName", None, fold);
                fold.set_output(
                    call,
                    &text(data, "partialOutput").unwrap_or_default().decode(),
                );
            }
            "tool.execution_complete" => complete(data, fold),
            "assistant.message_start"
            | "assistant.tool_call_delta"
            | "assistant.turn_start"
            | "assistant.turn_end"
            | "assistant.idle"
            | "tool.shell_output" => {}
            _ if WITHOUT_EFFECT.iter().any(|family| kind.starts_with(family)) => {}
            _ => fold.unknown(&kind),
        }
    }

    fn copy(&self) -> Box<dyn Dialect> {
        Box::new(self.clone())
    }
}

/// Returns the members of a line that are read, by its type, and those that each line has.
pub(super) fn read_members(line: RawJson<'_>) -> Option<Vec<&'static str>> {
    let members: &[_] = match &*text(line, "type")?.decode() {
        "user.message" => &["data/messageId", "data/content"],
        "assistant.message_delta" => &["data/messageId", "data/deltaContent"],
        "assistant.reasoning_delta" => &["data/reasoningId", "data/deltaContent"],
        "assistant.message" => &[
            "data/messageId",
            "data/content",
            "data/model",
            "data/toolRequests/*/toolCallId",
            "data/toolRequests/*/name",
            "data/toolRequests/*/toolTitle",
            "data/toolRequests/*/arguments",
        ],
        "assistant.reasoning" => &["data/reasoningId", "data/content"],
        "tool.execution_start" => &[
            "data/toolCallId",
            "data/toolName",
            "data/toolTitle",
            "data/arguments",
            // That it is there says that the tool is a shell.
            "data/shellToolInfo",
        ],
        "tool.execution_partial_result" => &[
            "data/toolCallId",
            "data/toolName",
            "data/toolTitle",
            "data/arguments",
            "data/partialOutput",
        ],
        "tool.execution_complete" => &[
            "data/toolCallId",
            "data/success",
            "data/result/content",
            "data/error/message",
            "data/shellExecution/exitCode",
        ],
        "result" => &["sessionId", "exitCode", "usage/sessionDurationMs"],
        _ => return None,
    };
    Some([ENVELOPE, members].concat())
}

fn prompt(data: RawJson<'_>, fold: &mut Fold<'_>) {
    let main = fold.main();
    fold.begin_turn(main, None);
    fold.close_message(main);
    let id = text(data, "messageId").map(Str::decode);
    let prompt = Prompt {
        id: id.as_deref(),
        text: &text(data, "content").unwrap_or_default().decode(),
        is_echo: true,
        is_synthetic: false,
    };
    fold.prompt(main, prompt);
}

fn delta(data: RawJson<'_>, id: &str, key: &str, kind: TextKind, fold: &mut Fold<'_>) {
    let more = text(data, key).unwrap_or_default();
    if more.is_empty() {
        return;
    }
    let id = text(data, id).unwrap_or_default().decode();
    fold.append(place(&id, fold), kind, more);
}

fn whole(data: RawJson<'_>, id: &str, kind: TextKind, fold: &mut Fold<'_>) {
    let content = text(data, "content").unwrap_or_default().decode();
    let id = text(data, id).unwrap_or_default().decode();
    if !content.is_empty() {
        fold.set_text(place(&id, fold), kind, &content);
    }
}

fn place<'a>(id: &'a str, fold: &Fold<'_>) -> Place<'a> {
    Place {
        thread: fold.main(),
        message: Some(id),
        part: Some(0),
    }
}

fn message(data: RawJson<'_>, fold: &mut Fold<'_>) {
    whole(data, "messageId", TextKind::Text, fold);
    if let Some(model) = text(data, "model").map(Str::decode) {
        fold.set_model(&model);
        fold.set_message_model(fold.main(), &model);
    }
    let requests = data.get("toolRequests").into_iter();
    for request in requests.flat_map(RawJson::elements) {
        call(request, "name", None, fold);
    }
    fold.close_message(fold.main());
}

fn call(
    data: RawJson<'_>,
    name: &str,
    state: Option<CallState>,
    fold: &mut Fold<'_>,
) -> crate::record::CallId {
    let id = text(data, "toolCallId").unwrap_or_default().decode();
    let [name, title] = [name, "toolTitle"].map(|key| text(data, key).map(Str::decode));
    let update = CallUpdate {
        name: name.as_deref(),
        input: data.get("arguments"),
        title: title.as_deref(),
        state,
        ..CallUpdate::default()
    };
    fold.upsert_call(fold.main(), &id, update)
}

/// Describes a call of a shell.
fn command(data: RawJson<'_>, fold: &mut Fold<'_>) {
    let command = data.get("arguments").and_then(|it| text(it, "command"));
    let Some(command) = command.filter(|_| data.get("shellToolInfo").is_some()) else {
        return;
    };
    let content = Content::Terminal {
        command: command.decode().into_owned(),
        cwd: None,
    };
    let id = text(data, "toolCallId").unwrap_or_default().decode();
    let update = CallUpdate {
        kind: Some(ToolKind::Execute),
        content: Some(vec![content]),
        ..CallUpdate::default()
    };
    fold.upsert_call(fold.main(), &id, update);
}

fn complete(data: RawJson<'_>, fold: &mut Fold<'_>) {
    let id = text(data, "toolCallId").unwrap_or_default().decode();
    let shell = data
        .get("shellExecution")
        .and_then(|shell| shell.get("exitCode"));
    let update = CallUpdate {
        exit_code: shell.and_then(|code| code.text().parse().ok()),
        ..CallUpdate::default()
    };
    let call = fold.upsert_call(fold.main(), &id, update);
    let is_success = data.get("success").and_then(RawJson::as_bool) == Some(true);
    let result = data
        .get("result")
        .and_then(|result| text(result, "content"));
    let error = data.get("error").and_then(|error| text(error, "message"));
    let end = CallEnd {
        state: if is_success {
            CallState::Succeeded
        } else {
            CallState::Failed
        },
        text: Some(&result.or(error).unwrap_or_default().decode()),
        raw: None,
    };
    fold.end_call(call, end);
}

fn end(line: RawJson<'_>, fold: &mut Fold<'_>) {
    fold.set_agent(Some("copilot"), None);
    if let Some(session) = text(line, "sessionId") {
        fold.set_conversation(&session.decode());
    }
    let is_success = line.get("exitCode").and_then(RawJson::as_u64) == Some(0);
    let usage = line.get("usage");
    let end = TurnEnd {
        outcome: if is_success {
            Outcome::Completed
        } else {
            Outcome::Failed
        },
        reason: if is_success { "success" } else { "error" },
        text: None,
        duration_ms: usage.and_then(|usage| usage.get("sessionDurationMs")?.as_u64()),
    };
    fold.end_turn(fold.main(), end);
}

fn text<'a>(value: RawJson<'a>, key: &str) -> Option<Str<'a>> {
    value.get(key).and_then(RawJson::as_str)
}
