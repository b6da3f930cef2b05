//! The host's answers to hook events.

use serde_json::Value;

use crate::core;
use crate::error::{BowlineError, Result};
use crate::mirror::mirror_into;

/// The host's answer to a hook event.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum HookReply {
    /// No decision: the agent continues as without the hook.
    Nothing,
    /// Decides about a tool call, for `PreToolUse`.
    Tool {
        /// The decision.
        verdict: ToolVerdict,
        /// The reason, for the model or the user.
        reason: Option<String>,
        /// Replaces the tool's input, a JSON object.
        updated_input: Option<String>,
        /// Additional context for the model.
        context: Option<String>,
    },
    /// Allows the tool in place of the user, for `PermissionRequest`.
    AllowPermission {
        /// Replaces the tool's input, a JSON object.
        updated_input: Option<String>,
        /// Permission rules to remember, a JSON array.
        updated_permissions: Option<String>,
    },
    /// Denies the tool in place of the user, for `PermissionRequest`.
    DenyPermission {
        /// The reason, for the model.
        reason: Option<String>,
        /// Whether to end the turn as well.
        interrupt: bool,
    },
    /// Blocks the action, for events that can be blocked.
    Block {
        /// The reason, for the model.
        reason: String,
    },
    /// Adds context for the model.
    Context {
        /// The context.
        text: String,
    },
    /// Ends the turn. Tools that are running are not stopped.
    Halt {
        /// The reason, for the user.
        reason: String,
    },
    /// Names the worktree that the host created, for `WorktreeCreate`. Without this answer the
    /// agent's tool fails.
    Worktree {
        /// The absolute path of the worktree.
        path: String,
    },
    /// Sets the files that the agent watches for `FileChanged`, replacing those set before. For
    /// `SessionStart`, `CwdChanged` and `FileChanged`.
    Watch {
        /// The absolute paths of the files.
        paths: Vec<String>,
    },
    /// Lets the model try again, for `PermissionDenied`.
    Retry,
    /// Submits a form in place of the user, for `Elicitation` and `ElicitationResult`.
    AcceptForm {
        /// The form's content, a JSON object.
        content: String,
    },
    /// Declines a form in place of the user, for `Elicitation` and `ElicitationResult`.
    DeclineForm,
    /// Cancels a form in place of the user, for `Elicitation` and `ElicitationResult`.
    CancelForm,
    /// Any other answer.
    Raw {
        /// The answer in the agent's format, a JSON object.
        json: String,
    },
}

mirror_into! {
    /// A decision about a tool call.
    ToolVerdict = core::ToolVerdict {
        /// Runs the tool without asking the user.
        Allow,
        /// Does not run the tool.
        Deny,
        /// Asks the user.
        Ask,
        /// Ends the turn at this point. When it is resumed, the hook is called again.
        Defer,
    }
}

fn json(what: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| BowlineError::invalid(format!("parse {what}: {error}; pass JSON")))
}

impl TryFrom<HookReply> for core::HookReply {
    type Error = BowlineError;

    fn try_from(reply: HookReply) -> Result<Self> {
        let input = |text: Option<String>| text.map(|it| json("the input", &it)).transpose();
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
                Self::Form(core::FormAnswer::Accept(json("the form", &content)?))
            }
            HookReply::DeclineForm => Self::Form(core::FormAnswer::Decline),
            HookReply::CancelForm => Self::Form(core::FormAnswer::Cancel),
            HookReply::Raw { json: text } => Self::Raw(json("the answer", &text)?),
        })
    }
}

fn rules(text: Option<String>) -> Result<Vec<Value>> {
    match text.map(|it| json("the rules", &it)).transpose()? {
        None => Ok(Vec::new()),
        Some(Value::Array(rules)) => Ok(rules),
        Some(_) => Err(BowlineError::invalid(
            "parse the rules: not a JSON array; pass one",
        )),
    }
}
