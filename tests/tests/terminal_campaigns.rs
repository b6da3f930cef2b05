//! Campaigns against processes and terminals, each at its test count, with a fixed seed and in its
//! own process.

#[path = "campaigns/survives.rs"]
mod survives;

use std::path::Path;

use bowline_tests::campaign::ALL;
use survives::survives;

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

#[test]
fn every_campaign_is_run_by_a_test() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let files = std::fs::read_dir(folder).expect("this file is in it");
    let files = files.map(|file| file.expect("an entry").path());
    let files = files.filter(|path| path.to_string_lossy().ends_with("_campaigns.rs"));
    let files = files.chain([Path::new(folder).join("real_agent/fire.rs")]);
    let tests: String = files
        .map(|path| std::fs::read_to_string(path).expect("text"))
        .collect();
    for campaign in ALL {
        let call = format!("survives(\"{}\")", campaign.name);
        assert!(tests.contains(&call), "{call} is missing");
    }
}
