//! Hunts for inputs that break a target, until one is found, so many were tried, or the time is over.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bowline_fuzz::{Found, Hunt, Target, targets};
use clap::Parser;

/// Inputs that broke something, kept as tests.
const FOUND: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/found");

/// How often it says how far it is.
const TELL: Duration = Duration::from_secs(60);

/// Inputs that are made of others, led by the branches that they reach; ends with 1 when one of them
/// breaks the target, and writes it to a file that the tests look at from then on.
#[derive(Debug, Parser)]
#[command(name = "fuzz", bin_name = "cargo fuzz", after_help = list())]
struct Arguments {
    /// What is to be broken
    #[arg(value_name = "TARGET", value_parser = target)]
    target: &'static Target,

    /// Where every choice comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Inputs to try
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    execs: u64,

    /// Try inputs for so long, and not a number of them
    #[arg(long, value_name = "M", conflicts_with = "execs")]
    minutes: Option<u64>,

    /// Take up the inputs of an earlier hunt from this folder, and keep there what reaches something
    /// new
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
}

fn target(name: &str) -> Result<&'static Target, String> {
    let found = targets::ALL.iter().find(|target| target.name == name);
    let names = || {
        let names: Vec<_> = targets::ALL.iter().map(|target| target.name).collect();
        format!("it is one of {}", names.join(", "))
    };
    found.copied().ok_or_else(names)
}

fn list() -> String {
    let line = |target: &&Target| format!("{:9} {}\n", target.name, target.what);
    targets::ALL.iter().map(line).collect()
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // What panics is told with its input, and not twenty thousand times while that is made short.
    std::panic::set_hook(Box::new(|_| {}));
    match arguments.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error}"));
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn run(&self) -> Result<(), Box<dyn std::error::Error>> {
        let mut hunt = Hunt::new(self.target, self.seed, self.corpus.as_deref())?;
        let start = Instant::now();
        let mut told = start;
        let mut went = hunt.begin();
        while went.is_ok() && !self.is_over(&hunt, start) {
            let left = self.execs.saturating_sub(hunt.tally().executions);
            went = hunt.go_on(if self.minutes.is_some() {
                u64::MAX
            } else {
                left
            });
            if told.elapsed() >= TELL {
                told = Instant::now();
                say(&self.line(&hunt, start.elapsed()));
            }
        }
        let line = self.line(&hunt, start.elapsed());
        writeln!(io::stdout().lock(), "{line}")?;
        went.map_err(|found| kept(&found).map_or_else(Into::into, Into::into))
    }

    fn is_over(&self, hunt: &Hunt, start: Instant) -> bool {
        match self.minutes {
            Some(minutes) => start.elapsed() >= Duration::from_secs(60 * minutes),
            None => hunt.tally().executions >= self.execs,
        }
    }

    fn line(&self, hunt: &Hunt, time: Duration) -> String {
        let tally = hunt.tally();
        let seconds = time.as_secs_f64();
        format!(
            "{}: seed {}, {} executions in {seconds:.0} s, {:.0}/s, {} inputs to begin with, {} kept, {} branches reached",
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

/// Writes what was found to where the tests look; what to tell.
fn kept(found: &Found) -> io::Result<String> {
    let folder = Path::new(FOUND).join(found.target);
    fs::create_dir_all(&folder)?;
    let file = folder.join(found.name());
    fs::write(&file, &found.input)?;
    Ok(format!("{found}\n  kept in {}", file.display()))
}

fn say(line: &str) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
