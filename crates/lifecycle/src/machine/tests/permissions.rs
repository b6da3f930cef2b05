//! Permission requests: who answers first, and in which shape.

use super::*;
use crate::permission::PermissionKind;

fn answer_as(
    world: &mut World,
    by: &str,
    answer: impl Into<PermissionAnswer>,
) -> Result<Reply, DialogueError> {
    let command = Command::Answer {
        request_id: "r1".into(),
        answer: answer.into(),
        by: Some(by.into()),
    };
    world.input(Input::Command(command, 9));
    world.replies.pop().expect("a reply").1
}

fn states(world: &World) -> Vec<RequestState> {
    world
        .permissions
        .iter()
        .map(|record| record.state)
        .collect()
}

#[test]
fn the_first_of_two_clients_counts_and_the_other_is_told_who_was_first() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    assert_eq!(
        answer_as(&mut world, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    let second = answer_as(&mut world, "desk", Decision::deny("no"));
    let Err(error @ DialogueError::TooLate { .. }) = &second else {
        panic!("{second:?}");
    };
    assert_eq!(
        error.to_string(),
        "answer r1: too late, it is answered already by phone"
    );
    assert_eq!(world.lines.len(), 1);
    assert_eq!(states(&world), [RequestState::Open, RequestState::Answered]);
    let record = &world.permissions[1];
    assert_eq!(record.answered_by.as_deref(), Some("phone"));
    assert_eq!(record.allowed, Some(true));
    assert_eq!(
        (record.tool_name.as_str(), record.tool_use_id.as_deref()),
        ("Bash", Some("t1"))
    );
}

#[test]
fn the_same_answer_again_is_no_error_and_no_second_line() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    for _ in 0..3 {
        assert_eq!(
            answer_as(&mut world, "phone", Decision::deny("no")),
            Ok(Reply::Done)
        );
    }
    assert_eq!(world.lines.len(), 1);
    // The same words from somebody else are another answer.
    assert!(answer_as(&mut world, "desk", Decision::deny("no")).is_err());
}

