//! What a host answers to an event.

use crate::core;
use serde_json::Value;

use crate::error::{BowlineError, Outcome};

/// What a host answers to an event.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum HookReply {
    /// Nothing: all goes on as without a hook.
    Nothing,
    /// To `PreToolUse`: what becomes of the tool.
    Tool {
        /// The verdict.
        verdict: ToolVerdict,
        /// Why, for the model or the user.
        reason: Option<String>,
        /// Another input for the tool, a JSON object.
        updated_input: Option<String>,
        /// What the model is told besides.
        context: Option<String>,
    },
    /// To `PermissionRequest`: yes, in the user's place.
    AllowPermission {
        /// Another input for the tool, a JSON object.
        updated_input: Option<String>,
        /// Rules to remember, a JSON array.
        updated_permissions: Option<String>,
    },
    /// To `PermissionRequest`: no, in the user's place.
    DenyPermission {
        /// Why, for the model.
        reason: Option<String>,
        /// End the turn as well.
        interrupt: bool,
    },
    /// Refuses what can be refused.
    Block {
        /// Why, for the model.
        reason: String,
    },
    /// Tells the model something.
    Context {
        /// What.
        text: String,
    },
    /// Ends the turn. Tools that have started still run.
    Halt {
        /// Why, for the user.
        reason: String,
    },
    /// To `WorktreeCreate`: the folder that the host has made. Without it the agent's tool fails.
    Worktree {
        /// Its absolute path.
        path: String,
    },
    /// To `SessionStart`, `CwdChanged` and `FileChanged`: the files whose changes the agent is to
    /// tell as `FileChanged`, from now on and in place of those that were answered before.
    Watch {
        /// Their absolute paths.
        paths: Vec<String>,
    },
    /// To `PermissionDenied`: the model may try again.
    Retry,
    /// To `Elicitation` and `ElicitationResult`: this is the answer in the user's place.
    AcceptForm {
        /// A JSON object.
        content: String,
    },
    /// To `Elicitation` and `ElicitationResult`: the user does not want to say.
    DeclineForm,
    /// To `Elicitation` and `ElicitationResult`: the question was put away.
    CancelForm,
    /// Any other answer.
    Raw {
        /// A JSON object as the agent takes it.
        json: String,
    },
}

/// What becomes of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum ToolVerdict {
    /// It runs, and nobody is asked.
    Allow,
    /// It does not run.
    Deny,
    /// The user is asked.
    Ask,
    /// The turn stops here, to be resumed: the hook is asked again then.
    Defer,
}

fn json(what: &str, text: &str) -> Outcome<Value> {
    serde_json::from_str(text)
        .map_err(|error| BowlineError::invalid(format!("answer with {what}: {error}, give JSON")))
}

impl TryFrom<HookReply> for core::HookReply {
    type Error = BowlineError;

    fn try_from(reply: HookReply) -> Outcome<Self> {
        let input = |text: Option<String>| text.map(|it| json("an input", &it)).transpose();
        Ok(match reply {
            HookReply::Nothing => Self::Nothing,
            HookReply::Tool {
                verdict,
                reason,
                updated_input,
                context,
            } => Self::Tool {
                verdict: verdict.into(),
                reason,
                updated_input: input(updated_input)?,
                context,
            },
            HookReply::AllowPermission {
                updated_input,
                updated_permissions,
            } => Self::Permission(core::PermissionVerdict::Allow {
                updated_input: input(updated_input)?,
                updated_permissions: rules(updated_permissions)?,
            }),
            HookReply::DenyPermission { reason, interrupt } => {
                Self::Permission(core::PermissionVerdict::Deny {
                    message: reason,
                    interrupt,
                })
            }
            HookReply::Block { reason } => Self::Block { reason },
            HookReply::Context { text } => Self::Context(text),
            HookReply::Halt { reason } => Self::Halt { reason },
            HookReply::Worktree { path } => Self::Worktree(path.into()),
            HookReply::Watch { paths } => Self::Watch(paths.into_iter().map(Into::into).collect()),
            HookReply::Retry => Self::Retry,
            HookReply::AcceptForm { content } => {
                Self::Form(core::FormAnswer::Accept(json("a form", &content)?))
            }
            HookReply::DeclineForm => Self::Form(core::FormAnswer::Decline),
            HookReply::CancelForm => Self::Form(core::FormAnswer::Cancel),
            HookReply::Raw { json: text } => Self::Raw(json("JSON", &text)?),
        })
    }
}

fn rules(text: Option<String>) -> Outcome<Vec<Value>> {
    match text.map(|it| json("rules", &it)).transpose()? {
        None => Ok(Vec::new()),
        Some(Value::Array(rules)) => Ok(rules),
        Some(_) => Err(BowlineError::invalid(
            "answer with rules: give a JSON array",
        )),
    }
}

impl From<ToolVerdict> for core::ToolVerdict {
    fn from(verdict: ToolVerdict) -> Self {
        match verdict {
            ToolVerdict::Allow => Self::Allow,
            ToolVerdict::Deny => Self::Deny,
            ToolVerdict::Ask => Self::Ask,
            ToolVerdict::Defer => Self::Defer,
        }
    }
}
