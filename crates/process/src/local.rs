//! A child process of this process.
//!
//! Each process has a writer task, a supervisor task, and one reader task per stream unless the
//! caller polls the [`StreamReaders`]. Only the supervisor owns the child and its exit status; the
//! handle sends requests to it and watches the results. The supervisor does not own the handle, so
//! dropping the last handle is a termination request.

mod fds;
mod input;
mod readers;
mod stream_reader;
mod streams;
mod supervisor;
mod termination_request;

use std::path::Path;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tracing::field::Empty;
use tracing::{Span, debug_span};

use crate::child::{Leader, Spawned, Tree, resolve, spawn};
use crate::configuration::{Configuration, LogLimits, Stdio, WindowSize};
use crate::containment::Containment;
use crate::error::{ResizeError, SignalError, SpawnError, WriteError};
use crate::exit::Exit;
use crate::log::SharedLog;
use crate::log::{Log, Overflow};
use crate::pty_system::{SessionTerminal, SharedMaster};
use crate::resource_usage::ResourceUsage;
use crate::session_id::SessionId;
use crate::signal::Signal;
use crate::stream::Stream;
use crate::sys;
use crate::terminal_state::TerminalState;
use crate::termination::{TerminationPolicy, TerminationReport};
use fds::{ParentFds, SharedFd};
use input::Input;
use stream_reader::StreamReader;
use streams::Streams;
use supervisor::Supervisor;
use termination_request::TerminationRequest;

pub use input::WriteReceipt;
pub use readers::StreamReaders;

/// A child process on pipes or on a terminal.
#[derive(Debug)]
pub struct LocalProcess {
    has_terminal: bool,
    level: Containment,
    leader: Arc<Leader>,
    /// Weak, so that the terminal closes with the child rather than with the last handle.
    console: Option<Weak<AsyncFd<std::os::fd::OwnedFd>>>,
    master: Option<Weak<SharedMaster>>,
    output: Arc<SharedLog>,
    errors: Arc<SharedLog>,
    input: Input,
    requests: watch::Sender<Option<TerminationPolicy>>,
    exit: watch::Receiver<Option<Exit>>,
    report: watch::Receiver<Option<TerminationReport>>,
}

impl LocalProcess {
    /// Starts the child.
    ///
    /// The streams must be read through the returned readers; when these are dropped, background
    /// tasks read the streams into their logs. Must be called inside a tokio runtime with I/O and
    /// time enabled.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] if the child cannot be started. No process, task or descriptor is left in
    /// that case.
    pub fn start(id: SessionId, what: &Configuration) -> Result<(Self, StreamReaders), SpawnError> {
        let span = spawn_span(id, what);
        let started = span.in_scope(|| Self::spawn(id, what));
        match &started {
            Ok((process, _)) => span.record("process.pid", process.pid()),
            Err(_) => span.record("error.type", "spawn_failed"),
        };
        started
    }

    fn spawn(id: SessionId, what: &Configuration) -> Result<(Self, StreamReaders), SpawnError> {
        let program = resolve(id, what)?;
        let Stdio::Pty { size, mode } = what.stdio else {
            let (parent_fds, child_fds) = fds::pipes()?;
            let spawned = spawn(id, what, program, child_fds)?;
            return Ok(Self::supervise(id, what, parent_fds, spawned));
        };
        let (terminal, master) = SessionTerminal::open(id, what, &program, (size, mode))?;
        let console = fds::console(master)?;
        let (spawned, ends) = terminal.spawn()?;
        let parent_fds = fds::terminal(console, ends);
        Ok(Self::supervise(id, what, parent_fds, spawned))
    }

    /// Starts a child that has no input and writes its answer to a single pipe: stdout, or
    /// descriptor [`sys::EXTRA`].
    pub(crate) fn start_answering(
        id: SessionId,
        what: &Configuration,
        on_stdout: bool,
    ) -> Result<(Self, StreamReaders), SpawnError> {
        let (parent_fds, child_fds) = fds::answering(on_stdout)?;
        let spawned = spawn(id, what, resolve(id, what)?, child_fds)?;
        Ok(Self::supervise(id, what, parent_fds, spawned))
    }

    fn supervise(
        id: SessionId,
        what: &Configuration,
        parent_fds: ParentFds,
        Spawned { child, handle }: Spawned,
    ) -> (Self, StreamReaders) {
        sys::ignore_write_signals();
        let limits = what.limits;
        let [output, errors] = logs(limits, what.stdio);
        let pid = child.pid;
        let terminal = parent_fds.terminal.as_ref();
        let console = terminal.map(|terminal| Arc::downgrade(&terminal.console));
        let master = terminal.map(|terminal| Arc::downgrade(&terminal.master));
        let level = handle.level();
        let leader = Arc::new(Leader::new(pid, console.clone(), handle.guard()));
        tracing::debug!(session = %id, pid = pid.as_raw_nonzero().get(), %level, "child started");

        let mut streams = parent_fds
            .terminal
            .map_or_else(Streams::default, |terminal| {
                Streams::of_terminal(terminal.master, terminal.slave)
            });
        let mut new_reader = |fd: SharedFd, log: &Arc<SharedLog>, console| {
            streams.add(Arc::clone(&fd), Arc::clone(log));
            StreamReader::new(fd, Arc::clone(log), console)
        };
        let output_reader = new_reader(parent_fds.output, &output, console.is_some());
        let errors_reader = parent_fds.errors.map(|fd| new_reader(fd, &errors, false));
        if errors_reader.is_none() {
            errors.close();
        }
        let readers = StreamReaders::new(output_reader, errors_reader);
        let (input, writer) = Input::start(parent_fds.input, console.is_some(), what.input);
        let (requests, requested) = watch::channel(None);
        let (exit_known, exit) = watch::channel(None);
        let (report_known, report) = watch::channel(None);
        let supervisor = Supervisor {
            id,
            leader: Arc::clone(&leader),
            end: sys::ExitWatch::new(child),
            tree: Tree::new(Arc::clone(&leader), handle, id),
            streams,
            output: Arc::clone(&output),
            errors: Arc::clone(&errors),
            input: input.clone(),
            writer,
            request: TerminationRequest::new(requested),
            exit: exit_known,
            report: report_known,
            memory: sys::OomCount::of(pid.as_raw_nonzero().get()),
            tree_killed: false,
        };
        tokio::spawn(supervisor.run());
        let has_terminal = console.is_some();
        let local = Self {
            has_terminal,
            level,
            leader,
            console,
            master,
            output,
            errors,
            input,
            requests,
            exit,
            report,
        };
        (local, readers)
    }
}

