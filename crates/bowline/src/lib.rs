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
//! program. All functions need a tokio runtime with I/O and time enabled. A program without a dependency
//! on tokio starts one with `#[bowline::tokio::main(crate = "bowline::tokio")]`.
//!
//! # Features
//!
//! None is enabled by default: a local session compiles no TLS, HTTP or gRPC.
//!
//! | feature | adds |
//! |---|---|
//! | `remote` | sessions at a runner (`bowline serve`), over WebSocket and TLS |
//! | `grpc` | runners by `grpc://` and `grpcs://`; implies `remote` |
//! | `history` | module `history`: past conversations, listed and read |
//! | `hooks` | module `hooks`: the agent's hooks, received and answered |
//! | `shell` | module `shell`: login shells as lines, and agents in a visible terminal |
//!
//! # Errors
//!
//! Each operation has its own error type, whose `Display` states what failed and whose `source()` is the
//! cause.
//!
//! # Examples
//!
//! Programs of the folder `examples`, and the sections below:
//!
//! | example | types and functions |
//! |---|---|
//! | `examples/ask.rs` | [`ask`], [`ask_with`], [`Answer`], [`AskError`], [`tokio`] |
//! | `examples/stream.rs` | [`Session`], [`SessionBuilder`], [`SessionId`], [`StartError`], [`SpawnError`], [`SessionError`], [`Prompt`], [`Receipt`], [`ReceiptState`], [`Changes`], [`Change`], [`change`] |
//! | `examples/permission.rs` | [`Decision`], [`PermissionRecord`], [`PermissionAnswer`] |
//! | `examples/interrupt.rs` | [`Events`], [`Event`], [`EventKind`] |
//! | `examples/resume.rs` | [`Conversation`], [`Transcript`], [`transcript`] |
//! | `examples/reset.rs` | [`PermissionAnswer`], [`PermissionKind`] |
//! | `examples/replay.rs` | [`replay()`] |
//! | `examples/remote.rs` | `Remote`, `RemoteUrl`, `RemoteError`, `BadUrl`, [`AgentLocation`] |
//! | `examples/hooks.rs` | `hooks` |
//! | `examples/shell.rs` | `shell` |
//! | [Configuration](#configuration) | [`Configuration`], [`AgentOptions`], [`Environment`], [`LoginShell`], [`LoginEnvironment`], [`WatchdogPolicy`], [`PtyBackend`], [`Containment`], [`ContainmentProbe`], [`probe`], [`default_guard`], [`run_guard`] |
//! | [Questions](#questions) | [`Permissions`], [`PermissionKind`], [`Question`], [`QuestionOption`], [`RequestState`] |
//! | [Rules over permissions](#rules-over-permissions) | [`Budget`], [`Policy`], [`PolicyError`], [`PolicyFileError`], [`parse_policy`], [`read_policy`] |
//! | [Other agents](#other-agents) | [`KnownAgent`], [`DialectName`], [`Capabilities`], [`Capability`], [`HandshakeError`], [`RequestOption`], [`AnswerKind`] |
//! | [Interrupt and end](#interrupt-and-end) | [`EventLimits`], [`InterruptScope`], [`InterruptReport`], [`SessionEnd`], [`TerminationReport`], [`Exit`], [`ExitStatus`], [`Signal`], [`Snapshot`], [`Phase`] |
//! | [Runners](#runners) | [`ConnectionState`], [`ConnectionStates`], `CredentialsProvider`, `NoCredentials`, `NoToken`, `Token`, `TokenFile`, `Trust`, `Identity` |
//! | [Hooks at a runner](#hooks-at-a-runner) | `relay_hooks`, `HookFeed` |
//! | [Past conversations](#past-conversations) | `history` |
//!
//! ## Configuration
//!
//! ```no_run
//! use bowline::{AgentOptions, Containment, LoginShell, PtyBackend, Session, WatchdogPolicy};
//!
//! fn main() -> std::process::ExitCode {
//!     // This program is its own guard: as `agent.guard` it ends the agents of a killed host.
//!     if let Some(code) = bowline::run_guard() {
//!         return code;
//!     }
//!     match run() {
//!         Ok(()) => std::process::ExitCode::SUCCESS,
//!         Err(_) => std::process::ExitCode::FAILURE,
//!     }
//! }
//!
//! #[bowline::tokio::main(crate = "bowline::tokio")]
//! async fn run() -> Result<(), Box<dyn std::error::Error>> {
//!     let containment = bowline::probe();
//!     if containment.guarded != Containment::Cgroup {
//!         println!("no control group: {:?}", containment.lacking);
//!     }
//!     // An application that was not started from a terminal lacks the variables of the user's shell.
//!     let login = LoginShell::of_user().environment().await;
//!     let session = Session::builder()
//!         .pty(PtyBackend::Native)
//!         .configure(|agent| {
//!             agent.env = login.environment();
//!             agent.env.set("EDITOR", "true").remove("DISPLAY");
//!             agent.guard = std::env::current_exe().ok();
//!             agent.options = AgentOptions { fallback_models: vec!["haiku".to_owned()], ..AgentOptions::default() };
//!             agent.watchdog = WatchdogPolicy { permission_timeout: None, ..WatchdogPolicy::default() };
//!         })
//!         .start()
//!         .await?;
//!     session.end().await;
//!     Ok(())
//! }
//! ```
//!
//! ## Hooks at a runner
//!
#![cfg_attr(feature = "hooks", cfg_attr(feature = "remote", doc = "```no_run"))]
#![cfg_attr(not(all(feature = "hooks", feature = "remote")), doc = "```ignore")]
//! use bowline::hooks::{HookConfiguration, HookServer};
//! use bowline::{HookFeed, Remote, Session};
//!
//! # async fn run(runner: Remote) -> Result<(), Box<dyn std::error::Error>> {
//! let server = HookServer::start(HookConfiguration::default()).await?;
//! let spec = serde_json::to_value(server.spec("run-1", None)?)?;
//! let session = Session::builder()
//!     .runner(runner.clone())
//!     .configure(|it| it.hooks = Some(spec))
//!     .start()
//!     .await?;
//! let feed = HookFeed::attach(&runner, session.id(), false).await?;
//! let (_, end) = tokio::join!(bowline::relay_hooks(&server, feed), session.end());
//! println!("{}", end.reason);
//! # Ok(())
//! # }
//! ```
//!
//! ## Questions
//!
//! ```no_run
//! use bowline::{Decision, PermissionAnswer, PermissionKind, RequestState, Session};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let session = Session::builder()
//!     .on_permission(|request| async move {
//!         match &request.kind {
//!             PermissionKind::Questions(questions) => {
//!                 let first = |it: &bowline::Question| {
//!                     let option = it.options.first().map(|option| option.label.clone());
//!                     (it.question.clone(), option.unwrap_or_default())
//!                 };
//!                 PermissionAnswer::Answers(questions.iter().map(first).collect())
//!             }
//!             _ => Decision::allow().into(),
//!         }
//!     })
//!     .start()
//!     .await?;
//! session.send("Which licence?").await?.settled().await;
//! let open = session.permissions().open().count();
//! let answered = session.permissions().iter().filter(|it| it.state == RequestState::Answered).count();
//! println!("{open} open, {answered} answered");
//! # Ok(())
//! # }
//! ```
//!
//! ## Rules over permissions
//!
//! `crates/lifecycle/POLICY.md` describes the rules.
//!
//! ```no_run
//! use bowline::{Budget, Decision, Policy, PolicyError, PolicyFileError, Session, parse_policy, read_policy};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let file: Result<Policy, PolicyFileError> = read_policy("policy.toml".as_ref());
//! let text: Result<Policy, PolicyError> = parse_policy("default = \"deny\"", "built in");
//! let session = Session::builder()
//!     .policy(file?.and(&text?))
//!     .budget(Budget { cost_usd: Some(5.0), ..Budget::default() })
//!     .on_permission(|request| async move { Decision::deny(format!("no rule for {}", request.tool_name)).into() })
//!     .start()
//!     .await?;
//! # session.end().await;
//! # Ok(())
//! # }
//! ```
//!
//! ## Other agents
//!
//! ```no_run
//! use bowline::{AnswerKind, Capability, KnownAgent, PermissionAnswer, RequestOption, Session, StartError};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! for agent in KnownAgent::ALL {
//!     println!("{}: {:?}, {}", agent.name, agent.dialect(), agent.install);
//! }
//! let session = Session::builder()
//!     .agent("codex")
//!     .on_permission(|request| async move {
//!         let is_once = |it: &&RequestOption| it.kind == AnswerKind::AllowOnce;
//!         let option = request.options.iter().find(is_once);
//!         PermissionAnswer::Option(option.map_or_else(String::new, |it| it.id.clone()))
//!     })
//!     .start()
//!     .await;
//! // A `HandshakeError` says that the agent runs, and why it opens no session.
//! let session = match session {
//!     Err(StartError::Handshake(error)) => return Err(error.into()),
//!     session => session?,
//! };
//! if session.supported().await.has(Capability::Interrupt) {
//!     session.send("List the open tasks.").await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## Interrupt and end
//!
//! ```no_run
//! use bowline::{EventLimits, ExitStatus, InterruptScope, Phase, Session};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let session = Session::builder().start().await?;
//! let mut events = session.subscribe(EventLimits { events: 64, ..EventLimits::default() });
//! session.send("Explain this project at length.").await?;
//! while let Some(event) = events.next().await {
//!     println!("{:?}", event.kind);
//!     if session.snapshot().await.status().phase == Phase::Running {
//!         break;
//!     }
//! }
//! let interrupted = session.interrupt_scope(InterruptScope::TurnAndQueued).await?;
//! println!("cancelled {:?}", interrupted.cancelled);
//! let end = session.terminate().await;
//! if end.exit.status != ExitStatus::Code(0) {
//!     println!("{}: {:?} survived", end.reason, end.report.survivors);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## Runners
//!
#![cfg_attr(feature = "remote", doc = "```no_run")]
#![cfg_attr(not(feature = "remote"), doc = "```ignore")]
//! use bowline::{ConnectionState, ConnectionStates, Identity, Remote, Session, TokenFile, Trust};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut runner = Remote::new("https://runner.example:7420".parse()?)
//!     .with_credentials(TokenFile("/etc/bowline/token".into()));
//! runner.trust = Trust::Authorities;
//! runner.identity = Some(Identity { certificate: "client.pem".into(), key: "client.key".into() });
//! let session = Session::builder().runner(runner).start().await?;
//! let mut states: ConnectionStates = session.connection_states();
//! while let Some(state) = states.next().await {
//!     match state {
//!         ConnectionState::Reconnecting { attempt } => println!("reconnecting, attempt {attempt}"),
//!         ConnectionState::Failed(failed) if failed.failure.can_retry() => session.retry()?,
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## Past conversations
//!
#![cfg_attr(feature = "history", doc = "```no_run")]
#![cfg_attr(not(feature = "history"), doc = "```ignore")]
//! use bowline::history::{AgentFolders, History, Query};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let history = History::new(AgentFolders::from_environment(|name| std::env::var_os(name)));
//! let newest = Query { limit: Some(1), ..Query::default() };
//! for conversation in &history.list(&newest)?.conversations {
//!     let past = history.open(&conversation.id)?;
//!     println!("{:?}: {} entries", conversation.title, past.transcript().entries().count());
//! }
//! # Ok(())
//! # }
//! ```

