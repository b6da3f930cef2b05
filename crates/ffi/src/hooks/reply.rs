//! The host's answers to hook events.

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
    ToolVerdict = crate::core::ToolVerdict, in "full" {
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
