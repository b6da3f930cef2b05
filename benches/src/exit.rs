//! The exit code of a benchmark.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Returns the exit code of a program, after writing the error to the standard error stream.
pub fn exit_code<E: Display>(done: Result<(), E>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing can be reported when stderr is closed.
            let _ = writeln!(io::stderr().lock(), "{error}");
            ExitCode::FAILURE
        }
    }
}