mod ask;
mod replay;

/// The examples of the README are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Past conversations that agents keep on disk, listed and read (feature `history`).
#[cfg(feature = "history")]
pub use bowline_history as history;
/// Passes the hooks of a session at a runner to a server of this host, until the session ends (features `hooks` and
/// `remote`).
///
/// The session has `server.spec(..)` as the `hooks` of its configuration. Dropping the future leaves the session, which
/// uses the default of the gate for what is not answered in time.
///
/// The crate documentation has an example.
#[cfg(all(feature = "hooks", feature = "remote"))]
pub async fn relay_hooks(server: &hooks::HookServer, mut feed: HookFeed) {
    use bowline_hooks::RelayInput;
    use bowline_lifecycle::HookFeedItem;

    let mut relay = server.relay(feed.session().to_string());
    loop {
        ::tokio::select! {
            item = feed.next() => match item {
                Some(HookFeedItem::Past(line)) => relay.push(RelayInput::Past(line)),
                Some(HookFeedItem::PastEnd) => relay.push(RelayInput::PastEnd),
                Some(HookFeedItem::Line(line)) => relay.push(RelayInput::Line(line)),
                Some(_) => {}
                None => return,
            },
            reply = relay.next_reply() => {
                ::tokio::spawn(feed.answer(reply.id, reply.body));
            }
        }
    }
}

