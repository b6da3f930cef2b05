//! The same scenario in every dialect gives the same neutral transcript.

use bowline_jsonl::Framer;
use bowline_reducer::dialect::DialectName;
use bowline_reducer::{End, Meta, Schema, Transcript};
use serde_json::{Value, json};

use crate::process::Process;
use crate::rpc::Host;

/// A turn that a host prompts, and how it answers permission requests.
struct Prompted {
    text: &'static str,
    allow: bool,
    /// Interrupts the turn at the first text that is this.
    interrupt_at: Option<&'static str>,
}

const fn prompted(text: &'static str, allow: bool) -> Prompted {
    Prompted {
        text,
        allow,
        interrupt_at: None,
    }
}

/// What a transcript shows, in terms of no dialect.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    /// Texts, thoughts and calls of each thread, the main one first.
    threads: Vec<Vec<String>>,
    /// Kind, state and result of each call.
    calls: Vec<String>,
    plan: Vec<String>,
    ends: Vec<String>,
}

/// Plays a scenario in a dialect, and folds what both sides wrote.
fn play(dialect: &str, toml: &str, prompts: &[Prompted]) -> Value {
    let (name, mut log) = match dialect {
        "claude" => (DialectName::Claude, claude(toml, prompts)),
        "codex" => (DialectName::Codex, rpc("codex", toml, prompts)),
        _ => (DialectName::Acp, rpc("acp", toml, prompts)),
    };
    let mut transcript = Transcript::with_dialect(name);
    let mut framer = Framer::default();
    for (from_host, line) in log.drain(..) {
        if from_host {
            transcript.apply_input(&line.to_string(), Meta::default());
            continue;
        }
        framer.push(format!("{line}\n").into());
        while let Some(frame) = framer.next_frame() {
            frame
                .items()
                .for_each(|item| transcript.apply(&item, Meta::default()));
        }
    }
    transcript.end(End::Recording, Meta::default());
    let json = transcript.json(Schema::Two).to_string();
    serde_json::from_str(&json).unwrap()
}

fn claude(toml: &str, prompts: &[Prompted]) -> Vec<(bool, Value)> {
    let flags = [
        "--permission-prompt-tool",
        "stdio",
        "--include-partial-messages",
        "--forward-subagent-text",
        "--replay-user-messages",
    ];
    let mut process = Process::script(toml, &flags);
    let mut log = Vec::new();
    for prompt in prompts {
        process.prompt(prompt.text);
        loop {
            let line = process.next();
            log.push((false, line.clone()));
            if line["request"]["subtype"] == "can_use_tool" {
                let answer = if prompt.allow {
                    json!({"behavior": "allow", "updatedInput": line["request"]["input"]})
                } else {
                    json!({"behavior": "deny", "message": "The user declined the tool use."})
                };
                process.answer(&line, &answer);
            }
            if prompt
                .interrupt_at
                .is_some_and(|text| line["event"]["delta"]["text"] == text)
            {
                process.request("stop", &json!({"subtype": "interrupt"}));
            }
            if line["type"] == "result" {
                break;
            }
        }
    }
    log
}

fn rpc(dialect: &str, toml: &str, prompts: &[Prompted]) -> Vec<(bool, Value)> {
    let capabilities = json!({"subagents": {}});
    let mut host = Host::open_as(dialect, toml, &capabilities);
    for (number, prompt) in prompts.iter().enumerate() {
        let id = format!("p{number}");
        host.prompt(&id, prompt.text);
        let mut turn = Value::Null;
        loop {
            let line = host.next();
            if line["method"] == "turn/started" && line["params"]["threadId"] == host.id.as_str() {
                turn = line["params"]["turn"]["id"].clone();
            }
            if line["method"].is_string() && line["id"].is_u64() {
                host.decide(&line["id"], prompt.allow);
            }
            let delta = [
                &line["params"]["delta"],
                &line["params"]["update"]["content"]["text"],
            ];
            if prompt
                .interrupt_at
                .is_some_and(|text| delta.iter().any(|it| **it == text))
            {
                host.interrupt(&turn);
            }
            if host.is_turn_end(&line, &id) {
                break;
            }
        }
    }
    host.log.take()
}

