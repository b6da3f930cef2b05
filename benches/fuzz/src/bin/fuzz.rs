//! Fuzzes a target until an input breaks it, the number of inputs is reached, or the time is over.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bowline_fuzz::{Found, GuidedFuzzer, Target, targets};
use clap::Parser;

/// Inputs that broke a target, kept as tests.
const FOUND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/found");

/// Interval of progress reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Fuzzes a target, guided by branch coverage. Exits with 1 if an input breaks the target, and
/// stores that input where the tests run it from then on
#[derive(Debug, Parser)]
#[command(name = "fuzz", bin_name = "cargo fuzz", after_help = list())]
struct Arguments {
    /// Target
    #[arg(value_name = "TARGET", value_parser = target)]
    target: &'static Target,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Number of inputs
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    execs: u64,

    /// Run for this many minutes instead of a number of inputs
    #[arg(long, value_name = "M", conflicts_with = "execs")]
    minutes: Option<u64>,

    /// Continue with the inputs of an earlier run in this folder, and store new ones there
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
}

fn target(name: &str) -> Result<&'static Target, String> {
    let found = targets::ALL.iter().find(|target| target.name == name);
    let names = || {
        let names: Vec<_> = targets::ALL.iter().map(|target| target.name).collect();
        format!("expected one of {}", names.join(", "))
    };
    found.copied().ok_or_else(names)
}

fn list() -> String {
    let line = |target: &&Target| format!("{:9} {}\n", target.name, target.what);
    targets::ALL.iter().map(line).collect()
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Panics are reported with their input, not once per attempt while it is minimised.
    std::panic::set_hook(Box::new(|_| {}));
    match arguments.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&format!("{error}"));
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn run(&self) -> Result<(), Box<dyn std::error::Error>> {
        let mut fuzzer = GuidedFuzzer::new(self.target, self.seed, self.corpus.as_deref())?;
        let start = Instant::now();
        let mut last_report = start;
        let mut result = fuzzer.begin();
        while result.is_ok() && !self.is_over(&fuzzer, start) {
            let left = self.execs.saturating_sub(fuzzer.tally().executions);
            result = fuzzer.go_on(if self.minutes.is_some() {
                u64::MAX
            } else {
                left
            });
            if last_report.elapsed() >= REPORT_INTERVAL {
                last_report = Instant::now();
                log(&self.line(&fuzzer, start.elapsed()));
            }
        }
        let line = self.line(&fuzzer, start.elapsed());
        writeln!(io::stdout().lock(), "{line}")?;
        result.map_err(|found| kept(&found).map_or_else(Into::into, Into::into))
    }

    fn is_over(&self, fuzzer: &GuidedFuzzer, start: Instant) -> bool {
        match self.minutes {
            Some(minutes) => start.elapsed() >= Duration::from_secs(60 * minutes),
            None => fuzzer.tally().executions >= self.execs,
        }
    }

    fn line(&self, fuzzer: &GuidedFuzzer, time: Duration) -> String {
        let tally = fuzzer.tally();
        let seconds = time.as_secs_f64();
        format!(
            "{}: seed {}, {} executions in {seconds:.0} s, {:.0}/s, {} seeds, {} kept, {} branches reached",
            self.target.name,
            self.seed,
            tally.executions,
            tally.executions as f64 / seconds,
            tally.seeds,
            tally.kept,
            tally.edges,
        )
    }
}

/// Stores a failing input where the tests find it. Returns the message.
fn kept(found: &Found) -> io::Result<String> {
    let folder = Path::new(FOUND).join(found.target);
    fs::create_dir_all(&folder)?;
    let file = folder.join(found.name());
    fs::write(&file, &found.input)?;
    Ok(format!("{found}\n  kept in {}", file.display()))
}

fn log(line: &str) {
    // Nothing can be reported when stderr is closed.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
