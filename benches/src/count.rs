//! Instructions per line, counted by callgrind: deterministic, and independent of load.
//!
//! The job runs once on a shorter and once on a longer piece of the same stream. The difference,
//! divided by the number of additional lines, excludes start-up. It includes the fold of the job.

mod baseline;

pub use baseline::{Baseline, TOLERANCE};

use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::contenders::Contender;
use crate::corpus::{Corpus, SourceError};

/// Sizes of the two pieces in bytes: long enough to contain every kind of line, short enough for a
/// simulated processor.
const PIECES: [usize; 2] = [1 << 20, 2 << 20];

/// Result of a count.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Instructions per line; `None` if both pieces have the same number of lines.
    pub per_event: Option<f64>,
    /// Instructions per byte.
    pub per_byte: f64,
}

/// The code whose instructions are counted.
#[derive(Clone, Copy, Debug)]
pub enum Worker {
    /// A contender on the typed job.
    Contender(Contender),
    /// Bowline's parser and reducer, from bytes to a transcript.
    Reducer,
}

impl Worker {
    /// Returns the name in results.
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

/// Why a count failed.
#[derive(Debug)]
pub enum CountError {
    /// valgrind is not installed.
    NotInstalled(&'static str),
    /// The stream cannot be read.
    Source(SourceError),
    /// A file operation or a process failed.
    Io(io::Error),
    /// The output of valgrind, or of the program that it ran, contains no count.
    Valgrind(String),
    /// The recorded counts cannot be read.
    Baseline(String),
    /// The number of counts that differ too much from the recorded ones.
    Moved(usize),
}

impl Counter {
    /// Creates a counter for `program`.
    ///
    /// # Errors
    ///
    /// Fails if no temporary directory can be created.
    pub fn new(program: PathBuf) -> Result<Self, CountError> {
        let folder = tempfile::tempdir()?;
        Ok(Self { program, folder })
    }

    /// Counts the instructions of `worker` on `corpus`.
    ///
    /// # Errors
    ///
    /// Fails if the stream cannot be read, valgrind is missing, or the job fails.
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

    /// Returns the `lines` functions with the most instructions in the last count.
    ///
    /// # Errors
    ///
    /// Fails if `callgrind_annotate`, a part of valgrind, cannot be run.
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
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        match (collected(&stderr), events) {
            (Some(instructions), Some(events)) if output.status.success() => Ok(Run {
                instructions,
                events,
                bytes: bytes.len() as u64,
            }),
            _ => Err(CountError::Valgrind(stderr)),
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

/// Returns the number after the last `Collected :` in callgrind's output.
fn collected(stderr: &str) -> Option<u64> {
    let (_, count) = stderr.rsplit_once("Collected :")?;
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
            Self::Baseline(error) => write!(
                f,
                "failed to read the recorded counts: {error}; record them with --record"
            ),
            Self::Moved(counts) => write!(
                f,
                "{counts} counts differ from the recorded ones; if that is intended, record them with --record"
            ),
            Self::Valgrind(stderr) => {
                let last = stderr.lines().last().unwrap_or("nothing");
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
    fn instruction_count_is_parsed() {
        let stderr = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(stderr), Some(123_456));
        assert_eq!(collected("==7== nothing"), None);
    }
}
