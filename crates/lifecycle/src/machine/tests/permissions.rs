//! Permission requests: order, form and repetition of answers.

use super::*;
use crate::intent::Intent;
use crate::permission::PermissionKind;

fn answer_as(
    fixture: &mut Fixture,
    by: &str,
    answer: impl Into<PermissionAnswer>,
) -> Result<Reply, DialogueError> {
    let command = Command::AnswerPermission {
        request_id: "r1".into(),
        answer: answer.into(),
        by: Some(by.into()),
        how: None,
    };
    fixture.input(Input::Command(command, 9));
    fixture.replies.pop().expect("a reply").1
}

fn states(fixture: &Fixture) -> Vec<RequestState> {
    fixture
        .permissions
        .iter()
        .map(|record| record.state)
        .collect()
}

#[test]
fn late_client_learns_first_client() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    assert_eq!(
        answer_as(&mut fixture, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    let second = answer_as(&mut fixture, "laptop", Decision::deny("no"));
    let Err(error @ DialogueError::TooLate { .. }) = &second else {
        panic!("{second:?}");
    };
    assert_eq!(
        error.to_string(),
        "answer r1: too late, it is already answered by phone"
    );
    assert_eq!(fixture.lines.len(), 1);
    assert_eq!(
        states(&fixture),
        [RequestState::Open, RequestState::Answered]
    );
    let record = &fixture.permissions[1];
    assert_eq!(record.answered_by.as_deref(), Some("phone"));
    assert_eq!(record.allowed, Some(true));
    assert_eq!(
        (record.tool_name.as_str(), record.tool_use_id.as_deref()),
        ("Bash", Some("t1"))
    );
}

/// The outcome of an answer is read after the answer.
#[test]
fn answer_of_another_host_has_its_author_at_once() {
    let answer = |by: &str| {
        ControlEntry::Intent(Intent::Answer {
            request_id: "r1".into(),
            answer: Decision::allow().into(),
            by: Some(by.into()),
            how: None,
        })
    };
    let done = |of: &str| ControlEntry::Outcome {
        of: of.to_owned(),
        result: Ok(None),
    };
    for hosts in [&["phone"][..], &["phone", "laptop"]] {
        let (mut fixture, mut control) = follower();
        fixture.agent(ASK);
        for host in hosts {
            control(&mut fixture, host, answer(host));
        }
        let line = r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":{"behavior":"allow"}}}"#;
        // The agent repeats the answers of the hosts.
        fixture.agent(line);
        let closed = fixture.permissions.last().expect("a request").clone();
        assert_eq!(closed.state, RequestState::Answered);
        // With two hosts, only the outcome says whose answer it is.
        let only = (hosts.len() == 1).then_some("phone");
        assert_eq!(closed.answered_by.as_deref(), only);
        let count = fixture.permissions.len();
        control(&mut fixture, "outcome", done("phone"));
        let last = fixture.permissions.last().expect("a request");
        assert_eq!(last.answered_by.as_deref(), Some("phone"));
        assert_eq!(fixture.permissions.len() - count, hosts.len() - 1);
    }
}

#[test]
fn repeated_answer_is_ignored() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    for _ in 0..3 {
        assert_eq!(
            answer_as(&mut fixture, "phone", Decision::deny("no")),
            Ok(Reply::Done)
        );
    }
    assert_eq!(fixture.lines.len(), 1);
    // The same answer of another client is too late.
    assert!(answer_as(&mut fixture, "laptop", Decision::deny("no")).is_err());
}

