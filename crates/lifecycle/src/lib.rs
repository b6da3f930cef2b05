//! Runs a coding agent: its process and its conversation as one session.
//!
//! A [`DialogueSession`] owns the agent's process. Its start is atomic, and its end leaves no process,
//! task, descriptor or file. Inside is a pure state machine without clock or I/O, driven by one task.
//! The crate leaves the agent's lines to `bowline-jsonl`, and never names a pseudoterminal library.
//! Applications use it through the crate `bowline`.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | session | one agent process and its conversation, from `start` to its end |
//! | prompt, receipt | a user message, and its delivery state |
//! | turn | from a prompt to its result |
//! | change, event | a new state of the transcript; a single occurrence |
//! | end, terminate | let the open turn finish and the agent exit; kill everything now |
//!
//! # Example
//!
//! ```no_run
//! use bowline_lifecycle::{DialogueConfiguration, DialogueSession, Prompt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = DialogueSession::start(DialogueConfiguration::default()).await?;
//! let mut changes = session.changes();
//! let mut receipt = session.send(Prompt::text("What is in this folder?")).await?;
//! receipt.settled().await;
//! session.end().await;
//! while let Some(change) = changes.next().await {
//!     println!("{change:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Examples
//!
//! The page of the crate `bowline` has examples of the types that it exports. Of the others:
//!
//! | example | types and functions |
//! |---|---|
//! | [Example](#example) | [`DialogueSession`], [`DialogueConfiguration`], [`DialogueChanges`], [`TranscriptChange`] |
//! | [`AgentOptions`] | [`AgentOptions`], [`AgentMode`], [`PrintFormat`], [`AgentDocument`], [`PrivateFile`], [`AgentText`], [`Effort`], [`Thinking`], [`SettingSource`], [`SkipPermissions`], [`PermissionPrompts`], [`AgentEnvironment`], [`AgentCommand`], [`Shell`], [`CommandError`] |
//! | [`InstalledAgent`] | [`InstalledAgent`], [`AgentVersion`], [`AgentCapabilities`], [`AgentFeature`], [`ProbeError`] |
//! | [`TerminalRegistry`] | [`TerminalRegistry`], [`RegisteredTerminal`], [`TerminalTag`], [`Tombstone`], [`SessionPermission`], [`Metrics`], [`TurnCount`] |
//! | [Limits](#limits) | [`DialogueStdio`], [`ExitPolicy`], [`TerminationPolicy`], [`PhaseLimits`], [`SilenceLimit`] |
//! | [What a session reports](#what-a-session-reports) | [`WorkPhase`], [`LastActivity`], [`Activity`], [`ActivitySource`], [`Silence`], [`SilenceCause`], [`ProbeAnswer`], [`PageError`], [`SignalError`], [`Drained`], [`StderrReport`], [`UnknownOption`], [`ReconnectFailed`], [`ReconnectFailure`], [`RetryError`], [`ConnectionStates`], [`DialogueEvents`], [`DialogueEvent`], [`DialogueEventKind`], [`DialogueEnd`], [`DialogueError`], [`error_chain`] |
//! | [`RawOutput`] | [`RawOutput`], [`Stream`], [`RecordError`], [`Diagnostics`], [`Piece`] |
//! | [Requests](#requests) | [`HostRequest`], [`Priority`], [`PromptPart`], [`Source`], [`Intent`], [`QueueEdit`], [`QueueChange`] |
//! | [The login environment](#the-login-environment) | [`LoginSource`], [`LoginFailure`], [`Provenance`] |
//! | [A terminal in the list](#a-terminal-in-the-list) | [`TerminalSession`], [`Registration`], [`WindowSize`], [`ResourceUsage`], [`check_threads`], [`terminal_limits`] |
//! | [Before a conversation is resumed](#before-a-conversation-is-resumed) | [`ResumeError`], [`check_conversation_id`], [`agent_directory`], [`conversation_file`], [`conversation_folder`] |
//! | [`Policy`] | [`Policy`], [`PolicyError`], [`PolicyFileError`], [`read_policy`], [`parse_policy`], [`default_policy_path`] |
//! | [`Budget`] | [`Budget`], [`BudgetRecord`], [`BudgetUsage`], [`InvalidBudget`], [`LimitKind`], [`LimitRequest`], [`SharedBudget`], [`parse_time`] |
//! | [Secrets](#secrets) | [`SecretString`], [`ExposeSecret`] |
//! | [Sessions of a runner](#sessions-of-a-runner) | `SessionSummary`, `SessionActivity`, `SessionSummaryState`, `RemoteSessionKind`, `Carrier`, `SessionUpdate` |
//! | [Hooks at a runner](#hooks-at-a-runner) | `HookFeed`, `HookFeedItem` |
//! | [A session driven from its log](#a-session-driven-from-its-log) | `SessionRecovery`, [`Piece`] |
//! | [`McpServer`] | [`McpServer`], [`McpTransport`] |
//! | [`Attention`] | [`Attention`], [`AttentionReason`] |
//! | [`TerminalRegistry::inbox`] | [`Inbox`], [`InboxEvent`] |
//! | [The end in a journal](#the-end-in-a-journal) | [`exit_ends`], [`StreamId`] |
//! | [`jsonl`], [`reducer`], [`change`] and [`journal`]: the pages of these crates | [`jsonl`], [`reducer`], [`journal`] |
//! | [`control`]: its page | lines of the control stream |
//!
//! From a terminal in the list on, the examples are for the crates above this one, which tie sessions into lists,
//! bindings and the runner.
//!
//! ## Limits
//!
//! ```
//! use std::time::Duration;
//!
//! use bowline_lifecycle::{
//!     DialogueConfiguration, DialogueStdio, ExitPolicy, PhaseLimits, SilenceLimit, TerminationPolicy,
//! };
//!
//! let mut configuration = DialogueConfiguration {
//!     stdio: DialogueStdio::Pipes,
//!     exit: ExitPolicy::SHORT,
//!     termination: TerminationPolicy { term_grace: Duration::from_secs(1), ..TerminationPolicy::AT_ONCE },
//!     ..DialogueConfiguration::default()
//! };
//! // Only a model that is silent for five minutes is looked after.
//! let model = Some(SilenceLimit::new(Duration::from_secs(300)));
//! configuration.watchdog.limits = PhaseLimits { model, ..PhaseLimits::default() };
//! ```
//!
//! ## What a session reports
//!
//! ```no_run
//! use bowline_lifecycle::{
//!     ActivitySource, ConnectionState, DialogueEventKind, DialogueSession, Drained, ProbeAnswer, Signal,
//!     SilenceCause, WorkPhase,
//! };
//!
//! # async fn report(session: DialogueSession) -> Result<(), Box<dyn std::error::Error>> {
//! let last = session.last_activity().await;
//! if last.phase == WorkPhase::Tool && last.source == ActivitySource::Event {
//!     println!("a tool runs, without output for {:?}", last.age);
//!     session.signal(Signal::Interrupt)?; // a `SignalError` if the agent has ended
//! }
//! let mut states = session.connection_states();
//! while let Some(state) = states.next().await {
//!     match state {
//!         ConnectionState::Failed(failed) if failed.failure.can_retry() => session.retry()?,
//!         ConnectionState::Reconnected { gap, .. } => println!("{gap} bytes were lost"),
//!         _ => {}
//!     }
//! }
//! let mut events = session.events();
//! while let Some(event) = events.next().await {
//!     match &event.kind {
//!         DialogueEventKind::SessionTimeout(silence) if silence.probe == ProbeAnswer::Unanswered => {
//!             println!("terminated: {silence}; the last sign of life was {:?}", silence.last);
//!         }
//!         DialogueEventKind::Inquiry(silence) => {
//!             if let Some(SilenceCause::HiddenPermission { task, .. }) = &silence.cause {
//!                 println!("the sub-agent {task} may wait for a permission");
//!             }
//!         }
//!         _ => {}
//!     }
//! }
//! // Entries that the window has evicted; a `PageError` without a recording.
//! println!("{:?}", session.entries_before(None).await?);
//! let end = session.ended().await;
//! println!("{}, {} bytes on standard error", end.reason, end.stderr.written);
//! if end.exit.drained == Drained::Timeout {
//!     println!("another process kept the output open");
//! }
//! if let Some(option) = end.unknown_option {
//!     println!("this version of the agent does not have an option: {option:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## Requests
//!
//! ```no_run
//! use bowline_lifecycle::{
//!     DialogueSession, HostRequest, Intent, Priority, Prompt, PromptPart, QueueChange, QueueEdit,
//! };
//!
//! # async fn request(session: DialogueSession) -> Result<(), Box<dyn std::error::Error>> {
//! let mut prompt = Prompt::text("Then run the tests.");
//! prompt.parts.push(PromptPart::Text("Do not change them.".to_owned()));
//! prompt.priority = Some(Priority::Later);
//! // It waits until the agent is idle, and can be changed until then.
//! let uuid = session.send(prompt).await?.uuid().to_owned();
//! session.submit(Intent::EditQueue(QueueEdit { uuid, change: QueueChange::Cancel })).await?;
//! session.request(HostRequest::SetPermissionMode { mode: "plan".to_owned() }).await?;
//! session.submit(Intent::Interrupt { cancel_queued: false, seen: None }).await?;
//! # Ok(())
//! # }
//! ```
//!
//! ## The login environment
//!
//! ```no_run
//! use bowline_lifecycle::{LoginShell, LoginSource};
//!
//! # async fn environment() {
//! let login = LoginShell::of_user().environment().await;
//! let origin = &login.provenance;
//! if origin.source == LoginSource::Inherited {
//!     for failure in &origin.failures {
//!         eprintln!("{}: {failure}", origin.shell.display()); // a `LoginFailure`
//!     }
//! }
//! # }
//! ```
//!
//! ## A terminal in the list
//!
//! ```no_run
//! use bowline_lifecycle::{TerminalRegistry, TerminalSession, TerminalTag, WindowSize, check_threads};
//!
//! # async fn list(terminal: TerminalSession) -> Result<(), Box<dyn std::error::Error>> {
//! check_threads(4)?; // before work that needs threads
//! let mut listed = TerminalRegistry::shared().register(&terminal, TerminalTag::Shell);
//! terminal.resize(WindowSize { rows: 24, cols: 80, width: 0, height: 0 })?;
//! if let Some(usage) = terminal.resource_usage() {
//!     println!("{} processes, {:?} of CPU time", usage.processes, usage.cpu);
//! }
//! let exit = terminal.exited().await;
//! listed.exited(exit.status, true);
//! drop(listed); // leaves a tombstone
//! # Ok(())
//! # }
//! ```
//!
//! ## Before a conversation is resumed
//!
//! ```
//! use std::path::Path;
//!
//! use bowline_lifecycle::{Conversation, Environment, ResumeError, agent_directory, check_conversation_id};
//!
//! fn check(conversation: &str, cwd: &Path) -> Result<Conversation, ResumeError> {
//!     check_conversation_id(conversation)?;
//!     let directory = agent_directory(&Environment::inherited());
//!     Conversation::Resume { id: conversation.to_owned(), fork: false }.verified(&directory, cwd)
//! }
//! assert!(matches!(check("../secrets", Path::new("/tmp")), Err(ResumeError::InvalidId { .. })));
//! ```
//!
//! ## Secrets
//!
//! ```
//! use bowline_lifecycle::{AgentEnvironment, ExposeSecret, SecretString};
//!
//! let key = SecretString::from("sk-1");
//! assert!(!format!("{key:?}").contains("sk-1"));
//! let environment = AgentEnvironment { api_key: Some(key), ..AgentEnvironment::default() };
//! assert_eq!(environment.api_key.unwrap().expose_secret(), "sk-1");
//! ```
//!
//! ## Sessions of a runner
//!
#![cfg_attr(feature = "remote", doc = "```no_run")]
#![cfg_attr(not(feature = "remote"), doc = "```ignore")]
//! use bowline_lifecycle::{
//!     Carrier, Remote, RemoteError, RemoteSessionKind, RemoteUrl, SessionActivity, SessionSummary,
//!     SessionSummaryState, SessionUpdate,
//! };
//!
//! fn describe(SessionActivity { title, phase, .. }: &SessionActivity) -> String {
//!     format!("{}: {}", title.as_deref().unwrap_or("?"), phase.as_deref().unwrap_or("?"))
//! }
//!
//! /// Names all sessions that have no name.
//! async fn name_all(runner: &Remote) -> Result<(), RemoteError> {
//!     for session in runner.sessions().await?.into_iter().filter(|it| it.name.is_none()) {
//!         let name = Some(Some(session.program));
//!         let update = SessionUpdate { name, ..SessionUpdate::default() };
//!         runner.update_session(session.id, &update).await?;
//!     }
//!     Ok(())
//! }
//!
//! /// Returns the running dialogues of a runner's list.
//! fn running(list: Vec<SessionSummary>) -> impl Iterator<Item = SessionSummary> {
//!     let is_running = |it: &SessionSummary| it.state == SessionSummaryState::Running;
//!     list.into_iter().filter(move |it| it.kind == RemoteSessionKind::Dialogue && is_running(it))
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let url: RemoteUrl = "http://127.0.0.1:7420".parse()?;
//! assert_eq!(url.carrier(), Carrier::WebSocket);
//! # running(Vec::new()).for_each(|it| println!("{}", describe(&it.activity)));
//! # Ok(())
//! # }
//! ```
//!
//! ## Hooks at a runner
//!
//! `bowline_hooks` has both ends: `HookServer::spec` for the configuration, and `HookRelay` for the lines.
//!
#![cfg_attr(feature = "remote", doc = "```no_run")]
#![cfg_attr(not(feature = "remote"), doc = "```ignore")]
//! use bowline_lifecycle::{HookFeed, HookFeedItem, Remote, RemoteError, SessionId};
//!
//! async fn print_hooks(runner: &Remote, session: SessionId) -> Result<(), RemoteError> {
//!     let mut feed = HookFeed::attach(runner, session, false).await?;
//!     while let Some(item) = feed.next().await {
//!         if let HookFeedItem::Line(line) = item {
//!             println!("{}", String::from_utf8_lossy(&line));
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! ## A session driven from its log
//!
#![cfg_attr(feature = "remote", doc = "```no_run")]
#![cfg_attr(not(feature = "remote"), doc = "```ignore")]
//! use bowline_lifecycle::{DialogueConfiguration, Piece, Remote, SessionId, SessionRecovery};
//!
//! # async fn drive(log: Vec<(Piece, u64)>, runner: Remote, id: SessionId) -> Result<(), Box<dyn std::error::Error>> {
//! let mut recovery = SessionRecovery::new(DialogueConfiguration::default())?;
//! for (piece, at_ms) in &log {
//!     recovery.output(piece, *at_ms);
//! }
//! let (session, mut decisions) = recovery.attach(&runner, id).await?;
//! while let Some(line) = decisions.recv().await {
//!     println!("append to the control stream: {:?}", line.encode());
//! }
//! println!("{:?}", session.inspect(|transcript| transcript.status().phase).await);
//! # Ok(())
//! # }
//! ```
//!
//! ## The end in a journal
//!
//! ```
//! use bowline_lifecycle::{StreamId, exit_ends};
//!
//! // The lifecycle stream of a journal says where the output ended.
//! let ends = exit_ends(br#"{"event":"exited","ends":{"1":17}}"#);
//! assert_eq!(ends.unwrap().get(&StreamId::STDOUT), Some(&17));
//! ```

