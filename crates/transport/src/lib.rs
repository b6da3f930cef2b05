//! Terminal sessions: a process on a PTY or on pipes, its byte streams, and its exit.
//!
//! An internal crate of Bowline; its interface may change in any release.
//!
//! This crate does not interpret the bytes, reports all lost bytes ([`Piece::Gap`]), writes only the
//! host's input to the child, spawns no thread per session, and leaves no process, task or descriptor
//! when a session ends.
//!
//! # Terms
//!
//! | term | meaning |
//! |---|---|
//! | session | one child, its streams, its input and its exit: a [`TerminalSession`] |
//! | stream | an append-only sequence of bytes, addressed by `u64` offsets from 0 |
//! | log | the newest part of a stream in memory, 1 MiB by default |
//! | journal | a session's streams on disk, up to a size limit: [`journal`] |
//! | reader | a position in a log, which advances as [`Piece`]s are read |
//! | tree | the child and all its descendants, in any session or process group |
//! | termination policy | the steps from a polite request to SIGKILL: a [`TerminationPolicy`] |
//!
//! # Example
//!
//! ```
//! use bowline_transport::{Configuration, ExitStatus, Piece, Stream, TerminalEngine};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = TerminalEngine.make_session(Configuration::new("cat"))?;
//! let mut output = session.reader(Stream::Output);
//!
//! session.write("ahoy\n".into()).await?;
//! let piece = output.next().await;
//! assert_eq!(piece, Some(Piece::Bytes { offset: 0, bytes: "ahoy\n".into() }));
//!
//! session.close_input().await?;
//! let exit = session.exited().await;
//! assert_eq!((exit.status, exit.output_end), (ExitStatus::Code(0), 5));
//! assert_eq!(output.next().await, None);
//! # Ok(())
//! # }
//! ```
//!
//! # Backpressure
//!
//! Output on pipes blocks the child when the slowest attached reader lags by the size of the log, or
//! without a reader when the log is full of unread bytes, so nothing is lost. To avoid blocking, drop
//! the readers or set [`Overflow::DropOldest`]. Errors and the output of a PTY drop their oldest bytes
//! and never block the child.
//!
//! # Remote sessions (feature `remote`)
//!
//! `TerminalEngine::make_remote` and
//! `TerminalEngine::attach_remote` return the same [`TerminalSession`] for a child
//! that belongs to a runner. A lost connection is reestablished: output resumes at its offset, lost
//! bytes are a [`Piece::Gap`], and input is written at most once. [`ConnectionState`] is the state of
//! the connection, and [`ConnectionStates`] the stream of them; [`wire`] is the protocol.
//!
//! # Termination
//!
//! An agent runs each tool in its own session (setsid(2)), which a signal to the agent's process group
//! does not reach. [`Containment`] is how descendants are found; [`probe`] returns the strictest level
//! available:
//!
//! | level | finds | needs |
//! |---|---|---|
//! | `Cgroup` | all descendants, from their start (cgroups(7)) | cgroup v2 with a writable cgroup of this process |
//! | `Subreaper` | all descendants, by parentage: the session's guard adopts orphans | Linux, a guard |
//! | `Group` | descendants by parentage, group, session or a variable ([`MARKER`]) | nothing |
//!
//! At `Group`, a descendant that has cleared its environment, left its group and session, and lost
//! its parent, is not found. macOS has this level only. All levels repeat the kill until no process is
//! left.
//!
//! A host that is killed by SIGKILL cannot end its sessions. With [`Configuration::guard`] a helper
//! process ends them ([`run_guard`]), one per session. At `Cgroup` it also finds a descendant that has
//! moved itself to another cgroup.
//! Without a guard, and while a login shell runs ([`LoginShell`]), processes outlive such a host.
//!
//! # Resources
//!
//! Program, directory, terminal, pipes and the pidfd are acquired before the process starts. A failure
//! is a specific [`SpawnError`]. A session holds 4 descriptors on a terminal and 4 on pipes, and one
//! more in a cgroup or with its own guard.
//!
//! # Platforms
//!
//! Linux is tested. The macOS implementation is untested. On Windows only [`pty_system`] is available,
//! as portable-pty's implementation.

mod connection;
mod connection_states;
mod engine;
mod local;
mod output_reader;
mod received;
#[cfg(feature = "remote")]
mod remote;
mod screen;
mod session;

pub use bowline_journal as journal;
pub use bowline_process::log::SharedLog;
pub use bowline_process::{
    Configuration, Containment, ContainmentProbe, Drained, Environment, Exit, ExitStatus,
    HardenedPtySystem, Inbox, InputLimits, LogLimits, LogReader, LoginEnvironment, LoginFailure,
    LoginShell, LoginSource, MARKER, Overflow, Piece, Provenance, PtyBackend, PtyMode, RESOLVING,
    ResizeError, ResourceUsage, SessionId, Signal, SignalError, SpawnError, Stdio, Stream,
    TerminalState, TerminationPolicy, TerminationReport, WindowSize, WriteError, check_threads,
    deadline_after, default_guard, probe, pty_system, run_guard, sync_file, terminal_limits,
};
pub use bowline_wire as wire;
pub use connection::{ConnectionState, ReconnectFailed, ReconnectFailure, RetryError};
pub use connection_states::ConnectionStates;
pub use engine::TerminalEngine;
pub use output_reader::OutputReader;
pub use received::Received;
#[cfg(feature = "remote")]
pub use remote::{
    Address, Attachment, BadUrl, Boxed, ByteStream, Carrier, CredentialsProvider, HOOK_SETTINGS,
    Identity, MAX_METADATA, MessageReceiver, MessageSender, Network, NoCredentials, NoToken,
    RESERVED_LABELS, Remote, RemoteError, RemoteUrl, SessionActivity, SessionDamage, SessionExit,
    SessionList, SessionRequest, SessionSummary, SessionSummaryState, SessionUpdate, StartPosition,
    SystemNetwork, Token, TokenFile, Trust, UnixConnection,
};
pub use screen::Screen;
pub use session::{Kind, TerminalSession};