/// At a runner, another host may have taken over for a while. The agent still waits.
#[test]
fn undelivered_answer_can_be_resent() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    assert_eq!(
        answer_as(&mut fixture, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    fixture.fail_write(LinePurpose::PermissionAnswer("r1".into()));
    let other = answer_as(&mut fixture, "phone", Decision::deny("no"));
    assert!(
        matches!(other, Err(DialogueError::TooLate { .. })),
        "{other:?}"
    );
    for _ in 0..2 {
        assert_eq!(
            answer_as(&mut fixture, "phone", Decision::allow()),
            Ok(Reply::Done)
        );
    }
    assert_eq!(fixture.lines.len(), 2, "once per failed write");
    assert_eq!(fixture.lines[0], fixture.lines[1]);
    fixture.fail_write(LinePurpose::PermissionAnswer("r1".into()));
    assert_eq!(
        answer_as(&mut fixture, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    assert_eq!(fixture.lines.len(), 3);
}

#[test]
fn echoed_answer_is_not_resent() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    assert_eq!(
        answer_as(&mut fixture, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    fixture.fail_write(LinePurpose::PermissionAnswer("r1".into()));
    fixture
        .agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}"#);
    assert_eq!(
        answer_as(&mut fixture, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    assert_eq!(fixture.lines.len(), 1);
}

#[test]
fn answer_carries_updated_input_and_rules() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    let rules = r#"[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"session"}]"#;
    let decision = Decision::Allow {
        updated_input: Some(r#"{"command":"pwd"}"#.into()),
        updated_permissions: Some(rules.into()),
    };
    assert_eq!(answer_as(&mut fixture, "x", decision), Ok(Reply::Done));
    let line: serde_json::Value = serde_json::from_str(&fixture.lines[0]).expect("JSON");
    let response = &line["response"]["response"];
    assert_eq!(response["updatedInput"]["command"], "pwd");
    assert_eq!(response["updatedPermissions"][0]["destination"], "session");
}

#[test]
fn denial_can_interrupt_turn() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    let decision = Decision::Deny {
        message: "stop".into(),
        interrupt: true,
    };
    assert_eq!(answer_as(&mut fixture, "x", decision), Ok(Reply::Done));
    assert!(
        fixture.lines[0].contains(r#""interrupt":true"#),
        "{}",
        fixture.lines[0]
    );
}

const QUESTIONS: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"t1","requires_user_interaction":true,"input":{"questions":[{"question":"Tea or coffee?","header":"Drink","options":[{"label":"Tea","description":"green"},{"label":"Coffee","description":"black"}],"multiSelect":false}]}}}"#;

#[test]
fn question_answers_join_the_input() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(QUESTIONS);
    let PermissionKind::Questions(questions) = &fixture.permissions[0].kind else {
        panic!("{:?}", fixture.permissions);
    };
    assert_eq!(questions[0].options[1].label, "Coffee");
    let plan = PermissionAnswer::ApprovePlan { mode: None };
    assert!(matches!(
        answer_as(&mut fixture, "x", plan),
        Err(DialogueError::WrongAnswer { .. })
    ));
    let answers = vec![("Tea or coffee?".to_owned(), "Tea".to_owned())];
    let answers = PermissionAnswer::Answers(answers);
    assert_eq!(answer_as(&mut fixture, "x", answers), Ok(Reply::Done));
    let line: serde_json::Value = serde_json::from_str(&fixture.lines[0]).expect("JSON");
    let input = &line["response"]["response"]["updatedInput"];
    assert_eq!(input["answers"]["Tea or coffee?"], "Tea");
    assert_eq!(input["questions"][0]["header"], "Drink");
}

const PLAN: &str = r##"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","tool_use_id":"t1","input":{"plan":"# Build it"}}}"##;

#[test]
fn plan_is_approved_or_rejected() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(PLAN);
    let wanted = PermissionKind::Plan {
        plan: "# Build it".into(),
    };
    assert_eq!(fixture.permissions[0].kind, wanted);
    let approve = PermissionAnswer::ApprovePlan {
        mode: Some("acceptEdits".into()),
    };
    assert_eq!(answer_as(&mut fixture, "x", approve), Ok(Reply::Done));
    assert!(
        fixture.lines[0].contains(r#""type":"setMode""#),
        "{}",
        fixture.lines[0]
    );
    assert!(
        fixture.lines[0].contains(r#""mode":"acceptEdits""#),
        "{}",
        fixture.lines[0]
    );

    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(PLAN);
    let reject = PermissionAnswer::RejectPlan {
        feedback: "too long".into(),
    };
    assert_eq!(answer_as(&mut fixture, "x", reject), Ok(Reply::Done));
    assert!(
        fixture.lines[0].contains(r#""message":"too long""#),
        "{}",
        fixture.lines[0]
    );
}

#[test]
fn requests_are_withdrawn_expired_or_orphaned() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    fixture.agent(r#"{"type":"control_cancel_request","request_id":"r1"}"#);
    fixture.agent(r#"{"type":"control_cancel_request","request_id":"r1"}"#);
    fixture.agent(&ASK.replace("r1", "r2"));
    fixture.send("u1");
    fixture.agent(r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","user_message_uuid":"u1","uuid":"c"}"#);
    fixture.agent(&ASK.replace("r1", "r3"));
    fixture.exit(1);
    use RequestState::{Expired, Open, Orphaned, Withdrawn};
    assert_eq!(
        states(&fixture),
        [Open, Withdrawn, Open, Expired, Open, Orphaned]
    );
    let error = answer_as(&mut fixture, "x", Decision::allow());
    assert_eq!(error, Err(DialogueError::Ended));
}

/// No client knows of the denial, so that none can repeat it.
#[test]
fn denial_of_expired_request_that_is_not_written_is_reported() {
    let watchdog = WatchdogPolicy {
        permission_timeout: Some(Duration::from_secs(60)),
        ..NO_WATCHDOG
    };
    let mut fixture = Fixture::new(Limits { watchdog, ..LIMITS });
    fixture.agent(ASK);
    fixture.step();
    assert!(
        fixture.lines[0].contains("not answered in time"),
        "{}",
        fixture.lines[0]
    );
    assert_eq!(fixture.errors(), Vec::<String>::new());
    fixture.fail_write(fixture.purpose.clone());
    let wanted = "answer_undelivered: permission request r1 expired, but its denial could not be written \
                  to the agent, which may wait for it; end the session";
    assert_eq!(fixture.errors(), [wanted]);
}

fn answer_to(fixture: &mut Fixture, request_id: &str) -> Result<Reply, DialogueError> {
    let command = Command::AnswerPermission {
        request_id: request_id.into(),
        answer: Decision::allow().into(),
        by: None,
        how: None,
    };
    fixture.input(Input::Command(command, 9));
    fixture.replies.pop().expect("a reply").1
}

#[test]
fn only_recent_closed_requests_are_kept() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    for n in 0..=256 {
        let id = format!("other{n}");
        fixture.agent(&ASK.replace("r1", &id).replace("t1", &format!("t{n}")));
        assert_eq!(answer_to(&mut fixture, &id), Ok(Reply::Done));
    }
    let forgotten = answer_to(&mut fixture, "other0");
    assert!(
        matches!(forgotten, Err(DialogueError::NoSuchRequest { .. })),
        "{forgotten:?}"
    );
    assert_eq!(answer_to(&mut fixture, "other1"), Ok(Reply::Done));
    assert_eq!(answer_to(&mut fixture, "other256"), Ok(Reply::Done));
    assert_eq!(fixture.lines.len(), 257);
    assert_eq!(answer_to(&mut fixture, "r1"), Ok(Reply::Done), "it is open");
    assert_eq!(fixture.lines.len(), 258);
}

#[test]
fn first_permission_answer_wins() {
    let mut fixture = Fixture::new(LIMITS);
    assert!(matches!(
        answer(&mut fixture, Decision::allow()),
        Err(DialogueError::NoSuchRequest { .. })
    ));
    fixture.agent(ASK);
    assert_eq!(fixture.json()["status"]["phase"], "awaiting_permission");
    assert_eq!(answer(&mut fixture, Decision::allow()), Ok(Reply::Done));
    assert!(
        fixture.lines[0].contains(r#""updatedInput":{"command":"ls"}"#),
        "{}",
        fixture.lines[0]
    );
    assert!(matches!(
        answer(&mut fixture, Decision::deny("no")),
        Err(DialogueError::TooLate { .. })
    ));
    assert_eq!(fixture.lines.len(), 1);
}

#[test]
fn closed_permission_accepts_no_answer() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    fixture.agent(r#"{"type":"control_cancel_request","request_id":"r1"}"#);
    assert!(matches!(
        answer(&mut fixture, Decision::allow()),
        Err(DialogueError::TooLate { .. })
    ));
    fixture.agent(&ASK.replace("r1", "r2"));
    fixture.exit(0);
    assert_eq!(fixture.json()["permissions"][1]["state"], "orphaned");
    assert_eq!(
        answer(&mut fixture, Decision::allow()),
        Err(DialogueError::Ended)
    );
}

#[test]
fn malformed_answer_leaves_request_open() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    for bad in ["{", "[]", "7"] {
        let decision = Decision::Allow {
            updated_input: Some(bad.into()),
            updated_permissions: None,
        };
        assert!(
            matches!(
                answer(&mut fixture, decision),
                Err(DialogueError::NotJson { .. })
            ),
            "{bad}"
        );
    }
    let spread = "{\n  \"command\": \"pwd\"\n}".to_owned();
    let decision = Decision::Allow {
        updated_input: Some(spread),
        updated_permissions: None,
    };
    assert_eq!(answer(&mut fixture, decision), Ok(Reply::Done));
    assert_eq!(fixture.lines[0].matches('\n').count(), 1);
    assert!(fixture.lines[0].contains(r#""updatedInput":{"command":"pwd"}"#));
}
