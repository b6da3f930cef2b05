//! Prompts: queued, undelivered, and of every form.

use bowline_jsonl::{Priority, PromptPart, Source};

use super::*;
use crate::watchdog::WorkPhase;

#[test]
fn pause_waits_for_turn_and_queues_prompts() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.input(Input::Command(Command::Pause, 7));
    fixture.send("u2");
    assert_eq!(fixture.lines.len(), 1);
    assert!(
        !fixture.replies.iter().any(|(ticket, _)| *ticket == 7),
        "the turn runs"
    );
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert_eq!(fixture.replies.last(), Some(&(7, Ok(Reply::Done))));
    assert_eq!(fixture.states("u2"), [ReceiptState::Accepted]);
    assert_eq!(
        fixture.json()["entries"].as_array().expect("entries").len(),
        2
    );
    fixture.input(Input::Command(Command::Unpause, 8));
    assert!(fixture.lines[1].contains(r#""uuid":"u2""#));
}

#[test]
fn queued_prompts_can_be_cancelled() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(Command::Pause, 7));
    fixture.send("u1");
    fixture.input(Input::Command(Command::CancelQueued, 8));
    assert_eq!(
        fixture.replies.last(),
        Some(&(8, Ok(Reply::Response(r#"["u1"]"#.into()))))
    );
    assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Cancelled));
    fixture.input(Input::Command(Command::Unpause, 9));
    assert_eq!(fixture.lines, Vec::<String>::new());
}

#[test]
fn end_sends_queued_prompts_first() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(Command::Pause, 7));
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 8));
    assert!(fixture.lines[0].contains(r#""uuid":"u1""#));
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert!(fixture.lines[1].contains("end_session"));
}

#[test]
fn pending_pause_fails_at_exit() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.input(Input::Command(Command::Pause, 7));
    fixture.exit(1);
    assert!(fixture.replies.contains(&(7, Err(DialogueError::Ended))));
}

#[test]
fn late_result_answers_its_own_prompt() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    let interrupt = HostRequest::Interrupt {
        cancel_queued: false,
    };
    fixture.input(Input::Command(Command::Request(interrupt), 5));
    fixture.agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"bowline-1","response":{"still_queued":[]}}}"#);
    fixture.send("u2");
    fixture.input(Input::Command(Command::End, 6));
    fixture
        .agent(r#"{"type":"command_lifecycle","command_uuid":"u2","state":"started","uuid":"s"}"#);
    fixture.agent(r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Answered));
    assert_eq!(fixture.states("u2").last(), Some(&ReceiptState::Started));
    assert!(
        !fixture
            .lines
            .iter()
            .any(|line| line.contains("end_session")),
        "the second prompt is not answered yet"
    );
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","uuid":"d"}"#);
    assert!(
        fixture
            .lines
            .last()
            .expect("a line")
            .contains("end_session")
    );
}

/// The agent's echo of a prompt.
fn echo(fixture: &mut Fixture, uuid: &str) {
    fixture.agent(&format!(
        r#"{{"type":"user","message":{{"role":"user","content":"hello"}},"session_id":"s","isReplay":true,"uuid":"{uuid}"}}"#
    ));
}

fn lifecycle(fixture: &mut Fixture, uuid: &str, state: &str) {
    fixture.agent(&format!(
        r#"{{"type":"command_lifecycle","command_uuid":"{uuid}","state":"{state}","uuid":"{uuid}{state}"}}"#
    ));
}

#[test]
fn prompt_of_earlier_run_is_duplicate() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    echo(&mut fixture, "u1");
    assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Duplicate));
    assert_eq!(
        fixture.json()["status"]["phase"],
        "idle",
        "no turn will come"
    );
    // The next prompt is new.
    fixture.send("u2");
    lifecycle(&mut fixture, "u2", "queued");
    lifecycle(&mut fixture, "u2", "started");
    echo(&mut fixture, "u2");
    assert_eq!(fixture.states("u2").last(), Some(&ReceiptState::Started));
    // A later one is a duplicate again.
    fixture.send("u3");
    echo(&mut fixture, "u3");
    assert_eq!(fixture.states("u3").last(), Some(&ReceiptState::Duplicate));
    assert_eq!(
        fixture.json()["status"]["phase"],
        "running",
        "the second is not answered"
    );
    fixture.input(Input::Command(Command::End, 6));
    assert_eq!(
        fixture.lines.len(),
        3,
        "the end waits for the second prompt only"
    );
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","uuid":"d"}"#);
    assert!(
        fixture
            .lines
            .last()
            .expect("a line")
            .contains("end_session")
    );
}

#[test]
fn echo_without_lifecycle_is_no_duplicate() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u2");
    fixture.agent(r#"{"type":"system","subtype":"init","session_id":"s","uuid":"i"}"#);
    echo(&mut fixture, "u1");
    fixture.agent(r#"{"type":"result","subtype":"success","uuid":"c"}"#);
    echo(&mut fixture, "u2");
    assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Answered));
    assert_eq!(fixture.states("u2").last(), Some(&ReceiptState::Echoed));
}

#[test]
fn priority_image_and_document_are_encoded() {
    let mut fixture = Fixture::new(LIMITS);
    let prompt = Prompt {
        parts: vec![
            PromptPart::Text("look".into()),
            PromptPart::Image(Source::Base64 {
                media_type: "image/png".into(),
                data: "aGk=".into(),
            }),
            PromptPart::Document {
                source: Source::Text("a\nb".into()),
                title: Some("title".into()),
            },
        ],
        uuid: Some("u1".into()),
        priority: Some(Priority::Now),
        ..Prompt::default()
    };
    fixture.input(Input::Command(Command::Send(prompt), 1));
    assert_eq!(
        fixture.lines[0].matches('\n').count(),
        1,
        "a prompt is one line"
    );
    let line: serde_json::Value = serde_json::from_str(&fixture.lines[0]).expect("JSON");
    assert_eq!(line["priority"], "now");
    let content = &line["message"]["content"];
    assert_eq!(content[1]["source"]["media_type"], "image/png");
    assert_eq!(content[2]["source"]["data"], "a\nb");
}

/// The session continues: at a runner, another host may have taken over for a while.
#[test]
fn undelivered_prompt_blocks_no_pause_or_end() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(r#"{"type":"keep_alive"}"#);
    fixture.send("u1");
    fixture.input(Input::Command(Command::Pause, 7));
    fixture.fail_write(LinePurpose::Prompt("u1".into()));
    assert_eq!(fixture.replies.last(), Some(&(7, Ok(Reply::Done))));
    assert_eq!(fixture.machine.phase(), WorkPhase::Idle);
    fixture.input(Input::Command(Command::End, 8));
    assert!(
        fixture.lines[1].contains("end_session"),
        "{:?}",
        fixture.lines
    );
}

#[test]
fn late_delivered_prompt_opens_its_turn() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.fail_write(LinePurpose::Prompt("u1".into()));
    lifecycle(&mut fixture, "u1", "started");
    fixture.input(Input::Command(Command::End, 8));
    assert_eq!(fixture.lines.len(), 1, "its turn runs");
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert!(
        fixture.lines[1].contains("end_session"),
        "{:?}",
        fixture.lines
    );
}

#[test]
fn undelivered_prompt_leaves_others_open() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u2");
    fixture.fail_write(LinePurpose::Prompt("u1".into()));
    fixture.input(Input::Command(Command::End, 8));
    assert_eq!(fixture.lines.len(), 2, "the second is not answered yet");
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","uuid":"c"}"#);
    assert!(
        fixture.lines[2].contains("end_session"),
        "{:?}",
        fixture.lines
    );
}
