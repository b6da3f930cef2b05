//! Sessions whose child is a child of this process.
//!
//! Tasks per session: one writer, one supervisor, and one pump for each stream unless the session's
//! owner reads them itself ([`Tap`](crate::Tap)). The supervisor alone
//! owns the child and its end; the handle sends it requests and watches its answers. It does not
//! own the handle, so the last handle's drop is itself a request.

mod demand;
mod guardian;
mod hold;
mod input;
mod leader;
mod pump;
mod spawn;
mod streams;
mod supervisor;
mod tap;
mod tree;
mod vitals;
mod wires;

use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use crate::configuration::{Configuration, LogLimits, Stdio, WindowSize};
use crate::connection::ConnectionState;
use crate::containment::Containment;
use crate::error::{ResizeError, SignalError, SpawnError, WriteError};
use crate::exit::Exit;
use crate::ladder::{Ladder, TerminationReport};
use crate::log::shared::SharedLog;
use crate::log::{Log, Overflow};
use crate::session::{Kind, Receipt, SessionId, Stream, Terminal};
use crate::signal::Signal;
use crate::sys;
use crate::tap::Tap;
use crate::tty::Tty;
use crate::vitals::Vitals;
use demand::Demand;
use input::Input;
use pump::Mouth;
use streams::Streams;
use supervisor::Supervisor;
use wires::{Theirs, Wires};

pub(crate) use leader::Leader;
pub(crate) use spawn::{Born, spawn};
pub(crate) use tap::Mouths;
pub use tree::MARKER;
#[cfg(target_os = "linux")]
pub(crate) use tree::with_descendants;
pub(crate) use tree::{Round, Tree};

/// A descriptor that the runtime watches. Shared by the tasks that need it; closed when the last
/// of them lets go.
type Wire = Arc<AsyncFd<std::os::fd::OwnedFd>>;

/// A session on this machine, on pipes or on a terminal.
#[derive(Debug)]
pub(crate) struct Local {
    kind: Kind,
    level: Containment,
    leader: Arc<Leader>,
    /// Weak, so that the terminal closes with the child and not with the last handle.
    console: Option<Weak<AsyncFd<std::os::fd::OwnedFd>>>,
    output: Arc<SharedLog>,
    errors: Arc<SharedLog>,
    input: Input,
    requests: watch::Sender<Option<Ladder>>,
    exit: watch::Receiver<Option<Exit>>,
    report: watch::Receiver<Option<TerminationReport>>,
    connection: watch::Sender<ConnectionState>,
}

impl Local {
    /// Starts the child. Until it lives nothing is spawned, so a failure leaves nothing behind.
    /// The streams are to be read, by the tap or by those who take its place when it is dropped.
    pub(crate) fn start(id: SessionId, what: &Configuration) -> Result<(Self, Tap), SpawnError> {
        Self::begin(id, what, wires::open(what.stdio)?)
    }

    /// As [`start`](Self::start), for a child that only answers.
    pub(crate) fn start_answering(
        id: SessionId,
        what: &Configuration,
        on_stdout: bool,
    ) -> Result<(Self, Tap), SpawnError> {
        Self::begin(id, what, wires::answering(on_stdout)?)
    }

