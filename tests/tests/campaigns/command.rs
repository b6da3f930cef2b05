//! The `cargo stress` driver, run from its command line.

use std::path::Path;
use std::process::{Command, Output};

use bowline_tests::campaign::ALL;
use bowline_tests::real_agent::{SKIP_VARIABLE, VERSION_VARIABLE};
use bowline_tests::stress::Summary;

fn stress(line: &str, file: &Path) -> Output {
    let mut stress = Command::new(env!("CARGO_BIN_EXE_stress"));
    stress.args(line.split(' ')).arg(file);
    stress.output().expect("it can be run")
}

/// Runs two campaigns at their CI counts with a variable set, and returns the exit code and the output.
fn ci(variable: &str, value: &str) -> (Option<i32>, String) {
    let mut stress = Command::new(env!("CARGO_BIN_EXE_stress"));
    stress.args(["frames", "real-agent", "--ci"]);
    for other in [SKIP_VARIABLE, VERSION_VARIABLE, "CI"] {
        stress.env_remove(other);
    }
    let output = stress.env(variable, value).output().expect("it can be run");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        printed.contains("count 20000, violations 0,"),
        "{printed}{output:?}"
    );
    (output.status.code(), printed)
}

#[test]
fn ci_run_fails_on_a_violation() {
    // The agent cannot be installed, which the campaign must not skip.
    let (code, printed) = ci(VERSION_VARIABLE, "none");
    assert_eq!(code, Some(1), "{printed}");
    for text in [
        "  VIOLATION failed to parse BOWLINE_REAL_AGENT_VERSION=\"none\"",
        "    reproduce: cargo stress real-agent --seed 8 --count 10\n",
        "campaigns: 2; failed: real-agent; skipped: none\n",
    ] {
        assert!(printed.contains(text), "{text}: {printed}");
    }
}

#[test]
fn ci_run_names_skipped_campaigns() {
    let (code, printed) = ci(SKIP_VARIABLE, "1");
    assert_eq!(code, Some(0), "{printed}");
    let end = "campaigns: 2; failed: none; skipped: real-agent\n";
    assert!(printed.ends_with(end), "{printed}");
}

#[test]
fn every_campaign_is_listed_with_its_ci_count() {
    let output = stress("--list", Path::new("all"));
    let printed = String::from_utf8_lossy(&output.stdout);
    for campaign in ALL {
        let row = format!("{:16} {:6} ", campaign.name, campaign.ci_count);
        assert!(campaign.ci_count > 0 && printed.contains(&row), "{row}");
    }
}

fn read(file: &Path) -> Summary {
    let text = std::fs::read(file).expect("it was written");
    serde_json::from_slice(&text).expect("it is a summary")
}

#[test]
fn interrupted_run_is_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("summary.json");
    let first = stress("simulation --seed 5 --count 2 --resume", &kept);
    assert!(first.status.success(), "{first:?}");
    assert_eq!(read(&kept).campaigns[0].done, 2);

    let second = stress("simulation --count 5 --resume", &kept);
    assert!(second.status.success(), "{second:?}");
    let Summary {
        seed, campaigns, ..
    } = read(&kept);
    let simulation = &campaigns[0];
    assert_eq!((seed, simulation.done, simulation.batches), (5, 5, 2));
    let printed = String::from_utf8_lossy(&second.stdout);
    assert!(
        printed.contains("seed 5, count 5, violations 0,"),
        "{printed}"
    );

    // The run is complete, so that the output is the same.
    let third = stress("simulation --count 5 --resume", &kept);
    assert_eq!(third.stdout, second.stdout);
    let other = stress("simulation --seed 6 --resume", &kept);
    assert_eq!(other.status.code(), Some(2), "{other:?}");
}

#[test]
fn zero_minutes_run_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("summary.json");
    let line = "simulation exec-failures --minutes 0 --seed 3 --json";
    let output = stress(line, &file);
    assert!(output.status.success(), "{output:?}");
    let summary = read(&file);
    assert_eq!((summary.seed, summary.campaigns.len()), (3, 2));
    assert!(summary.campaigns.iter().all(|one| one.done == 0));
}

#[test]
fn invalid_arguments_are_refused() {
    for line in [
        "walk --json",
        "simulation --minutes soon --json",
        "simulation --ci --json",
        "--json",
    ] {
        let output = stress(line, Path::new("never"));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(!output.stderr.is_empty(), "{output:?}");
    }
}
