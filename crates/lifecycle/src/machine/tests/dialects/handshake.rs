//! The handshake, and how it fails.

use super::*;
use crate::mcp::{McpServer, McpTransport};

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

/// What opencode 1.18.33 answers without a provider. Each prompt would fail with "OpenCode service failure".
#[test]
fn agent_without_a_model_is_not_logged_in() {
    let login = json!({"id": "opencode-login", "name": "Login with opencode",
        "description": "Run `opencode auth login` in the terminal"});
    let model = json!({"id": "model", "name": "Model", "category": "model", "type": "select",
        "currentValue": "unknown/unknown", "options": []});
    let opened = json!({"result": {"sessionId": "ses_1", "configOptions": [model]}});
    let hello = |logins: Value| json!({"result": {"protocolVersion": 1, "authMethods": logins}});
    let error = failure(
        DialectName::Acp,
        opening(),
        &[hello(json!([login])), opened.clone()],
    );
    assert_eq!(
        error.to_string(),
        "start the agent: not logged in, it offers no model; run it once in a terminal to log in (Run `opencode auth \
         login` in the terminal)"
    );
    // One that has nothing to log in to may not need a model.
    let mut session = Session::new(DialectName::Acp, opening());
    for mut answer in [hello(json!([])), opened] {
        answer["id"] = session.written.pop_front().expect("a request")["id"].clone();
        session.agent(answer);
    }
    assert_eq!(session.fixture.machine.handshake(), Some(Ok(())));
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

fn with_server(transport: McpTransport) -> Opening {
    let name = "files".to_owned();
    Opening {
        mcp_servers: vec![McpServer { name, transport }],
        ..opening()
    }
}

#[test]
fn session_begins_with_its_mcp_servers() {
    let stdio = || McpTransport::Stdio {
        command: "mcp".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
    };
    let initialized = json!({"protocolVersion": 1});
    for (dialect, name, expected) in [
        (
            DialectName::Acp,
            "mcpServers",
            json!([{"name": "files", "command": "mcp", "args": [], "env": []}]),
        ),
        (
            DialectName::Codex,
            "config",
            json!({"mcp_servers": {"files": {"command": "mcp", "args": [], "env": {}}}}),
        ),
    ] {
        let mut session = Session::new(dialect, with_server(stdio()));
        let id = session.written.pop_front().unwrap()["id"].clone();
        session.agent(json!({"id": id, "result": initialized}));
        let request = session.written.pop_back().unwrap();
        assert_eq!(request["params"][name], expected, "{request}");
    }
}

#[test]
fn mcp_server_that_the_agent_cannot_reach_is_named() {
    let http = || McpTransport::Http {
        url: "https://h".to_owned(),
        headers: Vec::new(),
    };
    let error = failure(
        DialectName::Acp,
        with_server(http()),
        &[json!({"result": {"protocolVersion": 1}})],
    );
    let what = "the MCP server files over HTTP".to_owned();
    assert_eq!(error, HandshakeError::Unsupported { what });
    let mut session = Session::new(DialectName::Acp, with_server(http()));
    let id = session.written.pop_front().unwrap()["id"].clone();
    let capabilities = json!({"mcpCapabilities": {"http": true}});
    let result = json!({"protocolVersion": 1, "agentCapabilities": capabilities});
    session.agent(json!({"id": id, "result": result}));
    let request = session.written.pop_back().unwrap();
    let servers = json!([{"type": "http", "name": "files", "url": "https://h", "headers": []}]);
    assert_eq!(request["params"]["mcpServers"], servers);
}

#[test]
fn details_of_a_refusal_are_its_reason() {
    let opening = Opening {
        conversation: Conversation::Resume {
            id: "s".to_owned(),
            fork: false,
        },
        ..opening()
    };
    let answers = [
        json!({"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}}),
        json!({"error": {"code": -32603, "message": "Internal error", "data": {"details": "No such session."}}}),
    ];
    let error = failure(DialectName::Acp, opening, &answers);
    assert_eq!(
        error.to_string(),
        "start the agent: it refused session/load, Internal error: No such session; check its configuration"
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