    fn begin(
        id: SessionId,
        what: &Configuration,
        (wires, theirs): (Wires, Theirs),
    ) -> Result<(Self, Tap), SpawnError> {
        sys::ignore_broken_pipes();
        let limits = what.limits;
        let [output, errors] = logs(limits, what.stdio);
        let Born { child, hold } = spawn(id, what, theirs)?;
        let pid = child.pid;
        let console = wires.console.as_ref().map(Arc::downgrade);
        let level = hold.level();
        let leader = Arc::new(Leader::new(pid, console.clone(), hold.guard().cloned()));
        tracing::debug!(session = %id, pid = pid.as_raw_nonzero().get(), %level, "child started");

        let mut streams = Streams::keeping(wires.peer);
        let mut mouth = |wire: Wire, log: &Arc<SharedLog>, console| {
            streams.add(Arc::clone(&wire), Arc::clone(log));
            Mouth::new(wire, Arc::clone(log), console)
        };
        let output_mouth = mouth(wires.output, &output, console.is_some());
        let errors_mouth = wires.errors.map(|wire| mouth(wire, &errors, false));
        if errors_mouth.is_none() {
            errors.close();
        }
        let tap = Tap::of_descriptors(Mouths::new(output_mouth, errors_mouth));
        let (input, writer) = Input::start(wires.input, console.is_some(), what.input);
        let (requests, asked) = watch::channel(None);
        let (exit_known, exit) = watch::channel(None);
        let (report_known, report) = watch::channel(None);
        let supervisor = Supervisor {
            id,
            leader: Arc::clone(&leader),
            end: sys::ExitWatch::new(child),
            tree: Tree::new(Arc::clone(&leader), hold, id),
            streams,
            output: Arc::clone(&output),
            errors: Arc::clone(&errors),
            input: input.clone(),
            writer,
            demand: Demand::new(asked),
            exit: exit_known,
            report: report_known,
            memory: sys::OomCount::of(pid.as_raw_nonzero().get()),
            swept: false,
        };
        tokio::spawn(supervisor.run());
        let kind = match what.stdio {
            Stdio::Pipes => Kind::LocalPipes,
            Stdio::Pty { .. } => Kind::LocalPty,
        };
        let connection = watch::Sender::new(ConnectionState::Connected);
        let local = Self {
            kind,
            level,
            leader,
            console,
            output,
            errors,
            input,
            requests,
            exit,
            report,
            connection,
        };
        Ok((local, tap))
    }
}

/// The logs of output and errors.
fn logs(limits: LogLimits, stdio: Stdio) -> [Arc<SharedLog>; 2] {
    let output = Log::new(limits.output_bytes, limits.output_overflow(stdio));
    let errors = Log::new(limits.errors_bytes, Overflow::DropOldest);
    [output, errors].map(|log| SharedLog::new(log.with_history(limits.history_bytes)))
}

impl Terminal for Local {
    fn pid(&self) -> Option<u32> {
        Some(self.leader.pid().as_raw_nonzero().get().cast_unsigned())
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn containment(&self) -> Containment {
        self.level
    }

    fn log(&self, stream: Stream) -> &Arc<SharedLog> {
        match stream {
            Stream::Output => &self.output,
            Stream::Errors => &self.errors,
        }
    }

    fn write(&self, bytes: Bytes) -> Result<Receipt, WriteError> {
        self.input.write(bytes)
    }

    fn close_input(&self) -> Result<Receipt, WriteError> {
        self.input.close()
    }

    fn resize(&self, size: WindowSize) -> Result<(), ResizeError> {
        let console = self.console.as_ref().ok_or(ResizeError::NotATerminal)?;
        let console = console.upgrade().ok_or(ResizeError::Ended)?;
        Ok(sys::resize(console.get_ref(), size)?)
    }

    fn signal(&self, signal: Signal) -> Result<(), SignalError> {
        self.leader.signal(signal.native())
    }

    fn tty(&self) -> Option<Tty> {
        let console = self.console.as_ref()?.upgrade()?;
        Some(sys::tty(console.get_ref()))
    }

    fn queued_input(&self) -> usize {
        self.input.queued()
    }

    fn exit(&self) -> watch::Receiver<Option<Exit>> {
        self.exit.clone()
    }

    fn terminate(&self, ladder: Ladder) -> watch::Receiver<Option<TerminationReport>> {
        self.requests.send_modify(|asked| {
            *asked = Some(asked.map_or(ladder, |before| before.harder(ladder)));
        });
        self.report.clone()
    }

    fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.connection.subscribe()
    }

    fn vitals(&self, id: SessionId) -> Option<Vitals> {
        let leader = self.leader.is_ours().then(|| self.leader.pid())?;
        vitals::of_tree(leader, id)
    }
}
