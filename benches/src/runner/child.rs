//! The child that is read from: this very program in a hidden mode.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

/// Writes so many bytes of text and ends: number.
pub(super) const FLOOD: &str = "--runner-flood";
/// The same, once it was sent something.
pub(super) const FLOOD_ASKED: &str = "--runner-flood-asked";

/// What is written, again and again: a line as a terminal shows it.
const LINE: &[u8; 64] = b"the quick brown fox jumps over the lazy dog and then runs on ..\n";

/// Is the child that waits to be asked.
pub(super) fn flood_asked(bytes: usize) -> ExitCode {
    match std::io::stdin().lock().read(&mut [0]) {
        Ok(1) => flood(bytes),
        _ => ExitCode::FAILURE,
    }
}

/// Is that child.
pub(super) fn flood(bytes: usize) -> ExitCode {
    let chunk = LINE.repeat(1024);
    let mut out = std::io::stdout().lock();
    let mut left = bytes;
    while left > 0 {
        let part = chunk.get(..left.min(chunk.len())).unwrap_or_default();
        if out.write_all(part).is_err() {
            return ExitCode::FAILURE;
        }
        left -= part.len();
    }
    ExitCode::SUCCESS
}
