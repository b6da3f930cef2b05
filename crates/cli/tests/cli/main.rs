//! Runs the `bowline` command and checks its output and exit code.
#![expect(clippy::unwrap_used, reason = "an error fails the test")]

mod acp;
mod acp_client;
mod acp_draft;
mod attach;
mod bad_input;
mod budget;
mod bundle;
mod chat;
mod connection;
mod demo;
mod dialects;
mod dialogue;
mod executor;
mod help;
mod history;
mod hook_client;
mod inspect;
mod journals;
mod leases;
mod logs;
mod older_agent;
mod policy;
mod real_agent;
mod recordings;
mod runner;
mod runner_tls;
mod screen_model;
mod scripts;
#[cfg(target_os = "linux")]
mod service;
mod session_end;
mod socket_proxy;
mod started_runner;
mod state_folder;
mod support;
mod terminal;
mod test_runner;
mod watch;
