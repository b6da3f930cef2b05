//! Tool calls.

use bowline_jsonl::acp::{ToolCall, ToolContent};
use bowline_jsonl::{JsonKind, RawJson, Str};

use crate::dialect::acp::Acp;
use crate::dialect::acp::host::shown;
use crate::dialect::acp::update::owned;
use crate::fold::primitives::{CallEnd, CallUpdate};
use crate::model::{Content, Location, ToolKind};
use crate::record::CallId;
use crate::state::CallState;
use crate::transcript::Fold;

impl Acp {
    /// Adds a call, or changes it.
    pub(super) fn call(
        &mut self,
        session: Option<Str<'_>>,
        update: &ToolCall<'_>,
        fold: &mut Fold<'_>,
    ) {
        let Some(id) = update.tool_call_id else {
            return fold.unknown("tool_call without id");
        };
        let thread = self.thread(session, fold);
        self.expect_turn(thread, fold);
        let name = self.call_name(session, id);
        let call = fold.upsert_call(thread, &name, changes(update).borrow());
        if let Some(output) = update.meta.terminal_output.data {
            fold.append_output(call, output);
        }
        if let Some(response) = update.meta.claude.tool_response {
            self.structured
                .insert(name.clone(), response.text().to_owned());
        }
        let state = match update.status.map(Str::decode).as_deref() {
            Some("completed") => CallState::Succeeded,
            Some("failed") => CallState::Failed,
            _ => return,
        };
        let structured = self.structured.remove(&name);
        end(call, state, update, structured.as_deref(), fold);
    }
}

/// What an update says of a call, owned.
struct Changes<'a> {
    name: Option<String>,
    title: Option<String>,
    update: CallUpdate<'a>,
}

impl Changes<'_> {
    fn borrow(&self) -> CallUpdate<'_> {
        CallUpdate {
            name: self.name.as_deref(),
            title: self.title.as_deref(),
            ..self.update.clone()
        }
    }
}

fn changes<'a>(update: &ToolCall<'a>) -> Changes<'a> {
    let name = update.name.or(update.meta.claude.tool_name);
    let state = match update.status.map(Str::decode).as_deref() {
        Some("pending") => Some(CallState::Pending),
        Some("in_progress") => Some(CallState::Running),
        _ => None,
    };
    let content = update.content();
    let locations = update.locations();
    Changes {
        name: name.map(|name| name.decode().into_owned()),
        title: update.title.map(|title| title.decode().into_owned()),
        update: CallUpdate {
            input: update.raw_input,
            kind: update.kind.map(|kind| ToolKind::of(&kind.decode())),
            locations: locations.map(|list| {
                list.map(|location| Location {
                    path: owned(location.path),
                    line: location.line,
                })
                .collect()
            }),
            content: content.map(|list| list.map(|part| content_of(&part, update)).collect()),
            state,
            exit_code: update.meta.terminal_exit.exit_code,
            ..CallUpdate::default()
        },
    }
}

fn content_of(part: &ToolContent<'_>, call: &ToolCall<'_>) -> Content {
    match part.kind.map(Str::decode).as_deref() {
        Some("diff") => Content::Diff {
            path: owned(part.path),
            old: part.old_text.map(|text| text.decode().into_owned()),
            new: part.new_text.map(|text| text.decode().into_owned()),
            patch: None,
        },
        Some("terminal") => {
            let input = |key| call.raw_input?.get(key).and_then(RawJson::as_str);
            Content::Terminal {
                command: owned(input("command").or(call.title)),
                cwd: input("cwd").map(|cwd| cwd.decode().into_owned()),
            }
        }
        _ => Content::Text {
            text: shown(&part.content),
        },
    }
}

/// Ends a call. Its result is the raw output if that is text, else what is shown.
fn end(
    call: CallId,
    state: CallState,
    update: &ToolCall<'_>,
    structured: Option<&str>,
    fold: &mut Fold<'_>,
) {
    let raw = update
        .raw_output
        .filter(|raw| raw.kind() != JsonKind::String);
    let text = match update.raw_output.and_then(RawJson::as_str) {
        Some(text) => text.decode().into_owned(),
        None => {
            let parts = update.content().into_iter().flatten();
            let texts = parts.filter_map(|part| part.content.text);
            let texts: Vec<_> = texts.map(Str::decode).collect();
            texts.join("\n")
        }
    };
    let end = CallEnd {
        state,
        text: Some(&text),
        raw: raw.or_else(|| structured.and_then(RawJson::parse)),
    };
    fold.end_call(call, end);
}
