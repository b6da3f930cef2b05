//! Events and replies over real connections.

use std::time::Duration;

use bowline_hooks::{
    HookConfiguration, HookGate, HookKind, HookReply, HookServer, HookServerError, HookVariables,
};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::support::{Hook, next, within};

async fn server(gate: Option<HookGate>) -> HookServer {
    let configuration = HookConfiguration {
        gate,
        ..HookConfiguration::default()
    };
    HookServer::start(configuration).await.expect("a server")
}

fn gate(default: HookReply) -> HookGate {
    HookGate {
        kinds: vec![HookKind::PreToolUse],
        deadline: Duration::from_secs(20),
        default,
    }
}

const TOOL: &str = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t"}"#;

#[tokio::test]
async fn one_server_serves_many_events_and_interactions() {
    let server = server(None).await;
    let mut events = server.subscribe();
    let (one, other) = (Hook::of(&server, "one"), Hook::of(&server, "other"));
    for (hook, name) in [
        (&one, "SessionStart"),
        (&one, "Stop"),
        (&other, "SessionStart"),
        (&one, "SessionEnd"),
        (&other, "SessionEnd"),
    ] {
        let body = json!({"hook_event_name": name, "session_id": "s"}).to_string();
        assert_eq!(hook.post(&body).await, (200, Value::Null));
    }
    let mut seen = Vec::new();
    for sequence in 0..5 {
        let event = next(&mut events).await;
        assert_eq!(event.sequence, sequence);
        seen.push(format!("{} {}", event.interaction, event.kind.name()));
    }
    assert_eq!(
        seen,
        [
            "one SessionStart",
            "one Stop",
            "other SessionStart",
            "one SessionEnd",
            "other SessionEnd"
        ]
    );
    assert_eq!(within("a stop", server.stop()).await.events, 5);
}

#[tokio::test]
async fn host_allows_denies_or_asks() {
    let mut server = server(Some(gate(HookReply::deny("no host")))).await;
    let mut questions = server.questions().expect("the first call");
    assert!(server.questions().is_none(), "one reader");
    for (reply, word) in [
        (HookReply::allow(), "allow"),
        (HookReply::deny("no"), "deny"),
        (HookReply::ask("sure?"), "ask"),
    ] {
        let hook = Hook::of(&server, word);
        let decide = async {
            let question = questions.next().await.expect("a question");
            question.answer(reply).expect("in time");
        };
        let (answer, ()) = within("a decision", async {
            tokio::join!(hook.post(TOOL), decide)
        })
        .await;
        let output = &answer.1["hookSpecificOutput"];
        assert_eq!(output["permissionDecision"], word);
        assert_eq!(output["hookEventName"], "PreToolUse");
    }
}

#[tokio::test]
async fn question_is_withdrawn_on_disconnect() {
    let mut server = server(Some(gate(HookReply::allow()))).await;
    let mut questions = server.questions().expect("the first call");
    let stream = Hook::of(&server, "i").send(TOOL).expect("a connection");
    let mut question = within("a question", questions.next())
        .await
        .expect("a question");
    drop(stream);
    within("a withdrawal", question.withdrawn()).await;
    assert!(question.answer(HookReply::allow()).is_err());
}

