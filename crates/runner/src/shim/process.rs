//! The process that is a shim.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bowline_transport::{TerminalEngine, TerminalSession};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::handshake::{Answer, Order, SpawnFault, hear, say};
use super::info::Birth;
use super::spawn::PATIENCE;
use super::state_dir::is_ours;
use super::{SessionDir, SessionInfo, SessionPhase, SessionSpec};
use crate::blocking::spawn_or_run;
use crate::session::{Child, SessionHandle, SessionJournal, SessionStatus, wall_ms};
use crate::session_machine::{MachineConfiguration, OverflowPolicy, StreamConfiguration};
use crate::unix_connection::UnixConnection;
use crate::wire::{Epoch, ExitNotice, SessionFacts, SessionState, StdioKind, StreamId};

/// Bytes of complaints that are kept.
const COMPLAINTS: u64 = 64 * 1024;

/// Bytes of the chronicle that are kept in memory.
const CHRONICLE_BYTES: usize = 64 * 1024;

/// After a failure to accept a connection, such as for want of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a shim looks whether its folder is there still.
const LOOK: Duration = Duration::from_secs(60);

/// Owns one session from its start to its end: what a program does that was started by
/// [`spawn_shim`](crate::spawn_shim). To be called early in `main`, right behind
/// [`run_guard`](bowline_transport::run_guard), before any thread is started; the order comes over
/// the standard input.
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
    match runtime.block_on(serve(starter)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Leaves the session, the terminal and the streams of who started this process, but for the link
/// to it.
fn detach() -> io::Result<std::os::unix::net::UnixStream> {
    // Fails for the leader of a group, which has no terminal to lose that others would not.
    let _ = rustix::process::setsid();
    let link: OwnedFd = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(link.into())
}

async fn serve(starter: std::os::unix::net::UnixStream) -> io::Result<()> {
    starter.set_nonblocking(true)?;
    let mut starter = UnixStream::from_std(starter)?;
    if !is_ours(&starter)? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let order: Order = timeout(PATIENCE, hear(&mut starter)).await??;
    let folder = SessionDir::at(order.spec.id, order.folder);
    match Shim::start(&order.spec, folder) {
        Ok(mut shim) => {
            let (pid, epoch) = (shim.info.pid, shim.info.epoch);
            if say(&mut starter, &Answer::Ready { pid, epoch })
                .await
                .is_err()
            {
                // Nobody knows of the session, and nobody ever will.
                shim.host.stop().await;
                shim.run().await?;
                return shim.folder.remove();
            }
            drop(starter);
            // Nobody who wants a session waits for the disk.
            let folder = shim.folder.clone();
            spawn_or_run(move || {
                // What cannot be kept through a power failure is still there without one.
                let _ = folder.keep_info();
            });
            shim.run().await
        }
        Err(failed) => say(&mut starter, &failed).await,
    }
}

/// A session that runs.
struct Shim {
    folder: SessionDir,
    info: SessionInfo,
    listener: UnixListener,
    host: SessionHandle,
    polite: [Signal; 3],
}

impl Shim {
    /// Starts the child, as the last thing that can fail.
    fn start(spec: &SessionSpec, folder: SessionDir) -> Result<Self, Answer> {
        let failed = |error: io::Error| Answer::Failed {
            fault: SpawnFault::Folder,
            reason: format!("use {:?}: {error}, check the folder", folder.path()),
        };
        complain_to(&folder).map_err(failed)?;
        let listener = listen(&folder).map_err(failed)?;
        let polite = polite_signals().map_err(failed)?;
        let epoch = Epoch::random();
        let started_ms = wall_ms();
        let journal = spec.journal.on.then(|| {
            SessionJournal::create(folder.journal(), spec.journal.cap_bytes, epoch, started_ms)
        });
        let journal = journal.transpose().map_err(failed)?;
        let session = TerminalEngine.make_session(spec.configuration(guard()));
        let session = session.map_err(|error| Answer::Failed {
            fault: SpawnFault::from(&error),
            reason: error.to_string(),
        })?;
        let birth = Birth {
            epoch,
            pid: session.pid(),
            containment: session.containment(),
            has_journal: journal.is_some(),
            started_ms,
        };
        let info = SessionInfo::new(spec, birth);
        folder.write_info_for_now(&info).map_err(failed)?;
        // Holds no directory that somebody may want to unmount.
        let _ = rustix::process::chdir("/");
        let configuration = core_configuration(spec, epoch, &session);
        let child = Child::of(session, spec.is_on_terminal());
        let host = SessionHandle::spawn(configuration, child, journal);
        Ok(Self {
            folder,
            info,
            listener,
            host,
            polite,
        })
    }

    /// Lets clients in until the session is over, and leaves its tombstone.
    async fn run(&mut self) -> io::Result<()> {
        let mut state = self.host.status();
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let [hang_up, interrupt, terminate] = &mut self.polite;
            tokio::select! {
                changed = state.changed() => {
                    if changed.is_err() {
                        return Err(io::Error::other("the session's task is gone"));
                    }
                    let SessionStatus { exit, is_over } = state.borrow_and_update().clone();
                    self.record(exit.as_deref().cloned(), is_over);
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
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                _ = look.tick() => self.look().await,
                // Somebody closed a terminal that is none of ours, or wants us to look at once.
                _ = hang_up.recv() => self.look().await,
                _ = interrupt.recv() => self.host.stop().await,
                _ = terminate.recv() => self.host.stop().await,
            }
        }
    }

    /// A session whose folder was removed can be found by nobody. It goes on for those who are
    /// there, and ends behind them.
    async fn look(&self) {
        let found = std::fs::symlink_metadata(self.folder.socket());
        if found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            self.host.stop_if_unattached().await;
        }
    }

    /// Writes down how far the session has come. On a full disk it is not: the session goes on.
    fn record(&mut self, exit: Option<ExitNotice>, is_over: bool) {
        self.info.phase = match (&exit, is_over) {
            (_, true) => SessionPhase::Buried,
            (Some(_), false) => SessionPhase::Exited,
            (None, false) => SessionPhase::Running,
        };
        if exit.is_some() && self.info.exit.is_none() {
            self.info.ended_ms = Some(wall_ms());
        }
        self.info.exit = exit;
        if let Err(error) = self.folder.write_info(&self.info) {
            complain(format_args!(
                "the session's end is not written down: {error}"
            ));
        }
    }
}

