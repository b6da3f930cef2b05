//! The queue: prompts that wait until the agent is idle, and changes of them.

use bowline_jsonl::{Priority, PromptPart};
use bowline_reducer::model::QueuedState;

use super::*;
use crate::control::ControlEntry;
use crate::intent::Intent;
use crate::queue::{QueueChange, QueueEdit};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/p"}"#;

fn later(uuid: &str) -> Command {
    Command::Send(Prompt {
        uuid: Some(uuid.to_owned()),
        priority: Some(Priority::Later),
        ..Prompt::text(uuid)
    })
}

fn edit(uuid: &str, change: QueueChange) -> Command {
    let uuid = uuid.to_owned();
    Command::EditQueue(QueueEdit { uuid, change })
}

fn replace(text: &str) -> QueueChange {
    QueueChange::Replace(vec![PromptPart::Text(text.to_owned())])
}

fn command(fixture: &mut Fixture, command: Command) -> Result<Reply, DialogueError> {
    fixture.input(Input::Command(command, 9));
    let at = fixture.replies.iter().position(|(ticket, _)| *ticket == 9);
    fixture.replies.remove(at.expect("a reply")).1
}

fn result(fixture: &mut Fixture, uuid: &str) {
    fixture.agent(INIT);
    fixture.agent(&format!(
        r#"{{"type":"result","subtype":"success","user_message_uuid":"{uuid}","user_message_uuids":["{uuid}"],"uuid":"x{uuid}"}}"#
    ));
}

/// The texts of the queue in the transcript.
fn queue(fixture: &Fixture) -> Vec<String> {
    let queue = fixture.machine.transcript().session().queue();
    let queue = queue.inspect(|it| assert_eq!(it.state, QueuedState::Waiting));
    queue.map(|it| it.text.clone()).collect()
}

/// The texts of the prompts that were written.
fn written(fixture: &Fixture) -> Vec<String> {
    let lines = fixture.lines.iter();
    let texts = lines.filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let content = &line["message"]["content"];
        let text = content.as_str().or_else(|| content[0]["text"].as_str())?;
        Some(text.to_owned())
    });
    texts.collect()
}

#[test]
fn queued_prompts_are_sent_one_per_turn() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(later("a"), 1));
    assert_eq!(written(&fixture), ["a"], "the agent is idle");
    assert!(!fixture.lines[0].contains("later"), "it waited here");
    for uuid in ["b", "c"] {
        fixture.input(Input::Command(later(uuid), 1));
    }
    fixture.send("steer");
    assert_eq!(written(&fixture), ["a", "hello"]);
    assert_eq!(queue(&fixture), ["b", "c"]);
    result(&mut fixture, "a");
    assert_eq!(queue(&fixture), ["b", "c"], "a prompt has no answer");
    result(&mut fixture, "steer");
    assert_eq!(queue(&fixture), ["c"]);
    result(&mut fixture, "b");
    assert_eq!(written(&fixture), ["a", "hello", "b", "c"]);
    assert!(queue(&fixture).is_empty());
}

#[test]
fn queue_is_edited_until_it_is_sent() {
    let mut fixture = Fixture::new(LIMITS);
    for uuid in ["a", "b", "c", "d"] {
        fixture.input(Input::Command(later(uuid), 1));
    }
    let before = QueueChange::MoveBefore("b".to_owned());
    assert_eq!(command(&mut fixture, edit("d", before)), Ok(Reply::Done));
    assert_eq!(
        command(&mut fixture, edit("b", replace("new"))),
        Ok(Reply::Done)
    );
    assert_eq!(queue(&fixture), ["d", "new", "c"]);
    let cancelled = command(&mut fixture, edit("c", QueueChange::Cancel));
    assert_eq!(cancelled, Ok(Reply::Done));
    assert_eq!(fixture.states("c").last(), Some(&ReceiptState::Cancelled));
    for (uuid, is_sent) in [("a", true), ("c", true), ("x", false)] {
        let refused = command(&mut fixture, edit(uuid, replace("late")));
        let uuid = uuid.to_owned();
        // A cancelled prompt is over, like one that was sent.
        assert_eq!(refused, Err(DialogueError::NotQueued { uuid, is_sent }));
    }
    let empty = command(&mut fixture, edit("d", QueueChange::Replace(Vec::new())));
    assert_eq!(empty, Err(DialogueError::EmptyPrompt));
    result(&mut fixture, "a");
    result(&mut fixture, "d");
    assert_eq!(written(&fixture), ["a", "d", "new"]);
}

#[test]
fn interrupt_drops_the_queue_only_on_request() {
    let mut fixture = Fixture::new(LIMITS);
    for uuid in ["a", "b"] {
        fixture.input(Input::Command(later(uuid), 1));
    }
    let interrupt = |cancel_queued| Command::Interrupt {
        cancel_queued,
        seen: None,
    };
    fixture.input(Input::Command(interrupt(false), 2));
    assert_eq!(queue(&fixture), ["b"]);
    fixture.input(Input::Command(interrupt(true), 3));
    assert!(queue(&fixture).is_empty());
    assert_eq!(fixture.states("b").last(), Some(&ReceiptState::Cancelled));
}

#[test]
fn end_sends_the_queue_first() {
    let mut fixture = Fixture::new(LIMITS);
    for uuid in ["a", "b"] {
        fixture.input(Input::Command(later(uuid), 1));
    }
    fixture.input(Input::Command(Command::End, 2));
    result(&mut fixture, "a");
    assert_eq!(written(&fixture), ["a", "b"]);
    result(&mut fixture, "b");
    assert!(
        fixture
            .lines
            .last()
            .expect("a line")
            .contains("end_session")
    );
}

