//! Drives the real Claude Code CLI without a network: its Messages API is a script on loopback.
//!
//! [`Agent`] installs a version into the user's cache, [`MessagesApi`] answers its requests from a
//! [`Script`] written in Rust, [`Home`] gives each run a fresh home and a clean environment, and
//! [`scenario`] contains ready-made conversations. No byte leaves the machine at run time.
//!
//! Nothing sleeps to wait: a reply or a tool is held at a named [`Gate`] until the test opens it. The
//! test chooses the timeout.

mod gate;
mod home;
mod install;
mod normalize;
mod reply;
mod request;
mod response;
pub mod scenario;
mod script;
mod server;
mod sse;

pub use gate::Gate;
pub(crate) use home::search_path;
pub use home::{Home, RIG_PORT};
pub use install::{Agent, InstallError, PINNED_VERSION, SKIP_VARIABLE, VERSION_VARIABLE};
pub use normalize::normalized_agent;
pub use reply::{Answer, ApiError, Block, Reply, Usage};
pub use request::{Kind, Request};
pub use scenario::Scenario;
pub use script::{Lanes, Script};
pub use server::MessagesApi;
