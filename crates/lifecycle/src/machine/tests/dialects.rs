//! The JSON-RPC dialects, against recordings of real agents (`tests/fixtures/agents`).

use std::collections::VecDeque;
use std::path::PathBuf;

use bowline_reducer::dialect::DialectName;
use serde_json::{Value, json};

use super::*;
use crate::agent::Capability;
use crate::conversations::Conversation;
use crate::permission::PermissionKind;

/// A recording of both directions.
struct Recording(Vec<(bool, Value)>);

impl Recording {
    fn read(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agents");
        let path = folder.join(format!("{name}.trace.jsonl"));
        let text = std::fs::read_to_string(&path).expect("a recording");
        let lines = text.lines().map(|line| -> (String, Value) {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            (line["dir"].as_str().unwrap().to_owned(), line["msg"].take())
        });
        let lines = lines.filter(|(from, _)| from != "driver");
        Self(lines.map(|(from, line)| (from == "host>", line)).collect())
    }
}

/// A machine that is driven as the host of a recording was.
struct Session {
    fixture: Fixture,
    /// The machine's requests that the recording has not answered: the recorded id, and the machine's.
    ids: Vec<(Value, Value)>,
    /// Lines of the machine that the recording has not come to.
    written: VecDeque<Value>,
}

impl Session {
    fn new(dialect: DialectName, opening: Opening) -> Self {
        let machine = Machine::speaking(dialect, opening, LIMITS, 0);
        let mut session = Self {
            fixture: Fixture::of(machine),
            ids: Vec::new(),
            written: VecDeque::new(),
        };
        session.collect();
        session
    }

    fn codex() -> Self {
        Self::new(DialectName::Codex, opening())
    }

    fn acp() -> Self {
        Self::new(DialectName::Acp, opening())
    }

    fn collect(&mut self) {
        for line in self.fixture.lines.drain(..) {
            self.written
                .push_back(serde_json::from_str(&line).expect("JSON"));
        }
    }

    /// Replays a recording. Whatever its host wrote, the machine writes at the same place, after
    /// `command` has made it do so, which is asked for lines that the machine has not written by itself.
    fn replay(&mut self, recording: &Recording, mut command: impl FnMut(&mut Self, &Value)) {
        for (is_host, line) in &recording.0 {
            if *is_host {
                self.expect(line, &mut command);
            } else {
                self.agent(line.clone());
            }
        }
    }

    fn expect(&mut self, line: &Value, command: &mut impl FnMut(&mut Self, &Value)) {
        if self.written.is_empty() {
            command(self, line);
            self.collect();
        }
        let written = self.written.pop_front();
        let written = written.unwrap_or_else(|| panic!("the machine does not write {line}"));
        assert_eq!(written["method"], line["method"], "{written} for {line}");
        assert_eq!(written["result"], line["result"], "{written} for {line}");
        for member in ["threadId", "turnId", "sessionId", "prompt"] {
            let of = |it: &Value| it["params"][member].clone();
            assert_eq!(of(&written), of(line), "{written} for {line}");
        }
        if !line["method"].is_null() && !line["id"].is_null() {
            self.ids.push((line["id"].clone(), written["id"].clone()));
        } else {
            assert_eq!(written["id"], line["id"], "{written} for {line}");
        }
    }

    /// Has the agent write a line; the answer to a request gets the machine's id.
    fn agent(&mut self, mut line: Value) {
        let is_its = |(recorded, _): &(Value, Value)| *recorded == line["id"];
        if line["method"].is_null()
            && let Some(at) = self.ids.iter().position(is_its)
        {
            line["id"] = self.ids.remove(at).1;
        }
        self.fixture.agent(&line.to_string());
        self.collect();
    }

    fn command(&mut self, command: Command) -> Option<Result<Reply, DialogueError>> {
        self.fixture.replies.clear();
        self.fixture.input(Input::Command(command, 7));
        self.collect();
        let at = self
            .fixture
            .replies
            .iter()
            .position(|(ticket, _)| *ticket == 7)?;
        Some(self.fixture.replies.remove(at).1)
    }

    fn prompt(&mut self, uuid: &str, line: &Value) {
        let params = &line["params"];
        let parts = params["prompt"]
            .as_array()
            .or_else(|| params["input"].as_array());
        let text = parts.unwrap()[0]["text"].as_str().unwrap();
        self.send(uuid, text);
    }

