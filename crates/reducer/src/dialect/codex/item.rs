//! Items: prompts, messages, calls.

use bowline_jsonl::codex::{FileChange, Item, ItemDelta};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::codex::client::text_of;
use crate::dialect::codex::{Codex, owned};
use crate::fold::primitives::{CallEnd, CallUpdate, Place, Prompt, TextKind};
use crate::model::{Content, Location, ToolKind};
use crate::record::{CallId, ThreadId};
use crate::state::CallState;
use crate::transcript::Fold;

impl Codex {
    pub(super) fn item(
        &mut self,
        thread_id: Option<Str<'_>>,
        item: &Item<'_>,
        is_done: bool,
        fold: &mut Fold<'_>,
    ) {
        let thread = self.thread(thread_id, fold);
        let id = item.id.unwrap_or_default();
        match item.kind.map(Str::decode).as_deref() {
            Some("userMessage") => {
                let name = self.item_name(thread_id, id);
                prompt(thread, &name, item, fold);
            }
            Some("agentMessage" | "plan") if is_done => {
                let text = item.text.unwrap_or_default().decode();
                whole(thread, id, TextKind::Text, [text], fold);
            }
            Some("reasoning") if is_done => {
                let paragraphs = item.paragraphs().map(Str::decode);
                whole(thread, id, TextKind::Thinking, paragraphs, fold);
            }
            Some("agentMessage" | "plan" | "reasoning") => {}
            Some("contextCompaction") if is_done => fold.notice("contextCompaction", ""),
            Some("contextCompaction") => {}
            Some(kind) => match describe(kind, item) {
                Some(call) => self.call(thread_id, id, &call, item, is_done, fold),
                None if is_done => fold.unknown(&format!("item/{kind}")),
                None => {}
            },
            None => fold.unknown("item"),
        }
    }

    fn call(
        &mut self,
        thread_id: Option<Str<'_>>,
        id: Str<'_>,
        what: &ItemCall,
        item: &Item<'_>,
        is_done: bool,
        fold: &mut Fold<'_>,
    ) {
        let thread = self.thread(thread_id, fold);
        let name = self.item_name(thread_id, id);
        let call = fold.upsert_call(thread, &name, what.update(item));
        if what.starts_agent {
            for child in item.receiver_thread_ids() {
                let child = self.thread(Some(child), fold);
                fold.hold_thread(child, &name);
            }
        }
        if !is_done {
            return;
        }
        if let Some(output) = item.aggregated_output {
            fold.set_output(call, &output.decode());
        }
        end(call, item, what, fold);
    }

    pub(super) fn output_delta(&mut self, delta: &ItemDelta<'_>, fold: &mut Fold<'_>) {
        let call = self.call_of(delta, CallUpdate::default(), fold);
        fold.append_output(call, delta.delta.unwrap_or_default());
    }

    pub(super) fn patch(&mut self, delta: &ItemDelta<'_>, fold: &mut Fold<'_>) {
        let changes = delta.changes.into_iter().flat_map(FileChange::list);
        let content = changes.map(|change| diff(&change)).collect();
        let update = CallUpdate {
            content: Some(content),
            ..CallUpdate::default()
        };
        self.call_of(delta, update, fold);
    }

    fn call_of(
        &mut self,
        delta: &ItemDelta<'_>,
        update: CallUpdate<'_>,
        fold: &mut Fold<'_>,
    ) -> CallId {
        let thread = self.thread(delta.thread_id, fold);
        let name = self.item_name(delta.thread_id, delta.item_id.unwrap_or_default());
        fold.upsert_call(thread, &name, update)
    }
}

/// A prompt, of the host or of the agent that started this one.
fn prompt(thread: ThreadId, item_name: &str, item: &Item<'_>, fold: &mut Fold<'_>) {
    let client = item.client_id.map(Str::decode);
    let prompt = Prompt {
        id: Some(client.as_deref().unwrap_or(item_name)),
        text: &text_of(item.input()),
        is_echo: true,
        is_synthetic: false,
    };
    fold.prompt(thread, prompt);
}

/// The final texts of a message.
fn whole<T: AsRef<str>>(
    thread: ThreadId,
    id: Str<'_>,
    kind: TextKind,
    texts: impl IntoIterator<Item = T>,
    fold: &mut Fold<'_>,
) {
    let id = id.decode();
    for (part, text) in texts.into_iter().enumerate() {
        let place = Place {
            thread,
            message: Some(&id),
            part: Some(u16::try_from(part).unwrap_or(u16::MAX)),
        };
        if !text.as_ref().is_empty() {
            fold.set_text(place, kind, text.as_ref());
        }
    }
    fold.close_message(thread);
}

/// An item as a tool call.
#[derive(Debug, Default)]
struct ItemCall {
    tool: String,
    title: Option<String>,
    kind: ToolKind,
    input: Option<String>,
    locations: Option<Vec<Location>>,
    content: Option<Vec<Content>>,
    result: String,
    raw: Option<String>,
    starts_agent: bool,
}

