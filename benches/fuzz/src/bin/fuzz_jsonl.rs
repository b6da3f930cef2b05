//! Generates mutated streams until two parsers differ, the number is reached, or the time is over.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bowline_fuzz::{Corpus, Fuzzer, Tally};
use clap::Parser;

/// Streams between two checks of the clock.
const BATCH: u64 = 1_000;

/// Compares both builds of the parser and `serde_json` on mutated real lines. Fails if two of them
/// differ
#[derive(Debug, Parser)]
#[command(name = "fuzz-jsonl", bin_name = "cargo fuzz-jsonl")]
struct Arguments {
    /// Seed; the same seed generates the same streams
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Number of streams
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100_000,
        conflicts_with = "minutes"
    )]
    count: u64,

    /// Run for this many minutes
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,

    /// Generate only this stream, as a finding names it
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["count", "minutes"])]
    only: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing can be reported when stderr is closed.
            let _ = writeln!(io::stderr().lock(), "{error}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn run(&self) -> Result<(), Box<dyn std::error::Error>> {
        let fuzzer = Fuzzer::new(Corpus::load()?, self.seed);
        let mut tally = Tally::default();
        let start = Instant::now();
        let (mut number, end) = match (self.only, self.minutes) {
            (Some(number), _) => (number, number + 1),
            (None, Some(_)) => (0, u64::MAX),
            (None, None) => (0, self.count),
        };
        while number < end && !self.is_over(start) {
            let batch = number..end.min(number.saturating_add(BATCH));
            number = batch.end;
            for number in batch {
                fuzzer.check(number, &mut tally)?;
            }
        }
        let mut out = io::stdout().lock();
        writeln!(out, "{}", self.line(&tally, start.elapsed()))?;
        Ok(())
    }

    fn is_over(&self, start: Instant) -> bool {
        let time = self.minutes.map(|it| Duration::from_secs(60 * it));
        time.is_some_and(|time| start.elapsed() >= time)
    }

    fn line(&self, tally: &Tally, time: Duration) -> String {
        let seed = self.seed;
        let Tally {
            streams,
            mutants,
            taken,
            refused,
            bytes,
        } = tally;
        let seconds = time.as_secs_f64();
        let speed = *mutants as f64 / seconds;
        let megabytes = *bytes as f64 / 1e6;
        format!(
            "seed {seed}: {mutants} mutants in {streams} streams, {megabytes:.0} MB, {taken} lines taken and {refused} refused, in {seconds:.0} s, {speed:.0} mutants/s: nothing found"
        )
    }
}
