//! Processes and terminals.

use crate::survives::survives;

#[test]
fn fast_exits() {
    survives("fast-exits");
}

#[test]
fn simulation() {
    survives("simulation");
}

#[test]
fn trees() {
    survives("trees");
}

#[test]
fn survivors() {
    survives("survivors");
}

#[test]
fn host_killed() {
    survives("host-killed");
}

#[test]
fn strangers() {
    survives("strangers");
}

#[test]
fn exec_failures() {
    survives("exec-failures");
}

#[test]
fn both_full() {
    survives("both-full");
}

#[test]
fn rc_files() {
    survives("rc-files");
}

#[test]
fn prompts() {
    survives("prompts");
}

#[test]
fn overlap() {
    survives("overlap");
}

#[test]
fn scaling() {
    survives("scaling");
}

#[test]
fn fences() {
    survives("fences");
}

#[test]
fn screens() {
    survives("screens");
}

#[test]
fn queries() {
    survives("queries");
}

#[test]
fn idle_sessions() {
    survives("idle-sessions");
}
