//! The handle of a remote session. It sends commands to the session's task.

use std::sync::Arc;
use std::{fmt, io};

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};

use super::dialogue_log::DialogueLog;
use crate::connection::{ConnectionState, ReconnectFailed, RetryError};
use crate::connection_states::{ConnectionStates, StateHistory};
use crate::screen::Screen;
use crate::session::{Kind, Terminal};
use bowline_journal::Arrival;
use bowline_process::Containment;
use bowline_process::Exit;
use bowline_process::ResourceUsage;
use bowline_process::Signal;
use bowline_process::TerminalState;
use bowline_process::WindowSize;
use bowline_process::log::SharedLog;
use bowline_process::{ByteBudget, ReservedBytes};
use bowline_process::{ResizeError, SignalError, WriteError};
use bowline_process::{SessionId, Stream, WriteReceipt};
use bowline_process::{TerminationPolicy, TerminationReport};
use bowline_wire::{Attached, Lease, Prompt, PromptStatus, StdioKind, StreamId};

/// Completes a write.
pub(super) type Done = oneshot::Sender<Result<(), WriteError>>;

/// A command of a handle to the session's task.
pub(super) enum Command {
    Write(Bytes, ReservedBytes, Done),
    Close(Done),
    Prompt(Prompt, oneshot::Sender<PromptStatus>),
    Resize(WindowSize),
    Signal(Signal),
    Kill(TerminationPolicy),
    Retry,
    Detach,
}

/// The logs of a session.
#[derive(Clone, Debug)]
pub(super) struct Logs {
    pub(super) output: Arc<SharedLog>,
    pub(super) errors: Arc<SharedLog>,
    /// The input and the arrivals, for a reader of a dialogue.
    pub(super) dialogue: Option<Arc<DialogueLog>>,
}

impl Logs {
    pub(super) fn of(&self, stream: StreamId) -> &Arc<SharedLog> {
        match (stream, self.dialogue.as_deref()) {
            (StreamId::STDERR, _) => &self.errors,
            (StreamId::INPUT, Some(dialogue)) => &dialogue.input,
            (
                StreamId::CONTROL,
                Some(DialogueLog {
                    control: Some(control),
                    ..
                }),
            ) => control,
            _ => &self.output,
        }
    }

    /// Appends bytes of a stream with their arrival.
    pub(super) fn push(&self, stream: StreamId, bytes: Bytes, arrival: Arrival, is_replay: bool) {
        let log = self.of(stream);
        if let Some(dialogue) = &self.dialogue {
            dialogue.arrived(stream, log.end(), arrival);
        }
        log.push_received(&bytes, is_replay);
    }

    /// Closes all logs.
    pub(super) fn close(&self) {
        self.output.close();
        self.errors.close();
        self.end_input();
        self.end_control();
    }

    /// Marks the end of the input.
    pub(super) fn end_input(&self) {
        if let Some(dialogue) = &self.dialogue {
            dialogue.input.close();
        }
    }

    /// Returns the log of the control stream, if it is received.
    pub(super) fn control(&self) -> Option<&Arc<SharedLog>> {
        self.dialogue.as_ref()?.control.as_ref()
    }

    /// Marks the end of the control stream.
    pub(super) fn end_control(&self) {
        if let Some(control) = self.control() {
            control.close();
        }
    }

    /// No longer waits for slow readers.
    pub(super) fn drop_oldest(&self) {
        self.output.drop_oldest();
        if let Some(dialogue) = &self.dialogue {
            dialogue.input.drop_oldest();
        }
        if let Some(control) = self.control() {
            control.drop_oldest();
        }
    }
}

/// The state that the session's task publishes to its handles.
#[derive(Clone, Debug)]
pub(super) struct SessionUpdates {
    pub(super) exit: watch::Receiver<Option<Exit>>,
    pub(super) report: watch::Receiver<Option<TerminationReport>>,
    pub(super) state: watch::Receiver<ConnectionState>,
    pub(super) states: watch::Receiver<StateHistory>,
    pub(super) screen: watch::Receiver<Option<Screen>>,
}

/// A session whose child belongs to another process. Dropping the last handle detaches; the session
/// keeps running.
pub(super) struct RemoteTerminal {
    /// The reply to the first attach.
    pub(super) attached: Attached,
    pub(super) lease: Lease,
    pub(super) logs: Logs,
    pub(super) budget: Arc<ByteBudget>,
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) updates: SessionUpdates,
}

impl RemoteTerminal {
    fn command<E>(&self, command: Command, ended: E) -> Result<(), E> {
        self.commands.send(command).map_err(|_| ended)
    }

    fn has_ended(&self) -> bool {
        self.updates.exit.borrow().is_some()
    }
}

