//! Runs every target for some seconds with one seed (`cargo fuzz` runs longer), after all inputs
//! that have ever broken it.

use std::fs;
use std::path::Path;

use bowline_fuzz::{GuidedFuzzer, targets};

/// Executes this many inputs of a target.
fn holds(name: &str, executions: u64) {
    let target = targets::ALL.iter().find(|target| target.name == name);
    let target = target.expect("in the list");
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("found")
        .join(name);
    for entry in fs::read_dir(found).into_iter().flatten() {
        let file = entry.expect("it can be listed").path();
        let input = fs::read(&file).expect("it can be read");
        if let Err(found) = target.holds(&input) {
            panic!("{}: {found}", file.display());
        }
    }
    let mut fuzzer = GuidedFuzzer::new(target, 8, None).expect("its seeds are there");
    if let Err(found) = fuzzer.begin() {
        panic!("{found}");
    }
    while fuzzer.tally().executions < executions {
        let left = executions - fuzzer.tally().executions;
        if let Err(found) = fuzzer.go_on(left) {
            panic!("{found}");
        }
    }
}

#[test]
fn parser() {
    holds("parser", 20_000);
}

#[test]
fn framer() {
    holds("framer", 10_000);
}

#[test]
fn frames() {
    holds("frames", 20_000);
}

#[test]
fn journal() {
    holds("journal", 10_000);
}

#[test]
fn lines() {
    holds("lines", 20_000);
}

#[test]
fn screen() {
    holds("screen", 2_000);
}

#[test]
fn replay() {
    holds("replay", 10_000);
}

#[test]
fn reducer() {
    holds("reducer", 300);
}

#[test]
fn codex() {
    holds("codex", 300);
}

#[test]
fn acp() {
    holds("acp", 300);
}

#[test]
fn hooks() {
    holds("hooks", 1_000);
}

#[test]
fn panel() {
    holds("panel", 5_000);
}

#[test]
fn rest() {
    holds("rest", 500);
}

#[test]
fn rpc() {
    holds("rpc", 20_000);
}

#[test]
fn cursor() {
    holds("cursor", 20_000);
}

#[test]
fn config() {
    holds("config", 10_000);
}

#[test]
fn policy() {
    holds("policy", 3_000);
}

#[test]
fn fleet() {
    holds("fleet", 10_000);
}

#[test]
fn outputs() {
    holds("outputs", 500);
}

#[test]
fn editor() {
    holds("editor", 3000);
}

#[test]
fn history() {
    holds("history", 1000);
}

#[test]
fn archive() {
    holds("archive", 1000);
}

#[test]
fn recording() {
    holds("recording", 1000);
}

#[test]
fn redact() {
    holds("redact", 1000);
}

#[test]
fn login() {
    holds("login", 10_000);
}

#[test]
fn screen_record() {
    holds("screen-record", 10_000);
}

#[test]
fn replies() {
    holds("replies", 1000);
}

#[test]
fn every_target_has_a_test() {
    let tests = include_str!("guided.rs");
    for target in targets::ALL {
        let call = format!("holds(\"{}\"", target.name);
        assert!(tests.contains(&call), "{call} is missing");
    }
}