    fn send(&mut self, uuid: &str, text: &str) {
        let prompt = Prompt {
            uuid: Some(uuid.to_owned()),
            ..Prompt::text(text)
        };
        assert_eq!(self.command(Command::Send(prompt)), Some(Ok(Reply::Done)));
    }

    fn interrupt(&mut self) -> Option<Result<Reply, DialogueError>> {
        let request = HostRequest::Interrupt {
            cancel_queued: false,
        };
        self.command(Command::Request(request))
    }

    fn answer(&mut self, answer: impl Into<PermissionAnswer>) -> Result<(), DialogueError> {
        let open = self.fixture.machine.permissions();
        let open = open
            .open()
            .next()
            .expect("an open request")
            .request_id
            .clone();
        let command = Command::AnswerPermission {
            request_id: open,
            answer: answer.into(),
            by: None,
        };
        self.command(command).expect("a reply").map(drop)
    }

    fn last_result(&mut self) -> Value {
        let entries = self.fixture.json()["entries"].take();
        let entries = entries.as_array().unwrap().iter();
        entries
            .clone()
            .rfind(|it| it["kind"] == "result")
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the method of the next line, and drops it.
    fn written(&mut self) -> Option<String> {
        let line = self.written.pop_front()?;
        Some(line["method"].as_str().unwrap_or("response").to_owned())
    }
}

fn opening() -> Opening {
    Opening {
        cwd: Some("/home/dev/project".to_owned()),
        asks_permissions: true,
        ..Opening::default()
    }
}

/// Does what the recorded hosts did.
fn host(session: &mut Session, line: &Value) {
    match line["method"].as_str() {
        Some("turn/start" | "session/prompt") => {
            let uuid = format!("u{}", line["id"]);
            session.prompt(&uuid, line);
        }
        Some("turn/interrupt" | "session/cancel") => {
            session.interrupt();
        }
        Some("session/set_mode") => {
            let mode = line["params"]["modeId"].as_str().unwrap().to_owned();
            session.command(Command::Request(HostRequest::SetPermissionMode { mode }));
        }
        Some("session/list") => {
            session.command(Command::Request(HostRequest::Other {
                subtype: "session/list".to_owned(),
                fields: line["params"].as_object().unwrap().clone(),
            }));
        }
        None => {
            let result = &line["result"];
            let option = &result["outcome"]["optionId"];
            let chosen = result["decision"].as_str().or(option.as_str());
            let answer = match (chosen, result["content"].as_object()) {
                (Some(option), _) => PermissionAnswer::Option(option.to_owned()),
                (None, Some(content)) => {
                    let answers = content.iter();
                    let text = |it: &Value| it.as_str().unwrap().to_owned();
                    PermissionAnswer::Answers(answers.map(|(k, v)| (k.clone(), text(v))).collect())
                }
                (None, None) => PermissionAnswer::Cancel,
            };
            session.answer(answer).unwrap();
        }
        other => panic!("{other:?} is not written by a command"),
    }
}

#[test]
fn codex_is_driven_as_recorded() {
    for (name, outcome) in [
        ("plain", "completed"),
        ("tool", "completed"),
        ("approve", "completed"),
        ("edit", "completed"),
        ("cancelled", "cancelled"),
        ("interrupt", "cancelled"),
        ("two", "completed"),
        ("sub", "completed"),
        ("err", "failed"),
    ] {
        let mut session = Session::codex();
        let recording = Recording::read(&format!("codex/app-server.{name}"));
        session.replay(&recording, host);
        assert_eq!(session.fixture.machine.handshake(), Some(Ok(())), "{name}");
        assert_eq!(session.last_result()["outcome"], outcome, "{name}");
        assert!(session.written.is_empty(), "{name}: {:?}", session.written);
        assert!(
            !session.fixture.machine.transcript().has_open_turn(),
            "{name}"
        );
        let receipts = &session.fixture.receipts;
        let last = receipts.iter().rev().find(|(uuid, _)| uuid == "u3");
        let state = if name == "two" {
            ReceiptState::Merged
        } else {
            ReceiptState::Answered
        };
        assert_eq!(last.unwrap().1, state, "{name}: {receipts:?}");
    }
}

#[test]
fn acp_agents_are_driven_as_recorded() {
    for (name, outcome) in [
        ("gemini/acp.plain", "completed"),
        ("gemini/acp.tool", "completed"),
        ("gemini/acp.reject", "completed"),
        ("gemini/acp.cancel", "cancelled"),
        ("gemini/acp.err", "failed"),
        ("gemini/acp.edit_nofs", "completed"),
        ("opencode/acp.plain", "completed"),
        ("opencode/acp.tool", "completed"),
        ("opencode/acp.cancel", "cancelled"),
        ("opencode/acp.err", "failed"),
        ("copilot/acp.plain", "completed"),
        ("copilot/acp.tool", "completed"),
        ("claude-agent-acp/acp.ask", "completed"),
        ("claude-agent-acp/acp.cancel", "cancelled"),
        ("claude-agent-acp/acp.perm", "completed"),
    ] {
        let mut session = Session::acp();
        session.replay(&Recording::read(name), host);
        assert_eq!(session.fixture.machine.handshake(), Some(Ok(())), "{name}");
        assert_eq!(session.last_result()["outcome"], outcome, "{name}");
        assert!(session.written.is_empty(), "{name}: {:?}", session.written);
        let receipts = &session.fixture.receipts;
        let last = receipts.last().map(|(_, state)| *state);
        assert_eq!(last, Some(ReceiptState::Answered), "{name}: {receipts:?}");
    }
}

/// A session that the recorded agent has opened, until the first prompt.
fn opened(name: &str, dialect: DialectName) -> Session {
    let mut session = Session::new(dialect, opening());
    let Recording(lines) = Recording::read(name);
    let is_prompt = |(_, line): &(bool, Value)| {
        matches!(
            line["method"].as_str(),
            Some("turn/start" | "session/prompt")
        )
    };
    let end = lines.iter().position(is_prompt).unwrap();
    session.replay(&Recording(lines[..end].to_vec()), host);
    session
}

fn opened_codex() -> Session {
    opened("codex/app-server.plain", DialectName::Codex)
}

fn opened_gemini() -> Session {
    opened("gemini/acp.plain", DialectName::Acp)
}

#[test]
fn permission_is_decided_by_option_kind() {
    for (decision, wanted) in [
        (Decision::allow(), "accept"),
        (Decision::deny("no"), "decline"),
        (
            Decision::Deny {
                message: String::new(),
                interrupt: true,
            },
            "cancel",
        ),
    ] {
        let mut session = opened_codex();
        let request = json!({"id": 0, "method": "item/commandExecution/requestApproval", "params": {
            "threadId": "t", "itemId": "c", "command": "ls", "cwd": "/p",
            "availableDecisions": ["accept", "cancel"]}});
        session.agent(request);
        let record = session.fixture.permissions[0].clone();
        assert_eq!(record.kind, PermissionKind::Tool);
        assert_eq!(record.input, r#"{"command":"ls","cwd":"/p"}"#);
        session.answer(decision).unwrap();
        let written = session.written.pop_front().unwrap();
        assert_eq!(written, json!({"id": 0, "result": {"decision": wanted}}));
    }
}

#[test]
fn unknown_option_is_no_answer() {
    let mut session = opened_gemini();
    let request = json!({"jsonrpc": "2.0", "id": "a", "method": "session/request_permission",
        "params": {"toolCall": {"toolCallId": "c"}, "options": [
            {"optionId": "yes", "name": "Yes", "kind": "allow_always"}]}});
    session.agent(request);
    let unknown = session.answer(PermissionAnswer::Option("no".into()));
    assert!(
        matches!(unknown, Err(DialogueError::WrongAnswer { .. })),
        "{unknown:?}"
    );
    session.answer(Decision::allow()).unwrap();
    let wanted = json!({"jsonrpc": "2.0", "id": "a",
        "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}});
    assert_eq!(session.written, [wanted]);
}

#[test]
fn unknown_request_is_refused() {
    for mut session in [opened_codex(), opened_gemini()] {
        session.agent(json!({"id": 5, "method": "craft/drain", "params": {}}));
        let written = session.written.pop_front().unwrap();
        assert_eq!(
            (&written["id"], &written["error"]["code"]),
            (&json!(5), &json!(-32601))
        );
    }
}

#[test]
fn second_prompt_of_acp_waits_for_the_turn() {
    let mut session = opened_gemini();
    session.send("u1", "one");
    session.send("u2", "two");
    assert_eq!(session.written().as_deref(), Some("session/prompt"));
    assert_eq!(session.written(), None);
    session.agent(json!({"id": "u1", "result": {"stopReason": "end_turn"}}));
    let next = session.written.pop_front().unwrap();
    assert_eq!(
        (&next["method"], &next["id"]),
        (&json!("session/prompt"), &json!("u2"))
    );
    assert_eq!(
        session.fixture.states("u1").last(),
        Some(&ReceiptState::Answered)
    );
    assert_eq!(
        session.fixture.states("u2").last(),
        Some(&ReceiptState::Accepted)
    );
}

#[test]
fn cancel_of_acp_closes_open_requests_first() {
    let mut session = opened_gemini();
    session.send("u1", "one");
    session.written();
    let ask = |id: u64| {
        json!({"id": id, "method": "session/request_permission", "params": {
            "toolCall": {"toolCallId": "c"}, "options": []}})
    };
    session.agent(ask(0));
    assert_eq!(session.interrupt(), Some(Ok(Reply::Done)));
    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
    assert_eq!(session.written.pop_front().unwrap()["result"], cancelled);
    assert_eq!(session.written().as_deref(), Some("session/cancel"));
    // A request that crosses the cancellation is answered as well.
    session.agent(ask(1));
    assert_eq!(session.written.pop_front().unwrap()["result"], cancelled);
    let states: Vec<_> = session
        .fixture
        .permissions
        .iter()
        .map(|it| it.state)
        .collect();
    assert_eq!(states, [RequestState::Open, RequestState::Expired]);
}

#[test]
fn interrupt_of_codex_waits_for_the_id_of_the_turn() {
    let mut session = opened_codex();
    session.send("u1", "one");
    assert_eq!(session.written().as_deref(), Some("turn/start"));
    assert_eq!(session.interrupt(), None);
    assert_eq!(session.written(), None);
    session.agent(json!({"id": "u1", "result": {"turn": {"id": "t9", "status": "inProgress"}}}));
    let written = session.written.pop_front().unwrap();
    assert_eq!(
        (&written["method"], &written["params"]["turnId"]),
        (&json!("turn/interrupt"), &json!("t9"))
    );
    session.agent(json!({"id": written["id"], "result": {}}));
    let replies = &session.fixture.replies;
    assert_eq!(replies.last(), Some(&(7, Ok(Reply::Response("{}".into())))));
}

#[test]
fn refused_turn_cancels_the_prompt() {
    let mut session = opened_codex();
    session.send("u1", "one");
    session.written();
    session.agent(json!({"id": "u1", "error": {"code": -32600, "message": "thread not found"}}));
    assert_eq!(
        session.fixture.states("u1").last(),
        Some(&ReceiptState::Cancelled)
    );
    assert!(!session.fixture.machine.transcript().has_open_turn());
}

#[test]
fn exit_during_turn_closes_all() {
    for mut session in [opened_codex(), opened_gemini()] {
        session.send("u1", "one");
        session.fixture.exit(137);
        assert_eq!(
            session.fixture.states("u1").last(),
            Some(&ReceiptState::Unknown)
        );
        let errors = session.fixture.errors();
        assert!(errors[0].ends_with("exit code 137"), "{errors:?}");
    }
}

#[test]
fn end_closes_the_input() {
    for mut session in [opened_codex(), opened_gemini()] {
        session.fixture.input(Input::Command(Command::End, 1));
        assert!(session.fixture.closed_input);
        assert!(session.fixture.lines.is_empty());
        // The end of the input ends no agent of ACP for sure.
        session.fixture.step();
        assert_eq!(session.fixture.terminations, 1);
        session.fixture.exit(0);
        assert!(session.fixture.machine.end_summary().0);
    }
}

fn failure(dialect: DialectName, opening: Opening, answers: &[Value]) -> HandshakeError {
    let mut session = Session::new(dialect, opening);
    for answer in answers {
        let id = loop {
            let line = session.written.pop_front().expect("a request");
            if !line["id"].is_null() {
                break line["id"].clone();
            }
        };
        let mut answer = answer.clone();
        answer["id"] = id;
        session.agent(answer);
    }
    let handshake = session.fixture.machine.handshake();
    handshake.expect("an end").expect_err("a failure")
}

#[test]
fn missing_login_names_the_ways_to_log_in() {
    let answers = [
        json!({"result": {"protocolVersion": 1, "authMethods": [{"id": "o", "name": "Log in with Google"}]}}),
        json!({"error": {"code": -32000, "message": "Authentication required"}}),
    ];
    let error = failure(DialectName::Acp, opening(), &answers);
    assert_eq!(
        error.to_string(),
        "start the agent: not logged in, Authentication required; run it once in a terminal to log in (Log in with \
         Google)"
    );
}

#[test]
fn other_version_of_acp_is_refused() {
    let answers = [json!({"result": {"protocolVersion": 2}})];
    let error = failure(DialectName::Acp, opening(), &answers);
    assert_eq!(
        error,
        HandshakeError::UnsupportedVersion { version: Some(2) }
    );
}

#[test]
fn refused_start_is_an_error() {
    let answers = [
        json!({"result": {}}),
        json!({"error": {"code": -32600, "message": "no such folder"}}),
    ];
    let error = failure(DialectName::Codex, opening(), &answers);
    assert_eq!(
        error.to_string(),
        "start the agent: it refused thread/start, no such folder; check its configuration"
    );
}

#[test]
fn exit_before_the_session_is_an_error() {
    let mut session = Session::codex();
    session.fixture.exit(2);
    let handshake = session.fixture.machine.handshake();
    let reason = "exit code 2".to_owned();
    assert_eq!(handshake, Some(Err(HandshakeError::Exited { reason })));
}

#[test]
fn resume_opens_the_past() {
    let resume = |fork| Opening {
        conversation: Conversation::Resume {
            id: "past".into(),
            fork,
        },
        ..opening()
    };
    for (dialect, fork, capabilities, method) in [
        (DialectName::Codex, false, json!({}), "thread/resume"),
        (DialectName::Codex, true, json!({}), "thread/fork"),
        (
            DialectName::Acp,
            false,
            json!({"loadSession": true}),
            "session/load",
        ),
        (
            DialectName::Acp,
            false,
            json!({"sessionCapabilities": {"resume": {}}}),
            "session/resume",
        ),
        (
            DialectName::Acp,
            true,
            json!({"sessionCapabilities": {"fork": {}}}),
            "session/fork",
        ),
    ] {
        let mut session = Session::new(dialect, resume(fork));
        let id = session.written.pop_front().unwrap()["id"].clone();
        let result = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
        session.agent(json!({"id": id, "result": result}));
        let request = session.written.pop_back().unwrap();
        assert_eq!(request["method"], method);
        let past = request["params"]["threadId"]
            .as_str()
            .or_else(|| request["params"]["sessionId"].as_str());
        assert_eq!(past, Some("past"));
    }
    let error = failure(
        DialectName::Acp,
        resume(false),
        &[json!({"result": {"protocolVersion": 1}})],
    );
    assert_eq!(
        error.to_string(),
        "start the agent: it does not support resuming a conversation; omit it"
    );
}

#[test]
fn loaded_conversation_is_history() {
    let mut session = Session::new(
        DialectName::Acp,
        Opening {
            conversation: Conversation::Continue,
            ..opening()
        },
    );
    // The recorded host listed the sessions and loaded one.
    session.replay(&Recording::read("opencode/acp.tool.load"), host);
    assert_eq!(session.fixture.machine.handshake(), Some(Ok(())));
    let entries = session.fixture.machine.transcript().entries();
    let history: Vec<_> = entries.map(|it| it.is_history()).collect();
    assert!(history[0] && !history[history.len() - 1], "{history:?}");
}

#[test]
fn unsupported_request_is_an_error() {
    let mut session = opened_codex();
    let request = HostRequest::SetMaxThinkingTokens { tokens: None };
    let reply = session.command(Command::Request(request)).unwrap();
    assert_eq!(
        reply.unwrap_err().to_string(),
        "set_max_thinking_tokens: not supported by the codex protocol; ask the session what is supported"
    );
    let mut session = opened_gemini();
    let set = Command::SetOption {
        option: "mode".into(),
        value: "nonsense".into(),
    };
    assert!(matches!(
        session.command(set),
        Some(Err(DialogueError::Unsupported { .. }))
    ));
}

#[test]
fn settings_of_codex_come_with_the_next_turn() {
    let mut session = opened_codex();
    for (option, value) in [("model", "m2"), ("effort", "high"), ("mode", "never")] {
        let (option, value) = (option.to_owned(), value.to_owned());
        let set = session.command(Command::SetOption { option, value });
        assert_eq!(set, Some(Ok(Reply::Done)));
    }
    session.send("u1", "one");
    let params = session.written.pop_front().unwrap()["params"].take();
    assert_eq!(
        (
            &params["model"],
            &params["effort"],
            &params["approvalPolicy"]
        ),
        (&json!("m2"), &json!("high"), &json!("never"))
    );
}

#[test]
fn capabilities_are_those_that_the_agent_declares() {
    let can = |session: &Session, it| session.fixture.machine.capabilities().has(it);
    let codex = opened_codex();
    assert!(can(&codex, Capability::Steer) && !can(&codex, Capability::PermissionRules));
    let gemini = opened_gemini();
    assert!(can(&gemini, Capability::Modes) && can(&gemini, Capability::Resume));
    assert!(!can(&gemini, Capability::Steer) && !can(&gemini, Capability::Fork));
    let claude = Fixture::new(LIMITS);
    assert!(
        claude
            .machine
            .capabilities()
            .has(Capability::PermissionRules)
    );
}

#[test]
fn requests_are_rejected_where_the_host_answers_none() {
    let opening = Opening {
        asks_permissions: false,
        ..opening()
    };
    let mut session = Session::new(DialectName::Acp, opening);
    session.written();
    let options = json!([{"optionId": "n", "name": "No", "kind": "reject_once"}]);
    session.agent(
        json!({"id": 3, "method": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "c"}, "options": options}}),
    );
    let written = session.written.pop_front().unwrap();
    assert_eq!(written["result"]["outcome"]["optionId"], "n");
    assert!(session.fixture.permissions.is_empty());
}

/// Another host opened the session, and its requests are not known.
#[test]
fn registered_host_continues_the_session() {
    for (name, dialect, method) in [
        ("codex/app-server.plain", DialectName::Codex, "turn/start"),
        ("opencode/acp.plain", DialectName::Acp, "session/prompt"),
    ] {
        let Recording(lines) = Recording::read(name);
        let output: String = lines
            .iter()
            .filter(|(is_host, _)| !is_host)
            .map(|(_, line)| format!("{line}\n"))
            .collect();
        let opening = Opening {
            is_resumed: true,
            ..opening()
        };
        let machine = Machine::speaking(dialect, opening, LIMITS, 0);
        let mut session = Session {
            fixture: Fixture::of(machine.registered(output.len() as u64, "salt")),
            ids: Vec::new(),
            written: VecDeque::new(),
        };
        session.fixture.input(Input::Output(output.into()));
        session.collect();
        assert!(session.written.is_empty(), "{name}: {:?}", session.written);
        session.send("u9", "again");
        assert_eq!(session.written().as_deref(), Some(method), "{name}");
    }
}

/// The first host was killed before it opened the session.
#[test]
fn registered_host_completes_the_handshake() {
    let opening = Opening {
        is_resumed: true,
        ..opening()
    };
    let machine = Machine::speaking(DialectName::Codex, opening, LIMITS, 0);
    let line = format!("{}\n", json!({"id": "bowline-1", "result": {}}));
    let mut session = Session {
        fixture: Fixture::of(machine.registered(line.len() as u64, "salt")),
        ids: Vec::new(),
        written: VecDeque::new(),
    };
    session.fixture.input(Input::Output(line.into()));
    session.collect();
    let initialize = session.written.pop_front().unwrap();
    assert_eq!(initialize["method"], "initialize");
    let refusal = json!({"code": -32600, "message": "Already initialized"});
    session.agent(json!({"id": initialize["id"], "error": refusal}));
    assert_eq!(session.written().as_deref(), Some("thread/start"));
}
