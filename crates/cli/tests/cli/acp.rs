//! `bowline acp`: an editor's sessions at a runner.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::runner_tls::TlsRunner;
use crate::started_runner::StartedRunner;
use crate::support::{AGENT, ScriptedAgent, TIMEOUT, bowline, command, finish};
use crate::test_runner::TestRunner;

pub(crate) const DIALECTS: [&str; 3] = ["claude", "codex", "acp"];

pub(crate) const ASKS: &str = r#"
[[turn]]
match = "make"
steps = [
  { text = "I will make it." },
  { tool = { name = "Bash", input = { command = "make" }, ask = true, result = "made",
    allowed = [ { text = "It is made." } ], denied = [ { text = "It is not made." } ] } },
]
[[turn]]
match = "again"
steps = [ { text = "Once more." } ]
"#;

/// An editor: `bowline acp` and what it has written.
pub(crate) struct Editor {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    last_id: u64,
    /// The text of the agent's messages.
    text: String,
    /// The texts of the prompts that it was shown.
    prompts: Vec<String>,
    /// Requests of the agent that the test has not read.
    asked: Vec<Value>,
    pub(crate) cancelled: Vec<Value>,
}

impl Editor {
    /// Starts the command with a scripted agent, and says hello.
    fn start(state: &str, agent: &ScriptedAgent, dialect: &str) -> Self {
        Self::start_with(state, agent, dialect, AGENT, &[])
    }

    pub(crate) fn start_with(
        state: &str,
        agent: &ScriptedAgent,
        dialect: &str,
        program: &str,
        more: &[&str],
    ) -> Self {
        let scenario = format!("--agent-arg=--scenario={}", agent.path("scenario.toml"));
        let kept = format!("--agent-arg=--state={}", agent.path("conversations"));
        let mut args = vec!["acp", "--agent", program, &scenario, "--agent-arg=--pace=0"];
        let played = format!("--agent-arg=--dialect={dialect}");
        if dialect != "claude" {
            args.extend(["--dialect", dialect, &played, &kept]);
        }
        args.extend(more);
        let mut command = command(&args);
        command
            .env("BOWLINE_STATE_DIR", state)
            .stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap();
                // The test may be over.
                let _ = sender.send(line);
            }
        });
        let stdin = child.stdin.take().unwrap();
        let mut editor = Self {
            child,
            stdin,
            lines,
            last_id: 0,
            text: String::new(),
            prompts: Vec::new(),
            asked: Vec::new(),
            cancelled: Vec::new(),
        };
        let hello = match more {
            ["--protocol", "2"] => json!({
                "protocolVersion": 2, "capabilities": {}, "info": {"name": "test", "version": "1"},
            }),
            _ => json!({"protocolVersion": 1, "clientCapabilities": {}}),
        };
        let answer = editor.call("initialize", &hello)["result"].take();
        assert_eq!(answer["protocolVersion"], hello["protocolVersion"]);
        let agent = if answer["info"].is_null() {
            &answer["agentInfo"]
        } else {
            &answer["info"]
        };
        assert_eq!(agent["name"], "bowline");
        editor
    }

    fn write(&mut self, line: &Value) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Sends a request; returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and waits for its answer.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.until(|line, _| line["id"] == id && line["method"].is_null())
    }

    /// Reads up to a line that `is_it`.
    #[track_caller]
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value, &Self) -> bool) -> Value {
        loop {
            let line = self.lines.recv_timeout(TIMEOUT);
            let line = line.unwrap_or_else(|error| panic!("{error} after {:?}", self.text));
            let update = &line["params"]["update"];
            let text = update["content"]["text"].as_str().unwrap_or_default();
            match update["sessionUpdate"].as_str().unwrap_or_default() {
                "agent_message_chunk" => self.text.push_str(text),
                "user_message_chunk" => self.prompts.push(text.to_owned()),
                _ => {}
            }
            match line["method"].as_str() {
                Some("session/request_permission") => self.asked.push(line.clone()),
                Some("$/cancel_request") => self.cancelled.push(line.clone()),
                _ => {}
            }
            if is_it(&line, self) {
                return line;
            }
        }
    }

    pub(crate) fn new_session(&mut self) -> String {
        let params = json!({"cwd": "/tmp", "mcpServers": []});
        let answer = self.call("session/new", &params);
        let id = answer["result"]["sessionId"].as_str();
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn load(&mut self, session: &str) -> Value {
        let params = json!({"sessionId": session, "cwd": "/tmp", "mcpServers": []});
        self.call("session/load", &params)
    }

    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.request(
            "session/prompt",
            &json!({"sessionId": session, "prompt": prompt}),
        )
    }

    /// Waits for a permission request.
    pub(crate) fn question(&mut self) -> Value {
        if self.asked.is_empty() {
            self.until(|_, it| !it.asked.is_empty());
        }
        self.asked.remove(0)
    }

    /// Answers a permission request with the option of a kind.
    pub(crate) fn choose(&mut self, question: &Value, kind: &str) {
        let options = question["params"]["options"].as_array().unwrap();
        let option = options
            .iter()
            .find(|option| option["kind"] == kind)
            .unwrap();
        let outcome = json!({"outcome": "selected", "optionId": option["optionId"]});
        let id = &question["id"];
        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": outcome}}));
    }

    /// Reads until the agent has said this.
    fn hears(&mut self, text: &str) {
        if !self.text.contains(text) {
            self.until(|_, it| it.text.contains(text));
        }
    }

    /// Kills the command, as an editor that crashes does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the connection as an editor that exits does.
    pub(crate) fn close(self) {
        drop(self.stdin);
        let done = finish(self.child);
        assert_eq!((done.code, &*done.stderr), (Some(0), ""));
    }
}

