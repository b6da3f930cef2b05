//! A runner on loopback: its sessions through its doors, beside a child whose output is copied to a
//! socket and nothing else. All in one run, by turns.

mod bare;
mod child;
mod echo;
mod flow;
mod reattach;
mod served;
mod table;

use std::process::ExitCode;

pub use table::table;

pub use crate::terminal::Row;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How often each is done, by turns; the middle one counts.
    pub rounds: usize,
    /// Bytes through each door, each time.
    pub bytes: usize,
    /// Keys that are sent and waited for, each time.
    pub keys: usize,
    /// How often a session is joined again.
    pub attaches: usize,
    /// Bytes of history that it has then: few and many.
    pub histories: [usize; 2],
}

/// Does what a hidden mode says; `None` if the arguments name none: a session's shim, and children.
#[must_use]
pub fn run_hidden(args: &[String]) -> Option<ExitCode> {
    match args.first()?.as_str() {
        served::SHIM => Some(bowline_runner::run_shim()),
        child::FLOOD => Some(child::flood(args.get(1)?.parse().ok()?)),
        child::FLOOD_ASKED => Some(child::flood_asked(args.get(1)?.parse().ok()?)),
        _ => None,
    }
}

/// Measures all of it.
///
/// # Errors
///
/// When the runner or a child cannot be started, or what comes is not what it should be.
pub fn measure(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let served = served::Served::start().await?;
        let mut rows = flow::rows(&served, plan).await?;
        rows.extend(echo::rows(&served, plan).await?);
        rows.extend(reattach::rows(&served, plan).await?);
        served.stop().await;
        Ok(rows)
    })
}
