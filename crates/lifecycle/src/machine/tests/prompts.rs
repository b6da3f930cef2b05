//! Prompts: kept back, fenced, and in every shape.

use bowline_jsonl::{Priority, PromptPart, Source};

use super::*;
use crate::watchdog::WorkPhase;

#[test]
fn a_pause_begins_when_the_turn_is_over_and_keeps_prompts_back() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.input(Input::Command(Command::Pause, 7));
    world.send("u2");
    assert_eq!(world.lines.len(), 1);
    assert!(
        !world.replies.iter().any(|(ticket, _)| *ticket == 7),
        "the turn runs"
    );
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert_eq!(world.replies.last(), Some(&(7, Ok(Reply::Done))));
    assert_eq!(world.states("u2"), [ReceiptState::Accepted]);
    assert_eq!(
        world.json()["entries"].as_array().expect("entries").len(),
        2
    );
    world.input(Input::Command(Command::Unpause, 8));
    assert!(world.lines[1].contains(r#""uuid":"u2""#));
}

#[test]
fn what_a_pause_kept_back_can_be_given_up() {
    let mut world = World::new(LIMITS);
    world.input(Input::Command(Command::Pause, 7));
    world.send("u1");
    world.input(Input::Command(Command::CancelHeld, 8));
    assert_eq!(
        world.replies.last(),
        Some(&(8, Ok(Reply::Answer(r#"["u1"]"#.into()))))
    );
    assert_eq!(world.states("u1").last(), Some(&ReceiptState::Cancelled));
    world.input(Input::Command(Command::Unpause, 9));
    assert_eq!(world.lines, Vec::<String>::new());
}

#[test]
fn an_end_in_a_pause_sends_what_was_kept_back_first() {
    let mut world = World::new(LIMITS);
    world.input(Input::Command(Command::Pause, 7));
    world.send("u1");
    world.input(Input::Command(Command::End, 8));
    assert!(world.lines[0].contains(r#""uuid":"u1""#));
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert!(world.lines[1].contains("end_session"));
}

#[test]
fn a_pause_that_never_begins_ends_with_the_session() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.input(Input::Command(Command::Pause, 7));
    world.exit(1);
    assert!(world.replies.contains(&(7, Err(DialogueError::Ended))));
}

#[test]
fn the_late_result_of_an_interrupted_turn_does_not_answer_the_next_prompt() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    let interrupt = HostRequest::Interrupt {
        cancel_queued: false,
    };
    world.input(Input::Command(Command::Request(interrupt), 5));
    world.agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"bowline-1","response":{"still_queued":[]}}}"#);
    world.send("u2");
    world.input(Input::Command(Command::End, 6));
    world.agent(r#"{"type":"command_lifecycle","command_uuid":"u2","state":"started","uuid":"s"}"#);
    world.agent(r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    assert_eq!(world.states("u1").last(), Some(&ReceiptState::Answered));
    assert_eq!(world.states("u2").last(), Some(&ReceiptState::Started));
    assert!(
        !world.lines.iter().any(|line| line.contains("end_session")),
        "the second prompt is not answered yet"
    );
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","uuid":"d"}"#);
    assert!(world.lines.last().expect("a line").contains("end_session"));
}

/// What the agent says of a prompt in an earlier run (recorded: `same_uuid_twice`).
fn echo(world: &mut World, uuid: &str) {
    world.agent(&format!(
        r#"{{"type":"user","message":{{"role":"user","content":"hello"}},"session_id":"s","isReplay":true,"uuid":"{uuid}"}}"#
    ));
}

fn lifecycle(world: &mut World, uuid: &str, state: &str) {
    world.agent(&format!(
        r#"{{"type":"command_lifecycle","command_uuid":"{uuid}","state":"{state}","uuid":"{uuid}{state}"}}"#
    ));
}

#[test]
fn a_prompt_that_the_agent_knows_from_an_earlier_run_is_a_duplicate() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    echo(&mut world, "u1");
    assert_eq!(world.states("u1").last(), Some(&ReceiptState::Duplicate));
    assert_eq!(world.json()["status"]["phase"], "idle", "no turn will come");
    // The next one is new.
    world.send("u2");
    lifecycle(&mut world, "u2", "queued");
    lifecycle(&mut world, "u2", "started");
    echo(&mut world, "u2");
    assert_eq!(world.states("u2").last(), Some(&ReceiptState::Started));
    // And a later one is known again.
    world.send("u3");
    echo(&mut world, "u3");
    assert_eq!(world.states("u3").last(), Some(&ReceiptState::Duplicate));
    assert_eq!(
        world.json()["status"]["phase"],
        "running",
        "the second is not answered"
    );
    world.input(Input::Command(Command::End, 6));
    assert_eq!(world.lines.len(), 3, "an end waits for the second alone");
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","uuid":"d"}"#);
    assert!(world.lines.last().expect("a line").contains("end_session"));
}

#[test]
fn an_echo_from_an_agent_that_tells_no_lifecycle_is_no_duplicate() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.send("u2");
    world.agent(r#"{"type":"system","subtype":"init","session_id":"s","uuid":"i"}"#);
    echo(&mut world, "u1");
    world.agent(r#"{"type":"result","subtype":"success","uuid":"c"}"#);
    echo(&mut world, "u2");
    assert_eq!(world.states("u1").last(), Some(&ReceiptState::Answered));
    assert_eq!(world.states("u2").last(), Some(&ReceiptState::Echoed));
}

#[test]
fn priorities_images_and_documents_reach_the_agent() {
    let mut world = World::new(LIMITS);
    let prompt = Prompt {
        parts: vec![
            PromptPart::Text("look".into()),
            PromptPart::Image(Source::Base64 {
                media_type: "image/png".into(),
                data: "aGk=".into(),
            }),
            PromptPart::Document {
                source: Source::Text("a\nb".into()),
                title: Some("notes".into()),
            },
        ],
        uuid: Some("u1".into()),
        priority: Some(Priority::Now),
        ..Prompt::default()
    };
    world.input(Input::Command(Command::Send(prompt), 1));
    assert_eq!(
        world.lines[0].matches('\n').count(),
        1,
        "one line, however many in the prompt"
    );
    let line: serde_json::Value = serde_json::from_str(&world.lines[0]).expect("JSON");
    assert_eq!(line["priority"], "now");
    let content = &line["message"]["content"];
    assert_eq!(content[1]["source"]["media_type"], "image/png");
    assert_eq!(content[2]["source"]["data"], "a\nb");
}

/// The session lives on: at a runner, another host may have had the lease for a while.
#[test]
fn a_prompt_that_may_not_have_arrived_keeps_nobody_waiting() {
    let mut world = World::new(LIMITS);
    world.agent(r#"{"type":"keep_alive"}"#);
    world.send("u1");
    world.input(Input::Command(Command::Pause, 7));
    world.lose(Carried::Prompt("u1".into()));
    assert_eq!(world.replies.last(), Some(&(7, Ok(Reply::Done))));
    assert_eq!(world.machine.phase(), WorkPhase::Idle);
    world.input(Input::Command(Command::End, 8));
    assert!(world.lines[1].contains("end_session"), "{:?}", world.lines);
}

#[test]
fn a_prompt_that_arrived_after_all_has_its_turn() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.lose(Carried::Prompt("u1".into()));
    lifecycle(&mut world, "u1", "started");
    world.input(Input::Command(Command::End, 8));
    assert_eq!(world.lines.len(), 1, "its turn runs");
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert!(world.lines[1].contains("end_session"), "{:?}", world.lines);
}

#[test]
fn a_prompt_that_may_not_have_arrived_leaves_the_others_as_they_are() {
    let mut world = World::new(LIMITS);
    world.send("u1");
    world.send("u2");
    world.lose(Carried::Prompt("u1".into()));
    world.input(Input::Command(Command::End, 8));
    assert_eq!(world.lines.len(), 2, "the second is not answered yet");
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","uuid":"c"}"#);
    assert!(world.lines[2].contains("end_session"), "{:?}", world.lines);
}
