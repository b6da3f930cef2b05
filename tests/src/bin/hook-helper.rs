//! The program that posts an event to a hook server, as a binary of this package, so that its tests
//! can refer to it.

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match bowline_hooks::post_hook(std::env::args_os().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr().lock(), "failed to {error}");
            ExitCode::FAILURE
        }
    }
}
