//! Requests of the agent, and their answers.

use super::*;

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

#[test]
fn rejected_form_is_declined_and_cancelled_form_is_cancelled() {
    for (answer, action) in [
        (Decision::deny("no").into(), "decline"),
        (PermissionAnswer::Cancel, "cancel"),
    ] {
        let mut session = opened_gemini();
        session.agent(
            json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {
            "sessionId": "s", "mode": "form", "message": "Which branch?", "requestedSchema": {
                "type": "object", "properties": {"branch": {"type": "string"}}}}}),
        );
        session.answer(answer).unwrap();
        let written = session.written.pop_front().unwrap();
        assert_eq!(written["result"]["action"], action);
    }
}
