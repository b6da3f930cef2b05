//! Failures of the machine.

use crate::survives::survives;

#[test]
fn runner_killed() {
    survives("runner-killed");
}

#[test]
fn daemon_driver() {
    survives("daemon-driver");
}

#[test]
fn upgrade() {
    survives("upgrade");
}

#[test]
fn shim_killed() {
    survives("shim-killed");
}

#[test]
fn damaged_journal() {
    survives("damaged-journal");
}

#[test]
fn oom() {
    survives("oom");
}

#[test]
fn disk() {
    survives("disk");
}

#[test]
fn full_disk() {
    survives("full-disk");
}

#[test]
fn stopped() {
    survives("stopped");
}

#[test]
fn descriptors() {
    survives("descriptors");
}

#[test]
fn threads() {
    survives("threads");
}

#[test]
fn clock() {
    survives("clock");
}

#[test]
fn runner_sessions() {
    survives("runner-sessions");
}

#[test]
fn prompt_files() {
    survives("prompt-files");
}

#[test]
fn soak() {
    survives("soak");
}