/// Returns the span of a spawn, which has the program's name and neither arguments nor environment.
fn spawn_span(id: SessionId, what: &Configuration) -> Span {
    let name = Path::new(&what.program).file_name().unwrap_or_default();
    debug_span!(
        "spawn",
        session.id = %id,
        process.executable.name = %name.display(),
        process.pid = Empty,
        error.type = Empty,
    )
}

/// Returns the logs of stdout and stderr.
fn logs(limits: LogLimits, stdio: Stdio) -> [Arc<SharedLog>; 2] {
    let output = Log::new(limits.output_bytes, limits.output_overflow(stdio));
    let errors = Log::new(limits.errors_bytes, Overflow::DropOldest);
    [output, errors].map(|log| SharedLog::new(log.with_history(limits.history_bytes)))
}

impl LocalProcess {
    /// Returns the child's process id. After the child has ended the number may be reused; use
    /// [`signal`](Self::signal), which checks.
    pub fn pid(&self) -> u32 {
        self.leader.pid().as_raw_nonzero().get().cast_unsigned()
    }

    /// Returns whether the child runs on a terminal rather than on pipes.
    pub fn has_terminal(&self) -> bool {
        self.has_terminal
    }

    /// Returns the mechanism that contains the child and its descendants.
    pub fn containment(&self) -> Containment {
        self.level
    }

    /// Returns the log of a stream.
    pub fn log(&self, stream: Stream) -> &Arc<SharedLog> {
        match stream {
            Stream::Output => &self.output,
            Stream::Errors => &self.errors,
        }
    }

    /// Queues bytes for the child's input.
    ///
    /// # Errors
    ///
    /// [`WriteError`] when the input is closed, the child has ended, or the queue is full.
    pub fn write(&self, bytes: Bytes) -> Result<WriteReceipt, WriteError> {
        self.input.write(bytes)
    }

    /// Closes the child's input after the queued writes.
    ///
    /// # Errors
    ///
    /// [`WriteError::NoEndOfInput`] on a terminal, else as [`write`](Self::write).
    pub fn close_input(&self) -> Result<WriteReceipt, WriteError> {
        self.input.close()
    }

    /// Sets the terminal's size; the kernel sends SIGWINCH if it differs.
    ///
    /// # Errors
    ///
    /// [`ResizeError::NotATerminal`] on pipes, [`ResizeError::Ended`] after the end.
    pub fn resize(&self, size: WindowSize) -> Result<(), ResizeError> {
        let master = self.master.as_ref().ok_or(ResizeError::NotATerminal)?;
        let master = master.upgrade().ok_or(ResizeError::Ended)?;
        Ok(master.resize(size)?)
    }

    /// Sends a signal to the child's process group, on a terminal to the foreground group.
    ///
    /// # Errors
    ///
    /// [`SignalError::Ended`] after the end.
    pub fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.leader.signal(signal.native())
    }

    /// Returns the state of the child's terminal; `None` on pipes and after the end.
    pub fn terminal_state(&self) -> Option<TerminalState> {
        let console = self.console.as_ref()?.upgrade()?;
        Some(sys::terminal_state(console.get_ref()))
    }

    /// Returns the number of queued input bytes that the kernel has not accepted yet.
    pub fn queued_input(&self) -> usize {
        self.input.queued()
    }

    /// Returns a watch that holds the child's exit once both streams are in their logs.
    pub fn exit(&self) -> watch::Receiver<Option<Exit>> {
        self.exit.clone()
    }

    /// Ends the child and all of its descendants. Idempotent; a later call with shorter grace periods
    /// shortens those of the termination in progress.
    pub fn terminate(
        &self,
        policy: TerminationPolicy,
    ) -> watch::Receiver<Option<TerminationReport>> {
        self.requests.send_modify(|requested| {
            *requested = Some(requested.map_or(policy, |before| before.strictest(policy)));
        });
        self.report.clone()
    }

    /// Returns the resource usage of the process tree, which takes a scan of the process table. `None`
    /// after the end and on systems other than Linux.
    pub fn resource_usage(&self, id: SessionId) -> Option<ResourceUsage> {
        let leader = self.leader.is_ours().then(|| self.leader.pid())?;
        ResourceUsage::of_tree(leader, id)
    }
}
