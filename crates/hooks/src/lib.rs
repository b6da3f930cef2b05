//! Hooks: the agent tells the host what it is about to do, over HTTP on loopback.
//!
//! Hooks are hints. They come sooner than the transcript and some can stop what they announce, but
//! a killed agent sends none, and losing them all loses nothing of the transcript.

mod carry;
mod configuration;
mod desk;
mod error;
mod event;
mod forward;
mod kind;
mod question;
mod reply;
mod seen;
mod server;
mod settings;
mod subscription;
mod token;

pub use carry::{CarryError, carry_hook};
pub use configuration::{
    HookBackend, HookConfiguration, HookGate, HookHelper, HookLimits, HookRoute, HookVariables,
};
pub use error::{HookReplyError, HookServerError};
pub use event::HookEvent;
pub use forward::ForwardReport;
pub use kind::{HookKind, HookPayload};
pub use question::{HookQuestion, HookQuestions};
pub use reply::{FormAnswer, HookReply, PermissionVerdict, ToolVerdict};
pub use secrecy::{ExposeSecret, SecretString};
pub use server::{HookReport, HookServer};
pub use settings::merge_settings;
pub use subscription::{HookNews, HookSubscription};