#[cfg(all(feature = "hooks", feature = "remote"))]
pub use bowline_lifecycle::HookFeed;

/// The agent's hooks, received and answered over HTTP on loopback (feature `hooks`).
#[cfg(feature = "hooks")]
pub use bowline_hooks as hooks;
/// Login shells as lines of output, prompts submitted as one paste, and an executor that runs an agent in
/// a visible terminal (feature `shell`).
#[cfg(feature = "shell")]
pub use bowline_shell as shell;

pub use ask::{Answer, AskError, ask, ask_with};
pub use bowline_lifecycle::{
    AgentLocation, AgentOptions, AnswerKind, Budget, Capabilities, Capability, ConnectionState,
    ConnectionStates, Containment, ContainmentProbe, Conversation, Decision, DialectName,
    DialogueChanges as Changes, DialogueConfiguration as Configuration, DialogueEnd as SessionEnd,
    DialogueError as SessionError, DialogueEvent as Event, DialogueEventKind as EventKind,
    DialogueEvents as Events, DialogueSession as Session, Environment, EventLimits, Exit,
    ExitStatus, HandshakeError, InterruptReport, InterruptScope, KnownAgent, LoginEnvironment,
    LoginShell, PermissionAnswer, PermissionKind, PermissionRecord, Permissions, Policy,
    PolicyError, PolicyFileError, Prompt, PtyBackend, Question, QuestionOption, Receipt,
    ReceiptState, RequestOption, RequestState, SessionBuilder, SessionId, Signal, SpawnError,
    StartError, TerminationReport, TranscriptChange as Change, WatchdogPolicy, change,
    default_guard, parse_policy, probe, read_policy, run_guard,
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
/// The runtime that all functions need, for a program without its own dependency on tokio.
pub use tokio;
