//! Sessions on pipes and PTYs in comparison with bare read(2) loops and with portable-pty with a
//! thread that reads. All contenders take turns in one process.

mod bare;
mod child;
mod echo;
mod flow;
mod keystroke;
mod ours;
mod spawns;
mod stock;

use std::time::Duration;

pub use child::run as run_child;

/// Amounts of work of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds of each contender; the median is reported.
    pub rounds: usize,
    /// Bytes through a pipe per round.
    pub pipe_bytes: usize,
    /// Bytes through a PTY per round.
    pub pty_bytes: usize,
    /// Keys sent and awaited.
    pub keys: usize,
    /// Sessions started and kept.
    pub sessions: usize,
}

/// One row of the results.
#[derive(Clone, Debug)]
pub struct Row {
    /// The measured operation.
    pub what: &'static str,
    /// The contender.
    pub contender: &'static str,
    /// The figure with its unit.
    pub figure: String,
    /// The ratio to the base.
    pub ratio: Option<f64>,
    /// The goal for the ratio.
    pub goal: Option<&'static str>,
}

/// Runs all measurements.
///
/// # Errors
///
/// Fails if a child cannot be started or its output is wrong.
pub fn measure(plan: &Plan) -> anyhow::Result<Vec<Row>> {
    let mut rows = flow::pipes(plan)?;
    rows.extend(flow::ptys(plan)?);
    rows.extend(echo::rows(plan)?);
    rows.extend(keystroke::rows(plan));
    rows.extend(spawns::rows(plan)?);
    Ok(rows)
}

/// Returns the median.
pub(crate) fn median<T: PartialOrd + Copy>(mut figures: Vec<T>) -> T {
    figures.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    figures[figures.len() / 2]
}

pub(crate) fn megabytes(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64()
}
