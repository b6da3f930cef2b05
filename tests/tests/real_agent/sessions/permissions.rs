//! Permission requests: allowed, rewritten, denied, and answered by the first of two clients.

use bowline_lifecycle::{
    Decision, DialogueError, PermissionAnswer, PermissionKind, ReceiptState, RequestState,
    TerminalRegistry,
};
use bowline_tests::real_agent::scenario::{self, AGENT_BASH_CALL, TOOL_CALL};
use bowline_tests::real_agent::{Agent, Home};
use bowline_tests::session::within;
use serde_json::Value;

use super::rig::{Rig, result_text};

/// The id of the open permission request for `tool`.
fn open_request(transcript: &Value, tool: &str) -> Option<String> {
    let requests = transcript["permissions"]
        .as_array()
        .expect("permissions")
        .iter();
    let mut open = requests.filter(|it| it["state"] == "open" && it["tool_name"] == tool);
    open.next()
        .map(|it| it["request_id"].as_str().expect("an id").to_owned())
}

async fn answer_permission(rig: &Rig, tool: &str, decision: Decision) {
    let now = rig
        .until("a question", |it| open_request(it, tool).is_some())
        .await;
    assert_eq!(now["status"]["phase"], "awaiting_permission");
    let id = open_request(&now, tool).expect("an open request");
    rig.session
        .answer_permission(&id, decision.clone())
        .await
        .expect("the first answer counts");
    rig.session
        .answer_permission(&id, decision)
        .await
        .expect("the same answer again changes nothing");
    let other = Decision::deny("answered by another host");
    let second = rig.session.answer_permission(&id, other).await;
    assert!(second.is_err(), "another answer is refused as late");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn permission_rewritten_and_denied() {
    let agent = Agent::for_test();
    let home = Home::new().expect("a temporary home");
    let scenario = scenario::permission(&home.project());
    let rig = Rig::start_in(&agent, home, scenario, |_| {}).await;
    let mut receipt = rig.send(0).await;
    let file = rig.home.project().join("elsewhere.txt");
    let rewritten = serde_json::json!({ "file_path": file, "content": "rewritten\n" });
    let rewrite = Decision::Allow {
        updated_input: Some(rewritten.to_string()),
        updated_permissions: None,
    };
    answer_permission(&rig, "Write", rewrite).await;
    answer_permission(&rig, "Bash", Decision::deny("not today")).await;
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
    assert_eq!(
        std::fs::read_to_string(&file).expect("the rewritten file"),
        "rewritten\n"
    );
    assert!(!rig.home.project().join("permitted.txt").exists());
    assert!(!rig.home.project().join("touched").exists());
    let (transcript, _) = rig.finish().await;
    assert_eq!(transcript["tool_calls"][TOOL_CALL]["state"], "succeeded");
    let denied = &transcript["tool_calls"][AGENT_BASH_CALL];
    assert_eq!(denied["state"], "failed");
    assert!(result_text(denied).contains("not today"), "{denied:#}");
    let states: Vec<_> = transcript["permissions"]
        .as_array()
        .expect("permissions")
        .iter()
        .map(|it| it["state"].as_str().expect("a state"))
        .collect();
    assert_eq!(states, ["allowed", "denied"]);
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn permission_allowed() {
    let agent = Agent::for_test();
    let home = Home::new().expect("a temporary home");
    let scenario = scenario::permission(&home.project());
    let rig = Rig::start_in(&agent, home, scenario, |_| {}).await;
    let mut receipt = rig.send(0).await;
    answer_permission(&rig, "Write", Decision::allow()).await;
    answer_permission(&rig, "Bash", Decision::allow()).await;
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
    let file = rig.home.project().join("permitted.txt");
    assert_eq!(
        std::fs::read_to_string(file).expect("the file"),
        "permitted\n"
    );
    let (transcript, _) = rig.finish().await;
    assert_eq!(
        result_text(&transcript["tool_calls"][AGENT_BASH_CALL]),
        "done"
    );
}

/// The open request of a session in the session list.
async fn listed(rig: &Rig, tool: &str) -> std::sync::Arc<bowline_lifecycle::PermissionRecord> {
    rig.until("a question", |it| open_request(it, tool).is_some())
        .await;
    let all = TerminalRegistry::shared().open_permissions();
    let mut own = all
        .into_iter()
        .filter(|it| it.session == rig.session.id() && it.record.tool_name == tool);
    own.next().expect("it is listed").record
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn permission_is_answered_by_one_of_two_clients() {
    let agent = Agent::for_test();
    let home = Home::new().expect("a temporary home");
    let scenario = scenario::permission(&home.project());
    let rig = Rig::start_in(&agent, home, scenario, |_| {}).await;
    let mut receipt = rig.send(0).await;
    for tool in ["Write", "Bash"] {
        let record = listed(&rig, tool).await;
        assert_eq!(record.kind, PermissionKind::Tool);
        let (id, session) = (record.request_id.clone(), &rig.session);
        let laptop = session.answer_permission_as("laptop", id.clone(), Decision::allow());
        let registry = TerminalRegistry::shared();
        let phone = Some("phone".to_owned());
        let phone = registry.answer_permission(session.id(), &id, Decision::deny("no"), phone);
        let (laptop, phone) = within("two answers", async { tokio::join!(laptop, phone) }).await;
        let late = match (laptop, phone) {
            (Ok(()), Err(late)) | (Err(late), Ok(())) => late,
            other => panic!("one of them is first: {other:?}"),
        };
        let DialogueError::TooLate { by, .. } = late else {
            panic!("{late:?}");
        };
        assert!(["laptop", "phone"].contains(&by.as_deref().expect("a name")));
    }
    within("an answer", receipt.settled()).await;
    let all = TerminalRegistry::shared().permissions();
    let own = all.iter().filter(|it| it.session == rig.session.id());
    let states: Vec<_> = own.map(|it| it.record.state).collect();
    assert_eq!(states, [RequestState::Answered; 2]);
    rig.finish().await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn questions_and_plans_are_answered() {
    let agent = Agent::for_test();
    let home = Home::new().expect("a temporary home");
    let rig = Rig::start_in(&agent, home, scenario::questions_and_plan(), |it| {
        it.permission_mode = Some("plan".to_owned());
    })
    .await;
    let mut receipt = rig.send(0).await;
    let asked = listed(&rig, "AskUserQuestion").await;
    let PermissionKind::Questions(questions) = &asked.kind else {
        panic!("{asked:?}");
    };
    let (question, blue) = (&questions[0], &questions[0].options[1].label);
    assert_eq!(question.question, "Which colour?");
    let answers = PermissionAnswer::Answers(vec![(question.question.clone(), blue.clone())]);
    let answered = rig.session.answer_permission(&asked.request_id, answers);
    answered.await.expect("an answer that fits");
    let planned = listed(&rig, "ExitPlanMode").await;
    let PermissionKind::Plan { .. } = &planned.kind else {
        panic!("{planned:?}");
    };
    let approve = PermissionAnswer::ApprovePlan {
        mode: Some("acceptEdits".to_owned()),
    };
    let answered = rig.session.answer_permission(&planned.request_id, approve);
    answered.await.expect("an answer that fits");
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
    let (transcript, _) = rig.finish().await;
    let answer = result_text(&transcript["tool_calls"][TOOL_CALL]);
    assert!(answer.contains("Blue"), "{answer}");
    let plan = &transcript["tool_calls"][AGENT_BASH_CALL];
    assert_eq!(plan["state"], "succeeded", "{plan:#}");
    assert_eq!(transcript["permission_mode"], "acceptEdits");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn killed_agent_orphans_its_request() {
    let agent = Agent::for_test();
    let home = Home::new().expect("a temporary home");
    let scenario = scenario::permission(&home.project());
    let rig = Rig::start_in(&agent, home, scenario, |_| {}).await;
    rig.send(0).await;
    let record = listed(&rig, "Write").await;
    rig.session
        .signal(bowline_lifecycle::Signal::Kill)
        .expect("the agent is there");
    within("the end", rig.session.ended()).await;
    let late = rig
        .session
        .answer_permission(&record.request_id, Decision::allow())
        .await;
    assert_eq!(late, Err(DialogueError::Ended));
    let left = bowline_tests::session::transcript(&rig.session).await;
    let state = &left["permissions"][0]["state"];
    assert!(state == "expired" || state == "orphaned", "{left:#}");
}
