//! `codex exec --json`: one turn a process, without deltas and requests; only for reading
//! (`crates/jsonl/PROTOCOL-codex.md`, Output of `codex exec`).

use bowline_jsonl::{RawJson, Str};

use crate::fold::primitives::{CallEnd, CallUpdate, Place, TextKind, TurnEnd};
use crate::model::{Content, Location, PlanItem, PlanState, ToolKind};
use crate::state::{CallState, Outcome};
use crate::transcript::{Dialect, Fold};
use crate::view::ModelUsage;

/// The fold of the stream. Its only state is the thread, under which usage is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct CodexExec {
    thread: String,
}

impl Dialect for CodexExec {
    fn output(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        let kind = owned(line, "type");
        let main = fold.main();
        match &*kind {
            "thread.started" => {
                self.thread = owned(line, "thread_id");
                fold.set_agent(Some("codex"), None);
                fold.set_conversation(&self.thread);
            }
            "turn.started" => fold.begin_turn(main, None),
            "item.started" | "item.updated" | "item.completed" => {
                if let Some(value) = line.get("item") {
                    let item = Item {
                        id: item_name(value, fold),
                        value,
                        is_done: kind == "item.completed",
                    };
                    item.fold(fold);
                }
            }
            "turn.completed" => {
                let end = TurnEnd {
                    outcome: Outcome::Completed,
                    reason: "completed",
                    ..TurnEnd::default()
                };
                fold.end_turn(main, end);
                if let Some(usage) = line.get("usage") {
                    let scope = format!("{}:{}", self.thread, fold.run());
                    fold.set_usage(&scope, "default", tokens(usage), None);
                }
            }
            "turn.failed" => {
                let error = line.get("error").map(|error| owned(error, "message"));
                let end = TurnEnd {
                    outcome: Outcome::Failed,
                    reason: "failed",
                    text: error.as_deref(),
                    duration_ms: None,
                };
                fold.end_turn(main, end);
            }
            "error" => fold.notice("error", &owned(line, "message")),
            _ => fold.unknown(if kind.is_empty() { "?" } else { &kind }),
        }
    }

    fn copy(&self) -> Box<dyn Dialect> {
        Box::new(self.clone())
    }
}

struct Item<'a> {
    id: String,
    value: RawJson<'a>,
    is_done: bool,
}

impl Item<'_> {
    fn fold(&self, fold: &mut Fold<'_>) {
        match &*owned(self.value, "type") {
            "agent_message" => self.text(TextKind::Text, fold),
            "reasoning" => self.text(TextKind::Thinking, fold),
            "command_execution" => self.command(fold),
            "file_change" => self.files(fold),
            "mcp_tool_call" => {
                let name = format!(
                    "{}.{}",
                    owned(self.value, "server"),
                    owned(self.value, "tool")
                );
                self.call(&name, ToolKind::Other, self.value.get("arguments"), fold);
            }
            "collab_tool_call" => {
                let name = owned(self.value, "tool");
                self.call(&name, ToolKind::Other, Some(self.value), fold);
            }
            "web_search" => self.call("web_search", ToolKind::Search, Some(self.value), fold),
            "todo_list" => fold.set_plan(plan(self.value)),
            "error" if self.is_done => fold.notice("error", &owned(self.value, "message")),
            "error" => {}
            other => fold.unknown(&format!("item/{other}")),
        }
    }

    fn text(&self, kind: TextKind, fold: &mut Fold<'_>) {
        let place = Place {
            thread: fold.main(),
            message: Some(&self.id),
            part: Some(0),
        };
        fold.set_text(place, kind, &owned(self.value, "text"));
        if self.is_done {
            fold.close_message(fold.main());
        }
    }

    fn command(&self, fold: &mut Fold<'_>) {
        let command = owned(self.value, "command");
        let output = owned(self.value, "aggregated_output");
        let input = self
            .value
            .get("command")
            .map(|it| format!("{{\"command\":{it}}}"));
        let exit_code = self
            .value
            .get("exit_code")
            .and_then(|it| it.text().parse().ok());
        let update = CallUpdate {
            name: Some("command_execution"),
            input: input.as_deref().and_then(RawJson::parse),
            title: Some(&command),
            kind: Some(ToolKind::Execute),
            content: Some(vec![Content::Terminal {
                command: command.clone(),
                cwd: None,
            }]),
            state: Some(CallState::Running),
            exit_code,
            ..CallUpdate::default()
        };
        let call = fold.upsert_call(fold.main(), &self.id, update);
        if !output.is_empty() {
            fold.set_output(call, &output);
        }
        if let Some(state) = self.end() {
            let text = Some(&*output);
            fold.end_call(
                call,
                CallEnd {
                    state,
                    text,
                    raw: None,
                },
            );
        }
    }

    fn files(&self, fold: &mut Fold<'_>) {
        let changes = self
            .value
            .get("changes")
            .into_iter()
            .flat_map(RawJson::elements);
        let locations = changes.map(|change| Location {
            path: owned(change, "path"),
            line: None,
        });
        let update = CallUpdate {
            name: Some("file_change"),
            input: self.value.get("changes"),
            kind: Some(ToolKind::Edit),
            locations: Some(locations.collect()),
            state: Some(CallState::Running),
            ..CallUpdate::default()
        };
        let call = fold.upsert_call(fold.main(), &self.id, update);
        if let Some(state) = self.end() {
            fold.end_call(
                call,
                CallEnd {
                    state,
                    text: Some(""),
                    raw: None,
                },
            );
        }
    }

    fn call(&self, name: &str, kind: ToolKind, input: Option<RawJson<'_>>, fold: &mut Fold<'_>) {
        let update = CallUpdate {
            name: Some(name),
            input,
            kind: Some(kind),
            state: Some(CallState::Running),
            ..CallUpdate::default()
        };
        let call = fold.upsert_call(fold.main(), &self.id, update);
        if let Some(state) = self.end() {
            let raw = self.value.get("result").filter(|result| !result.is_null());
            fold.end_call(
                call,
                CallEnd {
                    state,
                    text: Some(""),
                    raw,
                },
            );
        }
    }

    fn end(&self) -> Option<CallState> {
        match &*owned(self.value, "status") {
            "failed" | "declined" => Some(CallState::Failed),
            _ if self.is_done => Some(CallState::Succeeded),
            _ => None,
        }
    }
}

