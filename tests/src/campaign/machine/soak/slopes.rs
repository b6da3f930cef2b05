//! Samples of the resource usage of the runner and the shims, and the check that it does not grow.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bowline_transport::SessionId;

use super::CAP;
use crate::campaign::Report;
use crate::campaign::machine::station::Station;
use crate::campaign::machine::usage::{descriptors, own_memory, threads};

/// Number of samples (twenty minutes) from which slopes are checked. Rings, journals and event logs
/// fill during the first half; an event log is full after some 300 links.
const JUDGED: usize = 600;

/// Maximum growth of a process, in KiB per hour, beyond the measurement error.
const GROWTH_KIB: f64 = 1024.0;

/// Number of parts into which the second half is divided; each counts with its minimum. The minimum
/// excludes links that are being established, and a leak never shrinks.
const PARTS: usize = 8;

/// Number of standard errors (six degrees of freedom) that count as significant.
const DOUBT: f64 = 3.0;

/// Maximum growth of the total of descriptors and threads, as a share.
const MORE: f64 = 0.02;

/// Maximum growth of the journals, as a share; each varies by half.
const WAVE: f64 = 0.1;

/// The runner, and sessions with limited retention.
#[derive(Debug)]
pub(super) struct Usage {
    /// The runner is the first.
    pids: Vec<u32>,
    journals: Vec<PathBuf>,
    started: Instant,
    looks: Vec<Look>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    /// Hours since the first sample.
    at: f64,
    /// KiB of the runner, KiB of a shim, descriptors, threads, KiB of a journal.
    used: [f64; 5],
}

/// A regression line.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Value at the middle of the time.
    mean: f64,
    /// Growth per hour.
    slope: f64,
    /// Standard error of the growth.
    error: f64,
}

impl Line {
    /// Significant growth.
    fn growth(self) -> f64 {
        self.slope - DOUBT * self.error
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, slope, error } = self;
        write!(f, "{mean:.0} ({slope:+.0} ± {error:.0} an hour)")
    }
}

impl Usage {
    pub(super) fn new(station: &Station, ids: &[SessionId]) -> Result<Self, String> {
        let state = station.state()?;
        let mut pids = vec![station.pid().ok_or("no runner")?];
        for id in ids {
            let info = state.session(*id).info();
            let info = info.map_err(|error| error.to_string())?;
            pids.push(info.ok_or("no info of a session")?.shim_pid);
        }
        let journals = ids.iter().map(|id| state.session(*id).journal());
        Ok(Self {
            pids,
            journals: journals.collect(),
            started: Instant::now(),
            looks: Vec::new(),
        })
    }

    /// Replaces the process id of the runner.
    pub(super) fn runner_restarted(&mut self, pid: u32) {
        self.pids[0] = pid;
    }

    /// Process ids of the runner and the shims.
    pub(super) fn pids(&self) -> &[u32] {
        &self.pids
    }

    pub(super) fn look(&mut self) {
        let (runner, shims) = self.pids.split_at(1);
        let each = shims.len().max(1) as f64;
        let journals: u64 = self.journals.iter().map(|it| bytes_in(it)).sum();
        let kib = |bytes: u64| bytes as f64 / 1024.0;
        self.looks.push(Look {
            at: self.started.elapsed().as_secs_f64() / 3_600.0,
            used: [
                kib(own_memory(runner)),
                kib(own_memory(shims)) / each,
                descriptors(&self.pids) as f64,
                threads(&self.pids) as f64,
                kib(journals) / each,
            ],
        });
    }

    /// Reports the slopes of the second half, and checks them if it was long enough.
    pub(super) fn report_to(&self, report: &mut Report) {
        let second_half = self.looks.get(self.looks.len() / 2..).unwrap_or_default();
        let lines: [Line; 5] = std::array::from_fn(|at| line(second_half, at));
        let [runner, shim, open, threads, journal] = lines;
        report.note(format!(
            "KiB: the runner {runner}, a shim {shim}, a journal {journal}; {} processes: descriptors \
             {open}, threads {threads}",
            self.pids.len()
        ));
        if self.looks.len() < JUDGED {
            report.note("too short for the slopes to be judged");
            return;
        }
        for (name, line) in [("the runner", runner), ("a shim", shim)] {
            if line.growth() > GROWTH_KIB {
                report.violation(format!("{name} grows by {:.0} KiB an hour", line.slope));
            }
        }
        let hours = second_half.last().map_or(0.0, |it| it.at)
            - second_half.first().map_or(0.0, |it| it.at);
        for (what, line) in [("descriptors", open), ("threads", threads)] {
            if line.growth() * hours > line.mean * MORE {
                report.violation(format!("{:.1} {what} more in an hour", line.slope));
            }
        }
        // A journal drops half of itself at a time, so its size oscillates below the cap.
        let longest = second_half.iter().map(|it| it.used[4]).fold(0.0, f64::max);
        if longest > CAP as f64 / 1024.0 || journal.growth() * hours > journal.mean * WAVE {
            report.violation(format!(
                "a journal has up to {longest:.0} KiB, and {:.1} more in an hour",
                journal.slope
            ));
        }
    }
}

/// Least-squares line through the minimum of each part.
fn line(looks: &[Look], index: usize) -> Line {
    let parts = looks.chunks(looks.len().div_ceil(PARTS).max(1));
    let points: Vec<_> = parts
        .map(|part| {
            let count = part.len() as f64;
            let at = part.iter().map(|it| it.at).sum::<f64>() / count;
            let used = part.iter().map(|it| it.used[index]);
            let used = used.fold(f64::INFINITY, f64::min);
            (at, used)
        })
        .collect();
    let count = points.len().max(1) as f64;
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let (at, mean) = (sum(&|it| it.0) / count, sum(&|it| it.1) / count);
    let spread = sum(&|it| (it.0 - at).powi(2));
    let slope = if spread > 0.0 {
        sum(&|it| (it.0 - at) * (it.1 - mean)) / spread
    } else {
        0.0
    };
    let missed = sum(&|it| (it.1 - mean - slope * (it.0 - at)).powi(2));
    let error = if count > 2.0 && spread > 0.0 {
        (missed / (count - 2.0) / spread).sqrt()
    } else {
        0.0
    };
    Line { mean, slope, error }
}

/// Total size of the files in a folder, in bytes.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // A file may be removed while it is counted.
    let found = entries.filter_map(|entry| entry.metadata().ok());
    found.map(|it| it.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(used: impl Fn(f64) -> f64) -> Vec<Look> {
        let look = |minute: u32| Look {
            at: f64::from(minute) / 60.0,
            used: [used(f64::from(minute)), 0.0, 0.0, 0.0, 0.0],
        };
        (0..80).map(look).collect()
    }

    #[test]
    fn regression_line_has_expected_slope() {
        let level = line(&looks(|_| 5.0), 0);
        assert_eq!((level.mean, level.slope, level.error), (5.0, 0.0, 0.0));
        let steady = line(&looks(|minute| 3.0 * minute), 0);
        assert!((steady.growth() - 180.0).abs() < 1e-6, "{steady:?}");
        assert_eq!(line(&[], 0).slope, 0.0);
    }

    #[test]
    fn oscillation_is_no_growth_but_leak_is() {
        let waves = |minute: f64| 70_000.0 + 3_000.0 * (minute * 0.7).sin().abs();
        let level = line(&looks(waves), 0);
        assert!(level.growth() < GROWTH_KIB, "{level:?}");
        let leaky = line(&looks(|minute| waves(minute) + 500.0 * minute), 0);
        assert!(leaky.growth() > GROWTH_KIB, "{leaky:?}");
    }
}
