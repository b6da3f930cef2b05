//! Reading and answering the permission requests of a session.

use super::handle::DialogueSession;
use crate::error::DialogueError;
use crate::machine::Command;
use crate::permission::{PermissionAnswer, Permissions};

impl DialogueSession {
    /// Returns the permission requests of the session: every open one, and the last 256 that were
    /// closed.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        self.permissions.borrow().clone()
    }

    /// Answers a permission request: with a [`Decision`](bowline_jsonl::Decision), or with an answer
    /// that fits a question or a plan.
    ///
    /// The first answer wins. Repeating it is not an error, so a client may retry. If its line may
    /// not have been delivered, because writing it failed or another host took over the session, it
    /// is sent again.
    ///
    /// # Errors
    ///
    /// The session has ended, there is no such request, it is closed, the answer does not fit it, or
    /// a part of the answer is not valid JSON.
    pub async fn answer_permission(
        &self,
        request_id: impl Into<String>,
        answer: impl Into<PermissionAnswer>,
    ) -> Result<(), DialogueError> {
        self.answer(request_id.into(), answer.into(), None).await
    }

    /// Like [`answer_permission`](Self::answer_permission), in the name of one of several clients. A
    /// client that is too late gets the name of the first in its error.
    ///
    /// # Errors
    ///
    /// As [`answer_permission`](Self::answer_permission).
    pub async fn answer_permission_as(
        &self,
        by: impl Into<String>,
        request_id: impl Into<String>,
        answer: impl Into<PermissionAnswer>,
    ) -> Result<(), DialogueError> {
        self.answer(request_id.into(), answer.into(), Some(by.into()))
            .await
    }

    async fn answer(
        &self,
        request_id: String,
        answer: PermissionAnswer,
        by: Option<String>,
    ) -> Result<(), DialogueError> {
        let command = Command::AnswerPermission {
            request_id,
            answer,
            by,
            how: None,
        };
        self.command(command).await.map(drop)
    }
}
