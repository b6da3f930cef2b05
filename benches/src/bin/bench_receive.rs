//! Compares the receive path with a bare loop of read(2), for one session and for a thousand.

use std::env;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode};

use bowline_benches::exit_code;
use bowline_benches::receive::{
    Fleet, Flooded, Idle, Reader, Received, Role, Steady, Whole, flood, idle, steady, whole,
};
use clap::{Parser, ValueEnum};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Length of the stream whose memory is measured, without --ten-gigabytes.
const STEADY: u64 = 1 << 30;
const TEN_GIGABYTES: u64 = 10_000_000_000;

/// Sessions whose whole transcripts a host holds, and the output of each, in bytes.
const WHOLE: usize = 100;
const WHOLE_OUTPUT: u64 = 1_000_000;

/// Lines per second of one busy session, and sessions of the small fleet.
const RATE: u64 = 80;
const SMALL_FLEET: usize = 10;

/// Measures the path from a readable descriptor to a change in a transcript: Bowline, a bare loop
/// of read(2) on the same writer, and the ratio
#[derive(Debug, Parser)]
#[command(name = "bench-receive", bin_name = "cargo bench-receive")]
struct Arguments {
    /// What to measure; may be repeated [default: all]
    #[arg(long, value_name = "WHAT")]
    measure: Vec<Measure>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Run one short round of each, for an estimate
    #[arg(long)]
    quick: bool,

    /// Use a stream of ten gigabytes for the memory measurement
    #[arg(long)]
    ten_gigabytes: bool,

    /// Sessions of the large fleet
    #[arg(long, value_name = "N", default_value_t = 1_000,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(10..=4_000))]
    sessions: usize,

    /// Measure one part in this process and print it
    #[arg(long, hide = true)]
    worker: bool,

    /// Run as the process that writes
    #[arg(long, hide = true)]
    produce: Option<String>,

    /// Bytes to write, or lines per second
    #[arg(long, hide = true, default_value_t = 0)]
    amount: u64,

    /// Seconds that are measured
    #[arg(long, hide = true, default_value_t = 3)]
    seconds: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Measure {
    /// One writer without pauses
    Flood,
    /// Many busy sessions on one reactor
    Fleet,
    /// Many idle sessions
    Idle,
    /// Memory along a stream
    Steady,
    /// Memory of a hundred transcripts
    Whole,
}

/// One row of the results.
#[derive(Debug, Serialize)]
struct Row {
    metric: String,
    unit: &'static str,
    ours: f64,
    base: Option<f64>,
    ratio: Option<f64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    exit_code(
        arguments
            .run()
            .map_err(|error| format!("failed to measure: {error}")),
    )
}

impl Arguments {
    fn run(&self) -> io::Result<()> {
        if let Some(role) = self.role() {
            return role.play();
        }
        for what in self.measures() {
            if self.worker {
                return self.work(what);
            }
            let rows = self.rows(what)?;
            print(&self.text(&rows)?)?;
        }
        Ok(())
    }

    fn role(&self) -> Option<Role> {
        let (amount, seconds) = (self.amount, self.seconds);
        match self.produce.as_deref()? {
            "lines" => Some(Role::Lines(amount)),
            "chunks" => Some(Role::Chunks(amount)),
            "conversation" => Some(Role::Conversation(amount)),
            _ => Some(Role::Fleet {
                rate: amount,
                seconds,
            }),
        }
    }

    fn measures(&self) -> Vec<Measure> {
        if self.measure.is_empty() {
            Measure::value_variants().to_vec()
        } else {
            self.measure.clone()
        }
    }

    fn rounds(&self) -> usize {
        if self.quick { 1 } else { 5 }
    }

    fn work(&self, what: Measure) -> io::Result<()> {
        let text = match what {
            Measure::Fleet => serde_json::to_string(
                &Fleet {
                    sessions: self.sessions,
                    rate: self.amount,
                    seconds: self.seconds,
                }
                .run()?,
            ),
            Measure::Idle => serde_json::to_string(&idle(self.sessions)?),
            Measure::Whole => serde_json::to_string(&whole(self.sessions, self.amount)?),
            _ => serde_json::to_string(&steady(self.amount)?),
        };
        print(&text.map_err(io::Error::from)?)
    }

