//! Receipts: what becomes of a prompt.

use super::*;

#[test]
fn receipt_follows_prompt() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    assert!(fixture.lines[0].contains(r#""uuid":"u1""#));
    fixture.input(Input::Written("u1".into()));
    fixture
        .agent(r#"{"type":"command_lifecycle","command_uuid":"u1","state":"queued","uuid":"a"}"#);
    fixture
        .agent(r#"{"type":"command_lifecycle","command_uuid":"u1","state":"started","uuid":"b"}"#);
    fixture.agent(r#"{"type":"user","message":{"role":"user","content":"hello"},"isReplay":true,"uuid":"u1"}"#);
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    use ReceiptState::{Accepted, Answered, Started, Written};
    assert_eq!(fixture.states("u1"), [Accepted, Written, Started, Answered]);
}

/// The session continues: at a runner, another host may have taken over for a while.
#[test]
fn undelivered_prompt_is_unknown() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u2");
    fixture.fail_write(LinePurpose::Prompt("u1".into()));
    fixture.fail_write(LinePurpose::Other);
    use ReceiptState::{Accepted, Unknown};
    assert_eq!(fixture.states("u1"), [Accepted, Unknown]);
    assert_eq!(fixture.states("u2"), [Accepted]);
    // A later result does not change a final state.
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    assert_eq!(fixture.states("u1"), [Accepted, Unknown]);
}

#[test]
fn prompts_of_one_turn_are_merged() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u2");
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","user_message_uuids":["u1","u2"],"uuid":"c"}"#);
    assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Merged));
    assert_eq!(fixture.states("u2").last(), Some(&ReceiptState::Answered));
}

#[test]
fn result_of_unasked_turn_answers_no_prompt() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.agent(
        r#"{"type":"result","subtype":"success","origin":{"kind":"task-notification"},"uuid":"c"}"#,
    );
    assert_eq!(fixture.states("u1"), [ReceiptState::Accepted]);
}

#[test]
fn result_without_prompts_answers_oldest() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u2");
    for (uuid, result) in [("u1", "a"), ("u2", "b")] {
        fixture.agent(&format!(
            r#"{{"type":"result","subtype":"success","uuid":"{result}"}}"#
        ));
        assert_eq!(fixture.states(uuid).last(), Some(&ReceiptState::Answered));
    }
}

#[test]
fn duplicate_uuid_is_refused() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u1");
    let (_, second) = fixture.replies.last().expect("a reply");
    assert_eq!(
        second,
        &Err(DialogueError::DuplicateUuid { uuid: "u1".into() })
    );
    assert_eq!(fixture.lines.len(), 1);
}