#[test]
fn editor_prompts_and_answers_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut editor = Editor::start(&served.state(), &agent, dialect);
        let session = editor.new_session();
        let prompt = editor.prompt(&session, "make it");
        let question = editor.question();
        assert_eq!(
            question["params"]["sessionId"],
            session.as_str(),
            "{dialect}"
        );
        editor.choose(&question, "allow_once");
        let answer = editor.answer(prompt);
        assert_eq!(
            answer["result"]["stopReason"], "end_turn",
            "{dialect}: {answer}"
        );
        assert_eq!(editor.text, "I will make it.It is made.", "{dialect}");
        assert!(editor.prompts.is_empty(), "{dialect}: {:?}", editor.prompts);
        let list = editor.call("session/list", &json!({}));
        let listed = &list["result"]["sessions"][0];
        assert_eq!(listed["sessionId"], session.as_str(), "{dialect}: {list}");
        editor.close();
    }
}

#[test]
fn killed_editor_loses_nothing_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut editor = Editor::start(&served.state(), &agent, dialect);
        let session = editor.new_session();
        editor.prompt(&session, "make it");
        editor.question();
        editor.kill();
        let mut editor = Editor::start(&served.state(), &agent, dialect);
        let answer = editor.load(&session);
        assert!(answer["error"].is_null(), "{dialect}: {answer}");
        assert_eq!(editor.text, "I will make it.", "{dialect}");
        assert_eq!(editor.prompts, ["make it"], "{dialect}");
        // It was not answered, so it is asked again.
        let question = editor.question();
        editor.choose(&question, "allow_once");
        editor.hears("It is made.");
        assert_eq!(editor.text, "I will make it.It is made.", "{dialect}");
        let prompt = editor.prompt(&session, "again");
        let answer = editor.answer(prompt);
        assert_eq!(
            answer["result"]["stopReason"], "end_turn",
            "{dialect}: {answer}"
        );
        assert!(
            editor.text.ends_with("Once more."),
            "{dialect}: {}",
            editor.text
        );
        editor.close();
    }
}

/// Times that editors of one turn are killed.
const KILLS: usize = 20;

