//! Wrong input gives one line on standard error, with a remedy, and an exit code.

use crate::support::{ScriptedAgent, bowline, bowline_reading, fixture, json};

#[test]
fn unreadable_recordings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("notes.txt"), "some notes\nof mine\n").unwrap();
    std::fs::write(path("other.json"), "{\"a\": 1}\n").unwrap();
    let gzip = std::fs::read(fixture("big.jsonl.gz")).unwrap();
    std::fs::write(path("cut.jsonl.gz"), &gzip[..100]).unwrap();
    std::os::unix::fs::symlink("loop.jsonl", folder.path().join("loop.jsonl")).unwrap();
    let cases = [
        (
            path("loop.jsonl"),
            "a symbolic link leads back to itself; give the file that it stands for",
        ),
        // Nothing is mapped at its beginning, proc_pid_mem(5).
        #[cfg(target_os = "linux")]
        (
            "/proc/self/mem".to_owned(),
            "copy the recording to a file, and give that",
        ),
        (path("missing.jsonl"), "no such file; check the path"),
        (
            folder.path().display().to_string(),
            "it is a folder without a journal; give a file in it",
        ),
        (
            path("notes.txt"),
            "contains no line of an agent; give its recorded output",
        ),
        (
            path("other.json"),
            "contains no line of an agent; give its recorded output",
        ),
        (
            path("cut.jsonl.gz"),
            "the gzip data is truncated; copy the file again",
        ),
    ];
    for (file, wanted) in &cases {
        for command in ["replay", "inspect"] {
            let done = bowline(&[command, file]);
            assert_eq!(done.stdout, "", "no output for {file}");
            let line = done.failed(1);
            assert!(line.contains(wanted), "{line}");
            assert!(line.contains(file.as_str()), "{line}");
        }
    }
}

#[test]
fn empty_recording_is_empty_transcript() {
    let done = bowline_reading(&["replay", "-", "--output", "transcript"], b"");
    let transcript = json(&done.stdout);
    assert_eq!(transcript["schema"], 2);
    assert_eq!(transcript["entries"], serde_json::json!([]));
    let text = bowline_reading(&["replay", "-"], b"");
    assert_eq!(text.stdout, "");
    assert_eq!(text.failed(0), "bowline: -: the recording is empty\n");
}

#[test]
fn agents_that_cannot_run_are_refused() {
    let scripted = ScriptedAgent::new("");
    let file = scripted.path("scenario.toml");
    let folder = scripted.folder.path().display().to_string();
    let cases = [
        ("no-such-agent-here", "failed to find the program"),
        ("./no/such/agent", "failed to find the program"),
        (&file, "is not an executable file, check"),
        (&folder, "is not an executable file, check"),
    ];
    for (agent, wanted) in cases {
        let done = bowline(&["run", "--agent", agent, "hello"]);
        assert_eq!(done.stdout, "");
        let line = done.failed(1);
        assert!(line.contains(wanted) && line.contains(agent), "{line}");
    }
}

#[test]
fn recording_is_never_overwritten() {
    let scripted = ScriptedAgent::new("");
    let file = scripted.path("scenario.toml");
    let line = scripted.run(&["--record", &file, "hello"]).failed(1);
    assert!(
        line.contains("failed to record to ") && line.contains(&file),
        "{line}"
    );
    assert!(
        line.ends_with("the file exists; name another one, or remove it\n"),
        "{line}"
    );
}

#[test]
fn wrong_command_lines_are_refused() {
    let cases: &[(&[&str], &str)] = &[
        (&["run", "--nope", "hi"], "unexpected argument '--nope'"),
        (&["replay", "--nope"], "unexpected argument '--nope'"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["replay", "--output", "xml", "f"], "invalid value 'xml'"),
        (
            &["run", "--output", "xml", "f"],
            "[possible values: text, changes, transcript]",
        ),
        (&["run"], "a prompt is missing"),
        (&["run", ""], "the prompt is empty; give one"),
        (&["run", "-"], "the prompt is empty; give one"),
        (
            &["run", "--runner", "ftp://x", "hi"],
            "bowline: invalid runner URL: the scheme is unknown; use unix:/path",
        ),
        (&["replay"], "<FILE>"),
        (&["inspect"], "<FILE>"),
        (
            &["demo", "--pace", "-1"],
            "--pace needs a number of at least 0",
        ),
        (
            &["demo", "--pace", "nan"],
            "--pace needs a number of at least 0",
        ),
        (&["demo", "--pace", "fast"], "invalid value 'fast'"),
    ];
    for (args, wanted) in cases {
        let done = bowline(args);
        assert_eq!(done.stdout, "", "{args:?}");
        let line = done.failed(2);
        assert!(line.contains(wanted), "{args:?}: {line}");
    }
}

#[cfg(not(feature = "fleet"))]
#[test]
fn fleet_command_names_the_feature_that_it_needs() {
    let cases: [&[&str]; 4] = [
        &["fleet", "init"],
        &["ps", "--fleet=nats://h:4222"],
        &["resume", "id", "--on", "tower"],
        &["serve", "--fleet", "nats://h:4222"],
    ];
    for args in cases {
        let line = bowline(args).failed(2);
        assert!(line.contains("--features fleet"), "{args:?}: {line}");
    }
}

#[test]
fn no_command_prints_help() {
    let done = bowline(&[]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
    assert!(
        done.stderr.contains("Usage: bowline [OPTIONS] [COMMAND]"),
        "{}",
        done.stderr
    );
}

#[test]
fn doctor_reports_missing_agent() {
    let done = bowline(&["doctor", "--agent", "no-such-agent-here"]);
    assert!(
        done.stdout.contains("agent         none\n"),
        "{}",
        done.stdout
    );
    let line = done.failed(1);
    assert!(
        line.contains("install it, or name it with --agent PATH"),
        "{line}"
    );
}
