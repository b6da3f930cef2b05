//! Commands for scripts: `run -d`, `send`, `answer`, `wait`, `logs`, lists, settings and completions.

use crate::support::{AGENT, CommandOutput, ScriptedAgent, command, finish, json, json_lines};
use crate::test_runner::TestRunner;

const ASKS: &str = r#"
[[turn]]
match = "first"
steps = [ { tool = { name = "Bash", input = { command = "make" }, ask = true, result = "made",
    allowed = [ { text = "It is made." } ], denied = [ { text = "It is not made." } ] } } ]
[[turn]]
match = "second"
steps = [ { text = "A second answer." } ]
"#;

/// Starts an agent at the runner without attaching to it; returns the id.
fn detached(served: &TestRunner, agent: &ScriptedAgent, prompt: &str) -> String {
    let scenario = format!("--scenario={}", agent.path("scenario.toml"));
    let done = served.bowline(&[
        "run",
        "-d",
        "--agent",
        AGENT,
        "--agent-arg",
        &scenario,
        "--agent-arg",
        "--pace=0",
        prompt,
    ]);
    done.ok().trim_end().to_owned()
}

#[test]
fn detached_session_is_driven_by_a_script() {
    let served = TestRunner::start();
    let agent = ScriptedAgent::new(ASKS);
    let id = detached(&served, &agent, "first");
    assert_eq!(id.len(), 36, "{id}");
    served.bowline(&["wait", &id, "--until", "permission"]).ok();
    let listed = served.bowline(&["ps", "--format", "{id} {phase} {title} {open_permissions}"]);
    assert_eq!(listed.ok(), format!("{id} awaiting_permission first 1\n"));
    let late = served.bowline(&["wait", &id, "--timeout", "0"]).failed(1);
    assert!(late.contains("is not idle after 0 s"), "{late}");
    let wrong = served.bowline(&["answer", &id, "perhaps"]).failed(1);
    assert!(!wrong.is_empty());
    served
        .bowline(&["answer", &id, "deny", "--message", "use ninja"])
        .ok();
    served.bowline(&["wait", &id]).ok();
    let none = served.bowline(&["answer", &id, "allow"]).failed(1);
    assert!(none.contains("has no open permission request"), "{none}");
    let prompt = served.bowline(&["send", &id, "second"]).ok();
    assert_eq!(prompt.trim_end().len(), 36, "{prompt}");
    served.until(&format!("/api/sessions/{id}/transcript"), |it| {
        it.to_string().contains("A second answer.")
    });
    served.bowline(&["wait", &id, "--until", "idle"]).ok();
    let text = served.bowline(&["logs", &id]).ok();
    for wanted in ["It is not made.", "use ninja", "A second answer."] {
        assert_eq!(text.matches(wanted).count(), 1, "{wanted}: {text}");
    }
    let changes = json_lines(&served.bowline(&["logs", &id, "--events"]).ok());
    assert!(changes.len() > 3, "{changes:?}");
    let raw = served.bowline(&["logs", &id, "--raw"]).ok();
    assert!(
        json_lines(&raw).iter().any(|it| it["type"] == "result"),
        "{raw}"
    );
    let later = served.bowline(&["logs", &id, "--raw", "--from", "100"]);
    assert_eq!(raw.as_bytes().get(100..), Some(later.ok().as_bytes()));
    served.bowline(&["kill", &id]).ok();
    served.bowline(&["wait", &id, "--until", "ended"]).ok();
    let gone = served.bowline(&["wait", &id]).failed(1);
    assert!(gone.contains("has ended"), "{gone}");
    let listed = json(&served.bowline(&["ps", "--json"]).ok());
    assert_eq!(listed[0]["phase"], "ended");
    assert_eq!(listed[0]["title"], "first", "what it was about is kept");
}

