//! The replies to an event (`crates/jsonl/PROTOCOL.md`, Hooks).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{HookKind, HookReplyError};

/// The reply to an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HookReply {
    /// No opinion: the agent continues as without a hook.
    #[default]
    Nothing,
    /// To `PreToolUse`: a decision about the tool call.
    Tool {
        /// The decision.
        verdict: ToolVerdict,
        /// The reason, for the model or the user.
        reason: Option<String>,
        /// A JSON object that replaces the input of the tool.
        updated_input: Option<Value>,
        /// Additional context for the model.
        context: Option<String>,
    },
    /// To `PermissionRequest`: the answer in place of the user's.
    Permission(PermissionVerdict),
    /// Refuses the event, where the event can be refused.
    Block {
        /// The reason, for the model.
        reason: String,
    },
    /// Additional context for the model.
    Context(String),
    /// Ends the turn. Tools that are running finish.
    Halt {
        /// The reason, for the user.
        reason: String,
    },
    /// To `WorktreeCreate`: the directory that the host created. Without it the tool fails.
    Worktree(PathBuf),
    /// To `SessionStart`, `CwdChanged` and `FileChanged`: the files to report as `FileChanged`; they
    /// replace those of earlier replies.
    Watch(Vec<PathBuf>),
    /// To `PermissionDenied`: allows the model to try again.
    Retry,
    /// To `Elicitation` and `ElicitationResult`: the input for an MCP server in place of the user's.
    Form(FormAnswer),
    /// Any other reply: a JSON object in the agent's schema.
    Raw(Value),
}

/// The answer to an MCP server that requests input from the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FormAnswer {
    /// Accepts with this JSON object.
    Accept(Value),
    /// Declines.
    Decline,
    /// Cancels the request.
    Cancel,
}

/// A decision about a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolVerdict {
    /// Runs the tool without asking the user.
    Allow,
    /// Does not run the tool.
    Deny,
    /// Asks the user; an agent without a user denies.
    Ask,
    /// Stops the turn; a resumed session sends the event again.
    Defer,
}

impl ToolVerdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Defer => "defer",
        }
    }
}

/// The answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PermissionVerdict {
    /// Allows.
    Allow {
        /// A JSON object that replaces the input of the tool.
        updated_input: Option<Value>,
        /// Permission rules to add, as the agent suggested them.
        updated_permissions: Vec<Value>,
    },
    /// Denies.
    Deny {
        /// The reason, for the model.
        message: Option<String>,
        /// Whether to end the turn as well.
        interrupt: bool,
    },
}

impl HookReply {
    /// Allows a tool.
    #[must_use]
    pub const fn allow() -> Self {
        Self::tool(ToolVerdict::Allow, None)
    }

    /// Denies a tool.
    #[must_use]
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::tool(ToolVerdict::Deny, Some(reason.into()))
    }

    /// Asks the user about a tool.
    #[must_use]
    pub fn ask(reason: impl Into<String>) -> Self {
        Self::tool(ToolVerdict::Ask, Some(reason.into()))
    }

    const fn tool(verdict: ToolVerdict, reason: Option<String>) -> Self {
        Self::Tool {
            verdict,
            reason,
            updated_input: None,
            context: None,
        }
    }

    /// Returns the reply in the agent's schema, or `None` for an empty body.
    pub(crate) fn output(&self, kind: &HookKind) -> Result<Option<Value>, HookReplyError> {
        let fits = |fits: bool, reply: &'static str| {
            let kind = kind.name().to_owned();
            if fits {
                Ok(())
            } else {
                Err(HookReplyError::Unfit { kind, reply })
            }
        };
        match self {
            Self::Nothing => Ok(None),
            Self::Tool { .. } => {
                fits(*kind == HookKind::PreToolUse, "tool decision")?;
                self.tool_output(kind).map(Some)
            }
            Self::Permission(verdict) => {
                fits(*kind == HookKind::PermissionRequest, "permission answer")?;
                let decision = verdict.decision(kind)?;
                Ok(Some(specific(kind, json!({ "decision": decision }))))
            }
            Self::Block { reason } if *kind == HookKind::PreToolUse => {
                Self::deny(reason.clone()).output(kind)
            }
            Self::Block { reason } => {
                fits(kind.accepts_block(), "refusal")?;
                Ok(Some(json!({"decision": "block", "reason": reason})))
            }
            Self::Context(text) => {
                fits(kind.accepts_context(), "context")?;
                Ok(Some(specific(kind, json!({"additionalContext": text}))))
            }
            Self::Halt { reason } => Ok(Some(json!({"continue": false, "stopReason": reason}))),
            Self::Worktree(folder) => {
                fits(*kind == HookKind::WorktreeCreate, "directory")?;
                let path = text(kind, folder)?;
                Ok(Some(specific(kind, json!({ "worktreePath": path }))))
            }
            Self::Watch(files) => {
                fits(kind.accepts_watch_paths(), "list of files to watch")?;
                let paths: Result<Vec<_>, _> = files.iter().map(|it| text(kind, it)).collect();
                Ok(Some(specific(kind, json!({ "watchPaths": paths? }))))
            }
            Self::Retry => {
                fits(*kind == HookKind::PermissionDenied, "retry")?;
                Ok(Some(specific(kind, json!({ "retry": true }))))
            }
            Self::Form(answer) => {
                let is_form = matches!(kind, HookKind::Elicitation | HookKind::ElicitationResult);
                fits(is_form, "form answer")?;
                Ok(Some(specific(kind, answer.members(kind)?)))
            }
            Self::Raw(value) => object(kind, "reply", Some(value)).map(|()| Some(value.clone())),
        }
    }

    fn tool_output(&self, kind: &HookKind) -> Result<Value, HookReplyError> {
        let Self::Tool {
            verdict,
            reason,
            updated_input,
            context,
        } = self
        else {
            return Ok(Value::Null);
        };
        object(kind, "updated input", updated_input.as_ref())?;
        let mut members = json!({"permissionDecision": verdict.word()});
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                members[name] = value;
            }
        };
        set("permissionDecisionReason", reason.clone().map(Value::from));
        set("updatedInput", updated_input.clone());
        set("additionalContext", context.clone().map(Value::from));
        Ok(specific(kind, members))
    }
}