/// Returns the members of a line that are read, by its type and that of its item.
pub(super) fn read_members(line: RawJson<'_>) -> Option<Vec<&'static str>> {
    let members: &[_] = match &*owned(line, "type") {
        "thread.started" => &["thread_id"],
        "turn.started" => &[],
        "item.started" | "item.updated" | "item.completed" => item_members(line.get("item")?)?,
        "turn.completed" => &[
            "usage/input_tokens",
            "usage/output_tokens",
            "usage/cached_input_tokens",
            "usage/cache_write_input_tokens",
        ],
        "turn.failed" => &["error/message"],
        "error" => &["message"],
        _ => return None,
    };
    Some([&["type"], members].concat())
}

fn item_members(item: RawJson<'_>) -> Option<&'static [&'static str]> {
    Some(match &*owned(item, "type") {
        "agent_message" | "reasoning" => &["item/id", "item/type", "item/text"],
        "command_execution" => &[
            "item/id",
            "item/type",
            "item/status",
            "item/command",
            "item/aggregated_output",
            "item/exit_code",
        ],
        "file_change" => &["item/id", "item/type", "item/status", "item/changes"],
        "mcp_tool_call" => &[
            "item/id",
            "item/type",
            "item/status",
            "item/server",
            "item/tool",
            "item/arguments",
            "item/result",
        ],
        // The input of the call is the item.
        "collab_tool_call" | "web_search" => &["item"],
        "todo_list" => &[
            "item/id",
            "item/type",
            "item/items/*/text",
            "item/items/*/completed",
        ],
        "error" => &["item/id", "item/type", "item/message"],
        _ => return None,
    })
}

/// Ids begin again in each process.
fn item_name(item: RawJson<'_>, fold: &Fold<'_>) -> String {
    let id = owned(item, "id");
    match fold.run() {
        0 => id,
        run => format!("{run}:{id}"),
    }
}

fn plan(item: RawJson<'_>) -> Vec<PlanItem> {
    let items = item.get("items").into_iter().flat_map(RawJson::elements);
    items
        .map(|step| PlanItem {
            text: owned(step, "text"),
            state: match step.get("completed").and_then(RawJson::as_bool) {
                Some(true) => PlanState::Completed,
                _ => PlanState::Pending,
            },
            priority: None,
        })
        .collect()
}

fn tokens(usage: RawJson<'_>) -> ModelUsage {
    let count = |key| usage.get(key).and_then(RawJson::as_u64).unwrap_or_default();
    let read = count("cached_input_tokens");
    let written = count("cache_write_input_tokens");
    ModelUsage {
        input_tokens: count("input_tokens")
            .saturating_sub(read)
            .saturating_sub(written),
        output_tokens: count("output_tokens"),
        cache_read_tokens: read,
        cache_creation_tokens: written,
    }
}

fn owned(value: RawJson<'_>, key: &str) -> String {
    let text = value.get(key).and_then(RawJson::as_str);
    text.map(Str::decode).unwrap_or_default().into_owned()
}
