//! A scripted stand-in for a coding agent, for tests of programs that run one.
//!
//! It implements the stream-json protocol of the Claude Code CLI in both directions: it prints the
//! lines that the agent prints, in the same order, and handles prompts, permission answers,
//! interrupts and signals in the same way. It calls no model and no tool; it runs hooks.
//!
//! A *scenario* is the script that it plays: a [`Scenario`] in Rust, or a file in TOML or JSON
//! (`SCENARIOS.md`).
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
mod dialect;
mod event;
mod help;
mod hooks;
mod input;
mod lines;
mod output;
mod play;
mod player;
mod prompt;
mod reply;
mod run;
mod scenario;
mod session;
mod version;

pub use builtin::{builtin, builtin_names};
pub use run::run;
pub use scenario::{
    Agent, ApiFailure, ApiRetry, Call, ControlReply, Grandchild, Hang, Junk, Limits, Many,
    Otherwise, PlanState, PlanStep, Raw, Request, ResultChange, Scenario, ScenarioError, Startup,
    StderrText, Step, Text, Tool, Torn, Trigger, Turn, WaitFor,
};
