//! Control requests: those of the host, and those of the agent.

use super::*;

#[test]
fn unsupported_agent_requests_are_refused() {
    let mut fixture = Fixture::new(LIMITS);
    for (request, wanted) in [
        (
            r#"{"subtype":"mcp_message","server_name":"x"}"#,
            "no MCP server x",
        ),
        (r#"{"subtype":"something_new"}"#, "unsupported_request"),
        (
            r#"{"subtype":"hook_callback","callback_id":"h"}"#,
            r#""response":{}"#,
        ),
    ] {
        fixture.agent(&format!(
            r#"{{"type":"control_request","request_id":"q","request":{request}}}"#
        ));
        let line = fixture.lines.pop().expect("an answer");
        assert!(
            line.contains(wanted) && line.contains(r#""request_id":"q""#),
            "{line}"
        );
    }
    fixture.agent(r#"{"type":"control_request","request_id":"q","request":{"subtype":"request_user_dialog"}}"#);
    assert_eq!(fixture.lines, Vec::<String>::new());
}

#[test]
fn requests_complete_fail_or_time_out() {
    let mut fixture = Fixture::new(LIMITS);
    for ticket in 1..=4 {
        request(&mut fixture, ticket);
    }
    // Out of order, and mixed with an echo of the host's own answer.
    fixture
        .agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}"#);
    fixture.agent(r#"{"type":"control_response","response":{"subtype":"error","request_id":"bowline-2","error":"no","error_code":"c"}}"#);
    fixture.agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"bowline-1","response":{"model":"m"}}}"#);
    assert_eq!(
        fixture.replies[1],
        (1, Ok(Reply::Response(r#"{"model":"m"}"#.into())))
    );
    assert!(
        matches!(&fixture.replies[0], (2, Err(DialogueError::Refused { code: Some(c), .. })) if c == "c")
    );
    assert_eq!(fixture.step(), LIMITS.control_timeout);
    assert!(matches!(
        fixture.replies[2],
        (3, Err(DialogueError::NoAnswer { seconds: 60, .. }))
    ));
    assert_eq!(fixture.replies.len(), 4);
    request(&mut fixture, 5);
    fixture.exit(0);
    assert_eq!(fixture.replies[4], (5, Err(DialogueError::Ended)));
    assert_eq!(fixture.machine.poll_timeout(), None);
}

#[test]
fn missing_initialize_response_is_reported() {
    let mut fixture = Fixture::new(Limits {
        initialize: true,
        ..LIMITS
    });
    assert!(fixture.lines[0].contains("initialize"));
    fixture.step();
    let wanted = "session_timeout: the agent did not answer `initialize` within 60 s";
    assert_eq!(fixture.errors(), [wanted]);
    assert_eq!(fixture.terminations, 0, "it may just be slow");
}
