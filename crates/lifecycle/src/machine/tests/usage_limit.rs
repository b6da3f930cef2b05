//! Usage limits of the agent's account: how long a session waits, and how it continues.

use super::*;
use crate::attention::{Attention, AttentionReason};
use crate::budget::{Budget, USAGE_TOOL};
use crate::control::ControlEntry;
use crate::intent::Intent;

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/p"}"#;
const HOUR: Duration = Duration::from_secs(3600);

fn resuming(prompt: Option<&str>) -> Fixture {
    let mut machine = Machine::new(LIMITS, 0);
    machine.set_resume_prompt(prompt.map(str::to_owned));
    Fixture::of(machine)
}

/// The machine of the daemon, after a log.
fn driven(log: &[LogEntry]) -> Fixture {
    let mut machine = Machine::recovering(DialectName::Claude, Opening::default(), LIMITS);
    machine.set_resume_prompt(Some("Continue.".to_owned()));
    machine.set_decision_path(DecisionPath::Control);
    recover(&mut machine, log);
    machine.recovered();
    Fixture::of(machine)
}

/// A turn of the newest prompt that meets a limit, which resets after an hour.
fn meet_limit(fixture: &mut Fixture) {
    let line = fixture.lines.last().expect("a prompt").clone();
    let uuid = uuid_of(&line);
    fixture.agent(INIT);
    fixture.agent(&format!(
        r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","rateLimitType":"five_hour","resetsAt":3600}},"uuid":"l{uuid}","session_id":"s"}}"#
    ));
    fixture.agent(&format!(
        r#"{{"type":"result","subtype":"success","is_error":true,"result":"limit","user_message_uuid":"{uuid}","user_message_uuids":["{uuid}"],"uuid":"x{uuid}","session_id":"s"}}"#
    ));
}

/// Returns the uuid of a prompt that was written.
fn uuid_of(line: &str) -> String {
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    line["uuid"].as_str().expect("a uuid").to_owned()
}

fn choose(fixture: &mut Fixture, option: &str) {
    let open = fixture.machine.permissions();
    let request_id = open.open().next().expect("a request").request_id.clone();
    let command = Command::AnswerPermission {
        request_id,
        answer: PermissionAnswer::Option(option.to_owned()),
        by: Some("phone".into()),
        how: None,
    };
    fixture.input(Input::Command(command, 9));
    assert_eq!(fixture.replies.pop().expect("a reply").1, Ok(Reply::Done));
}

fn open(fixture: &Fixture) -> usize {
    fixture.machine.permissions().open().count()
}

