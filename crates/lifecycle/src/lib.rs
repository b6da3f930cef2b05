//! Dialogue sessions: an agent's process and its conversation as one thing.
//!
//! A [`DialogueSession`] owns the agent's terminal session. Starting it is atomic, and its end
//! leaves no process, task, descriptor or file. The machine inside is pure: it reads no clock and
//! opens nothing; one task drives it.
//!
//! A [`ShellSession`] is a login shell, or any program for people, on a terminal, told as lines. A
//! [`SessionManager`] has many of both kinds, and remembers them.
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
mod executor;
mod hooks;
mod line_buffer;
mod machine;
mod manager;
mod permission;
mod registry;
mod secret;
mod session;
mod shell;
mod stderr;
mod submit;
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
pub use conversations::agent_folder;
pub use error::{DialogueError, StartError};
pub use events::{DialogueEvent, DialogueEventKind, DialogueEvents, EventLimits, Heard};
pub use executor::{
    CommandResult, Evidence, ExecutorCommand, ExecutorConfiguration, ExecutorError, ExecutorReport,
    PtyTerminal, TerminalCommand, TerminalError, TerminalExecutor, TerminalFuture, TerminalOutput,
    TerminalRun, VisibleTerminal,
};
pub use hooks::{
    CarryError, FormAnswer, ForwardReport, HookBackend, HookConfiguration, HookEvent, HookGate,
    HookHelper, HookKind, HookLimits, HookNews, HookPayload, HookQuestion, HookQuestions,
    HookReply, HookReplyError, HookReport, HookRoute, HookServer, HookServerError,
    HookSubscription, HookVariables, PermissionVerdict, ToolVerdict, carry_hook, merge_settings,
};
pub use line_buffer::{Line, LineBuffer, LineLimits};
pub use machine::ReceiptState;
pub use manager::{
    ConversationLease, EndReason, Killed, ManagedId, ManagerConfiguration, ManagerError,
    ManagerEvents, NotAnId, PromptOutcome, ResumeError, SessionEnd, SessionInfo, SessionKind,
    SessionManager, ShutdownReport, ShutdownSignal, StateWarning, Timestamp,
};
pub use permission::{
    PermissionAnswer, PermissionKind, PermissionRecord, Question, QuestionOption, RequestState,
};
pub use registry::{
    Metrics, RegisteredTerminal, SessionPermission, TerminalRegistry, TerminalTag, Tombstone,
};
pub use secret::{PrivateFile, Secret};
pub use session::{
    DialogueSession, Ended, InterruptScope, Interrupted, LastActivity, OlderError, Receipt,
};
pub use shell::{
    SessionEvent, SessionEvents, SessionExit, SessionState, ShellConfiguration, ShellProgram,
    ShellSession,
};
pub use stderr::StderrReport;
pub use submit::{Refusal, Stripped, Submission, SubmitOptions, SubmitOutcome};
pub use watchdog::{
    Activity, ActivitySource, PhaseLimits, ProbeAnswer, Silence, SilenceLimit,
    WatchdogConfiguration, WorkPhase,
};
