//! Runs the real command and looks at what it prints and how it exits.
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod attach;
mod bad_input;
mod demo;
mod dialogue;
mod door;
mod endings;
mod help;
mod inspect;
mod journals;
mod leases;
mod links;
mod real_agent;
mod recordings;
mod runner;
mod support;
mod terminal;
