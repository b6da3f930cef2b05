//! The shim process.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bowline_transport::{TerminalEngine, TerminalSession};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tracing::warn;

use super::connect::is_ours;
use super::handshake::{SpawnFault, StartReply, StartRequest, receive, send};
use super::hooks;
use super::info::ChildStart;
use super::spawn::HANDSHAKE_TIMEOUT;
use super::state_dir::SessionLock;
use super::{SessionDir, SessionInfo, SessionPhase, SessionSpec};
use crate::session::{Child, SessionHandle, SessionJournal, SessionStart, SessionStatus, wall_ms};
use crate::session_machine::{MachineConfiguration, OverflowPolicy, StreamConfiguration};
use crate::wire::{
    Epoch, ExitNotice, SessionFacts, SessionKind, SessionState, StdioKind, StreamId,
};
use bowline_transport::UnixConnection;

/// Maximal bytes of the shim's log.
const MAX_LOG_BYTES: u64 = 64 * 1024;

/// Bytes of the audit log that are kept in memory.
const AUDIT_LOG_BYTES: usize = 64 * 1024;

/// Maximal bytes of a dialogue's input that are kept in memory.
const INPUT_BYTES: usize = 256 * 1024;

/// Pause after a failure of accept(2), such as a lack of descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Interval of the check that the session's directory still exists.
const DIRECTORY_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Runs a session from its start to its end, in a process that was started by
/// [`spawn_shim`](crate::spawn_shim).
///
/// Call it early in `main`, after [`run_guard`](bowline_transport::run_guard) and before any thread
/// is started. The request arrives on the standard input.
pub fn run_shim() -> ExitCode {
    let Ok(starter) = detach() else {
        return ExitCode::FAILURE;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    match runtime.block_on(run_session(starter)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Moves the process to a session of its own (setsid(2)) and replaces its standard streams; returns
/// the socket that was its standard input.
fn detach() -> io::Result<std::os::unix::net::UnixStream> {
    // Fails for a process group leader (setsid(2)), which stays in its session.
    let _ = rustix::process::setsid();
    let link: OwnedFd = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(link.into())
}

async fn run_session(starter: std::os::unix::net::UnixStream) -> io::Result<()> {
    starter.set_nonblocking(true)?;
    let mut starter = UnixStream::from_std(starter)?;
    if !is_ours(&starter)? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let request: StartRequest = timeout(HANDSHAKE_TIMEOUT, receive(&mut starter)).await??;
    let folder = SessionDir::at(request.spec.id, request.folder);
    match Shim::start(&request.spec, folder).await {
        Ok(mut shim) => {
            let (pid, epoch) = (shim.info.pid, shim.info.epoch);
            if send(&mut starter, &StartReply::Ready { pid, epoch })
                .await
                .is_err()
            {
                // The starter is gone, so no client will ever know of the session.
                return shim.discard().await;
            }
            drop(starter);
            shim.run().await
        }
        Err(failed) => send(&mut starter, &failed).await,
    }
}

/// A running session.
struct Shim {
    folder: SessionDir,
    info: SessionInfo,
    listener: UnixListener,
    host: SessionHandle,
    signals: [Signal; 3],
    _lock: SessionLock,
}

impl Shim {
    /// Starts the child, as the last step that can fail.
    async fn start(spec: &SessionSpec, folder: SessionDir) -> Result<Self, StartReply> {
        let failed = |error: io::Error| StartReply::Failed {
            fault: SpawnFault::Folder,
            reason: format!(
                "cannot use {:?}: {error}; check the directory",
                folder.path()
            ),
        };
        let lock = folder.lock().map_err(failed)?;
        redirect_stderr(&folder).map_err(failed)?;
        let listener = listen(&folder).map_err(failed)?;
        let signals = shutdown_signals().map_err(failed)?;
        let epoch = Epoch::random();
        let started_ms = wall_ms();
        let journal = spec.journal.on.then(|| {
            SessionJournal::create(folder.journal(), spec.journal.cap_bytes, epoch, started_ms)
        });
        let journal = journal.transpose().map_err(failed)?;
        let mut configuration = spec.configuration(own_executable());
        let hooks = match &spec.hooks {
            Some(hooks) => Some(hooks::serve(hooks, &folder, &mut configuration).await?),
            None => None,
        };
        let session = TerminalEngine.make_session(configuration);
        let session = session.map_err(|error| StartReply::Failed {
            fault: SpawnFault::from(&error),
            reason: error.to_string(),
        })?;
        let start = ChildStart {
            epoch,
            pid: session.pid(),
            containment: session.containment(),
            has_journal: journal.is_some(),
            started_ms,
        };
        let info = SessionInfo::new(spec, start);
        folder.write_info(&info).map_err(failed)?;
        // Keeps no directory busy that is to be unmounted.
        let _ = rustix::process::chdir("/");
        let configuration = machine_configuration(spec, epoch, &session);
        let child = Child::of(session, spec.is_on_terminal());
        let start = SessionStart {
            decisions: &spec.decisions,
            hooks,
            scrollback_lines: spec.scrollback(),
        };
        let host = SessionHandle::spawn(configuration, child, journal, start);
        Ok(Self {
            folder,
            info,
            listener,
            host,
            signals,
            _lock: lock,
        })
    }

    /// Ends the session and removes its directory. From the beginning on it has no record, so that no daemon finds
    /// a session that will be gone in a moment.
    async fn discard(self) -> io::Result<()> {
        self.folder.remove_info()?;
        drop(self.listener);
        self.host.stop().await;
        let mut status = self.host.status();
        // An error means that the session's task panicked, and the guard ends the child.
        let _ = status.wait_for(|status| status.is_over).await;
        self.folder.remove()
    }

    /// Accepts clients until the session is over, then records its end.
    async fn run(&mut self) -> io::Result<()> {
        let mut status = self.host.status();
        let mut check = interval(DIRECTORY_CHECK_INTERVAL);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let [hangup, interrupt, terminate] = &mut self.signals;
            tokio::select! {
                changed = status.changed() => {
                    if changed.is_err() {
                        return Err(io::Error::other("the session's task panicked"));
                    }
                    let SessionStatus { exit, is_over } = status.borrow_and_update().clone();
                    self.write_status(exit.as_deref().cloned(), is_over);
                    if is_over {
                        let _ = std::fs::remove_file(self.folder.socket());
                        return Ok(());
                    }
                }
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if is_ours(&stream).unwrap_or(false) => {
                        if let Ok(stream) = UnixConnection::new(stream) {
                            self.host.connect(stream).await;
                        }
                    }
                    Ok(_) => {}
                    Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
                },
                _ = check.tick() => self.check_directory().await,
                // SIGHUP requests an immediate check.
                _ = hangup.recv() => self.check_directory().await,
                _ = interrupt.recv() => self.host.stop().await,
                _ = terminate.recv() => self.host.stop().await,
            }
        }
    }

    /// Ends the session if its directory was removed, since no client can find it any more: once
    /// the connected clients are gone.
    async fn check_directory(&self) {
        let found = std::fs::symlink_metadata(self.folder.socket());
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            self.host.stop_if_unattached().await;
        }
    }

    /// Records the session's progress. If the disk is full, the session continues unrecorded.
    fn write_status(&mut self, exit: Option<ExitNotice>, is_over: bool) {
        self.info.phase = match (&exit, is_over) {
            (_, true) => SessionPhase::Closed,
            (Some(_), false) => SessionPhase::Exited,
            (None, false) => SessionPhase::Running,
        };
        if exit.is_some() && self.info.exit.is_none() {
            self.info.ended_ms = Some(wall_ms());
        }
        self.info.exit = exit;
        if let Err(error) = self.folder.write_info(&self.info) {
            warn!(session.id = %self.info.id, %error, "cannot record the session's status");
        }
    }
}

