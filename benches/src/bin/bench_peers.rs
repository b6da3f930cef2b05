//! Compares the parser with other parsers on the same job.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use bowline_benches::contenders::Contender;
use bowline_benches::corpus::{Corpus, DEFAULT_SIZE, Source};
use bowline_benches::exit_code;
use bowline_benches::peers::{Failure, Plan, Simdjson, build_features, json, rows, sample, table};
use clap::Parser;

/// Compares the parser with other parsers: the same lines, the same decoded members, CPU time
///
/// Measures every corpus if none is given. Fails if a contender decodes different values than the
/// others.
#[derive(Debug, Parser)]
#[command(name = "bench-peers", bin_name = "cargo bench-peers")]
struct Arguments {
    /// Your own streams, .jsonl or .jsonl.gz
    #[arg(value_name = "FILE", conflicts_with = "corpus")]
    files: Vec<PathBuf>,

    /// Built-in corpus; may be repeated
    #[arg(long, value_name = "NAME")]
    corpus: Vec<Corpus>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Run one process with two rounds and without simdjson, for an estimate
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

    fn sources(&self) -> Vec<Source> {
        if !self.files.is_empty() {
            return self.files.iter().cloned().map(Source::File).collect();
        }
        let corpora = if self.corpus.is_empty() {
            &Corpus::ALL[..]
        } else {
            &self.corpus
        };
        let size = (self.mib << 20) as usize;
        corpora
            .iter()
            .map(|&corpus| Source::Corpus(corpus, size_of(corpus, size)))
            .collect()
    }

    /// Measures and prints the sample for the parent process.
    fn work(&self) -> Result<(), Failure> {
        for source in self.sources() {
            let sample = sample(&source, self.plan().rounds, |_| {})?;
            let text = serde_json::to_string(&sample).map_err(io::Error::from);
            text.and_then(|text| print(&text))
                .map_err(Failure::Process)?;
        }
        Ok(())
    }

    fn lead(&self) -> Result<(), Failure> {
        let plan = self.plan();
        let mut head = format!("build: {}\n", build_features());
        let simdjson = self.simdjson(&mut head);
        for source in self.sources() {
            let name = source.name();
            let names = Contender::ALL.map(Contender::name);
            let base = Contender::SerdeJson.name();
            let (mut rows, last) = rows(&name, &names, base, plan, |number| {
                progress(&format!(
                    "{name}: process {} of {}",
                    number + 1,
                    plan.processes
                ));
                self.worker(&source)
            })?;
            if let Some(simdjson) = &simdjson
                && let Some(row) = rows.iter().find(|row| row.contender == base)
            {
                progress(&format!("{name}: simdjson"));
                let (more, version) = simdjson.measure(&source, row, plan)?;
                if !head.is_empty() {
                    head += &format!("{version}\n");
                }
                rows.extend(more);
            }
            progress("");
            if self.json && last.unfit > 0 {
                let unfit = last.unfit;
                note(&format!(
                    "{name}: left out {unfit} lines that serde_json does not take"
                ));
            }
            let text = if self.json {
                json(&rows)
            } else {
                std::mem::take(&mut head) + &table(&rows, &last)
            };
            print(&text).map_err(Failure::Process)?;
        }
        Ok(())
    }

    /// Compiles simdjson's contender for a full run. If that fails, the reason is printed.
    fn simdjson(&self, head: &mut String) -> Option<Simdjson> {
        if self.quick {
            return None;
        }
        match Simdjson::compile("g++") {
            Ok(simdjson) => return Some(simdjson),
            Err(absent) if self.json => note(&absent.to_string()),
            Err(absent) => *head += &format!("{absent}\n"),
        }
        None
    }

    /// Returns the command that measures one source in a separate process.
    fn worker(&self, source: &Source) -> io::Result<Command> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("--worker");
        if self.quick {
            command.arg("--quick");
        }
        match source {
            Source::Corpus(corpus, _) => {
                command.args(["--corpus", corpus.name(), "--mib", &self.mib.to_string()]);
            }
            Source::File(path) => {
                command.arg("--").arg(path);
            }
        }
        Ok(command)
    }
}

/// The recordings repeat themselves, so half of the size is sufficient.
const fn size_of(corpus: Corpus, size: usize) -> usize {
    match corpus {
        corpus if corpus.is_recorded() => size / 2,
        _ => size,
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints what the figures lack, apart from them.
fn note(text: &str) {
    // Nothing can be reported when stderr is closed.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints progress if stderr is a terminal.
fn progress(text: &str) {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let _ = write!(err, "\r\x1b[K{text}");
        let _ = err.flush();
    }
}