impl ItemCall {
    fn update(&self, item: &Item<'_>) -> CallUpdate<'_> {
        CallUpdate {
            name: Some(&self.tool),
            input: self.input.as_deref().and_then(RawJson::parse),
            title: self.title.as_deref(),
            kind: Some(self.kind),
            locations: self.locations.clone(),
            content: self.content.clone(),
            state: Some(CallState::Running),
            exit_code: item.exit_code,
            usage: None,
        }
    }
}

/// What the item is as a call; none for items of unknown types.
fn describe(kind: &str, item: &Item<'_>) -> Option<ItemCall> {
    Some(match kind {
        "commandExecution" => command(item),
        "fileChange" => file_change(item),
        "mcpToolCall" | "dynamicToolCall" => tool(item),
        "collabAgentToolCall" => agent(item),
        "webSearch" => ItemCall {
            tool: kind.to_owned(),
            title: item.query.map(|query| owned(Some(query))),
            kind: ToolKind::Search,
            input: Some(members(&[("query", item.query.map(json))])),
            ..ItemCall::default()
        },
        "imageView" => ItemCall {
            tool: kind.to_owned(),
            title: item.path.map(|path| owned(Some(path))),
            kind: ToolKind::Read,
            input: Some(members(&[("path", item.path.map(json))])),
            locations: Some(vec![location(item.path)]),
            ..ItemCall::default()
        },
        _ => return None,
    })
}

fn command(item: &Item<'_>) -> ItemCall {
    let actions: Vec<_> = item.command_actions().collect();
    let paths = actions.iter().filter_map(|action| action.path);
    let kinds: Vec<_> = actions
        .iter()
        .map(|action| action.kind.unwrap_or_default().decode())
        .collect();
    let all = |names: &[&str]| !kinds.is_empty() && kinds.iter().all(|it| names.contains(&&**it));
    let [command, cwd] = [item.command, item.cwd];
    ItemCall {
        tool: "commandExecution".to_owned(),
        title: command.map(|command| owned(Some(command))),
        kind: if all(&["read"]) {
            ToolKind::Read
        } else if all(&["search", "listFiles"]) {
            ToolKind::Search
        } else {
            ToolKind::Execute
        },
        input: Some(members(&[
            ("command", command.map(json)),
            ("cwd", cwd.map(json)),
        ])),
        locations: Some(paths.map(|path| location(Some(path))).collect()),
        content: Some(vec![Content::Terminal {
            command: owned(command),
            cwd: cwd.map(|cwd| owned(Some(cwd))),
        }]),
        result: owned(item.aggregated_output),
        ..ItemCall::default()
    }
}

fn file_change(item: &Item<'_>) -> ItemCall {
    let changes: Vec<_> = item.changes().collect();
    let kind_of = |change: &FileChange<'_>| owned(change.kind.kind);
    let paths: Vec<_> = changes.iter().map(|change| owned(change.path)).collect();
    let is_deletion = !changes.is_empty() && changes.iter().all(|it| kind_of(it) == "delete");
    ItemCall {
        tool: "fileChange".to_owned(),
        title: Some(paths.join(", ")),
        kind: if is_deletion {
            ToolKind::Delete
        } else {
            ToolKind::Edit
        },
        input: Some(members(&[(
            "changes",
            item.changes.map(|changes| changes.text().to_owned()),
        )])),
        locations: Some(changes.iter().map(|change| location(change.path)).collect()),
        content: Some(changes.iter().map(diff).collect()),
        ..ItemCall::default()
    }
}

fn tool(item: &Item<'_>) -> ItemCall {
    let tool = owned(item.tool);
    ItemCall {
        tool: match item.server {
            Some(server) => format!("{server}.{tool}"),
            None => tool,
        },
        input: item.arguments.map(|arguments| arguments.text().to_owned()),
        raw: item
            .error
            .or(item.result)
            .map(|result| result.text().to_owned()),
        ..ItemCall::default()
    }
}

/// A call about sub-agents; its result is what they said last.
fn agent(item: &Item<'_>) -> ItemCall {
    let tool = owned(item.tool);
    let messages = item.agents_states().filter_map(|(_, state)| state.message);
    let messages: Vec<_> = messages.map(Str::decode).collect();
    ItemCall {
        starts_agent: matches!(&*tool, "spawnAgent" | "resumeAgent"),
        tool,
        title: item.prompt.map(|prompt| owned(Some(prompt))),
        input: Some(members(&[
            ("prompt", item.prompt.map(json)),
            (
                "receiverThreadIds",
                item.receiver_thread_ids.map(|list| list.text().to_owned()),
            ),
        ])),
        result: messages.join("\n"),
        ..ItemCall::default()
    }
}

fn end(call: CallId, item: &Item<'_>, what: &ItemCall, fold: &mut Fold<'_>) {
    let state = match item.status.map(Str::decode).as_deref() {
        Some("failed" | "declined") => CallState::Failed,
        // The end of the turn decides.
        Some("inProgress") => return,
        _ => CallState::Succeeded,
    };
    let end = CallEnd {
        state,
        text: Some(&what.result),
        raw: what.raw.as_deref().and_then(RawJson::parse),
    };
    fold.end_call(call, end);
}

fn location(path: Option<Str<'_>>) -> Location {
    Location {
        path: owned(path),
        line: None,
    }
}

/// The diff of a new or deleted file is its content.
fn diff(change: &FileChange<'_>) -> Content {
    let text = change.diff.map(|diff| diff.decode().into_owned());
    let (old, new, patch) = match change.kind.kind.map(Str::decode).as_deref() {
        Some("add") => (None, text, None),
        Some("delete") => (text, None, None),
        _ => (None, None, text),
    };
    Content::Diff {
        path: owned(change.kind.move_path.or(change.path)),
        old,
        new,
        patch,
    }
}

/// An object of those members that have a value, each JSON text.
fn members(members: &[(&str, Option<String>)]) -> String {
    let members = members.iter().filter_map(|(key, value)| {
        let value = value.as_ref()?;
        Some(format!("\"{key}\":{value}"))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn json(text: Str<'_>) -> String {
    format!("\"{}\"", text.raw())
}