fn machine_configuration(
    spec: &SessionSpec,
    epoch: Epoch,
    session: &TerminalSession,
) -> MachineConfiguration {
    let (stdio, ids) = if spec.is_on_terminal() {
        (StdioKind::Pty, vec![StreamId::TTY])
    } else {
        (StdioKind::Pipes, vec![StreamId::STDOUT, StreamId::STDERR])
    };
    // Not that of a terminal, where people type passwords.
    let records_input = stdio == StdioKind::Pipes && spec.kind == SessionKind::Dialogue;
    let ring_bytes = spec.ring();
    let stream = |id| StreamConfiguration {
        id,
        policy: if spec.blocks() && id != StreamId::STDERR {
            OverflowPolicy::Block
        } else {
            OverflowPolicy::DropOldest
        },
        ring_bytes,
    };
    let audit_log = StreamConfiguration {
        id: StreamId::LIFECYCLE,
        policy: OverflowPolicy::DropOldest,
        ring_bytes: AUDIT_LOG_BYTES,
    };
    let input = StreamConfiguration {
        id: StreamId::INPUT,
        policy: OverflowPolicy::DropOldest,
        ring_bytes: ring_bytes.min(INPUT_BYTES),
    };
    let control = StreamConfiguration {
        id: StreamId::CONTROL,
        ..input
    };
    let hooks = spec.hooks.is_some().then_some(StreamConfiguration {
        id: StreamId::HOOKS,
        ..input
    });
    MachineConfiguration {
        session: spec.id,
        epoch,
        facts: SessionFacts {
            kind: spec.kind,
            stdio,
            pid: session.pid(),
            size: spec.size(),
            containment: session.containment(),
            state: SessionState::Running,
        },
        streams: ids
            .into_iter()
            .map(stream)
            .chain([audit_log])
            .chain(hooks)
            .chain(
                records_input
                    .then_some([input, control])
                    .into_iter()
                    .flatten(),
            )
            .collect(),
        has_screen: spec.has_screen(),
        exit_retention: spec.exit_kept_ms.map(Duration::from_millis),
    }
}

