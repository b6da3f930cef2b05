//! What happens in a play, in terms of no protocol: a dialect writes its lines from these events.

use serde_json::{Map, Value};

use crate::lines::{AgentThread, TaskInfo};
use crate::prompt::Prompt;
use crate::scenario::{Limits, PlanStep, Tool};
use crate::session::Tokens;

/// An event of a play.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// A turn begins with these prompts; none if the agent begins it.
    TurnStarted(&'a [Prompt]),
    /// A prompt joins the running turn.
    PromptJoined(&'a Prompt),
    /// Queued prompts are dropped.
    PromptsCancelled(&'a [Prompt]),
    BlockOpened(Part<'a>),
    /// More text of the open block. Deltas of a call are its input as JSON.
    Delta(Part<'a>, &'a str),
    /// The block is complete, with this text.
    BlockClosed(Part<'a>, &'a str),
    /// The model has answered, at the expense of these tokens.
    Usage(&'a AgentThread, Tokens),
    /// The host is asked for permission to start the call.
    PermissionAsked {
        request_id: &'a str,
        call: CallOf<'a>,
    },
    /// The permission request is answered, or withdrawn by the agent.
    PermissionClosed {
        request_id: &'a str,
        withdrawn: bool,
    },
    /// A request of the scenario, in the terms of the dialect: `method` and `params`.
    HostAsked {
        request_id: &'a str,
        body: &'a Map<String, Value>,
    },
    /// The call runs. Without a permission request this is its start.
    CallStarted(CallOf<'a>),
    CallEnded(CallOf<'a>, &'a Decision),
    /// A sub-agent begins; the thread is that of its caller.
    AgentStarted(&'a AgentThread, &'a TaskInfo),
    AgentEnded {
        caller: &'a AgentThread,
        task: &'a TaskInfo,
        /// The last text, or the reason of the failure.
        report: &'a str,
        failed: bool,
    },
    /// The plan, as a whole.
    Plan(&'a [PlanStep]),
    Limits(Limits),
    /// The request to the model has failed with this text and is repeated.
    Retry(&'a str),
    Notice(&'a str),
    TurnEnded(Outcome<'a>),
}

/// A block of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) thread: &'a AgentThread,
    pub(crate) message_id: &'a str,
    pub(crate) index: usize,
    pub(crate) block: &'a Block,
}

/// A tool call, with its input and result as they are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallOf<'a> {
    pub(crate) thread: &'a AgentThread,
    pub(crate) id: &'a str,
    pub(crate) tool: &'a Tool,
}

/// How a turn ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome<'a> {
    Completed,
    Interrupted,
    /// By a failure of the model's API.
    Failed {
        status: u16,
        text: &'a str,
    },
    /// By the limit of requests to the model.
    Limited(u64),
}

/// The outcome of a permission check.
#[derive(Clone, Debug)]
pub(crate) enum Decision {
    /// Allowed by a rule or mode.
    AllowedByRule,
    /// Allowed by the host, with this input.
    Allowed(Map<String, Value>),
    /// Denied by the host.
    Denied { message: String, interrupt: bool },
    /// Denied because there is no host to ask.
    DeniedWithoutHost,
    /// The permission request failed.
    Failed(String),
}

/// A content block.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Text,
    Thinking,
    Redacted(String),
    Call {
        id: String,
        name: String,
        input: Map<String, Value>,
    },
}
