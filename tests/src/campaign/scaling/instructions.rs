//! Instructions of a fold, counted by callgrind: unlike time, they depend neither on other load nor
//! on the size of the caches.

use std::io::{self, ErrorKind, Write as _};
use std::process::{Command, ExitCode, Output};

use bowline_reducer::dialect::DialectName;
use bytes::Bytes;
use tempfile::NamedTempFile;

use super::{Stream, fold};
use crate::campaign::support::own;

/// Hidden mode that folds a file.
pub(crate) const MODE: &str = "--fold";

/// Folds the lines of a host and of an agent once; each are in a file.
pub(crate) fn run(dialect: &str, input: &str, output: &str) -> ExitCode {
    let files = (std::fs::read_to_string(input), std::fs::read(output));
    let (Ok(dialect), (Ok(input), Ok(output))) = (dialect.parse(), files) else {
        return ExitCode::FAILURE;
    };
    let output = Bytes::from(output);
    fold(dialect, &Stream { input, output });
    ExitCode::SUCCESS
}

/// Returns the number of instructions that folding takes; `None` if valgrind is not installed.
pub(super) fn count(dialect: DialectName, stream: &Stream) -> Result<Option<u64>, String> {
    let written = || Ok([file_of(stream.input.as_bytes())?, file_of(&stream.output)?]);
    let files = written().map_err(|error: io::Error| error.to_string())?;
    match callgrind(dialect, &files) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        output => collected(&output.map_err(|error| error.to_string())?).map(Some),
    }
}

fn file_of(bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    file.write_all(bytes)?;
    Ok(file)
}

fn callgrind(dialect: DialectName, files: &[NamedTempFile; 2]) -> io::Result<Output> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(own()).args([MODE, dialect.as_str()]);
    command
        .args(files.each_ref().map(NamedTempFile::path))
        .output()
}

/// Reads the sum that callgrind prints at its end.
fn collected(output: &Output) -> Result<u64, String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text
        .lines()
        .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
        .filter(|_| output.status.success());
    count.ok_or_else(|| format!("valgrind did not count and ended with {}", output.status))
}
