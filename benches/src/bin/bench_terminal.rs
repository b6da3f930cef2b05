//! Compares sessions on pipes and PTYs with bare read(2) loops and with portable-pty.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use bowline_benches::terminal::{Plan, Row, measure, run_child};
use clap::Parser;

/// Measures throughput of pipes and PTYs, the round trip of a key, and the start of many sessions,
/// in comparison with a bare read loop and with portable-pty with a thread that reads; and a key through
/// `bowline attach`, tmux and ssh
#[derive(Debug, Parser)]
#[command(name = "bench-terminal", bin_name = "cargo bench-terminal")]
struct Arguments {
    /// Measure a tenth, for an estimate
    #[arg(long)]
    quick: bool,

    /// Sessions to start and keep
    #[arg(long, value_name = "N")]
    sessions: Option<usize>,
}

impl Arguments {
    fn plan(&self) -> Plan {
        let part = if self.quick { 10 } else { 1 };
        Plan {
            rounds: if self.quick { 3 } else { 7 },
            pipe_bytes: (1 << 30) / part,
            pty_bytes: (128 << 20) / part,
            keys: 20_000 / part,
            sessions: self.sessions.unwrap_or(1_000 / part),
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = run_child(&args) {
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

fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut last = "";
    for row in rows {
        if row.what != last {
            let _ = writeln!(text, "{}", row.what);
            last = row.what;
        }
        let ratio = row
            .ratio
            .map_or_else(String::new, |ratio| format!("{ratio:.2} x"));
        let goal = row
            .goal
            .map_or_else(String::new, |goal| format!("(goal {goal})"));
        let line = format!(
            "  {:36} {:>28} {ratio:>8} {goal}",
            row.contender, row.figure
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
