//! The dialects over JSON-RPC: the host's requests and the agent's.

use serde_json::{Value, json};

use crate::process::Process;

/// A host of `--dialect codex` or `--dialect acp`.
pub(crate) struct Host {
    pub(crate) process: Process,
    acp: bool,
    pub(crate) id: String,
}

impl Host {
    /// Starts the understudy with a scenario and opens a conversation.
    pub(crate) fn open(dialect: &str, toml: &str) -> Self {
        let mut host = Self::start(dialect, toml);
        let acp = host.acp;
        let opened = if acp {
            host.call(
                "open",
                "session/new",
                &json!({"cwd": "/", "mcpServers": []}),
            )
        } else {
            host.call("open", "thread/start", &json!({"cwd": "/"}))
        };
        let id = if acp {
            &opened["sessionId"]
        } else {
            &opened["thread"]["id"]
        };
        host.id = id.as_str().unwrap().to_owned();
        host
    }

    /// Starts the understudy with a scenario and initializes it.
    pub(crate) fn start(dialect: &str, toml: &str) -> Self {
        let process = Process::script(toml, &["--dialect", dialect]);
        let acp = dialect == "acp";
        let mut host = Self {
            process,
            acp,
            id: String::new(),
        };
        let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
        host.call("init", "initialize", &params);
        host
    }

    /// Sends a request; returns its result, or its error.
    pub(crate) fn call(&mut self, id: &str, method: &str, params: &Value) -> Value {
        self.request(id, method, params);
        let line = self.find(|line| line["id"] == id);
        let line = if line["error"].is_null() {
            &line["result"]
        } else {
            &line["error"]
        };
        line.clone()
    }

    pub(crate) fn request(&mut self, id: &str, method: &str, params: &Value) {
        self.send(json!({"id": id, "method": method, "params": params}));
    }

    pub(crate) fn send(&mut self, mut line: Value) {
        if self.acp {
            line["jsonrpc"] = "2.0".into();
        }
        self.process.send(&line);
    }

    pub(crate) fn prompt(&mut self, id: &str, text: &str) {
        let content = json!([{"type": "text", "text": text}]);
        if self.acp {
            self.request(
                id,
                "session/prompt",
                &json!({"sessionId": self.id, "prompt": content}),
            );
        } else {
            self.request(
                id,
                "turn/start",
                &json!({
                    "threadId": self.id, "input": content, "clientUserMessageId": id,
                }),
            );
        }
    }

    /// Answers the next permission request, by the kind of ACP.
    pub(crate) fn answer(&mut self, option: &str, decision: &str) {
        let asked = self.find(|line| line["method"].is_string() && line["id"].is_u64());
        let result = if self.acp {
            json!({"outcome": {"outcome": "selected", "optionId": option}})
        } else {
            json!({"decision": decision})
        };
        self.send(json!({"id": asked["id"], "result": result}));
    }

    /// Returns the next line for which this holds.
    pub(crate) fn find(&self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let line = self.process.next();
            if wanted(&line) {
                return line;
            }
        }
    }

    /// Waits for the end of a turn; returns how it ended.
    pub(crate) fn turn_end(&mut self, prompt: &str) -> String {
        let acp = self.acp;
        let id = self.id.clone();
        let line = self.find(|line| {
            if acp {
                line["id"] == prompt
            } else {
                line["method"] == "turn/completed" && line["params"]["threadId"] == id.as_str()
            }
        });
        let end = if acp {
            &line["result"]["stopReason"]
        } else {
            &line["params"]["turn"]["status"]
        };
        end.as_str().unwrap_or("error").to_owned()
    }
}

const ASK: &str = r#"
[[turn]]
steps = [
  { tool = { name = "Bash", input = { command = "make" }, ask = true, result = "built",
             allowed = [{ text = "Done." }], denied = [{ text = "Left." }] } },
]
"#;

#[test]
fn unknown_method_is_refused() {
    for dialect in ["codex", "acp"] {
        let mut host = Host::start(dialect, "");
        let error = host.call("x", "made/up", &json!({}));
        assert_eq!(error["code"], -32601, "{dialect}");
    }
}

#[test]
fn allowed_call_runs_and_declined_call_does_not() {
    for (option, decision, codex, acp) in [
        ("allow", "accept", "completed", "completed"),
        ("reject", "decline", "declined", "failed"),
    ] {
        let mut host = Host::open("codex", ASK);
        host.prompt("p", "go");
        host.answer(option, decision);
        let item = host.find(|line| {
            line["method"] == "item/completed"
                && line["params"]["item"]["type"] == "commandExecution"
        });
        assert_eq!(item["params"]["item"]["status"], codex);
        assert_eq!(host.turn_end("p"), "completed");

        let mut host = Host::open("acp", ASK);
        host.prompt("p", "go");
        host.answer(option, decision);
        let ended = host.find(|line| {
            let status = &line["params"]["update"]["status"];
            status == "completed" || status == "failed"
        });
        assert_eq!(ended["params"]["update"]["status"], acp);
        assert_eq!(host.turn_end("p"), "end_turn");
    }
}

#[test]
fn second_prompt_steers_codex_and_waits_in_acp() {
    let script = r#"
        [[turn]]
        match = "first"
        steps = [{ wait_for = "prompt" }, { text = "one" }]
        [[turn]]
        match = "second"
        steps = [{ text = "two" }]
    "#;
    let mut host = Host::open("codex", script);
    host.prompt("a", "first");
    host.prompt("b", "second");
    let text = |host: &mut Host| {
        let line = host.find(|line| {
            line["method"] == "item/completed" && line["params"]["item"]["type"] == "agentMessage"
        });
        line["params"]["item"]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (text(&mut host), text(&mut host)),
        ("one".to_owned(), "two".to_owned())
    );
    assert_eq!(host.turn_end("a"), "completed");

    let mut host = Host::open("acp", script);
    host.prompt("a", "first");
    host.prompt("b", "second");
    assert_eq!(
        (host.turn_end("a"), host.turn_end("b")),
        ("end_turn".to_owned(), "end_turn".to_owned())
    );
}

#[test]
fn logged_out_agent_refuses_sessions_until_login() {
    let mut host = Host::start("acp", "logged_out = true");
    let params = json!({"cwd": "/", "mcpServers": []});
    assert_eq!(host.call("a", "session/new", &params)["code"], -32000);
    host.call("b", "authenticate", &json!({"methodId": "login"}));
    host.id = host.call("c", "session/new", &params)["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    host.prompt("d", "hello");
    assert_eq!(host.turn_end("d"), "end_turn");

    let mut host = Host::open("codex", "logged_out = true");
    host.prompt("a", "hello");
    assert_eq!(host.turn_end("a"), "failed");
}
