//! The session's record: its conversation, agent, plan, settings and limits.

use super::call::{ThreadState, TokenUsage};
use crate::core::reducer::{self, Transcript, model};
use crate::mirror::mirror;

/// The conversation, agent, plan and settings of a session. Absent values are unknown.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct SessionView {
    /// The id of the agent's current conversation. `/clear` begins a new one.
    pub session_id: Option<String>,
    /// The ids of all conversations of the session, oldest first.
    pub conversations: Vec<String>,
    /// The current model.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The agent's version.
    pub cli_version: Option<String>,
    /// The permission mode, such as `default`, `acceptEdits` or `plan`.
    pub permission_mode: Option<String>,
    /// The agent's protocol, such as `claude`, `codex` or `acp`.
    pub dialect: String,
    /// The agent's name.
    pub agent_name: Option<String>,
    /// The title of the conversation.
    pub title: Option<String>,
    /// The steps of the agent's plan.
    pub plan: Vec<PlanItem>,
    /// The prompts that wait for their turn.
    pub queue: Vec<QueuedPrompt>,
    /// The context window.
    pub context: Option<ContextView>,
    /// The usage limits of the account.
    pub limits: Vec<UsageLimit>,
    /// The settings of the session.
    pub options: Vec<SessionOption>,
    /// The commands that the agent offers.
    pub commands: Vec<AgentCommand>,
    /// The threads of sub-agents that no tool call holds. `ToolCallView.subagent` has the others.
    pub threads: Vec<ThreadView>,
}

/// A step of the agent's plan.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct PlanItem {
    /// The step.
    pub text: String,
    /// The progress of the step.
    pub state: PlanState,
    /// The priority, if the agent gives one.
    pub priority: Option<PlanPriority>,
}

mirror! {
    /// The progress of a step.
    PlanState = model::PlanState, else Pending {
        /// The step has not begun.
        Pending,
        /// The agent is working on the step.
        InProgress,
        /// The step is done.
        Completed,
    }
}

mirror! {
    /// The priority of a step.
    PlanPriority = model::PlanPriority, else Medium {
        /// High.
        High,
        /// Medium.
        Medium,
        /// Low.
        Low,
    }
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct QueuedPrompt {
    /// The prompt's id: its UUID, or the id of its request.
    pub id: String,
    /// The prompt's text.
    pub text: String,
    /// Where the prompt waits.
    pub state: QueuedState,
}

mirror! {
    /// Where a queued prompt waits.
    QueuedState = model::QueuedState, else Sent {
        /// At the host.
        Waiting,
        /// At the agent.
        Sent,
    }
}

/// The context window, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContextView {
    /// The used part.
    pub used: Option<u64>,
    /// The size of the window.
    pub size: Option<u64>,
}

/// A usage limit of the account.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct UsageLimit {
    /// The name of the limit's window, such as `five_hour`, `primary` or `weekly`.
    pub window: String,
    /// The used share of the window, from 0.0 to 1.0.
    pub used_share: Option<f64>,
    /// The used share as a decimal number, as in the transcript's JSON.
    pub used_share_decimal: Option<String>,
    /// When the window begins again, in milliseconds since 1970.
    pub resets_at_ms: Option<u64>,
}

/// A setting of the session: its mode, model or effort.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SessionOption {
    /// The id to set it by.
    pub id: String,
    /// The label.
    pub name: String,
    /// The category, such as `mode`, `model` or `thought_level`.
    pub category: Option<String>,
    /// The current value: the id of a choice, or `true` or `false` for a switch.
    pub value: Option<String>,
    /// The values to choose from; empty for a switch.
    pub choices: Vec<OptionChoice>,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct OptionChoice {
    /// The value to set.
    pub id: String,
    /// The label.
    pub name: String,
    /// An explanation.
    pub description: Option<String>,
}

/// A command that the agent offers. It is sent as a prompt that begins with `/` and its name.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct AgentCommand {
    /// The name without the slash.
    pub name: String,
    /// What the command does.
    pub description: Option<String>,
}

/// The thread of a sub-agent that no tool call holds.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ThreadView {
    /// The name of the thread, by which entries and tool calls refer to it.
    pub name: String,
    /// What the sub-agent works on.
    pub title: Option<String>,
    /// The progress of the sub-agent.
    pub state: Option<ThreadState>,
    /// The tokens that the sub-agent has used.
    pub usage: Option<TokenUsage>,
}

impl SessionView {
    pub(super) fn of(transcript: &Transcript) -> Self {
        let it = transcript.session();
        let (used, size) = (it.context_used(), it.context_size());
        let unheld = transcript.threads().filter(|it| it.call().is_none());
        Self {
            session_id: owned(it.id()),
            conversations: it.conversations().map(str::to_owned).collect(),
            model: owned(it.model()),
            cwd: owned(it.cwd()),
            cli_version: owned(it.cli_version()),
            permission_mode: owned(it.permission_mode()),
            dialect: it.dialect().to_string(),
            agent_name: owned(it.agent_name()),
            title: owned(it.title()),
            plan: it.plan().iter().map(Into::into).collect(),
            queue: it.queue().map(Into::into).collect(),
            context: (used.is_some() || size.is_some()).then_some(ContextView { used, size }),
            limits: it.limits().iter().map(Into::into).collect(),
            options: it.options().iter().map(Into::into).collect(),
            commands: it.commands().iter().map(Into::into).collect(),
            threads: unheld.map(Into::into).collect(),
        }
    }
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

impl From<&model::PlanItem> for PlanItem {
    fn from(it: &model::PlanItem) -> Self {
        Self {
            text: it.text.clone(),
            state: it.state.into(),
            priority: it.priority.map(Into::into),
        }
    }
}

impl From<&model::QueuedPrompt> for QueuedPrompt {
    fn from(it: &model::QueuedPrompt) -> Self {
        Self {
            id: it.id.clone(),
            text: it.text.clone(),
            state: it.state.into(),
        }
    }
}

impl From<&model::Limit> for UsageLimit {
    fn from(it: &model::Limit) -> Self {
        let decimal = |share: f64| serde_json::to_string(&share).expect("a number is valid JSON");
        Self {
            window: it.window.clone(),
            used_share: it.used_share,
            used_share_decimal: it.used_share.map(decimal),
            resets_at_ms: it.resets_at_ms,
        }
    }
}

impl From<&model::SessionOption> for SessionOption {
    fn from(it: &model::SessionOption) -> Self {
        let choice = |it: &model::Choice| OptionChoice {
            id: it.id.clone(),
            name: it.name.clone(),
            description: it.description.clone(),
        };
        Self {
            id: it.id.clone(),
            name: it.name.clone(),
            category: it.category.clone(),
            value: it.value.clone(),
            choices: it.choices.iter().map(choice).collect(),
        }
    }
}

impl From<&model::Command> for AgentCommand {
    fn from(it: &model::Command) -> Self {
        Self {
            name: it.name.clone(),
            description: it.description.clone(),
        }
    }
}

impl From<reducer::Thread<'_>> for ThreadView {
    fn from(it: reducer::Thread<'_>) -> Self {
        Self {
            name: it.name().unwrap_or_default().to_owned(),
            title: it.title().map(Into::into),
            state: it.state().map(Into::into),
            usage: it.usage().map(Into::into),
        }
    }
}
