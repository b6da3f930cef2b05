//! A session that an editor has open.

use agent_client_protocol_schema::v1::{RequestId, SessionNotification, SessionUpdate, StopReason};
use bowline_reducer::Outcome;

use super::feed::Feed;
use super::intent::{Attachment, Failure, FailureKind, PromptEnd};
use super::permissions::Permissions;

/// How a session was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    New,
    Load,
    Resume,
}

/// A session that an editor has open.
#[derive(Debug)]
pub(super) struct EditorSession {
    pub(super) attachment: Attachment,
    /// The request that opens it, until the conversation so far is there.
    pub(super) opening: Option<(RequestId, Opening)>,
    pub(super) feed: Feed,
    pub(super) permissions: Permissions,
    /// Prompts of this connection that have no answer, by uuid.
    pub(super) prompts: Vec<(String, RequestId)>,
    /// Whether the editor has cancelled the turn that runs.
    pub(super) is_cancelling: bool,
    /// How it ended.
    pub(super) ended: Option<String>,
}

impl EditorSession {
    pub(super) fn new(
        attachment: Attachment,
        request: RequestId,
        how: Opening,
        feed: Feed,
    ) -> Self {
        Self {
            attachment,
            opening: Some((request, how)),
            feed,
            permissions: Permissions::default(),
            prompts: Vec::new(),
            is_cancelling: false,
            ended: None,
        }
    }

    /// Takes a prompt that has an answer.
    pub(super) fn take_prompt(&mut self, uuid: &str) -> Option<RequestId> {
        let at = self.prompts.iter().position(|(it, _)| it == uuid)?;
        Some(self.prompts.remove(at).1)
    }

    /// Returns how a prompt ended, as reported to the editor.
    pub(super) fn stop_reason(&self, end: PromptEnd) -> Result<StopReason, Failure> {
        match end {
            PromptEnd::Cancelled => return Ok(StopReason::Cancelled),
            PromptEnd::Failed(failure) => return Err(failure),
            PromptEnd::Answered => {}
        }
        let Some(turn) = self.feed.last_turn() else {
            return Ok(StopReason::EndTurn);
        };
        match (turn.outcome, &*turn.subtype) {
            (Outcome::Cancelled, _) => Ok(StopReason::Cancelled),
            (_, "max_tokens") => Ok(StopReason::MaxTokens),
            (_, "max_turn_requests" | "error_max_turns") => Ok(StopReason::MaxTurnRequests),
            (_, "refusal") => Ok(StopReason::Refusal),
            (Outcome::Failed, subtype) => {
                let text = turn.text.as_deref().filter(|text| !text.is_empty());
                let text = text.unwrap_or(subtype);
                Err(Failure::new(FailureKind::Failed, text))
            }
            _ => Ok(StopReason::EndTurn),
        }
    }
}

/// Returns the updates of a session's first changes that the editor is to see. The settings are in the
/// response; an editor that resumes knows the conversation.
pub(super) fn opening_updates(
    updates: Vec<SessionNotification>,
    how: Opening,
) -> Vec<SessionNotification> {
    let is_shown = |notification: &SessionNotification| match &notification.update {
        SessionUpdate::CurrentModeUpdate(_) | SessionUpdate::ConfigOptionUpdate(_) => false,
        SessionUpdate::Plan(_)
        | SessionUpdate::AvailableCommandsUpdate(_)
        | SessionUpdate::SessionInfoUpdate(_)
        | SessionUpdate::UsageUpdate(_)
        | SessionUpdate::SubagentUpdate(_) => true,
        _ => how != Opening::Resume,
    };
    updates.into_iter().filter(is_shown).collect()
}
