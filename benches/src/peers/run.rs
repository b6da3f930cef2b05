//! Measuring processes, and medians over them.

use std::fmt;
use std::io;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::{Mismatch, Row, check, fit, measure, slices};
use crate::corpus::{Source, SourceError};

/// Number of rounds and processes.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds on every slice; the fastest is used.
    pub rounds: usize,
    /// Processes; the median is used. Now and then a whole process is slow, depending on its memory
    /// addresses.
    pub processes: usize,
}

/// Sample of one process.
#[derive(Debug, Serialize, Deserialize)]
pub struct Sample {
    /// CPU time in nanoseconds, in the order of the contenders.
    pub nanos: Vec<f64>,
    /// Bytes that were parsed.
    pub bytes: usize,
    /// Lines that were parsed.
    pub events: u64,
    /// Lines left out because `serde_json` refuses them.
    pub unfit: usize,
}

/// Why a measurement failed.
#[derive(Debug)]
pub enum Failure {
    /// The stream cannot be read.
    Source(SourceError),
    /// `serde_json` accepts no line of the stream.
    NothingFits(String),
    /// The contenders disagree.
    Mismatch(String, Mismatch),
    /// The reducer and the naive one have folded a stream into different conversations.
    Outcome(String, String),
    /// A measuring process could not be started, or its output is invalid.
    Process(io::Error),
    /// A measuring process failed with this message.
    Peer(String),
}

impl Plan {
    /// The plan for results.
    pub const FULL: Self = Self {
        rounds: 5,
        processes: 3,
    };
    /// The plan for an estimate.
    pub const QUICK: Self = Self {
        rounds: 2,
        processes: 1,
    };
}

/// Measures in this process.
///
/// # Errors
///
/// Fails if the stream cannot be read or the contenders disagree about it.
pub fn sample(
    source: &Source,
    rounds: usize,
    progress: impl FnMut(usize),
) -> Result<Sample, Failure> {
    let (bytes, unfit) = fit(&source.load().map_err(Failure::Source)?);
    if bytes.is_empty() {
        return Err(Failure::NothingFits(source.name()));
    }
    let length = bytes.len();
    let mut slices = slices(bytes);
    let disagree = |mismatch| Failure::Mismatch(source.name(), mismatch);
    slices.iter_mut().try_for_each(check).map_err(disagree)?;
    let (times, events) = measure(&mut slices, rounds, progress).map_err(disagree)?;
    Ok(Sample {
        nanos: times.iter().map(|time| time.as_nanos() as f64).collect(),
        bytes: length,
        events,
        unfit,
    })
}

/// Measures in separate processes. `worker` creates the command of one, which prints the times of
/// `names` in their order. Ratios are relative to `base`.
///
/// # Errors
///
/// Returns the error of the first process that fails.
pub fn rows(
    stream: &str,
    names: &[&'static str],
    base: &str,
    plan: Plan,
    mut worker: impl FnMut(usize) -> io::Result<Command>,
) -> Result<(Vec<Row>, Sample), Failure> {
    let mut samples = (0..plan.processes)
        .map(|number| sample_of(worker(number).map_err(Failure::Process)?))
        .collect::<Result<Vec<_>, _>>()?;
    let base = names.iter().position(|&name| name == base);
    let base = base.expect("everyone is compared with one of them");
    let rows = (names.iter().enumerate())
        .map(|(place, name)| Row::median(stream, name, [place, base], &samples))
        .collect();
    let last = samples.pop().expect("a plan has at least one process");
    Ok((rows, last))
}

fn sample_of(mut worker: Command) -> Result<Sample, Failure> {
    let output = worker
        .stderr(Stdio::piped())
        .output()
        .map_err(Failure::Process)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let status = output.status;
        return Err(Failure::Peer(if message.is_empty() {
            format!("the measuring process ended with {status}; run it again")
        } else {
            message
        }));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Failure::Process(error.into()))
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => write!(f, "failed to {error}"),
            Self::NothingFits(name) => {
                write!(
                    f,
                    "no line of {name} is stream-json; give a file that has some"
                )
            }
            Self::Mismatch(name, mismatch) => {
                write!(f, "{name}: {mismatch}; figures would compare unlike work")
            }
            Self::Outcome(name, difference) => {
                write!(f, "{name}: {difference}; figures would compare unlike work")
            }
            Self::Process(error) => write!(f, "failed to run a measuring process: {error}"),
            Self::Peer(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}
