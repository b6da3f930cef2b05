//! Runs coding agents: starts one, folds its output into a typed transcript, sends prompts and permission
//! answers, and ends it with every process that it started.
//!
//! [`ask`] runs one prompt. A [`Session`] is a conversation: [`Session::builder`] starts it,
//! [`send`](Session::send) sends a prompt and returns its [`Receipt`], [`changes`](Session::changes) and
//! [`events`](Session::events) are streams of what happens, [`interrupt`](Session::interrupt) stops the
//! current turn, and [`end`](Session::end) lets the agent finish and exit.
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use bowline::Session;
//!
//! let answer = bowline::ask("What does this project do?").await?;
//! println!("{} ({} USD)", answer.text, answer.cost_usd);
//!
//! let session = Session::builder().cwd("/some/project").model("sonnet").start().await?;
//! let mut changes = session.changes();
//! session.send("Tidy up the README.").await?.settled().await;
//! session.end().await;
//! while let Some(change) = changes.next().await {
//!     println!("{change:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The agent is Claude Code, found as `claude` in `PATH` unless [`SessionBuilder::agent`] names another
//! program. All functions need a tokio runtime with I/O and time enabled.
//!
//! # Features
//!
//! None is enabled by default: a local session compiles no TLS, HTTP or gRPC.
//!
//! | feature | adds |
//! |---|---|
//! | `remote` | sessions at a runner (`bowline serve`), over WebSocket and TLS |
//! | `grpc` | runners by `grpc://` and `grpcs://`; implies `remote` |
//! | `hooks` | [`hooks`]: the agent's hooks, received and answered |
//! | `shell` | [`shell`]: login shells as lines, and agents in a visible terminal |
//!
//! # Errors
//!
//! Each operation has its own error type, whose `Display` states what failed and whose `source()` is the
//! cause.

mod ask;
mod replay;

/// The examples of the README are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The agent's hooks, received and answered over HTTP on loopback (feature `hooks`).
#[cfg(feature = "hooks")]
pub use bowline_hooks as hooks;
/// Login shells as lines, prompts that are typed whole, and an executor that a person sees (feature
/// `shell`).
#[cfg(feature = "shell")]
pub use bowline_shell as shell;

pub use ask::{Answer, AskError, ask, ask_with};
pub use bowline_lifecycle::{
    AgentLocation, AgentOptions, ConnectionState, Containment, ContainmentProbe, Conversation,
    Decision, DialogueChanges as Changes, DialogueConfiguration as Configuration,
    DialogueEnd as SessionEnd, DialogueError as SessionError, DialogueEvent as Event,
    DialogueEventKind as EventKind, DialogueEvents as Events, DialogueSession as Session,
    Environment, EventLimits, Exit, ExitStatus, InterruptReport, InterruptScope, LoginEnvironment,
    LoginShell, PermissionAnswer, PermissionKind, PermissionRecord, Permissions, Prompt, Question,
    QuestionOption, Receipt, ReceiptState, RequestState, SessionBuilder, SessionId, Signal,
    SpawnError, StartError, TerminationReport, TranscriptChange as Change, WatchdogPolicy, change,
    probe, run_guard,
};
#[cfg(feature = "remote")]
pub use bowline_lifecycle::{
    BadUrl, CredentialsProvider, Identity, NoCredentials, NoToken, Remote, RemoteError, RemoteUrl,
    Token, TokenFile, Trust,
};
/// The types of a transcript: entries, blocks, tool calls, usage and status.
pub use bowline_reducer as transcript;
pub use bowline_reducer::{Phase, Snapshot, Transcript};
pub use replay::replay;
