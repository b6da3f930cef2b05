//! Waiting for and reaping children (waitid(2)).

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid};

use crate::exit::ExitStatus;

/// Reaps a child that has ended; `None` while it is alive.
pub(crate) fn reap(pid: Pid) -> Option<ExitStatus> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(pid), look) {
        Ok(None) => None,
        Ok(Some(status)) => Some(status_of(&status)),
        Err(_) => Some(ExitStatus::Unknown),
    }
}

/// Waits for a child that is about to end, and reaps it.
pub(crate) fn wait(pid: Pid) -> ExitStatus {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED) {
            Ok(Some(status)) => return status_of(&status),
            Err(rustix::io::Errno::INTR) | Ok(None) => {}
            Err(_) => return ExitStatus::Unknown,
        }
    }
}

/// Waits for a child's end without reaping it.
pub(crate) fn await_end(pid: Pid) -> std::io::Result<()> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), look))?;
    Ok(())
}

/// Returns whether a child has ended, without reaping it.
pub(crate) fn has_ended(pid: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), look), Ok(None))
}

/// Returns an exit status. Only its low 8 bits reach the parent (exit(3)), but waitid(2) of macOS
/// reports 24 of them after a first look.
pub(super) fn exit_code(status: i32) -> ExitStatus {
    ExitStatus::Code(status & 0xff)
}

pub(super) fn status_of(status: &WaitIdStatus) -> ExitStatus {
    let code = status.exit_status().map(exit_code);
    let signal = || status.terminating_signal().map(ExitStatus::Signal);
    code.or_else(signal).unwrap_or(ExitStatus::Unknown)
}
