//! What the runner and the shims use, look by look, and whether it becomes more.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bowline_transport::SessionId;

use super::CAP;
use crate::campaign::Report;
use crate::campaign::machine::station::Station;
use crate::campaign::machine::usage::{descriptors, own_memory, threads};

/// From so many looks on, twenty minutes, the slopes are judged. The first half is for rings,
/// journals and chronicles to fill: the last is full after some 300 links.
const JUDGED: usize = 600;

/// What a process may grow by in an hour, in KiB, as far as that can be told from its ups and downs.
const GROWTH_KIB: f64 = 1024.0;

/// The second half is taken in so many parts, each by its lowest: what links have that are just being
/// made is no slope, and a leak never goes down.
const PARTS: usize = 8;

/// So many standard errors (of six degrees of freedom) are beyond doubt.
const DOUBT: f64 = 3.0;

/// Descriptors and threads of all processes together may become more by this share of them.
const MORE: f64 = 0.02;

/// The same for journals, each of which goes up and down by half.
const WAVE: f64 = 0.1;

/// The runner, and the sessions that keep only so much.
#[derive(Debug)]
pub(super) struct Usage {
    /// The runner comes first.
    pids: Vec<u32>,
    journals: Vec<PathBuf>,
    started: Instant,
    looks: Vec<Look>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    /// Hours since the first.
    at: f64,
    /// KiB of the runner, KiB of a shim, descriptors, threads, KiB of a journal.
    used: [f64; 5],
}

/// A line through looks.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// In the middle of the time, at rest.
    mean: f64,
    /// In an hour.
    slope: f64,
    /// The standard error of that.
    error: f64,
}

impl Line {
    /// What it grows by beyond doubt.
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

    /// The runner and the shims.
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

    /// Tells the slopes of the second half, and judges them if it was long enough.
    pub(super) fn tell(&self, report: &mut Report) {
        let behind = self.looks.get(self.looks.len() / 2..).unwrap_or_default();
        let lines: [Line; 5] = std::array::from_fn(|at| line(behind, at));
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
        for (who, line) in [("the runner", runner), ("a shim", shim)] {
            if line.growth() > GROWTH_KIB {
                report.violation(format!("{who} grows by {:.0} KiB an hour", line.slope));
            }
        }
        let hours = behind.last().map_or(0.0, |it| it.at) - behind.first().map_or(0.0, |it| it.at);
        for (what, line) in [("descriptors", open), ("threads", threads)] {
            if line.growth() * hours > line.mean * MORE {
                report.violation(format!("{:.1} {what} more in an hour", line.slope));
            }
        }
        // A journal drops half of itself at a time, so that it goes up and down below its cap.
        let longest = behind.iter().map(|it| it.used[4]).fold(0.0, f64::max);
        if longest > CAP as f64 / 1024.0 || journal.growth() * hours > journal.mean * WAVE {
            report.violation(format!(
                "a journal has up to {longest:.0} KiB, and {:.1} more in an hour",
                journal.slope
            ));
        }
    }
}

/// The line of least squares through the lowest of each part of what was used.
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

/// Bytes of the files in a folder.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // What is dropped while it is counted is gone.
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
    fn a_line_has_the_slope_of_what_it_goes_through() {
        let level = line(&looks(|_| 5.0), 0);
        assert_eq!((level.mean, level.slope, level.error), (5.0, 0.0, 0.0));
        let steady = line(&looks(|minute| 3.0 * minute), 0);
        assert!((steady.growth() - 180.0).abs() < 1e-6, "{steady:?}");
        assert_eq!(line(&[], 0).slope, 0.0);
    }

    #[test]
    fn ups_and_downs_are_no_growth_and_a_leak_beside_them_is() {
        let waves = |minute: f64| 70_000.0 + 3_000.0 * (minute * 0.7).sin().abs();
        let level = line(&looks(waves), 0);
        assert!(level.growth() < GROWTH_KIB, "{level:?}");
        let leaky = line(&looks(|minute| waves(minute) + 500.0 * minute), 0);
        assert!(leaky.growth() > GROWTH_KIB, "{leaky:?}");
    }
}
