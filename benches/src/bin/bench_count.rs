//! Counts the instructions per line with callgrind, independent of clock and load.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_benches::contenders::{Contender, Slice};
use bowline_benches::corpus::Corpus;
use bowline_benches::count::{Baseline, Count, CountError, Counter, TOLERANCE, Worker};
use bowline_benches::exit_code;
use bowline_benches::job::Ends;
use bowline_benches::reduce::Feed;
use bytes::Bytes;
use clap::Parser;

/// Counts the instructions per line with callgrind.
#[derive(Debug, Parser)]
#[command(name = "bench-count", bin_name = "cargo bench-count")]
struct Arguments {
    /// Corpus; may be repeated [default: partial and mixed]
    #[arg(long, value_name = "NAME")]
    corpus: Vec<Corpus>,

    /// Parser to count
    #[arg(long, value_name = "NAME", default_value = "bowline")]
    contender: Vec<Contender>,

    /// Count parser and reducer, from bytes to a transcript
    #[arg(long, conflicts_with = "contender")]
    reduce: bool,

    /// Compare with the recorded counts; fail if one differs by more than 5 %
    #[arg(long, conflicts_with_all = ["corpus", "contender", "reduce", "json", "functions"])]
    check: bool,

    /// Record the counts that --check compares with
    #[arg(long, conflicts_with_all = ["corpus", "contender", "reduce", "json", "functions", "check"])]
    record: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Print the N functions with the most instructions
    #[arg(long, value_name = "N", conflicts_with = "json")]
    functions: Option<usize>,

    /// Do the job once and print the number of lines
    #[arg(long, hide = true)]
    parse: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.parse {
        Some(file) => arguments.do_once(file),
        None if arguments.check => check(),
        None if arguments.record => record(),
        None => arguments.count_all(),
    };
    exit_code(done)
}

impl Arguments {
    fn count_all(&self) -> Result<(), CountError> {
        let counter = Counter::new(env::current_exe()?)?;
        let corpora = if self.corpus.is_empty() {
            &[Corpus::Partial, Corpus::Mixed][..]
        } else {
            &self.corpus
        };
        for &corpus in corpora {
            for worker in self.workers() {
                let count = counter.count(worker, corpus)?;
                print(&self.line(corpus, worker, count))?;
                if let Some(lines) = self.functions {
                    print(&counter.functions(lines)?)?;
                }
            }
        }
        Ok(())
    }

    fn workers(&self) -> Vec<Worker> {
        if self.reduce {
            return vec![Worker::Reducer];
        }
        let contenders = self.contender.iter().copied();
        contenders.map(Worker::Contender).collect()
    }

    fn line(&self, corpus: Corpus, worker: Worker, count: Count) -> String {
        let (name, contender, byte) = (corpus.name(), worker.name(), count.per_byte);
        let event = count.per_event.map(|event| format!("{event:.1}"));
        if self.json {
            let event = event.unwrap_or_else(|| "null".into());
            return format!(
                "{{\"corpus\":\"{name}\",\"contender\":\"{contender}\",\"instructions_per_event\":{event},\"instructions_per_byte\":{byte:.3}}}\n"
            );
        }
        let event = event.unwrap_or_else(|| "-".into());
        format!(
            "{name:<10}{contender:<20}{event:>12} instructions/event{byte:>10.3} instructions/byte\n"
        )
    }

    /// Runs under callgrind; reading the file costs almost no instructions in this process.
    fn do_once(&self, file: &Path) -> Result<(), CountError> {
        let bytes = Bytes::from(fs::read(file)?);
        if self.reduce {
            let mut feed = Feed::default();
            feed.take(bytes);
            print(&format!("{}\n", feed.transcript.stats().lines()))?;
            return Ok(());
        }
        let mut slice = Slice::new(bytes);
        for contender in &self.contender {
            contender.prepare(&mut slice);
            let folded = contender
                .run::<Ends>(&mut slice)
                .map_err(|refused| CountError::Valgrind(refused.to_string()))?;
            print(&format!("{}\n", folded.events))?;
        }
        Ok(())
    }
}

/// Counts again and compares with the recorded counts.
fn check() -> Result<(), CountError> {
    let baseline = Baseline::load()?;
    let counted = Baseline::count(&Counter::new(env::current_exe()?)?)?;
    let mut moved = 0;
    for (name, now, then) in counted.beside(&baseline) {
        let change = now / then - 1.0;
        let verdict = if change.abs() <= TOLERANCE {
            "as recorded"
        } else {
            moved += 1;
            "moved"
        };
        let percent = 100.0 * change;
        print(&format!(
            "{name:<24}{now:>10.1} instructions/event, {then:>8.1} recorded, {percent:>+6.1} %: {verdict}\n"
        ))?;
    }
    if moved > 0 {
        return Err(CountError::Moved(moved));
    }
    Ok(())
}

fn record() -> Result<(), CountError> {
    let counted = Baseline::count(&Counter::new(env::current_exe()?)?)?;
    Ok(counted.save()?)
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
