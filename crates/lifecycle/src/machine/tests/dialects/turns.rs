//! Prompts, interrupts, options and the end.

use super::*;

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