#[test]
fn detached_session_keeps_its_limits() {
    let served = TestRunner::start();
    let agent = ScriptedAgent::new(
        "[[turn]]\nmatch = 'spend'\nsteps = [\
         { limits = { window_minutes = 300, used_percent = 100, resets_at = 4000000000 } },\
         { fail = { status = 429, text = 'limit reached', error = 'rate_limit' } } ]",
    );
    let scenario = format!("--scenario={}", agent.path("scenario.toml"));
    let start = |options: &[&str]| {
        let begin = ["run", "-d", "--agent", AGENT, "--agent-arg", &scenario];
        let args = [&begin[..], &["--agent-arg", "--pace=0"], options].concat();
        served.bowline(&args).ok().trim_end().to_owned()
    };
    let waits = start(&["--resume-at-reset", "Go on.", "spend"]);
    let limited = start(&["--max-turns", "1", "hello"]);
    for (id, reason) in [
        (
            waits,
            "paused: usage limit reached; continues when it resets",
        ),
        (limited, "paused: turn limit of 1 turn reached"),
    ] {
        served.until(&format!("/api/sessions/{id}/transcript"), |it| {
            let shown = it["status"]["reason"].as_str().unwrap_or_default();
            shown.starts_with(reason)
        });
    }
    let here = crate::support::bowline(&["run", "--resume-at-reset", "Go on.", "spend"]);
    assert!(here.failed(2).contains("--detach"));
}

#[test]
fn detached_session_keeps_its_policy_name_and_labels() {
    let served = TestRunner::start();
    let agent = ScriptedAgent::new(ASKS);
    let scenario = format!("--scenario={}", agent.path("scenario.toml"));
    let rule = "[[rule]]\nname = 'make'\ndecision = 'allow'\ncommand = 'make'\n";
    let start = |rules: &str, options: &[&str]| {
        std::fs::write(agent.path("p.toml"), rules).unwrap();
        let file = agent.path("p.toml");
        let begin = ["run", "-d", "--agent", AGENT, "--agent-arg", &scenario];
        let middle = ["--agent-arg", "--pace=0", "--policy", &file];
        served.bowline(&[&begin[..], &middle, options].concat())
    };
    let url = format!("unix:{}/runner.sock", served.state());
    let named = [
        "--runner",
        &url,
        "--name",
        "build",
        "--label",
        "team=blue",
        "first",
    ];
    let id = start(rule, &named).ok().trim_end().to_owned();
    let decided = served.until(&format!("/api/sessions/{id}/transcript"), |it| {
        it.to_string().contains("It is made.")
    });
    assert_eq!(
        decided["permissions"][0]["decided_by"]["who"], "policy",
        "{decided:#}"
    );
    let listed = json(&served.bowline(&["ps", "--json"]).ok());
    assert_eq!(
        (&listed[0]["name"], &listed[0]["labels"]["team"]),
        (&"build".into(), &"blue".into()),
        "{listed:#}"
    );
    let bad = start("[[rule]]\ncomand = 'x'", &["first"]).failed(2);
    assert!(bad.contains("p.toml, line 2: `comand` is unknown"), "{bad}");
}

#[test]
fn options_of_a_local_agent_are_refused_at_a_runner() {
    let served = TestRunner::start();
    let done = served.bowline(&["run", "-d", "--stdio", "pty", "go"]);
    let refused = done.failed(2);
    assert!(
        refused.contains("--stdio pty is not possible at a runner"),
        "{refused}"
    );
}

#[test]
fn followed_log_ends_with_its_session() {
    let served = TestRunner::start();
    let agent = ScriptedAgent::new("[[turn]]\nsteps = [ { text = 'Once.' } ]");
    let id = detached(&served, &agent, "go");
    let mut follow = command(&["logs", "-f", &id]);
    follow.env("BOWLINE_STATE_DIR", served.state());
    let running = crate::support::Running::until(follow, "Once.");
    served.bowline(&["kill", &id]).ok();
    let text = running.finish().ok();
    assert_eq!(text.matches("Once.").count(), 1, "{text}");
}

