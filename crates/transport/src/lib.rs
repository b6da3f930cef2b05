//! Terminal sessions: a process on a PTY or on pipes, its byte streams, its end.
//!
//! This crate never looks inside the bytes, never loses one without saying so ([`Piece::Gap`]),
//! never types anything that the host did not write, never runs a thread for a session, and never
//! leaves a process, task or descriptor behind when a session ends.
//!
//! # Words
//!
//! | word | for |
//! |---|---|
//! | session | one child, its streams, its writer and its end: a [`TerminalSession`] |
//! | stream | an append-only sequence of bytes, addressed by `u64` offsets from 0 |
//! | log | the newest part of a stream in memory, 1 MiB unless said otherwise |
//! | journal | a session's streams on disk, up to a cap: [`journal`] |
//! | reader | a place in a log that moves on as its owner takes [`Piece`]s |
//! | tree | the child and all that came of it, in whatever session or group it hides |
//! | ladder | the steps from a polite request to SIGKILL: a [`Ladder`] |
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
//! # What holds a child back
//!
//! Output on pipes blocks the child when the slowest attached reader is one log behind, so nothing
//! is lost; with no reader attached, when the log is full of bytes that nobody has read. A host that
//! does not want this drops its readers, or asks for [`Overflow::DropOldest`]. Errors and the output
//! of a PTY drop their oldest bytes instead and never hold a child back.
//!
//! # Remote sessions (feature `remote`)
//!
//! `TerminalEngine::make_remote` and
//! `TerminalEngine::attach_remote` give the same [`TerminalSession`] for a child
//! that belongs to a runner. A link that breaks is made again: output goes on at its offset, what is
//! gone is a [`Piece::Gap`], and what was written is typed once. How the link stands is a
//! [`ConnectionState`]; what both sides say to each other is [`wire`].
//!
//! # What ends with a session
//!
//! An agent runs each tool in a session of its own, out of reach of a signal to its group. How
//! tightly a session's processes are held is a [`Containment`], the tightest that [`probe`] finds:
//!
//! | level | holds | needs |
//! |---|---|---|
//! | `Cgroup` | everyone, by the kernel, from their birth | cgroup v2, our own group writable |
//! | `Subreaper` | everyone, by parentage: orphans fall to the session's guard | Linux, a guard |
//! | `Group` | whom parentage, group, session or a variable ([`MARKER`]) gives away | nothing |
//!
//! At `Group`, a descendant that has cleared its environment, left its group and session, and lost
//! its parent, is out of reach; outside of Linux the reach is that of parentage (macOS) or of the
//! process group. Every level is killed round by round until nobody is left.
//!
//! A host that is killed by SIGKILL can end nothing. With [`Configuration::guard`] a helper process
//! does it in its place ([`run_guard`]): one for all sessions in control groups, else one for each.
//! Without a guard, and while a login shell is asked ([`LoginShell`]), they outlive such a host.
//!
//! # What is taken before anything is started
//!
//! Program, directory, terminal, pipes and the descriptor of the process itself: what is missing is
//! a [`SpawnError`] with a name, and no process was there. A session holds 2 descriptors on a
//! terminal and 4 on pipes, and one more in a control group or with a guard of its own.
//!
//! # Other systems
//!
//! What differs on macOS is written on documented calls and was never run by us. On Windows only
//! [`pty_system`] has an answer, that of portable-pty; sessions are not built there.

mod connection;
mod engine;
mod local;
mod output_reader;
#[cfg(feature = "remote")]
mod remote;
mod screen;
mod session;

pub use bowline_journal as journal;
pub use bowline_process::{
    Configuration, Containment, ContainmentProbe, Drained, Environment, Exit, ExitStatus,
    HardenedPtySystem, InputLimits, Ladder, LogLimits, LogReader, LoginEnvironment, LoginFailure,
    LoginShell, LoginSource, MARKER, Overflow, Piece, Provenance, PtyMode, RESOLVING, ResizeError,
    SessionId, Signal, SignalError, SpawnError, Stdio, Stream, TerminationReport, Tty, Vitals,
    WindowSize, WriteError, check_threads, probe, pty_system, run_guard,
};
pub use bowline_wire as wire;
pub use connection::{ConnectionState, ReconnectFailed, ReconnectFailure, RetryError};
pub use engine::TerminalEngine;
pub use output_reader::OutputReader;
#[cfg(feature = "remote")]
pub use remote::{
    Address, Attachment, BadUrl, Beginning, Boxed, ByteStream, Carrier, CredentialsProvider,
    Identity, Network, NoCredentials, NoToken, Remote, RemoteError, RemoteOrder, RemoteUrl,
    SystemNetwork, Token, TokenFile, Trust,
};
pub use screen::Screen;
pub use session::{Kind, TerminalSession};
