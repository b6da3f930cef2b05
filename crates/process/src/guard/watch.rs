//! The guard of all sessions that live in control groups.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use super::link::{Answer, Link, Word};
use crate::sys;

/// Between two tries to remove a directory that the kernel has not emptied yet.
const PAUSE: Duration = Duration::from_millis(1);

/// Tries, some seconds of them: a process that is stuck in the kernel may never go.
const TRIES: u32 = 5_000;

pub(super) fn run(link: &Link, nest: &Path) -> ExitCode {
    if link.answer(Answer::Begun(0)).is_err() {
        return ExitCode::FAILURE;
    }
    if link.word() == Word::Farewell {
        return ExitCode::SUCCESS;
    }
    for _ in 0..TRIES {
        match sys::clear(nest) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                std::thread::sleep(PAUSE);
            }
            _ => return ExitCode::SUCCESS,
        }
    }
    ExitCode::FAILURE
}
