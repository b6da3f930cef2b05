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

/// Begins or ends the turn of a prompt.
fn turn(session: &mut Session, uuid: &str, is_over: bool) {
    let turn = format!("turn of {uuid}");
    let transcript = session.fixture.schema_2();
    match transcript["dialect"].as_str().expect("a dialect") {
        "codex" if is_over => {
            let thread = &transcript["session_id"];
            let turn = json!({"id": turn, "status": "completed"});
            let params = json!({"threadId": thread, "turn": turn});
            session.agent(json!({"method": "turn/completed", "params": params}));
        }
        "codex" => {
            let turn = json!({"id": turn, "status": "inProgress"});
            session.agent(json!({"id": uuid, "result": {"turn": turn}}));
        }
        "acp" if is_over => {
            session.agent(json!({"id": uuid, "result": {"stopReason": "end_turn"}}));
        }
        "claude" if is_over => session.agent(json!({
            "type": "result", "subtype": "success", "is_error": false, "result": "a",
            "user_message_uuid": uuid,
        })),
        _ => {}
    }
}

#[test]
fn interrupt_of_an_ended_turn_does_not_reach_the_next_one() {
    let claude = Session::new(DialectName::Claude, opening());
    for mut session in [claude, opened_codex(), opened_gemini()] {
        let interrupt = |seen| Command::Interrupt {
            cancel_queued: false,
            seen,
        };
        session.send("u1", "one");
        turn(&mut session, "u1", false);
        let seen = session.fixture.machine.output_end;
        turn(&mut session, "u1", true);
        session.send("u2", "two");
        turn(&mut session, "u2", false);
        session.written.clear();
        for _ in 0..2 {
            let late = session.command(interrupt(Some(seen)));
            assert_eq!(late, Some(Ok(Reply::Done)));
            assert_eq!(session.written(), None);
        }
        assert!(session.fixture.machine.transcript().has_open_turn());
        // One that has seen the end is for the next turn.
        session.command(interrupt(Some(session.fixture.machine.output_end)));
        assert!(session.written().is_some());
    }
}

#[test]
fn interrupt_between_turns_stops_nothing() {
    let claude = Session::new(DialectName::Claude, opening());
    for mut session in [claude, opened_codex(), opened_gemini()] {
        session.send("u1", "one");
        turn(&mut session, "u1", false);
        turn(&mut session, "u1", true);
        session.written.clear();
        let reply = session.interrupt();
        if let Some(request) = session.written.pop_front() {
            // Claude Code says itself that it was idle.
            assert_eq!(request["request"]["subtype"], "interrupt");
            let id = &request["request_id"];
            let response = json!({"subtype": "success", "request_id": id, "response": {}});
            session.agent(json!({"type": "control_response", "response": response}));
        } else {
            assert_eq!(reply, Some(Ok(Reply::Done)));
        }
        session.send("u2", "two");
        turn(&mut session, "u2", false);
        assert!(session.fixture.machine.transcript().has_open_turn());
        turn(&mut session, "u2", true);
        let last = session.fixture.states("u2").last().copied();
        assert_eq!(last, Some(ReceiptState::Answered));
        let result = session.last_result();
        assert_eq!(result["outcome"], "completed", "{result}");
    }
}

#[test]
fn interrupt_that_codex_reads_after_the_turn_is_done() {
    let mut session = opened_codex();
    session.send("u1", "one");
    session.written();
    turn(&mut session, "u1", false);
    assert_eq!(session.interrupt(), None);
    let written = session.written.pop_front().expect("an interrupt");
    turn(&mut session, "u1", true);
    let error = json!({"code": -32600, "message": "no active turn to interrupt"});
    session.agent(json!({"id": written["id"], "error": error}));
    let replies = &session.fixture.replies;
    assert_eq!(replies.last(), Some(&(7, Ok(Reply::Response("{}".into())))));
}

#[test]
fn interrupt_of_codex_that_names_no_turn_times_out() {
    let mut session = opened_codex();
    session.send("u1", "one");
    session.written();
    assert_eq!(session.interrupt(), None);
    while session.fixture.replies.is_empty() {
        session.fixture.step();
    }
    let reply = session.fixture.replies.remove(0);
    assert!(
        matches!(reply, (7, Err(DialogueError::NoAnswer { .. }))),
        "{reply:?}"
    );
}

#[test]
fn interrupt_of_codex_is_done_with_its_turn() {
    let mut session = opened_codex();
    session.send("u1", "one");
    session.written();
    assert_eq!(session.interrupt(), None);
    session.agent(json!({"id": "u1", "error": {"code": -32600, "message": "thread not found"}}));
    assert_eq!(session.written(), None);
    assert_eq!(session.fixture.replies.last(), Some(&(7, Ok(Reply::Done))));
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
