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
mod reply;
mod server;
mod settings;
mod subscription;
mod token;

pub use bowline_jsonl::AgentVersion;
pub use configuration::{
    HookBackend, HookConfiguration, HookGate, HookHelper, HookLimits, HookRoute, HookVariables,
};
pub use error::{HookReplyError, HookServerError};
pub use event::HookEvent;
pub use forward::ForwardReport;
pub use hook_client::{PostHookError, post_hook};
pub use kind::{HookKind, HookPayload};
pub use reply::{FormAnswer, HookReply, PermissionVerdict, ToolVerdict};
pub use secrecy::{ExposeSecret, SecretString};
pub use server::{HookReport, HookServer};
pub use settings::merge_settings;
pub use subscription::{HookEventItem, HookQuestion, HookQuestions, HookSubscription};
