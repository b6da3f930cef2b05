//! Measures the speed of the parser by chunk size.

use std::env;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode, Stdio};

use bowline_benches::chunks::{Figure, Stream, Timed, Way, figures};
use bowline_benches::corpus::{Corpus, DEFAULT_SIZE};
use bowline_benches::exit_code;
use bowline_benches::peers::Plan;
use clap::Parser;

/// Measures CPU time from chunks of 1 KiB to 1 MiB to events, read into the framer's buffer or
/// pushed, and of a line of 10 MB in terminal-sized chunks and in one
#[derive(Debug, Parser)]
#[command(name = "bench-chunks", bin_name = "cargo bench-chunks")]
struct Arguments {
    /// Corpus; may be repeated [default: partial and huge]
    #[arg(long, value_name = "NAME")]
    corpus: Vec<Corpus>,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Run one process with two rounds, for an estimate
    #[arg(long)]
    quick: bool,

    /// Size of a corpus in MiB
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SIZE as u64 >> 20,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    mib: u64,

    /// Measure one stream in this process and print the sample
    #[arg(long, hide = true)]
    worker: Option<usize>,
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
        let streams = self.streams();
        if let Some(stream) = self.worker.and_then(|at| streams.get(at)) {
            let timed = stream.measure(self.plan().rounds);
            return print(&serde_json::to_string(&timed).map_err(io::Error::from)?);
        }
        for (at, &stream) in streams.iter().enumerate() {
            let processes = (0..self.plan().processes).map(|_| self.sample(at));
            let processes = processes.collect::<io::Result<Vec<_>>>()?;
            print(&self.text(&figures(stream, &processes))?)?;
        }
        Ok(())
    }

    fn plan(&self) -> Plan {
        if self.quick { Plan::QUICK } else { Plan::FULL }
    }

    fn streams(&self) -> Vec<Stream> {
        let corpora = if self.corpus.is_empty() {
            &[Corpus::Partial, Corpus::Huge][..]
        } else {
            &self.corpus
        };
        let corpora = corpora.iter();
        let corpora = corpora.map(|&it| Stream::Corpus(it, (self.mib << 20) as usize));
        corpora
            .chain([Stream::FirstLine, Stream::NextLine, Stream::LateLine])
            .collect()
    }

    /// Measures a stream in a separate process.
    fn sample(&self, stream: usize) -> io::Result<Vec<Timed>> {
        let mut worker = Command::new(env::current_exe()?);
        worker.args(env::args_os().skip(1));
        worker.args(["--worker", &stream.to_string()]);
        let output = worker.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            let status = output.status;
            return Err(io::Error::other(format!("a process ended with {status}")));
        }
        serde_json::from_slice(&output.stdout).map_err(io::Error::from)
    }

    fn text(&self, figures: &[Figure]) -> io::Result<String> {
        if self.json {
            let lines = figures.iter().map(serde_json::to_string);
            return Ok(lines.collect::<Result<Vec<_>, _>>()?.join("\n") + "\n");
        }
        Ok([Way::Read, Way::Push, Way::Join]
            .map(|way| table(figures, way))
            .concat())
    }
}

/// Formats the results of one way as a table.
fn table(figures: &[Figure], way: Way) -> String {
    let figures: Vec<_> = figures.iter().filter(|it| it.way == way).collect();
    if figures.is_empty() {
        return String::new();
    }
    let name = match way {
        Way::Read => "read into the framer",
        Way::Push => "pushed as chunks",
        Way::Join => "copied together and pushed whole",
    };
    let mut text = figures.first().map_or_else(String::new, |first| {
        format!(
            "\n{}, {name}\n{:>10}{:>10}{:>10}\n",
            first.stream, "chunk", "MB/s", "ratio"
        )
    });
    for figure in &figures {
        text += &format!(
            "{:>10}{:>10.0}{:>10.2}\n",
            figure.chunk, figure.mb_s, figure.ratio
        );
    }
    let slowest = figures.iter().map(|it| it.ratio).fold(1.0, f64::min);
    text + &format!("fastest over slowest: {:.2}\n", 1.0 / slowest)
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
