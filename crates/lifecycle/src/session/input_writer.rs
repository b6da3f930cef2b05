//! Writes lines to the agent's input, one at a time and in order.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::pin::Pin;

use bowline_transport::wire::{Prompt, PromptMode, PromptStatus};
use bowline_transport::{TerminalSession, WriteError};
use bytes::Bytes;
use tracing::{debug, warn};
use uuid::Uuid;

use super::recording::SessionLog;
use crate::machine::{Input, LinePurpose};

/// Maximum length of the id of a line at a runner, in bytes.
const MAX_ID_BYTES: usize = 128;

/// A write to the agent's input.
enum Write {
    Line { line: Bytes, purpose: LinePurpose },
    Close,
}

/// The writes to the agent's input, of which at most one is under way. A write takes until the agent
/// reads.
pub(super) struct InputWriter {
    terminal: TerminalSession,
    queue: VecDeque<Write>,
    current: Option<Pin<Box<dyn Future<Output = Option<Input>> + Send>>>,
}

impl InputWriter {
    /// Creates a writer to the input of a session.
    pub(super) fn new(terminal: TerminalSession) -> Self {
        Self {
            terminal,
            queue: VecDeque::new(),
            current: None,
        }
    }

    /// Queues a line.
    pub(super) fn push(&mut self, line: Bytes, purpose: LinePurpose) {
        self.queue.push_back(Write::Line { line, purpose });
    }

    /// Queues the end of the input.
    pub(super) fn push_close(&mut self) {
        self.queue.push_back(Write::Close);
    }

    /// Starts the next write if none is under way. Its line goes to the log of the session.
    pub(super) fn start_next(&mut self, log: &SessionLog) {
        if self.current.is_some() {
            return;
        }
        let terminal = self.terminal.clone();
        self.current = match self.queue.pop_front() {
            None => None,
            Some(Write::Close) => Some(Box::pin(async move {
                // Fails only if the input is closed.
                if terminal.writes_by_id() {
                    let _ = terminal.prompt(end_of_input()).await;
                } else {
                    let _ = terminal.close_input().await;
                }
                None
            })),
            Some(Write::Line { line, purpose }) => {
                if !is_intent(&purpose) {
                    log.input(line.clone(), &terminal);
                }
                Some(Box::pin(async move {
                    match write(&terminal, line.clone(), &purpose).await {
                        Ok(()) => match purpose {
                            LinePurpose::Prompt(uuid) => Some(Input::Written(uuid)),
                            _ => None,
                        },
                        Err(error) => {
                            log_write_error(&purpose, &error);
                            Some(Input::WriteFailed { line, purpose })
                        }
                    }
                }))
            }
        };
    }

    /// Waits for the end of the write under way, forever if there is none. Returns what the state
    /// machine must learn of it. Cancel safe.
    pub(super) async fn written(&mut self) -> Option<Input> {
        let Some(current) = &mut self.current else {
            return pending().await;
        };
        let input = current.await;
        self.current = None;
        input
    }
}

/// Writes a line. A session that several hosts may write to takes it with an id, once.
async fn write(
    terminal: &TerminalSession,
    bytes: Bytes,
    purpose: &LinePurpose,
) -> Result<(), WriteError> {
    if !terminal.writes_by_id() {
        return terminal.write(bytes).await;
    }
    let id = line_id(purpose);
    let mode = if is_intent(purpose) {
        PromptMode::Control
    } else {
        PromptMode::Line
    };
    let prompt = Prompt {
        id,
        bytes,
        mode,
        request_id: None,
    };
    match terminal.prompt(prompt).await? {
        PromptStatus::Refused { reason } => Err(io::Error::other(reason).into()),
        _ => Ok(()),
    }
}

/// Returns the id of a line, which is the same with every driver of the session and every host.
fn line_id(purpose: &LinePurpose) -> String {
    match purpose {
        LinePurpose::Prompt(uuid) => bounded_id("", uuid),
        LinePurpose::PermissionAnswer(id) | LinePurpose::Denial(id) => {
            bounded_id("permission:", id)
        }
        LinePurpose::Request(id) => bounded_id("request:", id),
        LinePurpose::Intent(id) => bounded_id("", id),
        LinePurpose::Other => Uuid::new_v4().to_string(),
    }
}

/// Returns an id of at most 128 bytes, which is what a session takes.
fn bounded_id(kind: &str, id: &str) -> String {
    let plain = format!("{kind}{id}");
    if plain.len() <= MAX_ID_BYTES {
        return plain;
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    let prefix: String = id.chars().take(MAX_ID_BYTES / 8).collect();
    format!("{kind}#{:016x}:{prefix}", hasher.finish())
}

/// Returns whether a line goes to the driver of the session.
const fn is_intent(purpose: &LinePurpose) -> bool {
    matches!(purpose, LinePurpose::Intent(_))
}

fn end_of_input() -> Prompt {
    Prompt {
        id: "end-of-input".to_owned(),
        bytes: Bytes::new(),
        mode: PromptMode::End,
        request_id: None,
    }
}

/// Logs a failed write. A lost answer leaves the agent waiting, and only a client can repeat it.
fn log_write_error(purpose: &LinePurpose, error: &WriteError) {
    match purpose {
        LinePurpose::PermissionAnswer(request_id) | LinePurpose::Denial(request_id) => {
            warn!(request_id, %error, "an answer may not have reached the agent");
        }
        LinePurpose::Prompt(_)
        | LinePurpose::Request(_)
        | LinePurpose::Intent(_)
        | LinePurpose::Other => {
            debug!(%error, "a line did not reach the agent");
        }
    }
}
