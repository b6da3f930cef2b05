//! Measures a fleet on three NATS servers, which `.ci/nats` builds and names.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use bowline_benches::fleet::{Plan, measure};
use bowline_benches::runner::table;
use clap::Parser;

/// Measures a fleet on three NATS servers on loopback, beside the clients: storing, copying of 1,000 sessions, joining
/// from afar, prompts, and the list of sessions. Run it as `.ci/nats cargo bench-fleet`
#[derive(Debug, Parser)]
#[command(name = "bench-fleet", bin_name = "cargo bench-fleet")]
struct Arguments {
    /// Measure a tenth, for an estimate
    #[arg(long)]
    quick: bool,
}

impl Arguments {
    fn plan(&self) -> Plan {
        let part = if self.quick { 10 } else { 1 };
        Plan {
            messages: 5_000 / part,
            sessions: 1_000,
            copying: Duration::from_secs(if self.quick { 5 } else { 30 }),
            history: 100_000_000,
            joins: if self.quick { 2 } else { 5 },
            prompts: 1_000 / part,
        }
    }
}

fn main() -> ExitCode {
    if let Some(code) = bowline_transport::run_guard() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = bowline_tests::campaign::hidden::run(&args) {
        return code;
    }
    let (text, code) = match measure(&Arguments::parse().plan()) {
        Ok(rows) => (table(&rows), ExitCode::SUCCESS),
        Err(error) => (format!("failed to measure: {error:#}\n"), ExitCode::FAILURE),
    };
    match io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}