#[test]
fn editors_that_are_killed_in_one_turn_each_show_all_of_it_once() {
    let step = |at: usize| {
        format!(
            "{{ text = \"line {at}.\" }},\n{{ tool = {{ name = \"Bash\", input = {{ command = \"{at}\" }}, \
             ask = true, result = \"\" }} }},\n"
        )
    };
    let steps: String = (0..KILLS).map(step).collect();
    let scenario = format!("[[turn]]\nsteps = [\n{steps}{{ text = \"end\" }} ]\n");
    let (served, agent) = (TestRunner::start(), ScriptedAgent::new(&scenario));
    let mut editor = Editor::start(&served.state(), &agent, "claude");
    let session = editor.new_session();
    editor.prompt(&session, "go");
    let mut expected = String::new();
    for at in 0..KILLS {
        expected.push_str(&format!("line {at}."));
        // Each is killed with an unanswered request, in the middle of the turn.
        editor.question();
        editor.kill();
        editor = Editor::start(&served.state(), &agent, "claude");
        editor.load(&session);
        let question = editor.question();
        assert_eq!(editor.text, expected);
        assert_eq!(editor.prompts, ["go"]);
        editor.choose(&question, "allow_once");
        editor.hears(&if at + 1 < KILLS {
            format!("line {}.", at + 1)
        } else {
            "end".to_owned()
        });
    }
    editor.load(&session);
    assert!(
        editor.text.ends_with(&(expected + "end")),
        "{}",
        editor.text
    );
}

#[test]
fn two_editors_share_a_session_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut first = Editor::start(&served.state(), &agent, dialect);
        let session = first.new_session();
        let prompt = first.prompt(&session, "make it");
        let asked = first.question();
        let mut second = Editor::start(&served.state(), &agent, dialect);
        second.load(&session);
        let question = second.question();
        second.choose(&question, "allow_once");
        let answer = first.answer(prompt);
        assert_eq!(
            answer["result"]["stopReason"], "end_turn",
            "{dialect}: {answer}"
        );
        assert_eq!(first.cancelled.len(), 1, "{dialect}");
        assert_eq!(first.cancelled[0]["params"]["requestId"], asked["id"]);
        second.hears("It is made.");
        assert_eq!(first.text, second.text, "{dialect}");
        let prompt = second.prompt(&session, "again");
        second.answer(prompt);
        first.hears("Once more.");
        assert_eq!(first.prompts, ["again"], "{dialect}: of the other editor");
        assert_eq!(second.prompts, ["make it"], "{dialect}");
    }
}

#[test]
fn cancelled_turn_ends_cancelled_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut editor = Editor::start(&served.state(), &agent, dialect);
        let session = editor.new_session();
        let prompt = editor.prompt(&session, "make it");
        editor.question();
        let cancel = json!({"sessionId": session});
        editor.write(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": cancel}));
        let answer = editor.answer(prompt);
        assert_eq!(
            answer["result"]["stopReason"], "cancelled",
            "{dialect}: {answer}"
        );
    }
}

#[test]
fn unknown_session_and_wrong_lines_are_errors() {
    let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
    let mut editor = Editor::start(&served.state(), &agent, "claude");
    for session in ["nonsense", "00000000-0000-4000-8000-00000000000a"] {
        let answer = editor.load(session);
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("session/list"), "{message}");
    }
    writeln!(editor.stdin, "nonsense").unwrap();
    let line = editor.until(|line, _| line["error"].is_object());
    assert_eq!(line["error"]["code"], -32700);
    let missing = json!({"cwd": "/tmp/there/is/no/such/folder", "mcpServers": []});
    let answer = editor.call("session/new", &missing);
    assert!(answer["error"]["message"].is_string(), "{answer}");
}

#[test]
fn editor_over_the_network_needs_token_and_certificate() {
    let (served, agent) = (TlsRunner::start(&[]), ScriptedAgent::new(ASKS));
    let other = agent.path("other-token");
    std::fs::write(&other, "0".repeat(64)).unwrap();
    std::fs::set_permissions(&other, Permissions::from_mode(0o600)).unwrap();
    let at = |token, fingerprint| {
        let known = ["--runner", &served.url, "--token-file", token];
        [&known[..], &["--fingerprint", fingerprint]].concat()
    };
    let zeros = "0".repeat(64);
    for (wrong, what) in [
        (at(&other, &served.fingerprint), "token"),
        (at(&served.token, &zeros), "certificate"),
    ] {
        let line = bowline(&[&["acp"][..], &wrong].concat()).failed(1);
        assert!(line.contains(what), "{line}");
    }
    let right = at(&served.token, &served.fingerprint);
    let state = agent.path("state");
    let mut editor = Editor::start_with(&state, &agent, "claude", AGENT, &right);
    let session = editor.new_session();
    let prompt = editor.prompt(&session, "make it");
    let question = editor.question();
    editor.choose(&question, "allow_once");
    editor.answer(prompt);
    assert_eq!(editor.text, "I will make it.It is made.");
    editor.close();
}

