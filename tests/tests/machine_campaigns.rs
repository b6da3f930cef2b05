//! Every campaign of what a machine does to sessions, at its first number and in a process of its
//! own.

use std::process::Command;

use bowline_tests::campaign::ALL;

#[expect(clippy::print_stdout, reason = "what was measured, with --nocapture")]
fn survives(name: &str) {
    let campaign = ALL
        .iter()
        .find(|one| one.name == name)
        .expect("in the list");
    let mut stress = Command::new(env!("CARGO_BIN_EXE_stress"));
    let count = campaign.first.to_string();
    stress.args([name, "--seed", "8", "--count", &count]);
    let output = stress.output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("violations 0,"), "{said}{errors}");
}

#[test]
fn runner_killed() {
    survives("runner-killed");
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
fn journals() {
    survives("journals");
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
fn stopped() {
    survives("stopped");
}

#[test]
fn descriptors() {
    survives("descriptors");
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
