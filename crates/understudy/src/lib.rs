//! A scripted stand-in for the Claude Code CLI.
//!
//! It speaks the agent's stream-json protocol in both directions: it prints the lines that the
//! real agent prints, in the real order, and it answers prompts, permission replies, interrupts
//! and signals as the real agent does. It never calls a model, a network or a tool.
//!
//! Hosts test their own programs with it, our tests and `bowline demo` run it. A *scenario* says
//! what it plays: [`Scenario`] in Rust, TOML or JSON in a file (`SCENARIOS.md`).
//!
//! ```
//! use understudy::{Scenario, Step};
//!
//! let scenario = Scenario::new().turn([
//!     Step::text("I will look."),
//!     Step::tool("Bash", serde_json::json!({"command": "ls"}), "Cargo.toml"),
//!     Step::text("One file."),
//! ]);
//! let text = serde_json::to_string(&scenario).unwrap();
//! assert_eq!(Scenario::parse(&text).unwrap(), scenario);
//! ```

mod args;
mod builtin;
mod clock;
mod frames;
mod help;
mod hooks;
mod input;
mod output;
mod play;
mod reply;
mod run;
mod scenario;
mod session;
mod stage;

pub use builtin::{builtin, builtin_names};
pub use run::run;
pub use scenario::{
    Agent, ApiFailure, ApiRetry, Call, ControlReply, Grandchild, Hang, Junk, Many, Otherwise, Raw,
    Request, ResultChange, Scenario, ScenarioError, Startup, StderrText, Step, Text, Tool, Torn,
    Trigger, Turn, WaitFor,
};
