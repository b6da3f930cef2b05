//! Ends of a session: asked for, unexpected, and slow.

use super::*;

#[test]
fn unexpected_exit_is_in_transcript() {
    for code in [0, 1] {
        let mut fixture = Fixture::new(LIMITS);
        fixture.send("u1");
        fixture.input(Input::Stderr("warning\nout of cheese\n".into()));
        fixture.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"uuid":"a"}"#);
        fixture.exit(code);
        assert_eq!(
            fixture.errors(),
            [format!(
                "unexpected_exit: the process ended unexpectedly: exit code {code}: out of cheese"
            )]
        );
        assert_eq!(fixture.json()["tool_calls"]["t"]["state"], "lost");
        assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Unknown));
        assert!(fixture.is_finished);
        assert!(!fixture.machine.end_summary().0);
    }
}

#[test]
fn end_waits_for_open_turn() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    assert_eq!(fixture.lines.len(), 1, "the prompt is not answered yet");
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert!(fixture.lines[1].contains("end_session"));
    fixture.exit(0);
    assert_eq!(fixture.errors(), Vec::<String>::new());
    assert_eq!(fixture.machine.end_summary(), (true, "exit code 0".into()));
}

#[test]
fn exit_during_awaited_turn_is_unexpected() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    fixture.exit(3);
    assert_eq!(fixture.errors().len(), 1);
    assert!(!fixture.machine.end_summary().0);
}

#[test]
fn terminated_session_accepts_no_prompt() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(Command::Terminate, 1));
    fixture.send("u1");
    assert_eq!(
        fixture.replies.last().map(|it| &it.1),
        Some(&Err(DialogueError::Ended))
    );
    assert_eq!(fixture.lines, Vec::<String>::new());
}

#[test]
fn refused_end_request_closes_input() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(Command::End, 2));
    fixture.agent(r#"{"type":"control_response","response":{"subtype":"error","request_id":"bowline-1","error":"unsupported"}}"#);
    assert!(fixture.closed_input);
}

#[test]
fn unanswered_end_request_closes_input() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(Command::End, 2));
    assert!(!fixture.closed_input);
    assert_eq!(fixture.step(), Duration::from_secs(2));
    assert!(fixture.closed_input);
    assert_eq!(fixture.terminations, 0);
}

#[test]
fn slow_end_becomes_termination() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    assert_eq!(fixture.step(), LIMITS.end_grace);
    assert_eq!(fixture.terminations, 1);
    fixture.exit(143);
    assert_eq!(fixture.errors(), Vec::<String>::new());
}

const SHORT: Limits = Limits {
    exit: ExitPolicy::SHORT,
    ..LIMITS
};

/// The agent answers that it will exit, or does not answer; it ignores the end of its input and SIGTERM.
#[test]
fn finished_agent_that_does_not_exit_is_killed_within_five_seconds() {
    for answers in [false, true] {
        let mut fixture = Fixture::new(SHORT);
        fixture.input(Input::Command(Command::End, 2));
        if answers {
            fixture.agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"bowline-1","response":{}}}"#);
        } else {
            assert_eq!(fixture.step(), Duration::from_secs(1));
        }
        assert_eq!((fixture.closed_input, fixture.terminations), (!answers, 0));
        let terminated = fixture.step();
        let policy = fixture.termination.expect("a termination");
        let graces = policy.eof_grace + policy.interrupt.unwrap_or_default() + policy.term_grace;
        assert_eq!(
            (terminated, graces),
            (Duration::from_secs(3), Duration::from_secs(1))
        );
        fixture.exit(137);
        assert!(fixture.machine.end_summary().0, "the end is expected");
        assert_eq!(fixture.errors(), Vec::<String>::new());
    }
}

#[test]
fn exit_policy_begins_after_the_turn() {
    let mut fixture = Fixture::new(SHORT);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    fixture.now = Duration::from_secs(20);
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    assert_eq!(fixture.step(), Duration::from_secs(21));
    assert!(fixture.closed_input);
    assert_eq!(fixture.step(), Duration::from_secs(23));
    assert_eq!(fixture.terminations, 1);
}

#[test]
fn turn_that_is_cut_off_is_terminated_by_the_whole_policy() {
    let mut fixture = Fixture::new(SHORT);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    assert_eq!(fixture.step(), LIMITS.end_grace);
    assert_eq!(fixture.termination, Some(TERMINATION));
}

#[test]
fn terminate_is_idempotent_and_expected() {
    let mut fixture = Fixture::new(LIMITS);
    for ticket in 1..=3 {
        fixture.input(Input::Command(Command::Terminate, ticket));
    }
    assert_eq!(fixture.terminations, 1);
    fixture.exit(1);
    fixture.exit(1);
    fixture.input(Input::Command(Command::Terminate, 4));
    assert_eq!(fixture.replies.len(), 4);
    assert!(fixture.machine.end_summary().0);
    assert_eq!(fixture.errors(), Vec::<String>::new());
}

#[test]
fn agent_without_output_is_terminated() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::OutputEnded);
    assert_eq!(Some(fixture.step()), LIMITS.watchdog.limits.draining);
    assert_eq!(fixture.terminations, 1);
    fixture.exit(143);
    let wanted = "unexpected_exit: the process ended unexpectedly: exit code 143 after it had \
                  closed its output and did not exit";
    assert_eq!(fixture.errors(), [wanted]);
}