/// At a runner another host may have had the lease for a while, and the agent waits on.
#[test]
fn an_answer_that_may_not_have_arrived_is_sent_again_and_no_other() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    assert_eq!(
        answer_as(&mut world, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    world.lose(Carried::Answer("r1".into()));
    let other = answer_as(&mut world, "phone", Decision::deny("no"));
    assert!(
        matches!(other, Err(DialogueError::TooLate { .. })),
        "{other:?}"
    );
    for _ in 0..2 {
        assert_eq!(
            answer_as(&mut world, "phone", Decision::allow()),
            Ok(Reply::Done)
        );
    }
    assert_eq!(world.lines.len(), 2, "once for each time that it was lost");
    assert_eq!(world.lines[0], world.lines[1]);
    world.lose(Carried::Answer("r1".into()));
    assert_eq!(
        answer_as(&mut world, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    assert_eq!(world.lines.len(), 3);
}

#[test]
fn an_answer_that_the_agent_repeats_has_arrived() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    assert_eq!(
        answer_as(&mut world, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    world.lose(Carried::Answer("r1".into()));
    world
        .agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}"#);
    assert_eq!(
        answer_as(&mut world, "phone", Decision::allow()),
        Ok(Reply::Done)
    );
    assert_eq!(world.lines.len(), 1);
}

#[test]
fn an_input_can_be_rewritten_and_rules_are_passed_through() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    let rules = r#"[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"session"}]"#;
    let decision = Decision::Allow {
        updated_input: Some(r#"{"command":"pwd"}"#.into()),
        updated_permissions: Some(rules.into()),
    };
    assert_eq!(answer_as(&mut world, "x", decision), Ok(Reply::Done));
    let line: serde_json::Value = serde_json::from_str(&world.lines[0]).expect("JSON");
    let response = &line["response"]["response"];
    assert_eq!(response["updatedInput"]["command"], "pwd");
    assert_eq!(response["updatedPermissions"][0]["destination"], "session");
}

#[test]
fn a_denial_can_end_the_turn() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    let decision = Decision::Deny {
        message: "stop".into(),
        interrupt: true,
    };
    assert_eq!(answer_as(&mut world, "x", decision), Ok(Reply::Done));
    assert!(
        world.lines[0].contains(r#""interrupt":true"#),
        "{}",
        world.lines[0]
    );
}

const QUESTIONS: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"t1","requires_user_interaction":true,"input":{"questions":[{"question":"Tea or coffee?","header":"Drink","options":[{"label":"Tea","description":"green"},{"label":"Coffee","description":"black"}],"multiSelect":false}]}}}"#;

#[test]
fn questions_are_typed_and_their_answers_go_back_beside_them() {
    let mut world = World::new(LIMITS);
    world.agent(QUESTIONS);
    let PermissionKind::Questions(questions) = &world.permissions[0].kind else {
        panic!("{:?}", world.permissions);
    };
    assert_eq!(questions[0].options[1].label, "Coffee");
    let plan = PermissionAnswer::ApprovePlan { mode: None };
    assert!(matches!(
        answer_as(&mut world, "x", plan),
        Err(DialogueError::WrongAnswer { .. })
    ));
    let answers = vec![("Tea or coffee?".to_owned(), "Tea".to_owned())];
    let answers = PermissionAnswer::Answers(answers);
    assert_eq!(answer_as(&mut world, "x", answers), Ok(Reply::Done));
    let line: serde_json::Value = serde_json::from_str(&world.lines[0]).expect("JSON");
    let input = &line["response"]["response"]["updatedInput"];
    assert_eq!(input["answers"]["Tea or coffee?"], "Tea");
    assert_eq!(input["questions"][0]["header"], "Drink");
}

const PLAN: &str = r##"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","tool_use_id":"t1","input":{"plan":"# Build it"}}}"##;

#[test]
fn a_plan_is_approved_with_a_mode_or_sent_back_with_a_reason() {
    let mut world = World::new(LIMITS);
    world.agent(PLAN);
    let wanted = PermissionKind::Plan {
        plan: "# Build it".into(),
    };
    assert_eq!(world.permissions[0].kind, wanted);
    let approve = PermissionAnswer::ApprovePlan {
        mode: Some("acceptEdits".into()),
    };
    assert_eq!(answer_as(&mut world, "x", approve), Ok(Reply::Done));
    assert!(
        world.lines[0].contains(r#""type":"setMode""#),
        "{}",
        world.lines[0]
    );
    assert!(
        world.lines[0].contains(r#""mode":"acceptEdits""#),
        "{}",
        world.lines[0]
    );

    let mut world = World::new(LIMITS);
    world.agent(PLAN);
    let reject = PermissionAnswer::RejectPlan {
        feedback: "too long".into(),
    };
    assert_eq!(answer_as(&mut world, "x", reject), Ok(Reply::Done));
    assert!(
        world.lines[0].contains(r#""message":"too long""#),
        "{}",
        world.lines[0]
    );
}

#[test]
fn requests_are_withdrawn_orphaned_or_expired() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    world.agent(r#"{"type":"control_cancel_request","request_id":"r1"}"#);
    world.agent(r#"{"type":"control_cancel_request","request_id":"r1"}"#);
    world.agent(&ASK.replace("r1", "r2"));
    world.send("u1");
    world.agent(r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","user_message_uuid":"u1","uuid":"c"}"#);
    world.agent(&ASK.replace("r1", "r3"));
    world.exit(1);
    use RequestState::{Expired, Open, Orphaned, Withdrawn};
    assert_eq!(
        states(&world),
        [Open, Withdrawn, Open, Expired, Open, Orphaned]
    );
    let error = answer_as(&mut world, "x", Decision::allow());
    assert_eq!(error, Err(DialogueError::Ended));
}

fn answer_to(world: &mut World, request_id: &str) -> Result<Reply, DialogueError> {
    let command = Command::Answer {
        request_id: request_id.into(),
        answer: Decision::allow().into(),
        by: None,
    };
    world.input(Input::Command(command, 9));
    world.replies.pop().expect("a reply").1
}

#[test]
fn the_last_closed_requests_are_remembered_and_every_open_one() {
    let mut world = World::new(LIMITS);
    world.agent(ASK);
    for n in 0..=256 {
        let id = format!("many{n}");
        world.agent(&ASK.replace("r1", &id).replace("t1", &format!("t{n}")));
        assert_eq!(answer_to(&mut world, &id), Ok(Reply::Done));
    }
    let forgotten = answer_to(&mut world, "many0");
    assert!(
        matches!(forgotten, Err(DialogueError::NoSuchRequest { .. })),
        "{forgotten:?}"
    );
    assert_eq!(answer_to(&mut world, "many1"), Ok(Reply::Done));
    assert_eq!(answer_to(&mut world, "many256"), Ok(Reply::Done));
    assert_eq!(world.lines.len(), 257);
    assert_eq!(answer_to(&mut world, "r1"), Ok(Reply::Done), "it is open");
    assert_eq!(world.lines.len(), 258);
}