#[test]
fn session_continues_when_its_usage_limit_resets() {
    let mut fixture = resuming(Some("Continue."));
    fixture.send("u1");
    meet_limit(&mut fixture);
    let json = fixture.json();
    assert_eq!(json["status"]["phase"], "awaiting_permission");
    assert_eq!(
        json["status"]["reason"],
        "paused: usage limit reached; continues when it resets, after 1 h"
    );
    // The session says for how long it waits, and asks for nothing.
    let attention = Attention::of(fixture.machine.transcript()).expect("a reason");
    let resets_at_ms = Some(3_600_000);
    let window = "five_hour".to_owned();
    assert_eq!(
        attention.reason,
        AttentionReason::LimitReached {
            window,
            resets_at_ms
        }
    );
    fixture.send("u2");
    assert_eq!(
        fixture.lines.len(),
        1,
        "a prompt was sent to a used up limit"
    );
    assert_eq!(fixture.step(), HOUR);
    assert_eq!(open(&fixture), 0);
    let record = fixture.permissions.last().expect("a request");
    assert_eq!(record.answered_by.as_deref(), Some(USAGE_TOOL));
    assert_eq!(fixture.lines.len(), 3);
    assert!(
        fixture.lines[1].contains("Continue."),
        "{}",
        fixture.lines[1]
    );
    assert!(fixture.lines[2].contains(r#""uuid":"u2""#));
}

#[test]
fn limit_that_is_met_again_is_not_tried_in_a_loop() {
    let mut fixture = resuming(Some("Continue."));
    fixture.send("u1");
    meet_limit(&mut fixture);
    assert_eq!(fixture.step(), HOUR);
    let sent = fixture.lines.len();
    meet_limit(&mut fixture);
    assert_eq!((open(&fixture), fixture.lines.len()), (1, sent));
    assert_eq!(fixture.step(), HOUR + Duration::from_secs(60));
    assert_eq!(fixture.lines.len(), sent + 1);
    assert_ne!(
        uuid_of(&fixture.lines[sent - 1]),
        uuid_of(&fixture.lines[sent])
    );
}

#[test]
fn session_without_a_prompt_waits_for_its_host() {
    let mut fixture = resuming(None);
    fixture.send("u1");
    meet_limit(&mut fixture);
    assert_eq!(open(&fixture), 0);
    fixture.send("u2");
    assert_eq!(fixture.lines.len(), 2);
}

#[test]
fn user_continues_at_once_or_ends_the_session() {
    let mut fixture = resuming(Some("Continue."));
    fixture.send("u1");
    meet_limit(&mut fixture);
    let record = fixture.permissions.last().expect("a request");
    let names: Vec<_> = record.options.iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["Continue now", "End the session"]);
    choose(&mut fixture, "go_on");
    assert!(fixture.lines[1].contains("Continue."));
    meet_limit(&mut fixture);
    choose(&mut fixture, "stop");
    assert!(
        fixture
            .lines
            .last()
            .expect("a line")
            .contains("end_session")
    );
}

#[test]
fn budget_that_is_used_up_meanwhile_asks_after_the_reset() {
    let mut fixture = resuming(Some("Continue."));
    fixture.machine.set_budget(Budget {
        turns: Some(1),
        ..Budget::default()
    });
    fixture.send("u1");
    meet_limit(&mut fixture);
    assert_eq!(open(&fixture), 1);
    assert_eq!(fixture.step(), HOUR);
    let record = fixture.permissions.last().expect("a request");
    assert_eq!((&*record.tool_name, open(&fixture)), ("budget", 1));
    assert_eq!(fixture.lines.len(), 1, "the limit of turns holds");
    choose(&mut fixture, "go_on");
    assert!(fixture.lines[1].contains("Continue."));
}

/// A driver that is killed anywhere: the next one asks once, and sends the prompt once.
#[test]
fn wait_continues_wherever_the_driver_is_killed() {
    let mut first = driven(&[]);
    first.send("u1");
    meet_limit(&mut first);
    let hold = first.decisions.pop().expect("a decision");
    assert_eq!(hold.id, "usage_limit:1");
    first.send("u2");
    assert_eq!(
        first.lines.len(),
        1,
        "nothing is sent before the hold is kept"
    );
    let ControlEntry::Intent(intent @ Intent::Hold(_)) = hold.entry else {
        panic!("another entry");
    };
    first.input(Input::Command(intent.into(), 1));
    first.step();
    let answer = first.decisions.pop().expect("a decision");
    assert_eq!(answer.id, "usage_limit:1:reset");
    let ControlEntry::Intent(intent) = answer.entry else {
        panic!("an intent");
    };
    assert_eq!(first.lines.len(), 1);
    first.input(Input::Command(intent.into(), 2));
    assert_eq!(first.lines.len(), 3);
    let log = std::mem::take(&mut first.log);
    let is_answer =
        |it: &LogEntry| matches!(it, LogEntry::Intent(Command::AnswerPermission { .. }));
    let is_hold = |it: &LogEntry| matches!(it, LogEntry::Intent(Command::Hold(_)));
    let answered_at = log.iter().position(is_answer).expect("an answer");
    let held_at = log.iter().position(is_hold).expect("a hold");
    let is_result = |it: &LogEntry| matches!(it, LogEntry::Output(bytes) if bytes.windows(6).any(|it| it == b"result"));
    let result_at = log.iter().position(is_result).expect("a result");
    for killed in 0..=log.len() {
        let mut next = driven(&log[..killed]);
        let is_written = |it: &&LogEntry| matches!(it, LogEntry::Written(_));
        let before = log[..killed].iter().filter(is_written).count();
        if killed > answered_at {
            assert_eq!(before + next.lines.len(), 3, "killed at {killed}");
            assert_eq!(open(&next), 0, "killed at {killed}");
        } else if killed > result_at {
            assert_eq!(next.lines.len(), 0, "killed at {killed}");
            if killed > held_at {
                assert_eq!((open(&next), next.decisions.len()), (1, 0));
                next.step();
            }
            let ids: Vec<_> = next.decisions.iter().map(|it| &*it.id).collect();
            let id = if killed > held_at {
                "usage_limit:1:reset"
            } else {
                "usage_limit:1"
            };
            assert_eq!(ids, [id], "killed at {killed}");
        }
    }
}
