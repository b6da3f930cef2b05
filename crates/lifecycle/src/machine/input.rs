//! Inputs and outputs of the state machine.

use std::sync::Arc;
use std::time::Duration;

use bowline_jsonl::{HostRequest, Prompt};
use bowline_reducer::Window;
use bowline_transport::{ConnectionState, Exit, Piece, ResourceUsage, TerminationPolicy};
use bytes::Bytes;

use super::receipts::ReceiptState;
use crate::budget::{LimitAnswer, LimitKind, LimitRequest, SharedState};
use crate::control::ControlLine;
use crate::error::DialogueError;
use crate::events::PendingEvent;
use crate::exit_policy::ExitPolicy;
use crate::intent::Intent;
use crate::permission::{PermissionAnswer, PermissionRecord};
use crate::queue::QueueEdit;
use crate::watchdog::WatchdogPolicy;

/// Identifies a command, so that its reply finds the caller.
pub(crate) type Ticket = u64;

/// An input of the machine.
#[derive(Debug)]
pub(crate) enum Input {
    /// Bytes of the agent's output, in order.
    Output(Bytes),
    /// A range of the agent's output that is lost.
    OutputGap { from: u64, to: u64 },
    /// Bytes of what all hosts wrote to the agent, in order and at their place in the output.
    HostLines(Bytes),
    /// A range of the input that is lost, up to an offset.
    HostGap { to: u64 },
    /// A piece of the control stream of a session that a daemon drives.
    Control(Piece),
    /// The agent's output has ended; the process may still run.
    OutputEnded,
    /// Bytes of the agent's standard error.
    Stderr(Bytes),
    /// A number of bytes of the agent's standard error that are lost.
    StderrGap(u64),
    /// The kernel has accepted the line of the prompt with this uuid.
    Written(String),
    /// A line was not written, or its delivery is unknown.
    WriteFailed { line: Bytes, purpose: LinePurpose },
    /// The process exited and its streams were read to their end.
    Exited(Exit),
    /// Where the system finds the paths of a permission request, in the order of [`Output::ResolvePaths`].
    PathsResolved {
        request_id: String,
        resolved: Vec<Option<String>>,
    },
    /// The resource usage that [`Output::MeasureUsage`] requested.
    Usage(Option<ResourceUsage>),
    /// The connection to the agent's machine changed.
    Connection(ConnectionState),
    /// The budget that the session shares with others has changed, or one of its limits is reached.
    SharedBudget(SharedState),
    /// A command of the host.
    Command(Command, Ticket),
    /// The deadline has passed.
    Timeout,
}

/// What a line is for: decides what happens if it cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinePurpose {
    /// A prompt, by its uuid.
    Prompt(String),
    /// A client's answer to a permission request, by the request's id.
    PermissionAnswer(String),
    /// The machine's own denial of an expired permission request, by the request's id.
    Denial(String),
    /// A request of the machine, by its id.
    Request(String),
    /// An intent for the driver of the session, by its id.
    Intent(String),
    /// A line that is never repeated.
    Other,
}

/// A command of the host.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) enum Command {
    /// Sends a prompt, which has a uuid.
    Send(Prompt),
    /// Answers a permission request in the name of a client.
    AnswerPermission {
        request_id: String,
        answer: PermissionAnswer,
        by: Option<String>,
        /// The rule by which it decided, if it is one.
        how: Option<String>,
    },
    /// Sends a control request.
    Request(HostRequest),
    /// Interrupts the turn, unless one ended past the output that the host had seen.
    Interrupt {
        cancel_queued: bool,
        seen: Option<u64>,
    },
    /// Changes an option of the session.
    SetOption { option: String, value: String },
    /// Changes a prompt that waits in the queue.
    EditQueue(QueueEdit),
    /// Sends a prompt of the queue, by its uuid.
    Release(String),
    /// Pauses at a limit, and asks.
    Hold(LimitRequest),
    /// Queues prompts from now on; completes when no turn is open.
    Pause,
    /// Sends the queued prompts, and later ones at once.
    Unpause,
    /// Drops the queued prompts.
    CancelQueued,
    /// Ends the session when the open turn is over.
    End,
    /// Ends the session now.
    Terminate,
}

/// An effect for the driver, to be carried out in order.
#[derive(Debug)]
pub(crate) enum Output {
    /// Write a line to the agent.
    Write { line: Bytes, purpose: LinePurpose },
    /// Reply to a command.
    Reply {
        ticket: Ticket,
        reply: Result<Reply, DialogueError>,
    },
    /// Publish a prompt's new state.
    Receipt { uuid: String, state: ReceiptState },
    /// Close the agent's input.
    CloseInput,
    /// Deliver an event to the subscribers.
    Event(PendingEvent),
    /// Publish a permission request that is new or has changed.
    Permission(Arc<PermissionRecord>),
    /// Resolve the symbolic links of absolute paths, and pass the result in as [`Input::PathsResolved`].
    ResolvePaths {
        request_id: String,
        paths: Vec<String>,
    },
    /// Append a decision of this machine to the control stream, from where it takes effect.
    Decision(ControlLine),
    /// Apply an answer about a limit of the budget that the session shares with others.
    SharedLimit {
        limit: LimitKind,
        answer: LimitAnswer,
        by: Option<String>,
    },
    /// Count a turn that has ended.
    TurnEnded,
    /// Measure the resource usage of the agent's processes, and pass it in as [`Input::Usage`].
    MeasureUsage,
    /// Terminate the agent.
    Terminate(TerminationPolicy),
    /// The session is over; no output follows.
    Finished,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The command was accepted or has completed.
    Done,
    /// The agent's response to a control request, a JSON value.
    Response(String),
}

/// How far the end of a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndStage {
    /// The agent is asked to exit when the open turn is over.
    WhenIdle,
    /// The agent was asked to exit.
    Requested,
    /// The agent is being terminated.
    Terminated,
}

/// Bounds of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) max_line: usize,
    pub(crate) window: Option<Window>,
    pub(crate) stderr_bytes: usize,
    pub(crate) control_timeout: Duration,
    pub(crate) end_grace: Duration,
    pub(crate) exit: ExitPolicy,
    pub(crate) termination: TerminationPolicy,
    pub(crate) initialize: bool,
    pub(crate) watchdog: WatchdogPolicy,
}

impl EndStage {
    /// Returns whether no prompt is sent any more.
    pub(super) const fn refuses_prompts(self) -> bool {
        matches!(self, Self::Requested | Self::Terminated)
    }
}

impl From<Intent> for Command {
    fn from(intent: Intent) -> Self {
        match intent {
            Intent::Prompt(prompt) => Self::Send(prompt),
            Intent::Answer {
                request_id,
                answer,
                by,
                how,
            } => Self::AnswerPermission {
                request_id,
                answer,
                by,
                how,
            },
            Intent::Interrupt {
                cancel_queued,
                seen,
            } => Self::Interrupt {
                cancel_queued,
                seen,
            },
            Intent::SetOption { option, value } => Self::SetOption { option, value },
            Intent::EditQueue(edit) => Self::EditQueue(edit),
            Intent::Release { uuid } => Self::Release(uuid),
            Intent::Hold(request) => Self::Hold(request),
            Intent::StopTask { task_id } => Self::Request(HostRequest::StopTask { task_id }),
            Intent::Request { name, params } => Self::Request(HostRequest::Other {
                subtype: name,
                fields: params,
            }),
            Intent::End => Self::End,
        }
    }
}
