//! The child that is read from: this program in a hidden mode.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

/// Argument for a child that writes this many bytes of text and exits.
pub(super) const FLOOD: &str = "--runner-flood";
/// Argument for a child that does so after it has received input.
pub(super) const FLOOD_ASKED: &str = "--runner-flood-asked";

/// The repeated output: a line as a terminal shows it.
const LINE: &[u8; 64] = b"the quick brown fox jumps over the lazy dog and then runs on ..\n";

/// Runs the child that waits for input.
pub(super) fn flood_asked(bytes: usize) -> ExitCode {
    match std::io::stdin().lock().read(&mut [0]) {
        Ok(1) => flood(bytes),
        _ => ExitCode::FAILURE,
    }
}

/// Runs the child.
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