#[test]
fn requests_before_the_end_of_input_are_answered() {
    let served = TestRunner::start();
    let state = served.state();
    let initialize =
        r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}"#;
    let mut child = command(&["acp", "--agent", "claude"])
        .env("BOWLINE_STATE_DIR", &state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{initialize}").unwrap();
    drop(input);
    let done = finish(child);
    assert_eq!((done.code, &*done.stderr), (Some(0), ""));
    let answer: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(answer["id"], 7);
    assert_eq!(answer["result"]["protocolVersion"], 1);
}

#[test]
fn unreachable_runner_is_one_line() {
    let line = bowline(&["acp", "--runner", "unix:/tmp/there/is/no/runner.sock"]).failed(1);
    assert!(line.contains("/tmp/there/is/no/runner.sock"), "{line}");
}

#[test]
fn mcp_servers_of_the_editor_reach_the_agent_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let args = agent.path("args");
        let program = agent.script(&format!(
            "printf '%s\\n' \"$@\" > '{args}'; exec {AGENT} \"$@\""
        ));
        let mut editor = Editor::start_with(&served.state(), &agent, dialect, &program, &[]);
        let server = json!({"name": "files", "command": "/bin/mcp", "args": ["-x"],
            "env": [{"name": "KEY", "value": "secret"}]});
        let params = json!({"cwd": "/tmp", "mcpServers": [server]});
        let answer = editor.call("session/new", &params);
        let session = answer["result"]["sessionId"].as_str();
        let session = session.unwrap_or_else(|| panic!("{dialect}: {answer}"));
        let stdio = json!({"command": "/bin/mcp", "args": ["-x"], "env": {"KEY": "secret"}});
        if dialect == "claude" {
            let args = std::fs::read_to_string(args).unwrap();
            let config = args.lines().find_map(|it| it.strip_prefix("--mcp-config="));
            let config: Value = serde_json::from_str(config.expect(&args)).unwrap();
            let mut expected = stdio;
            expected["type"] = json!("stdio");
            assert_eq!(config["mcpServers"]["files"], expected);
            continue;
        }
        let log = format!("/api/sessions/{session}/log?stream=input");
        let (_, input) = served.request("GET", &log, None);
        let lines = input.lines().map(|it| serde_json::from_str(it).unwrap());
        let opens =
            |line: &Value| line["method"] == "session/new" || line["method"] == "thread/start";
        let open = lines.into_iter().find(opens).unwrap();
        match dialect {
            "codex" => assert_eq!(open["params"]["config"]["mcp_servers"]["files"], stdio),
            _ => assert_eq!(open["params"]["mcpServers"], json!([server])),
        }
    }
}

#[test]
fn mcp_server_that_the_agent_cannot_reach_is_refused_by_name() {
    let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
    let mut editor = Editor::start(&served.state(), &agent, "codex");
    let server = json!({"type": "sse", "name": "web", "url": "https://h", "headers": []});
    let params = json!({"cwd": "/tmp", "mcpServers": [server]});
    let answer = editor.call("session/new", &params);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("the MCP server web over SSE"), "{message}");
    let list = served.json("GET", "/api/sessions", None);
    assert_eq!(list["sessions"], json!([]));
}

/// How a session ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// `bowline kill`, which keeps the log.
    Killed,
    /// Its shim is killed.
    Lost,
}

fn end(served: &TestRunner, session: &str, how: End) {
    match how {
        End::Killed => drop(served.bowline(&["kill", session]).ok()),
        End::Lost => served.kill_shim(session),
    }
}

