//! `--help`, `--version` and `bowline doctor`.

use crate::support::{ScriptedAgent, bowline, command, finish, write_script};

#[test]
fn help_is_printed_to_stdout() {
    let text = bowline(&["--help"]).ok();
    for command in [
        "demo",
        "chat",
        "run",
        "replay",
        "inspect",
        "serve",
        "ps",
        "attach",
        "logs",
        "send",
        "answer",
        "wait",
        "kill",
        "config",
        "completions",
        "man",
        "acp",
        "doctor",
    ] {
        assert!(text.contains(&format!("\n  {command} ")), "{text}");
        let text = bowline(&[command, "--help"]).ok();
        assert!(
            text.contains(&format!("Usage: bowline {command} ")),
            "{text}"
        );
    }
    assert!(!text.contains("understudy"), "{text}");
}

#[test]
fn version_is_that_of_the_package() {
    let wanted = concat!("bowline ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(bowline(&["--version"]).ok(), wanted);
}

#[test]
fn doctor_finds_the_agent() {
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/agent.sh");
    let text = bowline(&["doctor", "--agent", agent]).ok();
    assert!(
        text.contains(&format!("{agent}, version 2.1.330 (understudy)")),
        "{text}"
    );
    for name in [
        "bowline",
        "containment",
        "login shell",
        "descriptors",
        "processes",
        "terminals",
    ] {
        assert!(
            text.lines().any(|line| line.starts_with(name)),
            "{name}: {text}"
        );
    }
    let shell = text.lines().find(|line| line.starts_with("login shell"));
    let shell = shell.expect("a line for it");
    assert!(shell.contains(" variables in "), "{shell}");
}

#[test]
fn doctor_lists_the_other_agents() {
    let folder = tempfile::tempdir().unwrap();
    let codex = folder.path().join("codex");
    write_script(&codex, "echo codex-cli 0.169.0");
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/agent.sh");
    let mut doctor = command(&["doctor", "--agent", agent]);
    doctor.env("PATH", format!("{}:/bin:/usr/bin", folder.path().display()));
    let text = finish(doctor.spawn().unwrap()).ok();
    let found = format!("{}, version codex-cli 0.169.0, codex", codex.display());
    for (name, wanted) in [
        (
            "claude",
            "not installed; npm install -g @anthropic-ai/claude-code",
        ),
        ("codex", &*found),
        ("gemini", "not installed; npm install -g @google/gemini-cli"),
        ("opencode", "not installed; npm install -g opencode-ai"),
        ("qwen", "not installed; npm install -g @qwen-code/qwen-code"),
        ("copilot", "not installed; npm install -g @github/copilot"),
    ] {
        let line = format!("{name:13} {wanted}");
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
}

#[test]
fn settings_of_editors_are_in_the_help() {
    let text = bowline(&["acp", "--help"]).ok();
    let (_, zed) = text.split_once("Zed, settings.json:\n").unwrap();
    let (zed, neovim) = zed.split_once("Neovim, avante.nvim:\n").unwrap();
    let zed: serde_json::Value = serde_json::from_str(&format!("{{{zed}}}")).unwrap();
    let server = &zed["agent_servers"]["Bowline"];
    assert_eq!(server["type"], "custom");
    let words = server["args"].as_array().unwrap().iter();
    let words: Vec<_> = words.map(|it| it.as_str().unwrap()).collect();
    assert_eq!(server["command"], "bowline");
    // The command of the settings exists.
    bowline(&[&words[..], &["--help"]].concat()).ok();
    let words: Vec<_> = words.iter().map(|it| format!("\"{it}\"")).collect();
    let wanted = format!("command = \"bowline\", args = {{ {} }}", words.join(", "));
    assert!(neovim.contains(&wanted), "{neovim}");
}

#[test]
fn doctor_reports_agent_without_version() {
    let line = bowline(&["doctor", "--agent", "false"]).failed(1);
    assert!(
        line.contains("false --version ended with exit code 1 and printed no version"),
        "{line}"
    );
}

#[test]
fn doctor_kills_agent_with_endless_output() {
    let scripted = ScriptedAgent::new("");
    let agent = scripted.script("exec yes");
    let line = bowline(&["doctor", "--agent", &agent]).failed(1);
    assert!(
        line.contains("--version prints more than a version; run it by hand"),
        "{line}"
    );
}

#[test]
fn closed_stdout_is_no_failure() {
    let file = crate::support::fixture("long_2500.jsonl");
    for output in ["text", "changes", "transcript"] {
        let mut child = command(&["replay", &file, "--output", output])
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let done = finish(child);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{output}");
    }
}
