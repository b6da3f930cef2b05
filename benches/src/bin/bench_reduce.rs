//! Compares parser and reducer with a naive implementation, and measures the cost of an event by
//! the length of the transcript.

use std::env;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode};

use bowline_benches::corpus::{Corpus, DEFAULT_SIZE, Source};
use bowline_benches::exit_code;
use bowline_benches::peers::{Failure, Plan, json, rows, table};
use bowline_benches::reduce::{BASE, NAMES, Point, points, sample};
use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

/// Lengths of the transcript, in entries.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Memory that glibc keeps for the next round, in bytes; more than a slice needs.
const KEPT: &str = "268435456";

/// Measures CPU time from bytes to a transcript, in comparison with `serde_json` and maps of
/// strings, and of the reducer alone by the length of the transcript
///
/// Fails if the two produce different conversations.
#[derive(Debug, Parser)]
#[command(name = "bench-reduce", bin_name = "cargo bench-reduce")]
struct Arguments {
    /// Corpus; may be repeated [default: mixed]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(
          ["partial", "messages", "mixed"]).map(corpus))]
    corpus: Vec<Corpus>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Run one process with two rounds and a tenth of the entries, for an estimate
    #[arg(long)]
    quick: bool,

    /// Size of a corpus in MiB
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SIZE as u64 >> 20,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    mib: u64,

    /// Measure in this process and print the sample
    #[arg(long, hide = true)]
    worker: bool,
}

fn corpus(name: String) -> Corpus {
    let mut all = Corpus::ALL.into_iter();
    all.find(|corpus| corpus.name() == name)
        .expect("the possible values are names of corpora")
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = if arguments.worker {
        arguments.work()
    } else {
        arguments.lead()
    };
    exit_code(done)
}

impl Arguments {
    fn plan(&self) -> Plan {
        if self.quick { Plan::QUICK } else { Plan::FULL }
    }

    fn corpora(&self) -> &[Corpus] {
        if self.corpus.is_empty() {
            &[Corpus::Mixed]
        } else {
            &self.corpus
        }
    }

    fn work(&self) -> Result<(), Failure> {
        for &corpus in self.corpora() {
            let source = Source::Corpus(corpus, (self.mib << 20) as usize);
            let sample = sample(&source, self.plan().rounds)?;
            let text = serde_json::to_string(&sample).map_err(io::Error::from);
            text.and_then(|text| print(&text))
                .map_err(Failure::Process)?;
        }
        Ok(())
    }

    fn lead(&self) -> Result<(), Failure> {
        for &corpus in self.corpora() {
            let worker = |_| self.worker(corpus);
            let (rows, last) = rows(corpus.name(), &NAMES, BASE, self.plan(), worker)?;
            let text = if self.json {
                json(&rows)
            } else {
                table(&rows, &last)
            };
            print(&text).map_err(Failure::Process)?;
        }
        print(&self.growth()).map_err(Failure::Process)
    }

    fn worker(&self, corpus: Corpus) -> io::Result<Command> {
        let mut command = Command::new(env::current_exe()?);
        // Without this, glibc returns the end of the heap to the kernel when the large pieces of
        // Bowline's text are freed, and the next round pays for new pages; the naive reducer does
        // not trigger that.
        command.env("MALLOC_TRIM_THRESHOLD_", KEPT);
        command.args(["--worker", "--corpus", corpus.name()]);
        command.args(["--mib", &self.mib.to_string()]);
        if self.quick {
            command.arg("--quick");
        }
        Ok(command)
    }

    /// Measures the reducer alone, by the length of the transcript.
    fn growth(&self) -> String {
        let sizes = if self.quick { &SIZES[..3] } else { &SIZES };
        let rounds = 2 * self.plan().rounds;
        let points = points(sizes, |done, _| done >= rounds);
        let rows = points.iter().map(|point| self.row(point, &points[0]));
        let head = "\nreducer alone, by entries of the transcript\n   entries    ns/delta     ratio     ns/line     ratio\n";
        let head = if self.json { "" } else { head };
        rows.fold(head.into(), |text, row| text + &row)
    }

    fn row(&self, point: &Point, first: &Point) -> String {
        let (entries, delta, line) = (point.entries, point.ns_per_delta, point.ns_per_line);
        let (by_delta, by_line) = (delta / first.ns_per_delta, line / first.ns_per_line);
        if self.json {
            return format!(
                "{{\"entries\":{entries},\"ns_per_delta\":{delta:.1},\"delta_ratio\":{by_delta:.3},\"ns_per_line\":{line:.1},\"line_ratio\":{by_line:.3}}}\n"
            );
        }
        format!("{entries:>10}{delta:>12.1}{by_delta:>10.2}{line:>12.1}{by_line:>10.2}\n")
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
