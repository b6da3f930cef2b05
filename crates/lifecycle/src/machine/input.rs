//! What goes into the machine and what comes out of it.

use std::sync::Arc;
use std::time::Duration;

use bowline_jsonl::{HostRequest, Prompt};
use bowline_reducer::Window;
use bowline_transport::{ConnectionState, Exit, Vitals};
use bytes::Bytes;

use crate::configuration::DialogueConfiguration;
use crate::error::DialogueError;
use crate::events::Told;
use crate::machine::receipts::ReceiptState;
use crate::permission::{PermissionAnswer, PermissionRecord};
use crate::watchdog::WatchdogConfiguration;

/// Names the caller of a command, so that the answer finds him.
pub(crate) type Ticket = u64;

/// What the machine is told.
#[derive(Debug)]
pub(crate) enum Input {
    /// Bytes of the agent's output, in order.
    Output(Bytes),
    /// Bytes of the agent's output that nobody will see.
    OutputGap { from: u64, to: u64 },
    /// The agent's output is at its end; the process may live on.
    OutputEnded,
    /// Bytes of the agent's standard error.
    Errors(Bytes),
    /// Bytes of the agent's standard error that nobody will see, counted.
    ErrorsGap(u64),
    /// The kernel took the line of this prompt.
    Written(String),
    /// A line could not be written, or nobody knows whether it was.
    WriteFailed { line: Bytes, carried: Carried },
    /// The process ended and its streams were read to their end.
    Exited(Exit),
    /// What the agent's processes have used, as [`Output::Vitals`] asked for.
    Vitals(Option<Vitals>),
    /// The link to the agent's machine changed.
    Connection(ConnectionState),
    /// The host wants something.
    Command(Command, Ticket),
    /// The deadline has passed.
    Timeout,
}

/// What a line carries, to know what is missing when it cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// A prompt, by its uuid.
    Prompt(String),
    /// The host's answer to a permission request, by the request's id.
    Answer(String),
    /// What nobody can send once more.
    Other,
}

impl Carried {
    /// The prompt's uuid.
    pub(crate) fn prompt(self) -> Option<String> {
        match self {
            Self::Prompt(uuid) => Some(uuid),
            Self::Answer(_) | Self::Other => None,
        }
    }
}

/// What the host wants.
#[derive(Debug)]
pub(crate) enum Command {
    /// A prompt, with its uuid.
    Send(Prompt),
    /// The answer to a permission request, and who gives it.
    Answer {
        request_id: String,
        answer: PermissionAnswer,
        by: Option<String>,
    },
    /// A control request.
    Request(HostRequest),
    /// Keep prompts back from now on; answered when no turn is open.
    Pause,
    /// Send what was kept back, and prompts as they come.
    Unpause,
    /// Give up the prompts that were kept back.
    CancelHeld,
    /// End in order, when the open turn is over.
    End,
    /// End now.
    Terminate,
}

/// What the machine wants done, in this order.
#[derive(Debug)]
pub(crate) enum Output {
    /// Write a line.
    Write { line: Bytes, carried: Carried },
    /// Answer a command.
    Reply {
        ticket: Ticket,
        reply: Result<Reply, DialogueError>,
    },
    /// A prompt came one step further.
    Receipt { uuid: String, state: ReceiptState },
    /// Close the agent's input.
    CloseInput,
    /// Something happened; only while somebody listens.
    Told(Told),
    /// A permission request is new or changed.
    Permission(Arc<PermissionRecord>),
    /// A turn has ended.
    TurnEnded,
    /// Look at the agent's processes; [`Input::Vitals`] is the answer.
    Vitals,
    /// Climb the ladder.
    Terminate,
    /// The session is over; nothing follows.
    Finished,
}

/// What a command gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It was accepted.
    Done,
    /// The agent's answer to a control request, a JSON value.
    Answer(String),
}

/// How the session is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// When the open turn is over.
    WhenIdle,
    /// The agent was asked to end.
    Asked,
    /// Now.
    Terminated,
}

/// What bounds the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) max_line: usize,
    pub(crate) window: Option<Window>,
    pub(crate) stderr_bytes: usize,
    pub(crate) control_timeout: Duration,
    pub(crate) end_grace: Duration,
    pub(crate) initialize: bool,
    pub(crate) watchdog: WatchdogConfiguration,
}

impl From<&DialogueConfiguration> for Limits {
    fn from(configuration: &DialogueConfiguration) -> Self {
        Self {
            max_line: configuration.max_line,
            window: configuration.window,
            stderr_bytes: configuration.stderr_bytes,
            control_timeout: configuration.control_timeout,
            end_grace: configuration.end_grace,
            initialize: configuration.initialize,
            watchdog: configuration.watchdog,
        }
    }
}
