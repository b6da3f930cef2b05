//! Plan, queue, limits, options and commands of a session.

use serde::Serialize;

/// A step of the agent's plan. The plan is replaced as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PlanItem {
    /// The step.
    pub text: String,
    /// Its progress.
    pub state: PlanState,
    /// Its priority, if the agent gives one.
    pub priority: Option<PlanPriority>,
}

/// Progress of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanState {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

impl PlanState {
    /// Parses a state as Claude Code, ACP (`in_progress`) and Codex (`inProgress`) write it; an
    /// unknown one is [`PlanState::Pending`].
    #[must_use]
    pub fn of(word: &str) -> Self {
        match word {
            "in_progress" | "inProgress" => Self::InProgress,
            "completed" => Self::Completed,
            _ => Self::Pending,
        }
    }
}

/// Priority of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanPriority {
    /// High.
    High,
    /// Medium.
    Medium,
    /// Low.
    Low,
}

impl PlanPriority {
    /// Parses `high`, `medium` or `low`.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Some(match word {
            "high" => Self::High,
            "medium" => Self::Medium,
            "low" => Self::Low,
            _ => return None,
        })
    }
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueuedPrompt {
    /// Its id: the uuid or request id that the host gave it.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Where it is.
    pub state: QueuedState,
}

/// Where a queued prompt is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QueuedState {
    /// At the host.
    #[default]
    Waiting,
    /// Written to the agent, which has not begun it.
    Sent,
}

/// A usage limit of the account.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Limit {
    /// Name of its window, such as `five_hour`, `primary` or `weekly`.
    pub window: String,
    /// Used share of the window, from 0.0 to 1.0.
    pub used_share: Option<f64>,
    /// When it begins again, in milliseconds since the Unix epoch.
    pub resets_at_ms: Option<u64>,
}

/// A setting of the session: its mode, model, effort, …
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionOption {
    /// The id to set it by.
    pub id: String,
    /// Its label.
    pub name: String,
    /// `mode`, `model`, `thought_level`, …
    pub category: Option<String>,
    /// The current value: the id of a choice, or `true` and `false` for a switch.
    pub value: Option<String>,
    /// The values that it may have; empty for a switch.
    pub choices: Vec<Choice>,
}

/// A value of a setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The value to set.
    pub id: String,
    /// Its label.
    pub name: String,
    /// What it means.
    pub description: Option<String>,
}

/// A command that the agent offers, to be sent as a prompt that begins with `/` and its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Command {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
}

/// Progress of a sub-agent's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThreadState {
    /// It works.
    Running,
    /// It waits for an answer to a request.
    RequiresAction,
    /// It waits for a message.
    Idle,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was interrupted.
    Interrupted,
    /// The process ended without its end.
    Lost,
}
