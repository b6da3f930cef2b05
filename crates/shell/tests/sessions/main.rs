//! Shell sessions and what is typed into them.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod prompts;
mod shells;
mod support;
