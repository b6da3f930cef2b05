//! The agent's hooks: received over loopback HTTP, answered by the host, forwarded to a backend.
//!
//! An agent reports what it does, and what it is about to do, through hooks. [`HookServer`] listens
//! for them on 127.0.0.1 with a token of its own. Its [`settings`](HookServer::settings) and
//! [`environment`](HookServer::environment) make an agent post there.
//!
//! Hooks are hints: they arrive before the transcript does, and some can stop what they announce.
//! A killed agent sends none, and losing every hook loses nothing of the transcript.
//!
//! Feature `https` (on by default) compiles TLS for a backend on another machine.
//!
//! # Example
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use bowline_hooks::{
//!     AgentVersion, HookConfiguration, HookGate, HookKind, HookReply, HookServer,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut server = HookServer::start(HookConfiguration {
//!     gate: Some(HookGate {
//!         kinds: vec![HookKind::PreToolUse],
//!         deadline: Duration::from_secs(60),
//!         default: HookReply::deny("no decision in time"),
//!     }),
//!     ..HookConfiguration::default()
//! })
//! .await?;
//! // For the agent's `--settings` and its environment.
//! let agent = AgentVersion::new(2, 1, 330);
//! let settings = server.settings_for("run-1", agent)?;
//! let variables = server.environment("run-1")?;
//!
//! let mut questions = server.questions().expect("taken once");
//! while let Some(question) = questions.next().await {
//!     println!("{}", question.event().raw());
//!     question.answer(HookReply::allow())?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Examples
//!
//! | example | types and functions |
//! |---|---|
//! | [Example](#example) | [`HookServer`], [`HookConfiguration`], [`HookGate`], [`HookKind`], [`HookReply`], [`HookQuestions`], [`HookQuestion`], [`HookServerError`], [`HookReplyError`], [`AgentVersion`] |
//! | [Replies](#replies) | [`HookEvent`], [`HookPayload`], [`ToolVerdict`], [`PermissionVerdict`], [`FormAnswer`] |
//! | [Events and a backend](#events-and-a-backend) | [`HookSubscription`], [`HookEventItem`], [`HookBackend`], [`HookVariables`], [`HookLimits`], [`HookTokenProvider`], [`HookTokenFuture`], [`SecretString`], [`ExposeSecret`], [`HookReport`], [`ForwardReport`], [`merge_settings`] |
//! | [`Webhook`] | [`Webhook`], [`WebhookError`], [`DeliveryError`] |
//! | [At a runner](#at-a-runner) | [`HookSpec`], [`RunnerHooks`], [`HookLine`], [`HookRelay`], [`RelayInput`], [`RelayedReply`] |
//! | [A helper](#a-helper) | [`HookRoute`], [`HookHelper`], [`post_hook`], [`PostHookError`] |
//!
//! ## Replies
//!
//! Each kind of event has its own replies; one that does not fit is a [`HookReplyError`].
//!
//! ```
//! use bowline_hooks::{FormAnswer, HookEvent, HookPayload, HookReply, PermissionVerdict, ToolVerdict};
//!
//! fn reply(event: &HookEvent) -> HookReply {
//!     match &event.payload {
//!         HookPayload::PreToolUse { tool_name, .. } if tool_name == "WebFetch" => HookReply::Tool {
//!             verdict: ToolVerdict::Ask,
//!             reason: Some("the network is used".to_owned()),
//!             updated_input: None,
//!             context: None,
//!         },
//!         HookPayload::PermissionRequest { tool_name, .. } if tool_name == "Read" => {
//!             HookReply::Permission(PermissionVerdict::Allow {
//!                 updated_input: None,
//!                 updated_permissions: Vec::new(),
//!             })
//!         }
//!         HookPayload::Elicitation { .. } => HookReply::Form(FormAnswer::Decline),
//!         _ => HookReply::Nothing,
//!     }
//! }
//! ```
//!
//! ## Events and a backend
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use bowline_hooks::{
//!     ExposeSecret, HookBackend, HookConfiguration, HookEventItem, HookServer, HookTokenFuture,
//!     HookTokenProvider, HookVariables, SecretString, merge_settings,
//! };
//!
//! #[derive(Debug)]
//! struct Keychain;
//!
//! impl HookTokenProvider for Keychain {
//!     fn token(&self, _was_refused: bool) -> HookTokenFuture<'_> {
//!         Box::pin(async { Ok(Some(SecretString::from("the backend's token"))) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut backend = HookBackend::new("https://backend.example", "session-7");
//! // Asked for each attempt, so that a token that expires is replaced.
//! backend.token_provider = Some(Arc::new(Keychain));
//! let mut configuration = HookConfiguration { backend: Some(backend), ..HookConfiguration::default() };
//! configuration.variables = HookVariables { url: None, ..HookVariables::default() };
//! configuration.limits.connections = 16;
//! let server = HookServer::start(configuration).await?;
//!
//! // The hooks that the user has are kept.
//! let users = serde_json::json!({"hooks": {}});
//! let settings = merge_settings(&users, &server.settings("run-1")?)?;
//! for (name, value) in server.environment("run-1")? {
//!     println!("{name} has {} characters", value.expose_secret().len());
//! }
//!
//! let mut events = server.subscribe();
//! while let Some(item) = events.next().await {
//!     match item {
//!         HookEventItem::Event(event) => println!("{:?}", event.kind),
//!         HookEventItem::Lagged(missed) => println!("{missed} events missed"),
//!         _ => {}
//!     }
//! }
//! let report = server.stop().await;
//! println!("{} events, {:?} forwarded", report.events, report.forward.map(|it| it.delivered));
//! # Ok(())
//! # }
//! ```
//!
//! ## At a runner
//!
//! The hooks of an agent at a runner are served there by [`RunnerHooks`], and decided here; between the two are lines.
//!
//! ```no_run
//! use bowline_hooks::{
//!     HookConfiguration, HookLine, HookRelay, HookServer, HookSpec, RelayInput, RelayedReply, RunnerHooks,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = HookServer::start(HookConfiguration::default()).await?;
//! let spec: HookSpec = server.spec("run-1", None)?;
//!
//! // In the process that has the agent, with `settings` and `environment` for it.
//! let mut hooks = RunnerHooks::start(spec).await?;
//! println!("{} {:?}", hooks.settings()?, hooks.environment()?.keys());
//! let line: HookLine = hooks.next().await;
//!
//! // In that of the host.
//! let mut relay: HookRelay = server.relay("session-7");
//! relay.push(RelayInput::Line(serde_json::to_vec(&line)?.into()));
//! let RelayedReply { id, body, .. } = relay.next_reply().await;
//! hooks.answer(id, &body)?;
//! # Ok(())
//! # }
//! ```
//!
//! ## A helper
//!
//! Agents without HTTP hooks run a program for each event, which may be the host itself:
//!
//! ```no_run
//! use bowline_hooks::{HookConfiguration, HookHelper, HookRoute, post_hook};
//!
//! let mut args = std::env::args_os().skip(1);
//! if args.next().is_some_and(|it| it == "post-hook") {
//!     // An error must not exit with code 2, which refuses what the agent is about to do.
//!     std::process::exit(i32::from(post_hook(args).is_err()));
//! }
//! let configuration = HookConfiguration {
//!     route: HookRoute::Helper,
//!     helper: Some(HookHelper {
//!         program: std::env::current_exe()?,
//!         args: vec!["post-hook".to_owned()],
//!     }),
//!     ..HookConfiguration::default()
//! };
//! # Ok::<(), std::io::Error>(())
//! ```

mod agent;
mod configuration;
mod dedup;
mod dispatcher;
mod error;
mod event;
mod forward;
mod hook_client;
mod http;
mod kind;
mod relay;
mod reply;
mod server;
mod settings;
mod spec;
mod subscription;
mod token;

pub use bowline_jsonl::AgentVersion;
pub use configuration::{
    HookBackend, HookConfiguration, HookGate, HookHelper, HookLimits, HookRoute, HookTokenFuture,
    HookTokenProvider, HookVariables,
};
pub use error::{HookReplyError, HookServerError};
pub use event::HookEvent;
pub use forward::{DeliveryError, ForwardReport, Webhook, WebhookError};
pub use hook_client::{PostHookError, post_hook};
pub use kind::{HookKind, HookPayload};
pub use relay::{HookRelay, RelayInput, RelayedReply};
pub use reply::{FormAnswer, HookReply, PermissionVerdict, ToolVerdict};
pub use secrecy::{ExposeSecret, SecretString};
pub use server::{HookReport, HookServer};
pub use settings::merge_settings;
pub use spec::{HookLine, HookSpec, RunnerHooks};
pub use subscription::{HookEventItem, HookQuestion, HookQuestions, HookSubscription};
