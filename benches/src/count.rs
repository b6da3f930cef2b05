//! Instructions of one line, counted by callgrind: the same on every run and at any load.
//!
//! The job is done once on a shorter and once on a longer piece of the same stream; the difference
//! over the lines between has no start-up in it. The fold of the job is included.

mod baseline;

pub use baseline::{Baseline, TOLERANCE};

use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::contenders::Contender;
use crate::corpus::{Corpus, SourceError};

/// Sizes of the two pieces, in bytes: long enough to hold every kind of line, short enough for a
/// machine that is simulated.
const PIECES: [usize; 2] = [1 << 20, 2 << 20];

/// What was counted.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Instructions of one line; none when both pieces have the same lines, only longer ones.
    pub per_event: Option<f64>,
    /// Instructions of one byte.
    pub per_byte: f64,
}

/// Whose instructions are counted.
#[derive(Clone, Copy, Debug)]
pub enum Worker {
    /// A contender's, on the typed job.
    Contender(Contender),
    /// Our parser's and reducer's, from bytes to a transcript.
    Reducer,
}

impl Worker {
    /// The name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contender(contender) => contender.name(),
            Self::Reducer => "bowline_reduce",
        }
    }
}

/// Runs this program under callgrind.
#[derive(Debug)]
pub struct Counter {
    /// A program that does the job of `--contender NAME --parse FILE` or `--reduce --parse FILE`
    /// once and prints the number of lines.
    program: PathBuf,
    folder: TempDir,
}

/// Why nothing was counted.
#[derive(Debug)]
pub enum CountError {
    /// valgrind is not on this machine.
    NotInstalled(&'static str),
    /// There is no stream.
    Source(SourceError),
    /// A file or a process failed.
    Io(io::Error),
    /// valgrind or the program under it said something else than counts.
    Said(String),
    /// The recorded counts cannot be read.
    Baseline(String),
    /// So many counts are too far from the recorded ones.
    Moved(usize),
}

impl Counter {
    /// Counts the work of `program`.
    ///
    /// # Errors
    ///
    /// No folder for the streams.
    pub fn new(program: PathBuf) -> Result<Self, CountError> {
        let folder = tempfile::tempdir()?;
        Ok(Self { program, folder })
    }

    /// Counts what `worker` does with `corpus`.
    ///
    /// # Errors
    ///
    /// No stream, no valgrind, or a job that fails.
    pub fn count(&self, worker: Worker, corpus: Corpus) -> Result<Count, CountError> {
        let [short, long] = PIECES.map(|size| self.run(worker, corpus, size));
        let (short, long) = (short?, long?);
        let instructions = (long.instructions - short.instructions) as f64;
        let events = long.events - short.events;
        Ok(Count {
            per_event: (events > 0).then(|| instructions / events as f64),
            per_byte: instructions / (long.bytes - short.bytes) as f64,
        })
    }

    /// The functions that the last count spent its instructions in, `lines` of them.
    ///
    /// # Errors
    ///
    /// `callgrind_annotate`, which comes with valgrind, cannot be run.
    pub fn functions(&self, lines: usize) -> Result<String, CountError> {
        let mut command = Command::new("callgrind_annotate");
        command.arg(self.profile());
        let output = run(command, "callgrind_annotate")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let shares = text.lines().filter(|line| line.contains('%'));
        Ok(shares
            .take(lines)
            .fold(String::new(), |all, line| all + line + "\n"))
    }

    fn run(&self, worker: Worker, corpus: Corpus, size: usize) -> Result<Run, CountError> {
        let bytes = corpus.generate(size).map_err(CountError::Source)?;
        let file = self.folder.path().join("stream.jsonl");
        std::fs::File::create(&file)?.write_all(&bytes)?;
        let output = run(self.valgrind(worker, &file), "valgrind")?;
        let events = String::from_utf8_lossy(&output.stdout).trim().parse().ok();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match (collected(&said), events) {
            (Some(instructions), Some(events)) if output.status.success() => Ok(Run {
                instructions,
                events,
                bytes: bytes.len() as u64,
            }),
            _ => Err(CountError::Said(said)),
        }
    }

    fn valgrind(&self, worker: Worker, file: &Path) -> Command {
        let mut out = std::ffi::OsString::from("--callgrind-out-file=");
        out.push(self.profile());
        let mut command = Command::new("valgrind");
        command.arg("--tool=callgrind").arg(out).arg(&self.program);
        match worker {
            Worker::Contender(contender) => command.args(["--contender", contender.name()]),
            Worker::Reducer => command.arg("--reduce"),
        };
        command.arg("--parse").arg(file);
        command
    }

    fn profile(&self) -> PathBuf {
        self.folder.path().join("callgrind.out")
    }
}

struct Run {
    instructions: u64,
    events: u64,
    bytes: u64,
}

fn run(mut command: Command, name: &'static str) -> Result<Output, CountError> {
    command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CountError::NotInstalled(name),
        _ => CountError::Io(error),
    })
}

/// The number behind `Collected :`, callgrind's last word.
fn collected(said: &str) -> Option<u64> {
    let (_, count) = said.rsplit_once("Collected :")?;
    count.split_whitespace().next()?.parse().ok()
}

impl From<io::Error> for CountError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled(name) => write!(
                f,
                "failed to find {name}; install valgrind (`apt-get install valgrind`) and run again"
            ),
            Self::Source(error) => write!(f, "failed to {error}"),
            Self::Io(error) => write!(f, "failed to count: {error}"),
            Self::Baseline(said) => write!(
                f,
                "failed to read the recorded counts: {said}; record them with --record"
            ),
            Self::Moved(counts) => write!(
                f,
                "{counts} counts have moved; when that is meant, record them with --record"
            ),
            Self::Said(said) => {
                let last = said.lines().last().unwrap_or("nothing");
                write!(
                    f,
                    "failed to count: valgrind ended with `{last}`; run it by hand to see"
                )
            }
        }
    }
}

impl std::error::Error for CountError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_last_word_of_callgrind() {
        let said = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(said), Some(123_456));
        assert_eq!(collected("==7== nothing"), None);
    }
}