impl FormAnswer {
    fn members(&self, kind: &HookKind) -> Result<Value, HookReplyError> {
        Ok(match self {
            Self::Accept(content) => {
                object(kind, "content", Some(content))?;
                json!({"action": "accept", "content": content})
            }
            Self::Decline => json!({"action": "decline"}),
            Self::Cancel => json!({"action": "cancel"}),
        })
    }
}

impl PermissionVerdict {
    fn decision(&self, kind: &HookKind) -> Result<Value, HookReplyError> {
        match self {
            Self::Allow {
                updated_input,
                updated_permissions,
            } => {
                object(kind, "updated input", updated_input.as_ref())?;
                let mut decision = json!({"behavior": "allow"});
                if let Some(input) = updated_input {
                    decision["updatedInput"] = input.clone();
                }
                if !updated_permissions.is_empty() {
                    decision["updatedPermissions"] = updated_permissions.clone().into();
                }
                Ok(decision)
            }
            Self::Deny { message, interrupt } => {
                let mut decision = json!({"behavior": "deny"});
                if let Some(message) = message {
                    decision["message"] = message.as_str().into();
                }
                if *interrupt {
                    decision["interrupt"] = true.into();
                }
                Ok(decision)
            }
        }
    }
}

/// Returns whether a reply in the agent's schema keeps the agent from going on with the event.
pub(crate) fn is_refusal(output: Option<&Value>) -> bool {
    let Some(output) = output else { return false };
    let specific = &output["hookSpecificOutput"];
    let is_one_of =
        |value: &Value, words: &[&str]| value.as_str().is_some_and(|it| words.contains(&it));
    output["continue"] == false
        || output["decision"] == "block"
        || is_one_of(&specific["permissionDecision"], &["deny", "ask", "defer"])
        || is_one_of(&specific["action"], &["decline", "cancel"])
        || specific["decision"]["behavior"] == "deny"
}

fn specific(kind: &HookKind, mut members: Value) -> Value {
    members["hookEventName"] = kind.name().into();
    json!({ "hookSpecificOutput": members })
}

/// Checks that a path is absolute, since the agent may have another working directory, and UTF-8.
fn text<'a>(kind: &HookKind, path: &'a Path) -> Result<&'a str, HookReplyError> {
    let text = path.to_str().filter(|_| path.is_absolute());
    text.ok_or_else(|| HookReplyError::Path {
        kind: kind.name().to_owned(),
        path: path.to_owned(),
    })
}