#[test]
fn exit_keeps_what_was_not_sent_in_the_transcript() {
    let mut fixture = Fixture::new(LIMITS);
    for uuid in ["a", "b"] {
        fixture.input(Input::Command(later(uuid), 1));
    }
    fixture.exit(1);
    assert_eq!(queue(&fixture), ["b"]);
    assert_eq!(fixture.states("a").last(), Some(&ReceiptState::Unknown));
    assert_eq!(fixture.states("b").last(), Some(&ReceiptState::Cancelled));
}

/// The machine of the daemon, after a log.
fn driven(log: &[LogEntry]) -> Fixture {
    let mut machine = Machine::recovering(DialectName::Claude, Opening::default(), LIMITS);
    machine.set_decision_path(DecisionPath::Control);
    recover(&mut machine, log);
    machine.recovered();
    Fixture::of(machine)
}

/// Has the decisions come back from the control stream.
fn decide(fixture: &mut Fixture) {
    while let Some(line) = fixture.decisions.pop() {
        let ControlEntry::Intent(intent) = line.entry else {
            panic!("{line:?}");
        };
        fixture.input(Input::Command(intent.into(), 1));
    }
}

#[test]
fn release_takes_effect_from_the_control_stream() {
    let mut fixture = driven(&[]);
    fixture.input(Input::Command(later("a"), 1));
    assert_eq!((written(&fixture).len(), fixture.decisions.len()), (0, 1));
    // What comes before the release in the control stream still applies.
    assert_eq!(
        command(&mut fixture, edit("a", replace("new"))),
        Ok(Reply::Done)
    );
    assert_eq!(fixture.decisions.len(), 1, "it is decided once");
    decide(&mut fixture);
    assert_eq!(written(&fixture), ["new"]);
    let late = command(&mut fixture, edit("a", replace("late")));
    assert!(matches!(
        late,
        Err(DialogueError::NotQueued { is_sent: true, .. })
    ));
}

#[test]
fn release_of_cancelled_prompt_lets_the_next_one_go() {
    let mut fixture = driven(&[]);
    for uuid in ["a", "b"] {
        fixture.input(Input::Command(later(uuid), 1));
    }
    assert_eq!(
        command(&mut fixture, edit("a", QueueChange::Cancel)),
        Ok(Reply::Done)
    );
    decide(&mut fixture);
    assert_eq!(written(&fixture), ["b"]);
}

/// A driver that is killed anywhere: the next one has the same queue, and each prompt is written once, as edited.
#[test]
fn queue_continues_wherever_the_driver_is_killed() {
    let mut first = driven(&[]);
    for uuid in ["a", "b", "c", "d"] {
        first.input(Input::Command(later(uuid), 1));
        decide(&mut first);
    }
    let before = QueueChange::MoveBefore("b".to_owned());
    for change in [
        edit("d", before),
        edit("b", replace("new")),
        edit("c", QueueChange::Cancel),
    ] {
        assert_eq!(command(&mut first, change), Ok(Reply::Done));
    }
    for uuid in ["a", "d", "b"] {
        result(&mut first, uuid);
        decide(&mut first);
    }
    assert_eq!(written(&first), ["a", "d", "new"]);
    let log = std::mem::take(&mut first.log);
    let json = first.json();
    for killed in 0..=log.len() {
        let mut next = driven(&log[..killed]);
        decide(&mut next);
        for entry in &log[killed..] {
            match entry.clone() {
                // What the agent answers to a prompt comes after it.
                LogEntry::Output(bytes) => next.input(Input::Output(bytes)),
                LogEntry::Intent(Command::Release(_)) | LogEntry::Written(_) => {}
                LogEntry::Intent(intent) => next.input(Input::Command(intent, 1)),
            }
            decide(&mut next);
        }
        let before = log[..killed].iter().filter_map(|it| match it {
            LogEntry::Written(line) if line.windows(6).any(|it| it == b"\"user\"") => Some(()),
            _ => None,
        });
        let before = before.count();
        assert_eq!(before + written(&next).len(), 3, "killed at {killed}");
        let order = ["a", "d", "new"];
        assert_eq!(written(&next), order[before..], "killed at {killed}");
        assert!(queue(&next).is_empty(), "killed at {killed}");
        assert_eq!(
            next.json()["entries"].as_array().map(Vec::len),
            json["entries"].as_array().map(Vec::len)
        );
    }
}

#[test]
fn host_of_a_driven_session_follows_the_queue() {
    let (mut follower, mut control) = follower();
    let prompt = |uuid: &str| match later(uuid) {
        Command::Send(prompt) => ControlEntry::Intent(Intent::Prompt(prompt)),
        other => panic!("{other:?}"),
    };
    for uuid in ["a", "b", "c", "d"] {
        control(&mut follower, uuid, prompt(uuid));
    }
    let change = |uuid: &str, change| {
        let uuid = uuid.to_owned();
        ControlEntry::Intent(Intent::EditQueue(QueueEdit { uuid, change }))
    };
    let release = |uuid: &str| {
        ControlEntry::Intent(Intent::Release {
            uuid: uuid.to_owned(),
        })
    };
    control(&mut follower, "release:a", release("a"));
    control(
        &mut follower,
        "1",
        change("c", QueueChange::MoveBefore("b".to_owned())),
    );
    control(&mut follower, "2", change("c", replace("new")));
    control(&mut follower, "3", change("a", QueueChange::Cancel));
    assert_eq!(queue(&follower), ["new", "b", "d"]);
    control(&mut follower, "4", change("b", QueueChange::Cancel));
    let refused = ControlEntry::Outcome {
        of: "d".to_owned(),
        result: Err(DialogueError::EmptyPrompt),
    };
    control(&mut follower, "5", refused);
    assert_eq!(queue(&follower), ["new"]);
    assert!(follower.lines.is_empty(), "the driver writes");
}
