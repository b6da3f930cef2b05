//! Updates: messages, and what they are not in.

use bowline_jsonl::Str;
use bowline_jsonl::acp::{Chunk, Compaction, Notice, Patch, SessionUpdate, Update, UsageUpdate};

use crate::dialect::acp::host::shown;
use crate::dialect::acp::{Acp, LoadedPrompt, Loading};
use crate::fold::primitives::{Place, Prompt, TextKind};
use crate::model::{Command, PlanItem, PlanPriority, PlanState};
use crate::transcript::Fold;
use crate::view::ModelUsage;

impl Acp {
    pub(super) fn update(&mut self, line: &SessionUpdate<'_>, fold: &mut Fold<'_>) {
        let session = line.session_id;
        let update = line.update();
        if !matches!(update, Update::UserMessage(_)) {
            self.flush_prompt(fold);
        }
        if self.loading == Loading::Known && is_conversation(&update) {
            return;
        }
        match &update {
            Update::UserMessage(chunk) => self.loaded_chunk(chunk, fold),
            Update::AgentMessage(chunk) => self.chunk(line, chunk, TextKind::Text, fold),
            Update::AgentThought(chunk) => self.chunk(line, chunk, TextKind::Thinking, fold),
            Update::ToolCall(call) | Update::ToolCallUpdate(call) => {
                self.call(session, call, fold);
            }
            Update::Plan(steps) => fold.set_plan(
                steps
                    .iter()
                    .map(|step| PlanItem {
                        text: owned(step.content),
                        state: PlanState::of(&step.status.unwrap_or_default().decode()),
                        priority: PlanPriority::of(&step.priority.unwrap_or_default().decode()),
                    })
                    .collect(),
            ),
            Update::Commands(commands) => fold.set_commands(
                commands
                    .iter()
                    .map(|command| Command {
                        name: owned(command.name),
                        description: command.description.map(|it| it.decode().into_owned()),
                    })
                    .collect(),
            ),
            Update::Mode(mode) => self.settings.set("mode", &owned(*mode), fold),
            Update::ConfigOptions(options) => self.settings.replace(*options, fold),
            Update::SessionInfo(info) => match info.title {
                Patch::Set(title) => fold.set_title(Some(&title.decode())),
                Patch::Clear => fold.set_title(None),
                Patch::Keep => {}
            },
            Update::Usage(usage) => self.usage(usage, fold),
            Update::Notice(it) => notice(it, fold),
            Update::Compaction(it) => compaction(it, fold),
            Update::Subagent(subagent) => self.subagent(subagent, fold),
            Update::SessionMessage(message) => self.session_message(session, message, fold),
            Update::Unknown { kind } => fold.unknown(&kind.unwrap_or_default().decode()),
            _ => {}
        }
    }

    fn chunk(
        &mut self,
        line: &SessionUpdate<'_>,
        chunk: &Chunk<'_>,
        kind: TextKind,
        fold: &mut Fold<'_>,
    ) {
        let raw = line.update.and_then(|update| update.get("content"));
        let thread = self.thread(line.session_id, fold);
        self.expect_turn(thread, fold);
        let message = chunk.message_id.map(Str::decode);
        if message.is_some() {
            self.named.insert(thread);
        } else if self.named.remove(&thread) {
            // A chunk without an id continues no message that has one.
            fold.close_message(thread);
        }
        let place = Place {
            thread,
            message: message.as_deref(),
            part: None,
        };
        match (chunk.content.text, raw) {
            (Some(text), _) if text.is_empty() => {}
            (Some(text), _) => fold.append(place, kind, text),
            (None, Some(raw)) => fold.add_other(place, raw),
            (None, None) => {}
        }
    }

    /// A part of a prompt, which comes only when a conversation is loaded.
    fn loaded_chunk(&mut self, chunk: &Chunk<'_>, fold: &mut Fold<'_>) {
        let message = chunk.message_id.map(|id| id.decode().into_owned());
        let is_same = |prompt: &&mut LoadedPrompt| message.is_some() && prompt.message == message;
        let text = shown(&chunk.content);
        if let Some(prompt) = self.loaded_prompt.as_mut().filter(is_same) {
            prompt.text.push_str(&text);
            return;
        }
        self.flush_prompt(fold);
        self.loaded_prompt = Some(LoadedPrompt { message, text });
    }

    /// Adds the prompt whose parts have come.
    pub(super) fn flush_prompt(&mut self, fold: &mut Fold<'_>) {
        let Some(prompt) = self.loaded_prompt.take() else {
            return;
        };
        if self.loading != Loading::Known {
            fold.close_message(fold.main());
            let prompt = Prompt {
                text: &prompt.text,
                ..Prompt::default()
            };
            fold.prompt(fold.main(), prompt);
        }
    }

    fn usage(&self, usage: &UsageUpdate<'_>, fold: &mut Fold<'_>) {
        fold.set_context(usage.used, usage.size);
        let is_dollar = usage.cost.currency.is_some_and(|it| it == "USD");
        if let Some(cost) = usage.cost.amount.filter(|&cost| is_dollar && cost > 0.0) {
            let session = self.session.as_deref().unwrap_or_default();
            let none = ModelUsage::default();
            fold.set_usage(session, self.settings.model(), none, Some(cost));
        }
    }
}

/// Whether an update is a part of the conversation that a load repeats.
const fn is_conversation(update: &Update<'_>) -> bool {
    matches!(
        update,
        Update::UserMessage(_)
            | Update::AgentMessage(_)
            | Update::AgentThought(_)
            | Update::ToolCall(_)
            | Update::ToolCallUpdate(_)
            | Update::SessionMessage(_)
    )
}

fn notice(notice: &Notice<'_>, fold: &mut Fold<'_>) {
    let title = owned(notice.title);
    let text = match notice.description {
        Some(description) => format!("{title}: {description}"),
        None => title,
    };
    let severity = notice.severity.map(Str::decode);
    fold.notice(severity.as_deref().unwrap_or("notice"), &text);
}

fn compaction(compaction: &Compaction<'_>, fold: &mut Fold<'_>) {
    let status = owned(compaction.status);
    if matches!(&*status, "completed" | "failed" | "cancelled") {
        let text = compaction.error.or(compaction.summary).map(Str::decode);
        let text = text.as_deref().unwrap_or(&status);
        fold.notice("compaction", text);
    }
}

pub(super) fn owned(text: Option<Str<'_>>) -> String {
    text.unwrap_or_default().decode().into_owned()
}
