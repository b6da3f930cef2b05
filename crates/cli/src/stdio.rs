//! Writes to standard output and standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use rustix::termios::tcgetwinsize;

use crate::failure::Failure;

/// Narrowest layout, in columns; a narrower terminal wraps its lines.
pub(crate) const MIN_WIDTH: usize = 20;

/// Writes a text to standard output.
///
/// # Errors
/// If the text cannot be written. A closed pipe is a failure with exit code 0 and no message.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::broken_pipe()),
        Err(error) => Err(Failure::failed(format!(
            "cannot write to standard output: {error}; check where it is redirected"
        ))),
    }
}

/// Writes a text to standard error; ignores errors, since there is nowhere left to report them.
pub(crate) fn eprint(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a failure's line to standard error and returns its exit code.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    let line = failure.line();
    if !line.is_empty() {
        eprint(&format!("bowline: {line}\n"));
    }
    ExitCode::from(failure.code())
}

/// Returns the width of the terminal on standard output, in columns; `None` without a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then(|| usize::from(size.ws_col).max(MIN_WIDTH))
}

/// Returns what of the bytes at an offset is not before another one.
pub(crate) fn bytes_from(bytes: &[u8], offset: u64, from: u64) -> &[u8] {
    let before = usize::try_from(from.saturating_sub(offset)).unwrap_or(usize::MAX);
    bytes.get(before..).unwrap_or_default()
}
