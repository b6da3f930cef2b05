//! A session that an editor has open.

use agent_client_protocol_schema::v1::RequestId;

use super::feed::Feed;
use super::intent::{Attachment, Failure, PromptEnd};
use super::permissions::Permissions;
use super::update::{SessionUpdate, Stop, Update};

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

    /// Removes a prompt that has an answer.
    pub(super) fn take_prompt(&mut self, uuid: &str) -> Option<RequestId> {
        let at = self.prompts.iter().position(|(it, _)| it == uuid)?;
        Some(self.prompts.remove(at).1)
    }

    /// Returns how a prompt ended, as reported to the editor.
    pub(super) fn stop(&self, end: PromptEnd) -> Result<Stop, Failure> {
        match end {
            PromptEnd::Cancelled => Ok(Stop::Cancelled),
            PromptEnd::Failed(failure) => Err(failure),
            PromptEnd::Answered => Ok(self.feed.last_stop().cloned().unwrap_or(Stop::EndTurn)),
        }
    }
}

/// Returns the updates of a session's first changes that the editor is to see. The settings are in the
/// response; an editor that resumes knows the conversation.
pub(super) fn opening_updates(updates: Vec<SessionUpdate>, how: Opening) -> Vec<SessionUpdate> {
    let is_shown = |it: &SessionUpdate| match &it.update {
        Update::Mode(_) | Update::Options(_) => false,
        Update::Text(_) | Update::ToolCall(_) | Update::Notice { .. } => how != Opening::Resume,
        _ => true,
    };
    updates.into_iter().filter(is_shown).collect()
}