impl fmt::Debug for RemoteTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteTerminal")
            .field("facts", &self.attached.info)
            .finish_non_exhaustive()
    }
}

impl Terminal for RemoteTerminal {
    fn pid(&self) -> Option<u32> {
        self.attached.info.pid
    }

    fn kind(&self) -> Kind {
        match self.attached.info.stdio {
            StdioKind::Pipes => Kind::RemotePipes,
            StdioKind::Pty => Kind::RemotePty,
        }
    }

    fn containment(&self) -> Containment {
        self.attached.info.containment
    }

    fn log(&self, stream: Stream) -> &Arc<SharedLog> {
        match stream {
            Stream::Output => &self.logs.output,
            Stream::Errors => &self.logs.errors,
        }
    }

    fn write(&self, bytes: Bytes) -> Result<WriteReceipt, WriteError> {
        let reserved = self.budget.reserve(bytes.len())?;
        let (done, receipt) = oneshot::channel();
        self.command(Command::Write(bytes, reserved, done), WriteError::Ended)?;
        Ok(receipt)
    }

    fn close_input(&self) -> Result<WriteReceipt, WriteError> {
        if self.attached.info.stdio == StdioKind::Pty {
            return Err(WriteError::NoEndOfInput);
        }
        let (done, receipt) = oneshot::channel();
        self.command(Command::Close(done), WriteError::Ended)?;
        Ok(receipt)
    }

    fn resize(&self, size: WindowSize) -> Result<(), ResizeError> {
        if self.attached.info.stdio == StdioKind::Pipes {
            return Err(ResizeError::NotATerminal);
        }
        if self.has_ended() {
            return Err(ResizeError::Ended);
        }
        self.command(Command::Resize(size), ResizeError::Ended)
    }

    fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        if self.has_ended() {
            return Err(SignalError::Ended);
        }
        self.command(Command::Signal(signal), SignalError::Ended)
    }

    fn terminal_state(&self) -> Option<TerminalState> {
        None
    }

    fn queued_input(&self) -> usize {
        self.budget.waiting()
    }

    fn exit(&self) -> watch::Receiver<Option<Exit>> {
        self.updates.exit.clone()
    }

    fn terminate(&self, policy: TerminationPolicy) -> watch::Receiver<Option<TerminationReport>> {
        // A task that has ended has already published its report.
        let _ = self.commands.send(Command::Kill(policy));
        self.updates.report.clone()
    }

    fn connection(&self) -> watch::Receiver<ConnectionState> {
        // Only later changes count as changes.
        let mut state = self.updates.state.clone();
        state.mark_unchanged();
        state
    }

    fn connection_states(&self) -> ConnectionStates {
        ConnectionStates::new(self.updates.states.clone(), self.exit())
    }

    fn retry(&self) -> Result<(), RetryError> {
        match &*self.updates.state.borrow() {
            ConnectionState::Failed(ReconnectFailed { failure, .. }) => {
                let failure = *failure;
                self.command(Command::Retry, RetryError::Hopeless { failure })
            }
            _ => Err(RetryError::NotFailed),
        }
    }

    fn resource_usage(&self, _: SessionId) -> Option<ResourceUsage> {
        None
    }

    fn prompt(&self, prompt: Prompt) -> Result<oneshot::Receiver<PromptStatus>, WriteError> {
        // The runner would end each connection on which it is sent.
        if !prompt.fits() {
            let why = format!(
                "a prompt of {} bytes is too large, send less",
                prompt.bytes.len()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why).into());
        }
        let (answer, status) = oneshot::channel();
        self.command(Command::Prompt(prompt, answer), WriteError::Ended)?;
        Ok(status)
    }

    fn detach(&self) -> bool {
        // A task that has ended is detached.
        let _ = self.commands.send(Command::Detach);
        true
    }

    fn writes_by_id(&self) -> bool {
        self.lease == Lease::Append
    }

    fn joined_at(&self, stream: Stream) -> u64 {
        let streams = self.attached.streams.iter();
        let mut ends = streams.filter(|(id, _)| id.output() == Some(stream));
        ends.next().map_or(0, |(_, extent)| extent.end)
    }

    fn input_at_attach(&self) -> Option<u64> {
        self.logs.dialogue.as_ref()?;
        let input = self.attached.streams.get(&StreamId::INPUT)?;
        Some(input.end)
    }

    fn control_at_attach(&self) -> Option<u64> {
        self.logs.control()?;
        let control = self.attached.streams.get(&StreamId::CONTROL)?;
        Some(control.end)
    }

    fn hooks_at_attach(&self) -> Option<u64> {
        let hooks = self.attached.streams.get(&StreamId::HOOKS)?;
        Some(hooks.end)
    }

    fn screen(&self) -> watch::Receiver<Option<Screen>> {
        self.updates.screen.clone()
    }
}
