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
//! | [Command lines](#command-lines) | [`AgentOptions`], [`AgentMode`], [`PrintFormat`], [`AgentDocument`], [`PrivateFile`], [`AgentText`], [`Effort`], [`Thinking`], [`SettingSource`], [`SkipPermissions`], [`PermissionPrompts`], [`AgentEnvironment`], [`AgentCommand`], [`Shell`], [`CommandError`] |
//! | [The installed agent](#the-installed-agent) | [`InstalledAgent`], [`AgentVersion`], [`AgentCapabilities`], [`AgentFeature`], [`ProbeError`] |
//! | [What runs in this process](#what-runs-in-this-process) | [`TerminalRegistry`], [`RegisteredTerminal`], [`TerminalTag`], [`Tombstone`], [`SessionPermission`], [`Metrics`], [`TurnCount`] |
//! | [Limits](#limits) | [`DialogueStdio`], [`ExitPolicy`], [`TerminationPolicy`], [`PhaseLimits`], [`SilenceLimit`] |
//! | [What a session reports](#what-a-session-reports) | [`WorkPhase`], [`LastActivity`], [`Activity`], [`ActivitySource`], [`Silence`], [`SilenceCause`], [`ProbeAnswer`], [`PageError`], [`SignalError`], [`Drained`], [`StderrReport`], [`UnknownOption`], [`ReconnectFailed`], [`ReconnectFailure`], [`RetryError`], [`ConnectionStates`], [`DialogueEvents`], [`DialogueEvent`], [`DialogueEventKind`], [`DialogueEnd`], [`DialogueError`], [`error_chain`] |
//! | [The bytes of a session](#the-bytes-of-a-session) | [`RawOutput`], [`Stream`], [`RecordError`], [`Diagnostics`], [`Piece`] |
//! | [Requests](#requests) | [`HostRequest`], [`Priority`], [`PromptPart`], [`Source`], [`Intent`], [`QueueEdit`], [`QueueChange`] |
//! | [The login environment](#the-login-environment) | [`LoginSource`], [`LoginFailure`], [`Provenance`] |
//! | [A terminal in the list](#a-terminal-in-the-list) | [`TerminalSession`], [`Registration`], [`WindowSize`], [`ResourceUsage`], [`check_threads`], [`terminal_limits`] |
//! | [Before a conversation is resumed](#before-a-conversation-is-resumed) | [`ResumeError`], [`check_conversation_id`], [`agent_directory`], [`conversation_file`], [`conversation_folder`] |
//! | [Rules over permissions](#rules-over-permissions) | [`Policy`], [`PolicyError`], [`PolicyFileError`], [`read_policy`], [`parse_policy`], [`default_policy_path`] |
//! | [Budgets](#budgets) | [`Budget`], [`BudgetRecord`], [`BudgetUsage`], [`InvalidBudget`], [`LimitKind`], [`LimitRequest`], [`SharedBudget`], [`parse_time`] |
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
//! ## Command lines
//!
//! ```
//! use std::sync::Arc;
//!
//! use bowline_lifecycle::{
//!     AgentDocument, AgentEnvironment, AgentMode, AgentOptions, AgentText, Effort, Environment, PrintFormat,
//!     PrivateFile, SettingSource, Shell, SkipPermissions, Thinking,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut env = Environment::inherited();
//! AgentEnvironment { max_retries: Some(3), ..AgentEnvironment::default() }.apply(&mut env)?;
//! let options = AgentOptions {
//!     mode: AgentMode::Print(PrintFormat::Json),
//!     effort: Some(Effort::High),
//!     thinking: Some(Thinking::Adaptive),
//!     setting_sources: Some(vec![SettingSource::Project]),
//!     skip_permissions: SkipPermissions::Never,
//!     append_system_prompt: Some(AgentText::Inline("Answer in one line.".to_owned())),
//!     // A secret does not belong on a command line, which every user of the machine can read.
//!     mcp_configs: vec![AgentDocument::Private(Arc::new(PrivateFile::new(b"{\"mcpServers\":{}}")?))],
//!     prompt: Some("What does this project do?".to_owned()),
//!     ..AgentOptions::default()
//! };
//! // A combination that the agent would refuse is a `CommandError`.
//! let command = options.command("claude", None, env)?;
//! assert!(command.display(Shell::Sh).is_some_and(|line| line.starts_with("claude ")));
//! # Ok(())
//! # }
//! ```
//!
//! ## The installed agent
//!
//! ```no_run
//! use bowline_lifecycle::{AgentFeature, Environment, InstalledAgent};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = InstalledAgent::find("claude".as_ref(), &Environment::inherited()).await?;
//! println!("{}: {}", agent.path.display(), agent.version_line);
//! if let Some(capabilities) = agent.capabilities() {
//!     let missing: Vec<AgentFeature> = capabilities.missing().collect();
//!     println!("lacks {missing:?}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## What runs in this process
//!
//! ```
//! use bowline_lifecycle::{TerminalRegistry, TerminalTag};
//!
//! let registry = TerminalRegistry::shared();
//! for terminal in registry.list() {
//!     if terminal.tag == TerminalTag::AgentDialogue {
//!         println!("{}, pid {:?}, {:?}", terminal.id, terminal.pid, terminal.connection());
//!     }
//! }
//! for ended in registry.tombstones().iter().filter(|it| !it.expected) {
//!     println!("{}: {}", ended.id, ended.reason);
//! }
//! println!("{} open permission requests", registry.open_permissions().len());
//! println!("{:?}", registry.metrics());
//! ```
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
//! ## The bytes of a session
//!
//! ```no_run
//! use bowline_lifecycle::{Diagnostics, DialogueSession, Piece, RawOutput, RecordError, Stream};
//!
//! # async fn show(session: DialogueSession) -> Result<(), Box<dyn std::error::Error>> {
//! let mut output: RawOutput = session.raw_output(Stream::Output, 0);
//! while let Some(piece) = output.next().await {
//!     match piece {
//!         Piece::Bytes { offset, bytes } => println!("{} bytes at {offset}", bytes.len()),
//!         Piece::Gap { from, to } => println!("bytes {from} to {to} are no longer kept"),
//!     }
//! }
//! let known: Diagnostics = session.diagnostics().await;
//! println!("{} and {} streams", known.facts, known.streams.len());
//! match session.record("session.bjl").await {
//!     Ok(from) => println!("recorded from byte {from} of the output on"),
//!     Err(RecordError::AlreadyRecorded { path }) => println!("see {}", path.display()),
//!     Err(error) => return Err(error.into()),
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
//! ## Rules over permissions
//!
//! ```
//! use bowline_lifecycle::{
//!     DialogueConfiguration, Policy, PolicyError, PolicyFileError, default_policy_path, parse_policy, read_policy,
//! };
//!
//! # fn main() -> Result<(), PolicyFileError> {
//! let text = r#"
//!     [[rule]]
//!     decision = "allow"
//!     command = ["cargo test *", "git status"]
//! "#;
//! let mut policy: Policy = parse_policy(text, "embedded")?;
//! # if false {
//! if let Some(path) = default_policy_path() {
//!     policy = policy.and(&read_policy(&path)?);
//! }
//! # }
//! let configuration = DialogueConfiguration { policy, ..DialogueConfiguration::default() };
//! # assert!(!configuration.policy.is_empty());
//!
//! let error: PolicyError = Policy::parse("[[rule]]\ndecison = \"deny\"", "a.toml").unwrap_err();
//! assert_eq!(error.to_string(), "a.toml, line 2: `decison` is unknown; did you mean `decision`?");
//! # Ok(())
//! # }
//! ```
//!
//! ## Budgets
//!
//! ```no_run
//! use bowline_lifecycle::{
//!     Budget, BudgetRecord, BudgetUsage, DialogueConfiguration, DialogueSession, InvalidBudget, LimitKind,
//!     LimitRequest, PermissionAnswer, SharedBudget, parse_time,
//! };
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let budget = Budget { cost_usd: Some(5.0), time: parse_time("30m"), ..Budget::default() };
//! budget.check()?; // an `InvalidBudget` if a limit is 0
//! # let _: Result<(), InvalidBudget> = budget.check();
//! let session = DialogueSession::start(DialogueConfiguration {
//!     budget,
//!     // After a turn that met a usage limit of the agent's account, once the limit resets.
//!     resume_at_reset: Some("Continue.".to_owned()),
//!     ..DialogueConfiguration::default()
//! })
//! .await?;
//! // At a limit, `raise`, `go_on` and `stop` are answers; so is a new limit.
//! for request in session.permissions().open().filter(|it| it.tool_name == "budget") {
//!     let raise = PermissionAnswer::Answers(vec![("budget".to_owned(), "7.50".to_owned())]);
//!     session.answer_permission(&request.request_id, raise).await?;
//! }
//!
//! // In the control stream of a session at a runner:
//! let opening: Budget = BudgetRecord { turns: Some(20), ..BudgetRecord::default() }.into();
//! # let _ = opening;
//! fn is_cost(reached: &LimitRequest) -> bool { reached.limit == LimitKind::Cost }
//!
//! // For many sessions together: all of them pause, and an answer to one is an answer to all.
//! let shared = SharedBudget::new(budget)?;
//! let one = DialogueConfiguration { shared_budget: Some(shared.clone()), ..DialogueConfiguration::default() };
//! let another = one.clone();
//! let used: BudgetUsage = shared.usage();
//! println!("{} turns of {:?}", used.turns, shared.budget().turns);
//! # let _ = another;
//! # Ok(())
//! # }
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
