//! Terminals and pipes of sessions beside bare read(2) loops and beside portable-pty as it comes,
//! with the thread that it takes to read it. All in one process, by turns.

mod bare;
mod child;
mod echo;
mod flow;
mod ours;
mod spawns;
mod stock;

use std::time::Duration;

pub use child::run as run_child;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How often each is done, by turns; the middle one counts.
    pub rounds: usize,
    /// Bytes through a pipe, each time.
    pub pipe_bytes: usize,
    /// Bytes through a terminal, each time.
    pub pty_bytes: usize,
    /// Keys that are sent and waited for.
    pub keys: usize,
    /// Sessions that are started and kept.
    pub sessions: usize,
}

/// One line of the result.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was done.
    pub what: &'static str,
    /// By whom.
    pub who: &'static str,
    /// The figure with its unit.
    pub figure: String,
    /// It by that of the one it is held against.
    pub ratio: Option<f64>,
    /// What the ratio should be.
    pub goal: Option<&'static str>,
}

/// Measures all of it.
///
/// # Errors
///
/// When a child cannot be started or its output is not what it should be.
pub fn measure(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut rows = flow::pipes(plan)?;
    rows.extend(flow::ptys(plan)?);
    rows.extend(echo::rows(plan)?);
    rows.extend(spawns::rows(plan)?);
    Ok(rows)
}

/// The middle of some figures.
pub(crate) fn median<T: PartialOrd + Copy>(mut figures: Vec<T>) -> T {
    figures.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    figures[figures.len() / 2]
}

pub(crate) fn megabytes(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}
