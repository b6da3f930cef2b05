//! A runner on loopback: its sessions through each endpoint, in comparison with a child whose
//! output is copied to a socket. All contenders take turns in one run.

mod agent;
mod bare;
mod bare_events;
mod child;
mod echo;
mod flow;
mod http;
mod processor;
mod readers;
mod reattach;
mod rest;
mod served;
mod table;

use std::process::ExitCode;

pub use table::table;

pub use crate::terminal::Row;

/// Amounts of work of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds of each contender; the median is reported.
    pub rounds: usize,
    /// Bytes through each endpoint per round.
    pub bytes: usize,
    /// Keys sent and awaited per round.
    pub keys: usize,
    /// Number of reconnections to a session.
    pub attaches: usize,
    /// Bytes of history at reconnection: little and much.
    pub histories: [usize; 2],
    /// Bytes of an answer that readers of events follow.
    pub answer: usize,
    /// Bytes of an answer that readers of events follow while it is written slowly.
    pub stream: usize,
    /// Bytes of a transcript of which the newest entries are read.
    pub transcript: usize,
    /// Sessions that are listed.
    pub sessions: usize,
    /// Whether only the REST API is measured.
    pub only_rest: bool,
}

/// Runs a hidden mode, the shim of a session or a child. Returns `None` if the arguments name none.
#[must_use]
pub fn run_hidden(args: &[String]) -> Option<ExitCode> {
    // The arguments of an agent are those of its protocol.
    if let Ok(bytes) = std::env::var(agent::AGENT) {
        return Some(agent::agent(bytes.parse().ok()?));
    }
    match args.first()?.as_str() {
        readers::READERS => Some(readers::run(args.get(1..)?)),
        served::SHIM => Some(bowline_runner::run_shim()),
        child::FLOOD => Some(child::flood(args.get(1)?.parse().ok()?)),
        child::FLOOD_ASKED => Some(child::flood_asked(args.get(1)?.parse().ok()?)),
        _ => None,
    }
}

/// Runs all measurements.
///
/// # Errors
///
/// Fails if the runner or a child cannot be started, or its output is wrong.
pub fn measure(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let served = served::Served::start().await?;
        let mut rows = Vec::new();
        if !plan.only_rest {
            rows.extend(flow::rows(&served, plan).await?);
            rows.extend(echo::rows(&served, plan).await?);
            rows.extend(reattach::rows(&served, plan).await?);
        }
        rows.extend(rest::rows(&served, plan).await?);
        served.stop().await;
        Ok(rows)
    })
}
