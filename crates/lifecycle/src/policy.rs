//! Rules over permission requests, evaluated before a user is asked. `crates/lifecycle/POLICY.md` describes them.
//!
//! All of it is pure: the file is read by [`read_policy`](crate::read_policy), and paths are resolved by the
//! session.
//!
//! | module | contents |
//! |---|---|
//! | `rules`, `rule` | the rules, and the decision that they lead to |
//! | `request` | what a request asks for |
//! | `shell` | splits a shell command into simple commands |
//! | `command`, `path`, `host`, `pattern` | the patterns of conditions |
//! | `parse`, `error` | the file |

mod command;
mod error;
#[cfg(feature = "fuzz")]
mod fuzz;
mod host;
mod parse;
mod path;
mod pattern;
mod request;
mod rule;
mod rules;
mod shell;

pub use error::PolicyError;
#[cfg(feature = "fuzz")]
pub use fuzz::policy as fuzz_policy;
pub(crate) use request::PolicyRequest;
pub(crate) use rule::RuleDecision;
pub use rules::Policy;
pub(crate) use rules::PolicyVerdict;

#[cfg(test)]
mod tests;
