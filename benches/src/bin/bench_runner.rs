//! Compares the endpoints of a runner on loopback with a bare copy to a socket.

use std::io::{self, Write as _};
use std::process::ExitCode;

use bowline_benches::runner::{Plan, measure, run_hidden, table};
use clap::Parser;

/// Measures output through the endpoints of a runner on loopback in comparison with a pipe that is
/// copied to a socket, the round trip of a key, reconnection with 1 MiB and with 256 MiB of
/// history, and the REST API: events, windows of transcripts, lists
#[derive(Debug, Parser)]
#[command(name = "bench-runner", bin_name = "cargo bench-runner")]
struct Arguments {
    /// Measure a tenth, for an estimate
    #[arg(long)]
    quick: bool,
    /// Measure only the REST API: events, windows of transcripts, lists
    #[arg(long)]
    rest: bool,
}

impl Arguments {
    fn plan(&self) -> Plan {
        let part = if self.quick { 10 } else { 1 };
        Plan {
            rounds: if self.quick { 3 } else { 5 },
            bytes: (512 << 20) / part,
            keys: 5_000 / part,
            attaches: 200 / part,
            histories: [1 << 20, (256 << 20) / part],
            answer: (8 << 20) / part,
            stream: (4 << 20) / part,
            transcript: (100 << 20) / part,
            sessions: 1000,
            only_rest: self.rest,
        }
    }
}

fn main() -> ExitCode {
    if let Some(code) = bowline_transport::run_guard() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = run_hidden(&args) {
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