#[tokio::test]
async fn repeated_delivery_id_is_a_duplicate() {
    let server = server(None).await;
    let hook = Hook::of(&server, "i").with_delivery("0b1b1b1b-1111-4111-8111-111111111111");
    for _ in 0..3 {
        let (status, _) = hook.post(r#"{"hook_event_name":"SessionEnd"}"#).await;
        assert_eq!(status, 200);
    }
    let report = within("a stop", server.stop()).await;
    assert_eq!((report.events, report.duplicates), (1, 2));
}

#[tokio::test]
async fn rejected_request_is_counted() {
    let (one, other) = (server(None).await, server(None).await);
    let confused = Hook::of(&one, "i").with_token(other.token().expose_secret());
    assert_eq!(
        confused.post(TOOL).await.0,
        401,
        "the token of another session"
    );
    let report = within("a stop", one.stop()).await;
    assert_eq!((report.events, report.refused), (0, 1));
}

#[tokio::test]
async fn port_is_closed_after_stop_and_drop() {
    let stopped = server(None).await;
    let hook = Hook::of(&stopped, "i");
    let mut events = stopped.subscribe();
    within("a stop", stopped.stop()).await;
    assert!(hook.send(TOOL).is_err(), "the port is closed");
    assert!(events.next().await.is_none());

    let mut dropped = server(Some(gate(HookReply::allow()))).await;
    let mut questions = dropped.questions().expect("the first call");
    let pending = Hook::of(&dropped, "i").send(TOOL).expect("a connection");
    let mut question = within("a question", questions.next())
        .await
        .expect("a question");
    drop(dropped);
    within("a withdrawal", question.withdrawn()).await;
    assert!(within("an end", questions.next()).await.is_none());
    drop(pending);
}

#[tokio::test]
async fn largest_connection_limit_accepts_clients() {
    let mut configuration = HookConfiguration::default();
    configuration.limits.connections = usize::MAX;
    let server = HookServer::start(configuration).await;
    let server = server.expect("the limit is valid");
    let hook = Hook::of(&server, "i");
    let (status, _) = within("an answer", hook.post(TOOL)).await;
    assert_eq!(status, 200);
    server.stop().await;
}

#[tokio::test]
async fn stop_finishes_open_connections() {
    let mut server = server(Some(gate(HookReply::deny("no")))).await;
    let mut questions = server.questions().expect("the first call");
    let hook = Hook::of(&server, "i");
    let posted = tokio::spawn(async move { hook.post(TOOL).await });
    let question = within("a question", questions.next())
        .await
        .expect("a question");
    let stopping = tokio::spawn(server.stop());
    question.answer(HookReply::allow()).expect("in time");
    let (status, body) = within("an answer", posted).await.expect("no panic");
    assert_eq!(status, 200);
    assert_eq!(body["hookSpecificOutput"]["permissionDecision"], "allow");
    within("a stop", stopping).await.expect("no panic");
}

#[tokio::test]
async fn invalid_configuration_is_refused() {
    let unfit = HookConfiguration {
        gate: Some(HookGate {
            kinds: vec![HookKind::SessionEnd],
            ..gate(HookReply::allow())
        }),
        ..HookConfiguration::default()
    };
    let error = HookServer::start(unfit).await.expect_err("no default");
    assert!(matches!(error, HookServerError::Default { .. }), "{error}");
    for name in ["", "1A", "A-B", "A B", "A$"] {
        let configuration = HookConfiguration {
            variables: HookVariables {
                token: name.to_owned(),
                ..HookVariables::default()
            },
            ..HookConfiguration::default()
        };
        let error = HookServer::start(configuration).await.expect_err("no name");
        assert!(matches!(error, HookServerError::Variable { .. }), "{error}");
    }
    let server = server(None).await;
    assert!(server.settings("a/b").is_err());
}

/// Posts an event that waits for the host, then calls `end`. Returns the reply that the agent gets.
async fn reply_after<T>(default: HookReply, end: impl AsyncFnOnce(HookServer) -> T) -> Value {
    let mut server = server(Some(gate(default))).await;
    let mut questions = server.questions().expect("the first call");
    let hook = Hook::of(&server, "i");
    let posted = tokio::spawn(async move { hook.post(TOOL).await });
    let _question = within("a question", questions.next())
        .await
        .expect("a question");
    let ended = end(server).await;
    let (status, body) = within("an answer", posted).await.expect("no panic");
    drop(ended);
    assert_eq!(status, 200);
    body
}

fn refusals() -> [(HookReply, Value); 3] {
    let raw = json!({"decision": "block", "reason": "no"});
    let specific = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny",
    }});
    let ask = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "?",
    }});
    [
        (HookReply::Raw(raw.clone()), raw),
        (HookReply::Raw(specific.clone()), specific),
        (HookReply::ask("?"), ask),
    ]
}

#[tokio::test]
async fn stop_answers_open_question_with_default() {
    for (default, expected) in refusals() {
        let stop = async |server: HookServer| {
            let report = within("a stop", server.stop()).await;
            assert_eq!(report.defaults, 1);
        };
        assert_eq!(reply_after(default, stop).await, expected);
    }
}

#[tokio::test]
async fn drop_answers_open_question_with_default() {
    for (default, expected) in refusals() {
        assert_eq!(reply_after(default, async |it| drop(it)).await, expected);
    }
}

