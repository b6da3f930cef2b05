//! The claim of the conversation that a new session resumes: one writer in the fleet.

use axum::http::StatusCode;
use bowline_lifecycle::control::{FORK_LABEL, GENERATION_LABEL, RESUME_LABEL};
use bowline_lifecycle::{DialectName, DialogueConfiguration};

use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::conversations::StartConversation;
use crate::other_runners::{ConversationWriter, OtherRunnerError};
use crate::shim::SessionSpec;

/// Returns the session of an agent that writes a conversation which other sessions may write; a copy is its own.
pub(super) fn writer_of_agent(start: &StartConversation) -> Option<ConversationWriter> {
    let conversation = start.resume.clone().filter(|_| !start.fork)?;
    let mut configuration = DialogueConfiguration::default();
    configuration.set_agent(&start.agent, start.dialect);
    Some(ConversationWriter {
        session: start.id,
        dialect: configuration.dialect,
        conversation,
        takes_over: start.labels.contains_key(GENERATION_LABEL),
    })
}

/// Does the same for a session whose host drives the agent.
pub(super) fn writer_of_process(spec: &SessionSpec) -> Option<ConversationWriter> {
    let conversation = spec.labels.get(RESUME_LABEL);
    let conversation = conversation.filter(|_| !spec.labels.contains_key(FORK_LABEL))?;
    Some(ConversationWriter {
        session: spec.id,
        dialect: DialectName::of_labels(&spec.labels),
        conversation: conversation.clone(),
        takes_over: spec.labels.contains_key(GENERATION_LABEL),
    })
}

/// Starts a session, if no session of another runner writes its conversation.
pub(super) async fn start_claimed<T>(
    app: &AppState,
    writer: Option<ConversationWriter>,
    start: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let (Some(writer), Some(runners)) = (writer, app.other_runners()) else {
        return start.await;
    };
    runners.claim(&writer).await.map_err(problem)?;
    let started = start.await;
    if started.is_err() {
        runners.release(&writer).await;
    }
    started
}

fn problem(error: OtherRunnerError) -> Problem {
    let next = match &error {
        OtherRunnerError::Claimed { session, .. } => {
            format!(
                "attach to it with `bowline attach --fleet {session}`, or end it; if its runner is silent, take it over with `bowline resume {session} --on RUNNER`"
            )
        }
        _ => "retry later, or run `bowline fleet doctor`".to_owned(),
    };
    Problem::new(StatusCode::CONFLICT, "CONVERSATION_CLAIMED", error, next)
}
