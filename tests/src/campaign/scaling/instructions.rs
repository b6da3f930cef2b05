//! Instructions of a fold, counted by callgrind: unlike time, they depend neither on other load nor
//! on the size of the caches.

use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use bowline_reducer::dialect::DialectName;
use bytes::Bytes;
use tempfile::NamedTempFile;

use super::fold;
use crate::campaign::support::own;

/// Hidden mode that folds a file.
pub(crate) const MODE: &str = "--fold";

/// Folds a file of a dialect once.
pub(crate) fn run(dialect: &str, file: &str) -> ExitCode {
    let (Ok(dialect), Ok(stream)) = (dialect.parse(), std::fs::read(file)) else {
        return ExitCode::FAILURE;
    };
    fold(dialect, &Bytes::from(stream));
    ExitCode::SUCCESS
}

/// Returns the number of instructions that folding takes; `None` if valgrind is not installed.
pub(super) fn count(dialect: DialectName, stream: &Bytes) -> Result<Option<u64>, String> {
    let mut file = NamedTempFile::new().map_err(|error| error.to_string())?;
    file.write_all(stream).map_err(|error| error.to_string())?;
    match callgrind(dialect, file.path()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        output => collected(&output.map_err(|error| error.to_string())?).map(Some),
    }
}

fn callgrind(dialect: DialectName, file: &Path) -> io::Result<Output> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.arg(own()).args([MODE, dialect.as_str()]);
    command.arg(file).output()
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