#[test]
fn dropped_runtime_answers_open_question_with_default() {
    for (default, expected) in refusals() {
        let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
        let (host, agent) = (runtime(), runtime());
        let (server, mut questions) = host.block_on(async {
            let mut server = server(Some(gate(default))).await;
            let questions = server.questions().expect("the first call");
            (server, questions)
        });
        let hook = Hook::of(&server, "i");
        let posted = agent.spawn(async move { hook.post(TOOL).await });
        let question = host.block_on(within("a question", questions.next()));
        assert!(question.is_some());
        host.shutdown_background();
        let (status, body) = agent
            .block_on(within("an answer", posted))
            .expect("no panic");
        assert_eq!((status, body), (200, expected));
    }
}

#[tokio::test]
async fn unanswered_questions_do_not_delay_events() {
    let gate = HookGate {
        deadline: Duration::from_secs(3600),
        ..gate(HookReply::deny("no"))
    };
    let mut server = server(Some(gate)).await;
    let mut questions = server.questions().expect("the first call");
    let mut events = server.subscribe();
    let hook = Hook::of(&server, "i");
    let (mut open, mut connections) = (Vec::new(), Vec::new());
    for id in 0..80 {
        connections.push(
            hook.send(&TOOL.replace("\"t\"", &format!("\"t{id}\"")))
                .expect("a connection"),
        );
        open.push(within("a question", questions.next()).await);
        next(&mut events).await;
    }
    assert_eq!(hook.post(r#"{"hook_event_name":"Stop"}"#).await.0, 200);
    assert_eq!(next(&mut events).await.kind, HookKind::Stop);
}

#[tokio::test]
async fn gate_that_cannot_stay_closed_is_refused() {
    let refused = async |kind: HookKind, kinds: Vec<HookKind>, default: HookReply| {
        let configuration = HookConfiguration {
            gate: Some(HookGate {
                kinds: vec![kind],
                ..gate(default)
            }),
            kinds: Some(kinds),
            ..HookConfiguration::default()
        };
        HookServer::start(configuration).await.is_err()
    };
    let common = || HookKind::COMMON.to_vec();
    let halt = || HookReply::Halt {
        reason: "no".into(),
    };
    // The event is not among those that the agent sends.
    assert!(
        refused(
            HookKind::PreToolUse,
            vec![HookKind::Stop],
            HookReply::deny("no")
        )
        .await
    );
    // The agent runs this event's hooks only through a helper.
    assert!(refused(HookKind::SessionStart, common(), HookReply::Nothing).await);
    // A failed hook of this event stops nothing.
    assert!(refused(HookKind::Notification, common(), halt()).await);
    assert!(!refused(HookKind::PreToolUse, common(), halt()).await);
    assert!(!refused(HookKind::Notification, common(), HookReply::Nothing).await);
}

#[tokio::test]
async fn secret_path_needs_no_token() {
    let configuration = HookConfiguration::legacy();
    let server = HookServer::start(configuration).await.expect("a server");
    let mut events = server.subscribe();
    let variables = server.environment("run-1").expect("variables");
    let url = variables["CODE_MY_SPEC_CALLBACK_URL"].expose_secret();
    let plain = server.url("run-1").expect("a URL");
    let secret = url.strip_prefix(&*plain).expect("the path goes on");
    assert_eq!(secret.len(), 1 + 64, "256 random bits");
    let settings = server.settings("run-1").expect("settings").to_string();
    assert!(
        !settings.contains(secret.trim_start_matches('/')),
        "settings hold no secret"
    );

    let path = format!("run-1{secret}");
    let body = r#"{"hook_event_name":"Stop"}"#;
    let script = Hook::of(&server, &path).with_token("");
    assert_eq!(script.post(body).await.0, 200);
    assert_eq!(&*next(&mut events).await.interaction, "run-1");
    for path in [
        "run-1".to_owned(),
        "run-1/".to_owned(),
        format!("run-1/{}", "0".repeat(64)),
        format!("run-1{secret}0"),
    ] {
        let script = Hook::of(&server, &path).with_token("");
        assert_eq!(script.post(body).await.0, 401, "{path}");
    }
    // The hooks of the settings have the token.
    assert_eq!(Hook::of(&server, "run-1").post(body).await.0, 200);
    let other = HookServer::start(HookConfiguration::legacy()).await;
    let other = other.expect("a server");
    let foreign = Hook::of(&other, &path).with_token("");
    assert_eq!(
        foreign.post(body).await.0,
        401,
        "the path is that of one server"
    );
}
