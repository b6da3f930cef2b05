//! Guard of all sessions that run in control groups.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use super::link::{Answer, HostMessage, Link};
use crate::sys;

/// Pause between attempts to remove a directory that still contains processes.
const PAUSE: Duration = Duration::from_millis(1);

/// Number of attempts, about 5 s: a process that is stuck in the kernel may never end.
const TRIES: u32 = 5_000;

pub(super) fn run(link: &Link, nest: &Path) -> ExitCode {
    if link.answer(Answer::Started(0)).is_err() {
        return ExitCode::FAILURE;
    }
    if link.receive_message() == HostMessage::Shutdown {
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