/// Listens on a socket that only its owner can connect to.
fn listen(folder: &SessionDir) -> io::Result<UnixListener> {
    let path = folder.socket();
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn shutdown_signals() -> io::Result<[Signal; 3]> {
    Ok([
        signal(SignalKind::hangup())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    ])
}

/// Returns the path of this program, valid even after its file was replaced (proc_pid_exe(5)).
fn own_executable() -> Option<PathBuf> {
    if cfg!(target_os = "linux") {
        return Some("/proc/self/exe".into());
    }
    std::env::current_exe().ok()
}

/// Redirects the standard error stream, which receives panics and log lines, to a file of limited
/// size.
fn redirect_stderr(folder: &SessionDir) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options
        .append(true)
        .create(true)
        .mode(0o600)
        .open(folder.log_path())?;
    rustix::stdio::dup2_stderr(&file)?;
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if log_has_room() {
            usual(panic);
        }
    }));
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        // They are printed with `eprintln!`, which panics when the disk is full.
        .log_internal_errors(false)
        .with_writer(|| BoundedLog);
    // Fails if the program has installed a subscriber of its own.
    let _ = log.try_init();
    Ok(())
}

/// The standard error stream, which drops what exceeds [`MAX_LOG_BYTES`] and what cannot be written:
/// the log must not affect the session.
struct BoundedLog;

impl Write for BoundedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if log_has_room() {
            let _ = io::stderr().lock().write_all(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn log_has_room() -> bool {
    let file = rustix::fs::fstat(rustix::stdio::stderr());
    file.is_ok_and(|it| u64::try_from(it.st_size).is_ok_and(|size| size < MAX_LOG_BYTES))
}