#[test]
fn ended_session_is_listed_and_loaded_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut editor = Editor::start(&served.state(), &agent, dialect);
        let session = editor.new_session();
        let prompt = editor.prompt(&session, "make it");
        let question = editor.question();
        editor.choose(&question, "allow_once");
        editor.answer(prompt);
        end(&served, &session, End::Killed);
        let list = editor.call("session/list", &json!({"cwd": "/tmp"}));
        let listed = list["result"]["sessions"].as_array().unwrap();
        assert_eq!(listed.len(), 1, "{dialect}: {list}");
        assert_eq!(listed[0]["sessionId"], session.as_str());
        let text = std::mem::take(&mut editor.text);
        assert_eq!(text, "I will make it.It is made.");
        let loaded = editor.load(&session);
        assert!(loaded["error"].is_null(), "{dialect}: {loaded}");
        assert_eq!(editor.text, text, "{dialect}");
        assert_eq!(editor.prompts, ["make it"], "{dialect}");
        assert_ended(&mut editor, &session);
        let params = json!({"sessionId": session, "cwd": "/tmp", "mcpServers": []});
        let resumed = editor.call("session/resume", &params);
        assert!(resumed["error"].is_null(), "{resumed}");
        assert_eq!(editor.prompts.len(), 1, "resuming replays nothing");
        // Ended sessions do not count as work that is under way.
        for _ in 0..12 {
            assert!(editor.load(&session)["error"].is_null());
        }
        editor.close();
    }
}

/// Prompts a session that has ended.
fn assert_ended(editor: &mut Editor, session: &str) {
    let prompt = editor.prompt(session, "again");
    let refused = editor.answer(prompt);
    assert_eq!(
        refused["error"]["data"]["code"], "SESSION_ENDED",
        "{refused}"
    );
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("start a new one"), "{message}");
}

#[test]
fn session_that_is_lost_ends_its_prompt_and_is_loaded_in_all_dialects() {
    for dialect in DIALECTS {
        let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
        let mut editor = Editor::start(&served.state(), &agent, dialect);
        let session = editor.new_session();
        let prompt = editor.prompt(&session, "make it");
        let asked = editor.question();
        end(&served, &session, End::Lost);
        let refused = editor.answer(prompt);
        assert_eq!(
            refused["error"]["data"]["code"], "SESSION_ENDED",
            "{refused}"
        );
        assert_eq!(editor.cancelled[0]["params"]["requestId"], asked["id"]);
        editor.kill();
        let mut editor = Editor::start(&served.state(), &agent, dialect);
        let loaded = editor.load(&session);
        assert!(loaded["error"].is_null(), "{dialect}: {loaded}");
        assert_eq!(editor.text, "I will make it.", "{dialect}");
        assert_eq!(editor.prompts, ["make it"], "{dialect}");
        assert_ended(&mut editor, &session);
        assert!(editor.asked.is_empty(), "{dialect}: {:?}", editor.asked);
    }
}

#[test]
fn session_that_ends_while_it_is_loaded_is_shown_in_all_dialects() {
    for dialect in DIALECTS {
        for how in [End::Killed, End::Lost] {
            let (served, agent) = (TestRunner::start(), ScriptedAgent::new(ASKS));
            let mut editor = Editor::start(&served.state(), &agent, dialect);
            let session = editor.new_session();
            editor.prompt(&session, "make it");
            editor.question();
            let mut other = Editor::start(&served.state(), &agent, dialect);
            let params = json!({"sessionId": session, "cwd": "/tmp", "mcpServers": []});
            let load = std::thread::scope(|scope| {
                scope.spawn(|| end(&served, &session, how));
                other.request("session/load", &params)
            });
            let loaded = other.answer(load);
            assert!(loaded["error"].is_null(), "{dialect} {how:?}: {loaded}");
            assert_eq!(other.text, "I will make it.", "{dialect} {how:?}");
            let prompt = other.prompt(&session, "again");
            let refused = other.answer(prompt);
            assert!(refused["error"].is_object(), "{dialect} {how:?}: {refused}");
        }
    }
}

#[test]
fn runner_is_started_on_demand_and_outlives_the_editor() {
    let folder = TempDir::new_in("/tmp").unwrap();
    let state = folder.path().join("s").display().to_string();
    let agent = ScriptedAgent::new(ASKS);
    let mut editor = Editor::start(&state, &agent, "claude");
    let socket = folder.path().join("s/runner.sock");
    let _started = StartedRunner::at(&socket);
    let session = editor.new_session();
    editor.close();
    let mut editor = Editor::start(&state, &agent, "claude");
    assert!(editor.load(&session)["error"].is_null());
    let mut kill = command(&["kill", &session]);
    kill.env("BOWLINE_STATE_DIR", &state);
    finish(kill.spawn().unwrap()).ok();
}