    /// Measures in a separate process, unaffected by earlier measurements.
    fn worker<T: DeserializeOwned>(
        &self,
        what: &str,
        sessions: usize,
        amount: u64,
    ) -> io::Result<T> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["--worker", "--measure", what]);
        command.args(["--sessions", &sessions.to_string()]);
        command.args(["--amount", &amount.to_string()]);
        command.args(["--seconds", if self.quick { "1" } else { "3" }]);
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(format!("the part {what} failed")));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn rows(&self, what: Measure) -> io::Result<Vec<Row>> {
        match what {
            Measure::Flood => self.flood(),
            Measure::Fleet => self.fleet(),
            Measure::Idle => self.idle(),
            Measure::Steady => self.steady(),
            Measure::Whole => self.whole(),
        }
    }

    fn flood(&self) -> io::Result<Vec<Row>> {
        let mib = if self.quick { 32 } else { 128 };
        let lines = Role::Lines(mib << 20);
        let chunks = Role::Chunks(mib << 20);
        let mut rows = self.beside(lines, "one write(2) a line", Reader::Bare)?;
        rows.extend(self.beside(
            lines,
            "the same, bare on a 64 KiB pipe",
            Reader::BareSmallPipe,
        )?);
        rows.extend(self.beside(chunks, "64 KiB writes", Reader::Bare)?);
        Ok(rows)
    }

    fn beside(&self, role: Role, name: &str, base: Reader) -> io::Result<Vec<Row>> {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds() {
            bare.push(flood(base, role)?);
            ours.push(flood(Reader::Session, role)?);
        }
        let row = |metric: String, unit, of: &dyn Fn(&Flooded) -> f64| {
            let pairs = ours.iter().zip(&bare);
            Row {
                metric,
                unit,
                ours: median(ours.iter().map(of)),
                base: Some(median(bare.iter().map(of))),
                ratio: Some(median(pairs.map(|(ours, bare)| of(ours) / of(bare)))),
            }
        };
        let kb_per_read = |it: &Flooded| it.bytes as f64 / 1e3 / it.reads as f64;
        Ok(vec![
            row(format!("{name}: wall"), "MB/s", &Flooded::by_wall),
            row(
                format!("{name}: CPU of the reader"),
                "MB/s",
                &Flooded::by_cpu,
            ),
            row(format!("{name}: a read(2)"), "KB", &kb_per_read),
        ])
    }

    fn fleet(&self) -> io::Result<Vec<Row>> {
        let many = self.sessions;
        let total = RATE * many as u64;
        let mut runs: [Vec<Received>; 3] = Default::default();
        for _ in 0..self.rounds().min(3) {
            let plan = [
                (SMALL_FLEET, RATE * SMALL_FLEET as u64),
                (SMALL_FLEET, total),
                (many, total),
            ];
            for (runs, (sessions, rate)) in runs.iter_mut().zip(plan) {
                runs.push(self.worker("fleet", sessions, rate)?);
            }
        }
        let [slow, fast, large] = &runs;
        let row = |metric: String, unit, base: Option<&[Received]>, of: fn(&Received) -> f64| {
            let ours = median(large.iter().map(of));
            let base = base.map(|base| median(base.iter().map(of)));
            Row {
                metric,
                unit,
                ours,
                base,
                ratio: base.map(|base| ours / base),
            }
        };
        let name = format!("{many} sessions x {RATE} lines/s");
        Ok(vec![
            row(
                format!(
                    "{name}: CPU a line, beside {SMALL_FLEET} x {}",
                    total / SMALL_FLEET as u64
                ),
                "us",
                Some(fast),
                |it| it.us_per_line,
            ),
            row(
                format!("{name}: beside {SMALL_FLEET} x {RATE}"),
                "us",
                Some(slow),
                |it| it.us_per_line,
            ),
            row(
                format!("{name}: starved by others"),
                "%",
                Some(slow),
                |it| it.starved * 100.0,
            ),
            row(format!("{name}: of one core"), "%", None, |it| {
                it.load * 100.0
            }),
            row(format!("{name}: reads a line"), "", Some(fast), |it| {
                it.reads_per_line
            }),
            row(format!("{name}: sleeps a line"), "", Some(fast), |it| {
                it.sleeps_per_line
            }),
            row(
                format!("{name}: write to change, p50"),
                "us",
                Some(slow),
                |it| it.p50_us,
            ),
            row(
                format!("{name}: write to change, p99"),
                "us",
                Some(slow),
                |it| it.p99_us,
            ),
            row(format!("{name}: memory a session"), "KB", None, |it| {
                it.resident as f64 / 1e3
            }),
        ])
    }

    fn idle(&self) -> io::Result<Vec<Row>> {
        let idle: Idle = self.worker("idle", self.sessions, 0)?;
        let name = format!("{} idle sessions", self.sessions);
        let row = |metric: &str, unit, ours| Row {
            metric: format!("{name}: {metric}"),
            unit,
            ours,
            base: None,
            ratio: None,
        };
        let written = idle.written as f64 / 1e3;
        Ok(vec![
            row(
                "memory of one, without output",
                "KB",
                idle.fresh as f64 / 1e3,
            ),
            row(
                &format!("memory of one, after {written:.0} KB"),
                "KB",
                idle.used as f64 / 1e3,
            ),
            row("threads", "", idle.threads as f64),
            row("wakes in two seconds", "", idle.wakes as f64),
            row("CPU of two seconds", "us", idle.cpu_us as f64),
        ])
    }

    fn steady(&self) -> io::Result<Vec<Row>> {
        let bytes = match (self.ten_gigabytes, self.quick) {
            (true, _) => TEN_GIGABYTES,
            (_, true) => STEADY / 4,
            _ => STEADY,
        };
        let steady: Steady = self.worker("steady", SMALL_FLEET, bytes)?;
        let (least, most) = steady.least_and_most();
        let name = format!("{} MB", steady.bytes / 1_000_000);
        let held = format!("{name} through a window: memory after the first fifth, most and least");
        let [least, most] = [least, most].map(|bytes| bytes as f64 / 1e6);
        let row = |metric, ours: u64| Row {
            metric,
            unit: "",
            ours: ours as f64,
            base: None,
            ratio: None,
        };
        Ok(vec![
            Row {
                metric: held,
                unit: "MB",
                ours: most,
                base: Some(least),
                ratio: Some(most / least),
            },
            row(format!("{name}: lines"), steady.lines),
            row(format!("{name}: entries kept"), steady.entries),
            row(format!("{name}: entries given up"), steady.given_up),
        ])
    }

    fn whole(&self) -> io::Result<Vec<Row>> {
        let sessions = if self.quick { WHOLE / 10 } else { WHOLE };
        let whole: Whole = self.worker("whole", sessions, WHOLE_OUTPUT)?;
        let [ours, output] = [whole.resident, whole.output].map(|bytes| bytes as f64 / 1e6);
        Ok(vec![Row {
            metric: format!("{sessions} whole transcripts: memory, and the output of their agents"),
            unit: "MB",
            ours,
            base: Some(output),
            ratio: Some(ours / output),
        }])
    }

    fn text(&self, rows: &[Row]) -> io::Result<String> {
        let mut text = String::new();
        for row in rows {
            text += &if self.json {
                serde_json::to_string(row).map_err(io::Error::from)?
            } else {
                row.line()
            };
            text.push('\n');
        }
        Ok(text)
    }
}

impl Row {
    fn line(&self) -> String {
        let base = self
            .base
            .map_or_else(|| "-".into(), |base| format!("{base:.2}"));
        let ratio = self
            .ratio
            .map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
        let (metric, unit, ours) = (&self.metric, self.unit, self.ours);
        format!("{metric:<64}{unit:>6}{ours:>12.2}{base:>12}{ratio:>8}")
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