fn shown(transcript: &Value) -> Shown {
    let mut shown = Shown::default();
    thread(transcript, &mut shown);
    for step in list(&transcript["plan"]) {
        shown.plan.push(format!(
            "{} {}",
            string(&step["state"]),
            string(&step["text"])
        ));
    }
    shown
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn thread(of: &Value, shown: &mut Shown) {
    let at = shown.threads.len();
    shown.threads.push(Vec::new());
    for entry in list(&of["entries"]) {
        match entry["kind"].as_str() {
            Some("user") if at == 0 && !is_mark(entry) => {
                shown.threads[at].push(format!("prompt: {}", string(&entry["text"])))
            }
            Some("result") if at == 0 => shown.ends.push(string(&entry["outcome"])),
            Some("assistant") => {
                for block in list(&entry["blocks"]) {
                    self::block(of, block, at, shown);
                }
            }
            _ => {}
        }
    }
}

fn block(of: &Value, block: &Value, at: usize, shown: &mut Shown) {
    if block["type"] != "tool_call" {
        let line = format!("{}: {}", string(&block["type"]), string(&block["text"]));
        return shown.threads[at].push(line);
    }
    let call = &of["tool_calls"][string(&block["id"])];
    // Codex waits for a sub-agent by another call, and Claude Code plans by one.
    if call["name"] == "wait" || call["name"] == "TodoWrite" {
        return;
    }
    let is_agent = call["subagent"].is_object();
    let kind = if is_agent {
        "agent".to_owned()
    } else {
        string(&call["kind"])
    };
    shown.threads[at].push(format!("call: {kind}"));
    // The result of an edit is a message in one dialect, and the change itself in others.
    let result = if is_agent || kind == "edit" {
        String::new()
    } else {
        string(&call["result"]["text"])
    };
    let output = result
        .split_once('\n')
        .filter(|(first, _)| first.starts_with("Exit code "));
    let result = output.map_or_else(|| result.clone(), |(_, rest)| rest.to_owned());
    shown.calls.push(format!(
        "{kind} {} {}",
        string(&call["state"]),
        result.trim_end()
    ));
    if is_agent {
        thread(&call["subagent"], shown);
    }
}

/// Whether Claude Code wrote this prompt itself, after an interrupt.
fn is_mark(entry: &Value) -> bool {
    string(&entry["text"]).starts_with("[Request interrupted by user")
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Plays a scenario in all dialects; returns what each transcript shows.
fn same_in_all(toml: &str, prompts: &[Prompted]) -> Shown {
    let claude = shown(&play("claude", toml, prompts));
    for dialect in ["codex", "acp"] {
        let transcript = play(dialect, toml, prompts);
        assert_eq!(shown(&transcript), claude, "{dialect}");
        // Claude Code's stream does not say how the host decided.
        let states = list(&transcript["permissions"]).map(|it| string(&it["state"]));
        let decided = prompts
            .iter()
            .map(|it| if it.allow { "allowed" } else { "denied" });
        assert!(
            states.zip(decided).all(|(state, decided)| state == decided),
            "{dialect}"
        );
    }
    claude
}

#[test]
fn demo_is_the_same_in_all_dialects() {
    let toml = std::fs::read_to_string("scenarios/demo.toml").unwrap();
    for allow in [true, false] {
        let prompts = [
            prompted("fix it", allow),
            prompted("and the empty list?", true),
        ];
        let shown = same_in_all(&toml, &prompts);
        assert_eq!(shown.threads.len(), 3, "{shown:#?}");
        assert_eq!(shown.ends, ["completed", "completed"]);
    }
}

#[test]
fn echo_is_the_same_in_all_dialects() {
    let toml = std::fs::read_to_string("scenarios/echo.toml").unwrap();
    let shown = same_in_all(&toml, &[prompted("one", true), prompted("two", true)]);
    assert_eq!(
        shown.threads[0],
        ["prompt: one", "text: one", "prompt: two", "text: two"]
    );
}

#[test]
fn plan_is_the_same_in_all_dialects() {
    let toml = r#"
        [[turn]]
        steps = [
          { plan = [{ text = "look", state = "in_progress" }, { text = "act" }] },
          { text = "Looking." },
          { plan = [{ text = "look", state = "completed" }, { text = "act", state = "in_progress" }] },
        ]
    "#;
    let shown = same_in_all(toml, &[prompted("go", true)]);
    assert_eq!(shown.plan, ["completed look", "in_progress act"]);
}

#[test]
fn interrupted_turn_is_the_same_in_all_dialects() {
    let toml = r#"
        [[turn]]
        steps = [
          { text = "Whole." },
          { new_message = true },
          { text = { text = "abcdefgh", delta = 4 } },
          { wait_for = "eof" },
        ]
    "#;
    let stopped = Prompted {
        interrupt_at: Some("efgh"),
        ..prompted("go", true)
    };
    let shown = same_in_all(toml, &[stopped]);
    assert_eq!(
        shown.threads[0],
        ["prompt: go", "text: Whole.", "text: abcdefgh"]
    );
    assert_eq!(shown.ends, ["cancelled"]);
}

#[test]
fn failed_turn_is_the_same_in_all_dialects() {
    let toml = r#"
        [[turn]]
        steps = [
          { agent = { description = "d", prompt = "p", fails = "it broke" } },
          { tool = { name = "Bash", input = { command = "x" }, is_error = true, result = "Exit code 3\nno" } },
          { text = "So far." },
          { fail = { status = 500, text = "API Error: 500" } },
        ]
        [[turn]]
        steps = [{ text = "Better." }]
    "#;
    let prompts = [prompted("go", true), prompted("again", true)];
    let claude = play("claude", toml, &prompts);
    for dialect in ["codex", "acp"] {
        let transcript = play(dialect, toml, &prompts);
        let (mut ours, mut theirs) = (shown(&transcript), shown(&claude));
        // Claude Code also prints the failure as a text of the agent.
        theirs.threads[0].retain(|line| line != "text: API Error: 500");
        // Codex' call that starts a sub-agent succeeds; its other call reports the failure.
        ours.calls.retain(|call| !call.starts_with("agent"));
        theirs.calls.retain(|call| !call.starts_with("agent"));
        assert_eq!(ours, theirs, "{dialect}");
        assert_eq!(ours.ends, ["failed", "completed"]);
    }
}