fn object(
    kind: &HookKind,
    what: &'static str,
    value: Option<&Value>,
) -> Result<(), HookReplyError> {
    if value.is_none_or(Value::is_object) {
        return Ok(());
    }
    let kind = kind.name().to_owned();
    Err(HookReplyError::NotAnObject { kind, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(reply: &HookReply, kind: &HookKind) -> Value {
        reply.output(kind).unwrap().unwrap_or_default()
    }

    #[test]
    fn replies_have_agents_schema() {
        let pre = &HookKind::PreToolUse;
        let denied = output(&HookReply::deny("no"), pre);
        let expected = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no",
        }});
        assert_eq!(denied, expected);
        let block = HookReply::Block {
            reason: "no".into(),
        };
        assert_eq!(output(&block, pre), expected);
        assert_eq!(
            output(&block, &HookKind::Stop),
            json!({"decision": "block", "reason": "no"})
        );
        assert_eq!(output(&HookReply::Nothing, pre), Value::Null);
        let context = HookReply::Context("it rains".into());
        assert_eq!(
            output(&context, &HookKind::UserPromptSubmit),
            json!({"hookSpecificOutput": {
                "hookEventName": "UserPromptSubmit", "additionalContext": "it rains",
            }})
        );
        let halt = HookReply::Halt {
            reason: "enough".into(),
        };
        assert_eq!(
            output(&halt, &HookKind::PostToolUse),
            json!({"continue": false, "stopReason": "enough"})
        );
    }

    #[test]
    fn permission_answers_have_agents_schema() {
        let allow = HookReply::Permission(PermissionVerdict::Allow {
            updated_input: Some(json!({"a": 1})),
            updated_permissions: vec![json!({"type": "setMode"})],
        });
        assert_eq!(
            output(&allow, &HookKind::PermissionRequest)["hookSpecificOutput"]["decision"],
            json!({"behavior": "allow", "updatedInput": {"a": 1}, "updatedPermissions": [{"type": "setMode"}]})
        );
        let deny = HookReply::Permission(PermissionVerdict::Deny {
            message: Some("no".into()),
            interrupt: true,
        });
        assert_eq!(
            output(&deny, &HookKind::PermissionRequest)["hookSpecificOutput"]["decision"],
            json!({"behavior": "deny", "message": "no", "interrupt": true})
        );
    }

    #[test]
    fn directories_files_and_forms_have_agents_schema() {
        let specific = |reply: &HookReply, kind: &HookKind| {
            let mut output = output(reply, kind)["hookSpecificOutput"].take();
            let members = output.as_object_mut().unwrap();
            assert_eq!(members.remove("hookEventName").unwrap(), kind.name());
            output
        };
        assert_eq!(
            specific(
                &HookReply::Worktree("/srv/tree".into()),
                &HookKind::WorktreeCreate
            ),
            json!({"worktreePath": "/srv/tree"})
        );
        for kind in [
            HookKind::SessionStart,
            HookKind::CwdChanged,
            HookKind::FileChanged,
        ] {
            let watch = HookReply::Watch(vec!["/srv/.env".into()]);
            assert_eq!(
                specific(&watch, &kind),
                json!({"watchPaths": ["/srv/.env"]})
            );
        }
        assert_eq!(
            specific(&HookReply::Retry, &HookKind::PermissionDenied),
            json!({"retry": true})
        );
        let accept = HookReply::Form(FormAnswer::Accept(json!({"colour": "red"})));
        assert_eq!(
            specific(&accept, &HookKind::Elicitation),
            json!({"action": "accept", "content": {"colour": "red"}})
        );
        let decline = HookReply::Form(FormAnswer::Decline);
        assert_eq!(
            specific(&decline, &HookKind::ElicitationResult),
            json!({"action": "decline"})
        );
    }

    #[test]
    fn reply_that_does_not_fit_is_refused() {
        let block = HookReply::Block {
            reason: "no".into(),
        };
        let cases = [
            (HookReply::allow(), HookKind::Stop),
            (block, HookKind::SessionEnd),
            (HookReply::Context("x".into()), HookKind::SessionEnd),
            (HookReply::Raw(json!([])), HookKind::Stop),
            (HookReply::Worktree("/srv".into()), HookKind::WorktreeRemove),
            (HookReply::Worktree("tree".into()), HookKind::WorktreeCreate),
            (HookReply::Watch(vec!["/a".into()]), HookKind::Stop),
            (HookReply::Watch(vec!["a".into()]), HookKind::FileChanged),
            (HookReply::Retry, HookKind::PreToolUse),
            (HookReply::Form(FormAnswer::Cancel), HookKind::Stop),
            (
                HookReply::Form(FormAnswer::Accept(json!(1))),
                HookKind::Elicitation,
            ),
        ];
        for (reply, kind) in cases {
            assert!(reply.output(&kind).is_err(), "{reply:?} to {kind:?}");
        }
        let input = HookReply::Tool {
            verdict: ToolVerdict::Allow,
            reason: None,
            updated_input: Some(json!(1)),
            context: None,
        };
        assert!(input.output(&HookKind::PreToolUse).is_err());
    }
}
