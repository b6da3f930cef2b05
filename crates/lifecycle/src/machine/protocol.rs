//! An agent's protocol: what its lines mean, and the lines of what the host wants.
//!
//! [`Protocol`] turns a line of output into [`Signal`]s, and an intent of the host into signals that
//! write lines. The machine carries the signals out in order. Prompts, receipts, permissions, the
//! watchdog, the end and the replay are the machine's, whatever the protocol.

mod acp;
mod asked;
mod claude;
mod codex;
mod link;
mod opening;

use std::fmt;

use bowline_jsonl::{AgentVersion, Decision, Event, HostRequest, Prompt, RawJson};
use bowline_reducer::Transcript;
use bowline_reducer::dialect::DialectName;

use acp::Acp;
use claude::Claude;
use codex::Codex;
pub(super) use link::Link;
pub(crate) use opening::Opening;

use super::input::{LinePurpose, Reply, Ticket};
use super::receipts::{ReceiptState, TurnPrompts};
use super::requests::{CompletedRequest, Refusal};
use crate::agent::Capabilities;
use crate::error::{DialogueError, HandshakeError};
use crate::permission::{EncodedAnswer, PermissionAnswer, PermissionRecord, RequestState};
use crate::watchdog::SilenceCause;

/// Returns the protocol of a dialect. One that can only be read is driven as Claude Code's, since no
/// configuration with such a dialect starts.
pub(super) fn of(dialect: DialectName, opening: Opening) -> Box<dyn Protocol> {
    match dialect {
        DialectName::Codex => Box::new(Codex::new(opening)),
        DialectName::Acp => Box::new(Acp::new(opening)),
        _ => Box::new(Claude),
    }
}

/// The host's side of an agent's protocol.
pub(super) trait Protocol: fmt::Debug + Send {
    /// Returns whether the transcript is a fold over output and input. Otherwise the machine reports
    /// prompts and answers to it as host events.
    fn folds_input(&self) -> bool;

    /// Begins the handshake.
    fn begin(&mut self, link: &mut Link<'_>);

    /// Continues after the output of an agent that another host started. A handshake that the other host
    /// did not complete begins again.
    fn replayed(&mut self, link: &mut Link<'_>);

    /// Handles a line of output, which the transcript has taken in.
    fn line(&mut self, event: &Event<'_>, link: &mut Link<'_>);

    /// Handles a line that this or another host wrote, which the transcript has taken in. Only with a runner
    /// that reports input.
    fn host_line(&mut self, line: RawJson<'_>, link: &mut Link<'_>);

    /// Handles the end of a request: its response, or that there was none.
    fn completed(&mut self, request: &CompletedRequest, link: &mut Link<'_>);

    /// Returns whether a prompt can be written now; otherwise it waits.
    fn accepts_prompt(&self, transcript: &Transcript) -> bool;

    /// Checks that a prompt can be written.
    ///
    /// # Errors
    ///
    /// The protocol has no form for a part of it.
    fn check_prompt(&self, prompt: &Prompt) -> Result<(), DialogueError>;

    /// Writes a prompt.
    fn prompt(&mut self, prompt: &Prompt, link: &mut Link<'_>);

    /// Forgets a prompt that was not written.
    fn prompt_lost(&mut self, uuid: &str);

    /// Carries out a request of the host, whose reply goes to `ticket`.
    ///
    /// # Errors
    ///
    /// The agent has nothing like it. Nothing was written.
    fn request(
        &mut self,
        request: &HostRequest,
        ticket: Ticket,
        link: &mut Link<'_>,
    ) -> Result<(), DialogueError>;

    /// Changes an option of the session, such as `model`, `mode` or `effort`.
    ///
    /// # Errors
    ///
    /// The agent has no such option or value. Nothing was written.
    fn set_option(
        &mut self,
        option: &str,
        value: &str,
        ticket: Ticket,
        link: &mut Link<'_>,
    ) -> Result<(), DialogueError>;

    /// Encodes the answer to a permission request.
    ///
    /// # Errors
    ///
    /// The answer does not fit the request.
    fn answer(
        &mut self,
        record: &PermissionRecord,
        answer: &PermissionAnswer,
    ) -> Result<EncodedAnswer, DialogueError>;

    /// Asks the agent to exit.
    fn end(&mut self, link: &mut Link<'_>);

    /// Sends a request without side effects, as a check that the agent is alive.
    fn probe(&mut self, link: &mut Link<'_>);

    /// Returns what a silence may be due to, and the remedy, where the agent is known for it.
    fn silence_cause(&self, _transcript: &Transcript) -> Option<SilenceCause> {
        None
    }

    /// Returns what the session can do.
    fn capabilities(&self) -> Capabilities;
}

/// What a line of output, or an intent of the host, leads to.
#[derive(Debug)]
pub(super) enum Signal {
    /// A line is written to the agent.
    Write { line: Vec<u8>, purpose: LinePurpose },
    /// A request of the agent is answered, unless another host has done so.
    ReplyToAgent { request_id: String, line: Vec<u8> },
    /// A host answered a request of the agent.
    AgentAnswered { request_id: String },
    /// A command of the host is complete.
    Reply {
        ticket: Ticket,
        reply: Result<Reply, DialogueError>,
    },
    /// The handshake is complete.
    Ready,
    /// The agent cannot be used.
    StartFailed(HandshakeError),
    /// The agent answered a request of this or another host.
    Response {
        id: String,
        outcome: Result<String, Refusal>,
    },
    /// A turn began.
    TurnBegan,
    /// A turn began, and the agent named its version or none.
    Version(Option<AgentVersion>),
    /// The agent reports what it does with a prompt; the state is absent if that is not one of a receipt.
    PromptReported {
        uuid: Option<String>,
        state: Option<ReceiptState>,
    },
    /// A prompt has come so far.
    PromptAdvanced { uuid: String, state: ReceiptState },
    /// The input shows a prompt.
    PromptSeen { uuid: String, text: String },
    /// The input shows the answer to a permission request.
    AnswerSeen { id: String, decision: Decision },
    /// The agent repeated a prompt.
    PromptEchoed(String),
    /// A turn ended.
    TurnEnded(TurnPrompts),
    /// The agent asks for a permission.
    PermissionAsked(Box<PermissionRecord>),
    /// A permission request is over.
    PermissionClosed { id: String, state: RequestState },
    /// The agent has answered the request to exit.
    EndAnswered,
    /// The agent's input is closed.
    CloseInput,
    /// The agent cannot be asked for a sign of life.
    ProbeUnavailable,
    /// The agent does not react, and why that is assumed.
    Silent(String),
}
