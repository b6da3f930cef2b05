//! Limits: where a session pauses, what it asks, and what the answers do.

use bowline_transport::Piece;

use super::*;
use crate::budget::{Budget, LimitAnswer, LimitKind, LimitRequest, ReachedLimit, SharedState};
use crate::control::ControlEntry;
use crate::intent::Intent;
use crate::policy::Policy;

const COST: Budget = Budget {
    cost_usd: Some(5.0),
    tokens: None,
    turns: None,
    time: None,
};

const TURNS: Budget = Budget {
    turns: Some(1),
    ..NONE
};

const NONE: Budget = Budget {
    cost_usd: None,
    tokens: None,
    turns: None,
    time: None,
};

fn with(budget: Budget) -> Fixture {
    let mut machine = Machine::new(LIMITS, 0);
    machine.set_budget(budget);
    Fixture::of(machine)
}

/// The machine of the daemon, after a log.
fn driven(budget: Budget, log: &[LogEntry]) -> Fixture {
    let mut machine = Machine::recovering(DialectName::Claude, Opening::default(), LIMITS);
    machine.set_budget(budget);
    machine.set_decision_path(DecisionPath::Control);
    recover(&mut machine, log);
    machine.recovered();
    Fixture::of(machine)
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/p"}"#;

fn turn(fixture: &mut Fixture, uuid: &str, cost: f64) {
    fixture.agent(INIT);
    fixture.agent(&format!(
        r#"{{"type":"result","subtype":"success","total_cost_usd":{cost},"user_message_uuid":"{uuid}","user_message_uuids":["{uuid}"],"usage":{{"input_tokens":70,"output_tokens":30}},"modelUsage":{{"m":{{"inputTokens":70,"outputTokens":30,"costUSD":{cost}}}}},"uuid":"x{uuid}"}}"#
    ));
}

fn answer_with(fixture: &mut Fixture, answer: PermissionAnswer) -> Result<Reply, DialogueError> {
    let open = fixture.machine.permissions();
    let request_id = open.open().next().expect("a request").request_id.clone();
    let command = Command::AnswerPermission {
        request_id,
        answer,
        by: Some("phone".into()),
        how: None,
    };
    fixture.input(Input::Command(command, 9));
    fixture.replies.pop().expect("a reply").1
}

fn option(id: &str) -> PermissionAnswer {
    PermissionAnswer::Option(id.to_owned())
}

fn typed(text: &str) -> PermissionAnswer {
    PermissionAnswer::Answers(vec![("budget".to_owned(), text.to_owned())])
}

fn reason(fixture: &mut Fixture) -> String {
    fixture.json()["status"]["reason"]
        .as_str()
        .expect("a reason")
        .to_owned()
}

fn open(fixture: &Fixture) -> usize {
    fixture.machine.permissions().open().count()
}

#[test]
fn session_pauses_at_its_cost_and_asks() {
    let mut fixture = with(COST);
    fixture.send("u1");
    turn(&mut fixture, "u1", 4.99);
    fixture.send("u2");
    assert_eq!((fixture.lines.len(), open(&fixture)), (2, 0));
    turn(&mut fixture, "u2", 5.12);
    assert_eq!(open(&fixture), 1);
    assert_eq!(fixture.json()["status"]["phase"], "awaiting_permission");
    assert_eq!(
        reason(&mut fixture),
        "paused: cost limit of 5.00 USD reached (5.12)"
    );
    let record = fixture.permissions.last().expect("a request").clone();
    assert_eq!(
        (&*record.request_id, &*record.tool_name),
        ("budget:1", "budget")
    );
    let names: Vec<_> = record.options.iter().map(|it| &*it.name).collect();
    assert_eq!(
        names,
        [
            "Raise to 10.12 USD",
            "Go on without this limit",
            "End the session"
        ]
    );
    assert_eq!(record.questions().len(), 1);
    // Prompts queue, and nothing is sent.
    fixture.send("u3");
    assert_eq!(fixture.lines.len(), 2);
    assert_eq!(answer_with(&mut fixture, option("raise")), Ok(Reply::Done));
    assert_eq!(fixture.lines.len(), 3);
    assert!(fixture.lines[2].contains(r#""uuid":"u3""#));
    let closed = fixture.permissions.last().expect("a request");
    assert_eq!(closed.answered_how.as_deref(), Some("raised to 10.12 USD"));
    assert_eq!(closed.answered_by.as_deref(), Some("phone"));
    // The raised limit holds, and is asked about again.
    turn(&mut fixture, "u3", 10.11);
    assert_eq!(open(&fixture), 0);
    fixture.send("u4");
    turn(&mut fixture, "u4", 10.2);
    assert_eq!(open(&fixture), 1);
}

#[test]
fn typed_limit_is_the_new_one() {
    let mut fixture = with(COST);
    fixture.send("u1");
    turn(&mut fixture, "u1", 6.0);
    for refused in ["6", "4.5", "0", "NaN", "much"] {
        let answered = answer_with(&mut fixture, typed(refused));
        assert!(
            matches!(answered, Err(DialogueError::WrongAnswer { .. })),
            "{refused}"
        );
    }
    assert!(answer_with(&mut fixture, option("sideways")).is_err());
    assert_eq!(open(&fixture), 1);
    assert_eq!(
        answer_with(&mut fixture, typed("7.50 USD")),
        Ok(Reply::Done)
    );
    fixture.send("u2");
    turn(&mut fixture, "u2", 7.51);
    assert_eq!(
        reason(&mut fixture),
        "paused: cost limit of 7.50 USD reached (7.51)"
    );
    // The label of an option is an answer to the question.
    assert_eq!(
        answer_with(&mut fixture, typed("Go on without this limit")),
        Ok(Reply::Done)
    );
    fixture.send("u3");
    turn(&mut fixture, "u3", 1000.0);
    assert_eq!(open(&fixture), 0);
}

#[test]
fn stop_drops_queued_prompts_and_ends_in_order() {
    let mut fixture = with(TURNS);
    fixture.send("u1");
    turn(&mut fixture, "u1", 0.0);
    fixture.send("u2");
    assert_eq!(answer_with(&mut fixture, option("stop")), Ok(Reply::Done));
    assert_eq!(fixture.states("u2").last(), Some(&ReceiptState::Cancelled));
    assert!(
        fixture
            .lines
            .last()
            .expect("a line")
            .contains("end_session"),
        "{:?}",
        fixture.lines
    );
    assert_eq!(fixture.json()["permissions"][0]["state"], "denied");
    fixture.exit(0);
    assert!(fixture.machine.end_summary().0);
}

#[test]
fn end_of_a_paused_session_waits_for_no_answer() {
    let mut fixture = with(TURNS);
    fixture.send("u1");
    turn(&mut fixture, "u1", 0.0);
    fixture.send("u2");
    fixture.input(Input::Command(Command::End, 3));
    assert!(
        fixture
            .lines
            .last()
            .expect("a line")
            .contains("end_session"),
        "{:?}",
        fixture.lines
    );
    assert_eq!(open(&fixture), 0);
}

#[test]
fn open_permission_is_a_safe_point_and_rules_allow_nothing_more() {
    let mut machine = Machine::new(LIMITS, 0);
    machine.set_budget(COST);
    let policy = Policy::parse("[[rule]]\ndecision = \"allow\"\ntool = \"*\"", "p");
    machine.set_policy(policy.expect("a policy"), true);
    let mut fixture = Fixture::of(machine);
    fixture.send("u1");
    turn(&mut fixture, "u1", 4.0);
    fixture.send("u2");
    fixture.agent(INIT);
    fixture.agent(ASK);
    assert_eq!(
        (fixture.lines.len(), open(&fixture)),
        (3, 0),
        "a rule answers below the limit"
    );
    turn(&mut fixture, "u2", 5.0);
    assert_eq!(open(&fixture), 1);
    // A turn that the agent begins by itself.
    fixture.agent(INIT);
    fixture.agent(&ASK.replace("r1", "r2"));
    assert_eq!(open(&fixture), 2);
}

#[test]
fn time_limit_is_due_without_any_line() {
    let time = Some(Duration::from_secs(60));
    let mut fixture = with(Budget { time, ..NONE });
    fixture.send("u1");
    turn(&mut fixture, "u1", 0.0);
    assert_eq!(fixture.step(), Duration::from_secs(60));
    assert_eq!(
        reason(&mut fixture),
        "paused: time limit of 1 min reached (1 min)"
    );
    assert_eq!(answer_with(&mut fixture, typed("2m")), Ok(Reply::Done));
    // An open turn is not cut off.
    fixture.send("u2");
    fixture.agent(INIT);
    assert_eq!(fixture.step(), Duration::from_secs(120));
    assert_eq!(open(&fixture), 0);
    turn(&mut fixture, "u2", 0.0);
    assert_eq!(open(&fixture), 1);
}

#[test]
fn tokens_are_counted_over_turns() {
    let mut fixture = with(Budget {
        tokens: Some(100),
        ..NONE
    });
    fixture.send("u1");
    turn(&mut fixture, "u1", 0.0);
    assert_eq!(
        reason(&mut fixture),
        "paused: token limit of 100 tokens reached (100)"
    );
}

#[test]
fn hold_of_a_daemon_takes_effect_from_the_control_stream() {
    let mut fixture = driven(TURNS, &[]);
    fixture.send("u1");
    turn(&mut fixture, "u1", 0.0);
    let line = fixture.decisions.pop().expect("a decision");
    assert_eq!((&*line.id, open(&fixture)), ("budget:1", 0));
    // Nothing is sent meanwhile.
    fixture.send("u2");
    assert_eq!(fixture.lines.len(), 1);
    let ControlEntry::Intent(intent @ Intent::Hold(_)) = line.entry else {
        panic!("{line:?}");
    };
    fixture.input(Input::Command(intent.into(), 1));
    assert_eq!((open(&fixture), fixture.decisions.len()), (1, 0));
}

/// A driver that is killed anywhere: the next one sends nothing that was held, and asks once.
#[test]
fn hold_continues_wherever_the_driver_is_killed() {
    let mut first = driven(TURNS, &[]);
    first.send("u1");
    turn(&mut first, "u1", 0.0);
    first.send("u2");
    let ControlEntry::Intent(hold) = first.decisions.pop().expect("a decision").entry else {
        panic!("an intent");
    };
    first.input(Input::Command(hold.into(), 1));
    first.send("u3");
    assert_eq!(answer_with(&mut first, typed("2")), Ok(Reply::Done));
    // Both prompts are written at once, as the agent's protocol permits.
    assert_eq!(first.lines.len(), 3);
    let log = std::mem::take(&mut first.log);
    let json = first.json();
    let is_answer =
        |it: &LogEntry| matches!(it, LogEntry::Intent(Command::AnswerPermission { .. }));
    let is_hold = |it: &LogEntry| matches!(it, LogEntry::Intent(Command::Hold(_)));
    let answered_at = log.iter().position(is_answer).expect("an answer");
    let held_at = log.iter().position(is_hold).expect("a hold");
    let is_result = |it: &LogEntry| matches!(it, LogEntry::Output(bytes) if bytes.windows(6).any(|it| it == b"result"));
    let result_at = log.iter().position(is_result).expect("a result");
    for killed in 0..=log.len() {
        let next = driven(TURNS, &log[..killed]);
        let written = |log: &[LogEntry]| {
            log.iter()
                .filter(|it| matches!(it, LogEntry::Written(_)))
                .count()
        };
        let before = written(&log[..killed]);
        if killed > answered_at {
            assert_eq!(before + next.lines.len(), 3, "killed at {killed}");
            assert_eq!(open(&next), 0, "killed at {killed}");
        } else if killed > result_at {
            assert_eq!(next.lines.len(), 0, "killed at {killed}");
            assert_eq!(
                open(&next),
                usize::from(killed > held_at),
                "killed at {killed}"
            );
            assert_eq!(
                next.decisions.len(),
                usize::from(killed <= held_at),
                "killed at {killed}"
            );
        }
    }
    let mut last = driven(TURNS, &log);
    assert_eq!(last.json(), json);
}

#[test]
fn reached_limit_says_what_is_unknown() {
    let reached = ReachedLimit {
        limit: LimitKind::Cost,
        allowed: 5_000_000,
        spent: None,
    };
    let request = LimitRequest::new(1, reached, false);
    assert_eq!(
        request.reason(),
        "paused: cost limit of 5.00 USD cannot be checked, since the agent reports none"
    );
    let ids: Vec<_> = request.options().into_iter().map(|it| it.id).collect();
    assert_eq!(ids, ["go_on", "stop"]);
}

/// The state of a shared budget: the allowed turns, and the used ones.
fn shared(allowed: u64, spent: u64) -> Input {
    let reached = ReachedLimit {
        limit: LimitKind::Turns,
        allowed,
        spent: Some(spent),
    };
    Input::SharedBudget(SharedState {
        reached: (spent >= allowed).then_some(reached),
        budget: Budget {
            turns: Some(allowed),
            ..NONE
        },
        set_by: Some("phone".to_owned()),
        generation: 1,
    })
}

#[test]
fn shared_limit_pauses_at_safe_point_and_asks_once() {
    let mut fixture = with(NONE);
    fixture.send("u1");
    fixture.agent(INIT);
    fixture.input(shared(5, 6));
    assert_eq!(open(&fixture), 0, "the turn is open");
    fixture.send("u2");
    turn(&mut fixture, "u1", 0.0);
    assert_eq!(open(&fixture), 1);
    assert_eq!(
        reason(&mut fixture),
        "paused: turn limit of 5 turns for all sessions reached (6 turns)"
    );
    let sent = fixture.lines.len();
    fixture.send("u3");
    assert_eq!(fixture.lines.len(), sent, "nothing is sent");
    assert_eq!(answer_with(&mut fixture, typed("9")), Ok(Reply::Done));
    let raised = (
        LimitKind::Turns,
        LimitAnswer::Raise(9),
        Some("phone".to_owned()),
    );
    assert_eq!(fixture.shared_limits, [raised]);
    assert_eq!(open(&fixture), 0);
    assert!(fixture.lines.len() > sent, "prompts are sent again");
    // The raise reached no other limit of the session.
    fixture.input(shared(9, 6));
    assert_eq!((open(&fixture), fixture.shared_limits.len()), (0, 1));
}

#[test]
fn answer_of_another_session_closes_request() {
    let mut fixture = with(NONE);
    fixture.input(shared(5, 5));
    assert_eq!(open(&fixture), 1);
    // A raise that is used up already: the request stays.
    fixture.input(shared(6, 7));
    assert_eq!(open(&fixture), 1);
    fixture.input(shared(9, 7));
    assert_eq!(open(&fixture), 0);
    let closed = fixture.permissions.last().expect("a request");
    assert_eq!(closed.answered_by.as_deref(), Some("phone"));
    assert_eq!(closed.answered_how.as_deref(), Some("raised to 9 turns"));
    assert_eq!(fixture.shared_limits, [], "it is no answer of its own");
}

#[test]
fn stop_at_shared_limit_ends_this_session_only() {
    let mut fixture = with(NONE);
    fixture.input(shared(5, 5));
    assert_eq!(answer_with(&mut fixture, option("stop")), Ok(Reply::Done));
    assert_eq!(fixture.shared_limits, []);
    let last = fixture.lines.last().expect("a line");
    assert!(last.contains("end_session"), "{last}");
}

/// A host of a session that a daemon drives has the daemon pause it, and passes answers on.
#[test]
fn follower_asks_driver_to_pause_once() {
    let mut machine = Machine::silent(DialectName::Claude, Opening::default(), LIMITS, 0);
    machine.follow_driver("page", "p", 0);
    let mut fixture = Fixture::of(machine);
    fixture.input(shared(5, 5));
    fixture.input(Input::Timeout);
    let holds = |fixture: &Fixture| {
        let is_hold = |it: &&String| it.contains(r#""shared":true"#);
        fixture.lines.iter().filter(is_hold).count()
    };
    assert_eq!(holds(&fixture), 1, "{:?}", fixture.lines);
    // The driver carries it out.
    let line = fixture.lines.last().expect("a line").clone();
    let bytes = format!("{}\n", line.trim_end()).into();
    fixture.input(Input::Control(Piece::Bytes { offset: 0, bytes }));
    assert_eq!((open(&fixture), holds(&fixture)), (1, 1));
    fixture.input(shared(9, 5));
    let answer = fixture.lines.last().expect("a line");
    assert!(
        answer.contains("budget:1") && answer.contains("\"9\""),
        "{answer}"
    );
}
