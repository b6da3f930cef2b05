//! The processor time of this process.

use std::fmt;
use std::ops::Sub;

use anyhow::{Context as _, Result};
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};

/// Processor time, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessorTime {
    user: f64,
    kernel: f64,
}

/// Returns the time so far. The whole is exact; the kernel estimates the parts by its clock ticks.
pub(super) fn time() -> Result<ProcessorTime> {
    let all = clock_gettime(ClockId::ProcessCPUTime);
    let all = all.tv_sec as f64 + all.tv_nsec as f64 / 1e9;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name of the program comes before it, in parentheses.
    let (_, fields) = stat.rsplit_once(')').context("a name")?;
    let mut fields = fields.split_whitespace().skip(12);
    let kernel: u64 = fields.next().context("stime")?.parse()?;
    let kernel = kernel as f64 / clock_ticks_per_second() as f64;
    Ok(ProcessorTime {
        user: all - kernel,
        kernel,
    })
}

impl ProcessorTime {
    pub(super) fn all(self) -> f64 {
        self.user + self.kernel
    }
}

impl Sub for ProcessorTime {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            user: self.user - before.user,
            kernel: self.kernel - before.kernel,
        }
    }
}

impl fmt::Display for ProcessorTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, kernel] = [self.all(), self.kernel].map(|it| it * 1000.0);
        write!(f, "processor {all:.0} ms (kernel {kernel:.0})")
    }
}