#[test]
fn unknown_field_of_a_list_names_the_known_ones() {
    let served = TestRunner::start();
    assert_eq!(served.bowline(&["ps", "--format", "{x}"]).ok(), "");
    served.shell("sleep 100");
    let line = served.bowline(&["ps", "--format", "{identity}"]).failed(2);
    assert!(line.contains("there is no field \"identity\""), "{line}");
    let hosts = served
        .bowline(&["ps", "--format", "{kind} {hosts} {phase}"])
        .ok();
    assert_eq!(hosts, "terminal 0 -\n");
}

#[test]
fn tokens_are_listed_by_a_template() {
    let served = TestRunner::start();
    for scope in ["look", "answer"] {
        served
            .bowline(&["token", "add", scope, "--scope", scope])
            .ok();
    }
    let listed = served.bowline(&["token", "ls", "--format", "{name}={scope}"]);
    assert_eq!(listed.ok(), "look=look\nanswer=answer\n");
    let listed = json(&served.bowline(&["token", "ls", "--json"]).ok());
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
}

/// Runs the command with a file of settings.
fn with_settings(text: &str, args: &[&str]) -> CommandOutput {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bowline")).unwrap();
    std::fs::write(folder.path().join("bowline/config.toml"), text).unwrap();
    let mut command = command(args);
    command.env("XDG_CONFIG_HOME", folder.path());
    finish(command.spawn().unwrap())
}

#[test]
fn settings_are_defaults_of_options() {
    let line = with_settings("agent = \"no-such-agent\"", &["doctor"]).failed(1);
    assert!(line.contains("no-such-agent"), "{line}");
    let line = with_settings("\nagnet = \"x\"", &["ps"]).failed(2);
    assert!(
        line.contains("config.toml:2: unknown setting \"agnet\"; did you mean \"agent\"?"),
        "{line}"
    );
    let text = with_settings("model = \"opus\"", &["config"]).ok();
    assert!(text.contains("model = \"opus\""), "{text}");
    assert!(text.contains("config.toml:1: the model"), "{text}");
    assert!(text.contains("agent = \"claude\""), "{text}");
    assert!(
        text.contains("# default: the agent of new sessions"),
        "{text}"
    );
}

#[test]
fn shells_complete_commands_and_session_ids() {
    let served = TestRunner::start();
    let id = served.shell("sleep 100");
    for shell in ["bash", "zsh", "fish"] {
        let script = served.bowline(&["completions", shell]).ok();
        assert!(script.contains("BOWLINE_COMPLETE"), "{shell}: {script}");
    }
    let line = served.bowline(&["completions", "cmd"]).failed(2);
    assert!(line.contains("the shells are bash"), "{line}");
    let complete = |words: &[&str]| {
        let mut command = command(&[&["--", "bowline"], words].concat());
        command
            .env("BOWLINE_STATE_DIR", served.state())
            .env("BOWLINE_COMPLETE", "fish");
        finish(command.spawn().unwrap()).ok()
    };
    let start = id.split('-').next().unwrap();
    assert_eq!(complete(&["kill", start]).trim_end(), id);
    assert!(
        complete(&["att"]).starts_with("attach"),
        "{}",
        complete(&["att"])
    );
}

#[test]
fn manual_pages_are_printed() {
    let page = crate::support::bowline(&["man"]).ok();
    assert!(
        page.contains(".TH bowline 1") && page.contains("attach"),
        "{page}"
    );
    let page = crate::support::bowline(&["man", "wait"]).ok();
    assert!(
        page.contains("bowline\\-wait") && page.contains("\\-\\-timeout"),
        "{page}"
    );
    let line = crate::support::bowline(&["man", "x"]).failed(2);
    assert!(line.contains("there is no command \"x\""), "{line}");
}

#[test]
fn conversation_needs_a_terminal() {
    let line = crate::support::bowline(&["chat", "hi"]).failed(2);
    assert!(line.contains("a conversation needs a terminal"), "{line}");
}