mod agent;
mod attention;
mod budget;
mod command;
mod configuration;
pub mod control;
mod conversations;
mod error;
mod events;
mod exit_policy;
mod intent;
mod machine;
mod mcp;
mod message;
mod permission;
mod policy;
mod policy_file;
mod private_file;
mod queue;
mod registry;
mod session;
mod shared_budget;
mod stderr;
mod watchdog;

pub use agent::{
    AgentCapabilities, AgentFeature, AgentVersion, Capabilities, Capability, InstalledAgent,
    KnownAgent, ProbeError, UnknownOption,
};
pub use attention::{Attention, AttentionReason};
pub use bowline_jsonl as jsonl;
pub use bowline_jsonl::{Decision, HostRequest, Priority, Prompt, PromptPart, Source};
pub use bowline_reducer::dialect::DialectName;
pub use bowline_reducer::model::{AnswerKind, RequestOption};
pub use bowline_reducer::{self as reducer, TranscriptChange, owned as change};
#[cfg(feature = "remote")]
pub use bowline_transport::wire::SessionKind as RemoteSessionKind;
#[cfg(feature = "remote")]
pub use bowline_transport::{
    BadUrl, Carrier, CredentialsProvider, Identity, NoCredentials, NoToken, Remote, RemoteError,
    RemoteUrl, SessionActivity, SessionSummary, SessionSummaryState, SessionUpdate, Token,
    TokenFile, Trust,
};
pub use bowline_transport::{
    ConnectionState, ConnectionStates, Containment, ContainmentProbe, Drained, Environment, Exit,
    ExitStatus, LoginEnvironment, LoginFailure, LoginShell, LoginSource, Provenance, PtyBackend,
    ReconnectFailed, ReconnectFailure, ResourceUsage, RetryError, SessionId, Signal, SignalError,
    SpawnError, TerminalSession, TerminationPolicy, TerminationReport, WindowSize, check_threads,
    default_guard, probe, run_guard, terminal_limits,
};
pub use bowline_transport::{Piece, Stream, journal, wire::StreamId};
pub use budget::{
    Budget, BudgetRecord, BudgetUsage, InvalidBudget, LimitKind, LimitRequest, parse_time,
};
pub use command::{
    AgentCommand, AgentDocument, AgentEnvironment, AgentMode, AgentOptions, AgentText,
    CommandError, Effort, PermissionPrompts, PrintFormat, SettingSource, Shell, SkipPermissions,
    Thinking,
};
pub use configuration::{AgentLocation, DialogueConfiguration, DialogueStdio};
pub use conversations::{
    Conversation, agent_directory, check_conversation_id, conversation_file, conversation_folder,
};
pub use error::{DialogueError, HandshakeError, RecordError, ResumeError, StartError, error_chain};
pub use events::{DialogueEvent, DialogueEventKind, DialogueEvents, EventLimits};
pub use exit_policy::ExitPolicy;
pub use intent::Intent;
pub use machine::ReceiptState;
pub use mcp::{McpServer, McpTransport};
pub use permission::{
    PermissionAnswer, PermissionKind, PermissionRecord, Permissions, Question, QuestionOption,
    RequestState,
};
pub use policy::{Policy, PolicyError};
pub use policy_file::{PolicyFileError, default_policy_path, parse_policy, read_policy};
pub use private_file::PrivateFile;
pub use queue::{QueueChange, QueueEdit};
pub use registry::{
    Inbox, InboxEvent, Metrics, RegisteredTerminal, Registration, SessionPermission,
    TerminalRegistry, TerminalTag, Tombstone, TurnCount,
};
pub use secrecy::{ExposeSecret, SecretString};
pub use session::{
    Diagnostics, DialogueChanges, DialogueEnd, DialogueSession, InterruptReport, InterruptScope,
    PageError, RawOutput, Receipt, SessionBuilder, exit_ends,
};
#[cfg(feature = "remote")]
pub use session::{HookFeed, HookFeedItem, SessionRecovery};
pub use shared_budget::SharedBudget;
pub use stderr::StderrReport;
pub use watchdog::{
    Activity, ActivitySource, LastActivity, PhaseLimits, ProbeAnswer, Silence, SilenceCause,
    SilenceLimit, WatchdogPolicy, WorkPhase,
};

/// Private pure functions, exposed to the fuzz targets. Not part of the API.
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz {
    pub use crate::policy::fuzz_policy as policy;
}
