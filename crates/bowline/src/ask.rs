//! One prompt in a session of its own.

use bowline_lifecycle::{DialogueError, Prompt, ReceiptState, SessionBuilder, StartError};
use bowline_reducer::{EntryKind, Outcome, Transcript};

/// The answer to a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The agent's final text.
    pub text: String,
    /// The cost in US dollars, as the agent reports it; 0 if it reports none.
    pub cost_usd: f64,
    /// The agent's id of the conversation, to resume it.
    pub conversation: Option<String>,
}

/// Why a prompt was not answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The agent was not started.
    #[error("failed to start the agent")]
    Start(#[from] StartError),
    /// The prompt was not accepted.
    #[error("failed to send the prompt")]
    Send(#[from] DialogueError),
    /// The agent reported an error instead of an answer.
    #[error("the agent failed: {reason}")]
    Failed {
        /// The agent's description.
        reason: String,
    },
    /// The agent exited before it answered.
    #[error("the agent exited without an answer: {reason}")]
    Unanswered {
        /// How the session ended.
        reason: String,
    },
}

/// Runs one prompt in the current directory, and returns the agent's answer.
///
/// The agent may use the tools that its own settings permit; everything else is denied. For another
/// directory, model or tools, see [`ask_with`].
///
/// Cancel safe: dropping the future ends the agent.
///
/// # Errors
///
/// The agent cannot be started, reports an error, or exits without an answer.
///
/// ```no_run
/// # async fn run() -> Result<(), bowline::AskError> {
/// let answer = bowline::ask("What does this project do?").await?;
/// println!("{}", answer.text);
/// # Ok(())
/// # }
/// ```
pub async fn ask(prompt: impl Into<Prompt>) -> Result<Answer, AskError> {
    ask_with(crate::Session::builder(), prompt).await
}

/// Runs one prompt in a session of the builder, and returns the agent's answer. Permission requests are
/// denied unless the builder has a [callback](SessionBuilder::on_permission).
///
/// Cancel safe: dropping the future ends the agent. One at a runner continues without a host.
///
/// # Errors
///
/// As [`ask`].
pub async fn ask_with(
    builder: SessionBuilder,
    prompt: impl Into<Prompt>,
) -> Result<Answer, AskError> {
    let session = builder.start().await?;
    let mut receipt = session.send(prompt).await?;
    let state = receipt.settled().await;
    let answer = session.inspect(answer).await;
    let end = session.end().await;
    match answer {
        Some(answer) if state == ReceiptState::Answered => answer,
        _ => Err(AskError::Unanswered { reason: end.reason }),
    }
}

/// Returns the outcome of the last turn, if there is one.
fn answer(transcript: &Transcript) -> Option<Result<Answer, AskError>> {
    let mut results = transcript.entries().filter_map(|entry| match entry.kind() {
        EntryKind::Result {
            is_error,
            outcome,
            text,
            ..
        } => Some((is_error || outcome != Outcome::Completed, text)),
        _ => None,
    });
    let (failed, text) = results.next_back()?;
    let text = text.map(|text| text.to_string()).unwrap_or_default();
    if failed {
        return Some(Err(AskError::Failed { reason: text }));
    }
    Some(Ok(Answer {
        text,
        cost_usd: transcript.usage().cost_usd(),
        conversation: transcript.session().id().map(str::to_owned),
    }))
}
