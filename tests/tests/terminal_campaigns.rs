//! Every campaign at its first number and from one seed, each in a process of its own.

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
fn idle_sessions() {
    survives("idle-sessions");
}

#[test]
fn every_campaign_is_run_by_a_test() {
    let tests = [
        include_str!("terminal_campaigns.rs"),
        include_str!("machine_campaigns.rs"),
    ]
    .concat();
    for campaign in ALL {
        let call = format!("survives(\"{}\")", campaign.name);
        assert!(tests.contains(&call), "{call} is missing");
    }
}
