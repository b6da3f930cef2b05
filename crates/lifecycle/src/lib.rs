//! Dialogue sessions: an agent's process and its conversation as one thing.
//!
//! A [`DialogueSession`] owns the agent's terminal session. Starting it is atomic, and its end
//! leaves no process, task, descriptor or file. The machine inside is pure: it reads no clock and
//! opens nothing; one task drives it.
//!
//! # Words
//!
//! | word | for |
//! |---|---|
//! | session | one agent process and its conversation, from `start` to its end |
//! | prompt, receipt | a user message, and what became of it |
//! | turn | from a prompt to its result |
//! | end, terminate | let the open turn finish and exit; end everything now |
//!
//! # Example
//!
//! ```no_run
//! use bowline_lifecycle::{DialogueConfiguration, DialogueSession, Prompt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = DialogueSession::start(DialogueConfiguration::default()).await?;
//! let mut receipt = session.send(Prompt::text("What is in this folder?")).await?;
//! receipt.settled().await;
//! let transcript = session.inspect(|transcript| transcript.to_json()).await;
//! let end = session.end().await;
//! # Ok(())
//! # }
//! ```

/// The example of the README is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod command;
mod configuration;
mod conversations;
mod deadline;
mod error;
mod events;
mod machine;
mod permission;
mod private_file;
mod registry;
mod session;
mod stderr;
mod watchdog;

pub use bowline_jsonl as jsonl;
pub use bowline_jsonl::{Decision, HostRequest, Priority, Prompt, PromptPart, Source};
pub use bowline_reducer as reducer;
pub use bowline_transport::{
    BadUrl, ConnectionState, Containment, ContainmentProbe, CredentialsProvider, Drained,
    Environment, Exit, ExitStatus, Identity, Ladder, LoginEnvironment, LoginFailure, LoginShell,
    LoginSource, NoCredentials, NoToken, Provenance, ReconnectFailed, ReconnectFailure, Remote,
    RemoteError, RemoteUrl, RetryError, SessionId, Signal, SignalError, SpawnError,
    TerminalSession, TerminationReport, Token, TokenFile, Trust, Vitals, WindowSize, check_threads,
    probe, run_guard,
};
pub use bowline_transport::{Piece, journal, wire::StreamId};
pub use command::{
    AgentCommand, AgentDocument, AgentEnvironment, AgentMode, AgentOptions, AgentText,
    CommandError, Effort, PermissionPrompts, PrintFormat, SettingSource, Shell, SkipPermissions,
    Thinking,
};
pub use configuration::{Conversation, DialogueConfiguration, DialogueStdio, Place};
pub use conversations::{agent_folder, check_conversation_id};
pub use error::{DialogueError, ResumeError, StartError};
pub use events::{DialogueEvent, DialogueEventKind, DialogueEvents, EventLimits, Heard};
pub use machine::ReceiptState;
pub use permission::{
    PermissionAnswer, PermissionKind, PermissionRecord, Question, QuestionOption, RequestState,
};
pub use private_file::PrivateFile;
pub use registry::{
    Metrics, RegisteredTerminal, Registration, SessionPermission, TerminalRegistry, TerminalTag,
    Tombstone,
};
pub use secrecy::{ExposeSecret, SecretString};
pub use session::{
    DialogueSession, Ended, InterruptScope, Interrupted, LastActivity, OlderError, Receipt,
};
pub use stderr::StderrReport;
pub use watchdog::{
    Activity, ActivitySource, PhaseLimits, ProbeAnswer, Silence, SilenceLimit,
    WatchdogConfiguration, WorkPhase,
};
