//! Agents of older versions, which refuse options and lack features of the newest.

use crate::support::{BOWLINE, CommandOutput, ScriptedAgent, command, finish};
use crate::test_runner::TestRunner;

/// A sub-agent in the foreground, whose text older agents do not send.
const SUBAGENT: &str = r#"
[[turn]]
steps = [
  { agent = { description = "look", prompt = "Look.", steps = [ { text = "Inner words." },
    { text = "Report." } ] } },
  { text = "It is back." },
]
"#;

/// Runs a prompt with an agent of this version.
fn run(version: &str, more: &[&str]) -> CommandOutput {
    let scripted = ScriptedAgent::new(SUBAGENT);
    let agent = scripted.script(&format!(
        r#"UNDERSTUDY_VERSION={version} exec {BOWLINE} understudy "$@""#
    ));
    let scenario = format!("--agent-arg=--scenario={}", scripted.path("scenario.toml"));
    let fixed = ["run", "--agent", &agent, &scenario, "--agent-arg=--pace=0"];
    let line: Vec<&str> = fixed.iter().chain(more).copied().collect();
    let mut command = command(&line);
    command.env("BOWLINE_STATE_DIR", scripted.path("state"));
    finish(command.spawn().unwrap())
}

#[test]
fn older_agent_runs() {
    for (version, has_text) in [("1.0.128", false), ("2.0.77", false), ("2.1.197", true)] {
        let text = run(version, &["hi"]).ok();
        assert!(text.contains("It is back."), "{version}: {text}");
        assert_eq!(text.contains("Inner words."), has_text, "{version}: {text}");
    }
}

#[test]
fn older_agent_runs_at_runner() {
    let runner = TestRunner::start();
    let url = format!("unix:{}/runner.sock", runner.state());
    let text = run("2.0.77", &["--runner", &url, "hi"]).ok();
    assert!(text.contains("It is back."), "{text}");
}

#[test]
fn refused_option_names_its_version() {
    let runner = TestRunner::start();
    let url = format!("unix:{}/runner.sock", runner.state());
    let option = "--agent-arg=--effort=high";
    for more in [
        &[option, "hi"][..],
        &[option, "--stdio", "pty", "hi"],
        &[option, "--runner", &url, "hi"],
    ] {
        let line = run("2.0.77", more).failed(1);
        let wanted = "the agent does not know --effort; update it to 2.1.100 or later, or omit the \
                      option";
        assert!(line.contains(wanted), "{line}");
    }
}

#[test]
fn doctor_names_missing_features() {
    for (version, wanted) in [
        ("2.1.330", "version 2.1.330 (understudy)\n"),
        (
            "2.1.197",
            "version 2.1.197 (understudy); without content of nested sub-agents (2.1.219)\n",
        ),
        (
            "1.0.100",
            "; older than 1.0.128, the oldest that is tested\n",
        ),
    ] {
        let mut doctor = command(&["doctor", "--agent", crate::support::AGENT]);
        doctor.env("UNDERSTUDY_VERSION", version);
        let text = finish(doctor.spawn().unwrap()).ok();
        assert!(text.contains(wanted), "{text}");
    }
}