fn core_configuration(
    spec: &SessionSpec,
    epoch: Epoch,
    session: &TerminalSession,
) -> MachineConfiguration {
    let (stdio, ids) = if spec.is_on_terminal() {
        (StdioKind::Pty, vec![StreamId::TTY])
    } else {
        (StdioKind::Pipes, vec![StreamId::STDOUT, StreamId::STDERR])
    };
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
    let chronicle = StreamConfiguration {
        id: StreamId::LIFECYCLE,
        policy: OverflowPolicy::DropOldest,
        ring_bytes: CHRONICLE_BYTES,
    };
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
        streams: ids.into_iter().map(stream).chain([chronicle]).collect(),
        has_screen: spec.has_screen(),
        exit_retention: spec.exit_kept_ms.map(Duration::from_millis),
    }
}

/// A socket that only its owner can connect to.
fn listen(folder: &SessionDir) -> io::Result<UnixListener> {
    let path = folder.socket();
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn polite_signals() -> io::Result<[Signal; 3]> {
    Ok([
        signal(SignalKind::hangup())?,
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    ])
}

/// This very program, even if its file has been replaced since.
fn guard() -> Option<PathBuf> {
    if cfg!(target_os = "linux") {
        return Some("/proc/self/exe".into());
    }
    std::env::current_exe().ok()
}

/// Lets the standard error stream, with the last words of a panic, go to a file that stays small.
fn complain_to(folder: &SessionDir) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let file = options
        .append(true)
        .create(true)
        .mode(0o600)
        .open(folder.complaints())?;
    rustix::stdio::dup2_stderr(&file)?;
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let file = rustix::fs::fstat(rustix::stdio::stderr());
        if file.is_ok_and(|it| u64::try_from(it.st_size).is_ok_and(|size| size < COMPLAINTS)) {
            usual(panic);
        }
    }));
    Ok(())
}

fn complain(what: std::fmt::Arguments<'_>) {
    // There is nobody else to tell.
    let _ = writeln!(io::stderr().lock(), "{what}");
}
