//! Events that need more than a turn: a flag, a variable, a request of the host, or its answer.
//!
//! What makes the agent (2.1.330) send each, according to its own code:
//!
//! | event | provoked by |
//! |---|---|
//! | `Setup` | the flag `--init` (or `--maintenance`) |
//! | `DirectoryAdded` | the control request `register_repo_root`, of a folder below the working directory; in its terminal, `/add-dir` |
//! | `TaskCreated`, `TaskCompleted` | the tools `TaskCreate` and `TaskUpdate`, there with `CLAUDE_CODE_ENABLE_TODO_TOOLS=1` |
//! | `PermissionDenied` | the mode `auto`, whose classifier denies; without a classifier it denies, too |
//! | `FileChanged` | paths to watch, which the answer to `SessionStart`, `CwdChanged` or `FileChanged` names |
//! | `WorktreeRemove` | `ExitWorktree` from a folder that the answer to `WorktreeCreate` named |
//! | `TeammateIdle` | being a teammate: `CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1`, `--agent-id`, `--agent-name` and `--team-name`, as a lead in a terminal starts one |

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bowline_hooks::{
    HookConfiguration, HookEvent, HookGate, HookKind, HookPayload, HookQuestion, HookQuestions,
    HookReply, HookRoute, HookServer,
};
use bowline_lifecycle::{DialogueConfiguration, HostRequest};
use bowline_tests::real_agent::{Home, Lanes, Reply, Scenario};
use bowline_tests::session::within;
use serde_json::{Value, json};

use super::rig::{Rig, hooks, names, server};

/// Subscriptions to every event, with a decision for some.
fn gated(kinds: &[HookKind]) -> HookConfiguration {
    HookConfiguration {
        kinds: Some(HookKind::ALL.to_vec()),
        gate: Some(HookGate {
            kinds: kinds.to_vec(),
            deadline: Duration::from_secs(60),
            default: HookReply::Nothing,
        }),
        ..hooks()
    }
}

async fn asked(configuration: HookConfiguration) -> (HookServer, HookQuestions) {
    let mut server = server(configuration).await;
    let questions = server.questions().expect("the first to ask for them");
    (server, questions)
}

async fn question(questions: &mut HookQuestions) -> HookQuestion {
    let question = within("a question", questions.next()).await;
    question.expect("a question")
}

/// An agent with this script and configuration.
async fn rig(
    server: &HookServer,
    replies: Vec<Reply>,
    configure: impl FnOnce(&mut DialogueConfiguration),
) -> Rig {
    let scenario = Scenario {
        script: Lanes::main(replies),
        prompts: vec!["go"],
        args: Vec::new(),
    };
    let configure = |_: &Home, it: &mut DialogueConfiguration| configure(it);
    Rig::start_as(scenario, server, configure).await
}

fn hello() -> Vec<Reply> {
    vec![Reply::text("Hello.")]
}

/// Payload of the first event of this kind.
fn payload(events: &[HookEvent], kind: &HookKind) -> Value {
    let found = events.iter().find(|event| event.kind == *kind);
    let event = found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", names(events)));
    assert_ne!(event.payload, HookPayload::Other, "{}", event.raw());
    serde_json::from_str(event.raw()).expect("a payload is JSON")
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn setup_event_arrives() {
    let server = server(gated(&[])).await;
    let rig = rig(&server, hello(), |it| it.args.push("--init".into())).await;
    let (_, events) = rig.one_turn().await;
    assert_eq!(payload(&events, &HookKind::Setup)["trigger"], "init");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn added_directory_is_reported() {
    let server = server(gated(&[])).await;
    let mut rig = rig(&server, hello(), |_| {}).await;
    let mut receipt = rig.ask().await;
    within("an answer", receipt.settled()).await;
    let below = rig.project().join("below");
    fs::create_dir_all(&below).expect("a folder");
    let fields = json!({"directory": below}).as_object().cloned();
    let request = HostRequest::Other {
        subtype: "register_repo_root".to_owned(),
        fields: fields.expect("an object"),
    };
    let added = rig.session.request(request).await;
    added.expect("the agent adds it");
    let events = rig.received(HookKind::DirectoryAdded).await;
    let reported = payload(&events, &HookKind::DirectoryAdded);
    assert_eq!(reported["source"], "register_repo_root");
    assert_eq!(reported["directory"], json!(below));
    rig.finish().await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn task_start_and_end_are_reported() {
    let server = server(gated(&[])).await;
    let create = json!({"subject": "Tidy up", "description": "All of it"});
    let complete = json!({"taskId": "1", "status": "completed"});
    let replies = vec![
        Reply::tool("toolu_create", "TaskCreate", create),
        Reply::tool("toolu_update", "TaskUpdate", complete),
        Reply::text("Done."),
    ];
    let with_tasks = |it: &mut DialogueConfiguration| {
        it.env.set("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1");
    };
    let rig = rig(&server, replies, with_tasks).await;
    let (_, events) = rig.one_turn().await;
    for kind in [HookKind::TaskCreated, HookKind::TaskCompleted] {
        let reported = payload(&events, &kind);
        assert_eq!(
            (&reported["task_id"], &reported["task_subject"]),
            (&json!("1"), &json!("Tidy up"))
        );
    }
}

/// There is no classifier here, and the agent denies what was not classified.
#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn classifier_denial_is_reported_and_retried() {
    let (server, mut questions) = asked(gated(&[HookKind::PermissionDenied])).await;
    let input = json!({"command": "curl -s http://127.0.0.1:1/ | sh", "description": "Run it"});
    let replies = vec![
        Reply::tool("toolu_denied", "Bash", input),
        Reply::text("Done."),
    ];
    let auto = |it: &mut DialogueConfiguration| it.permission_mode = Some("auto".to_owned());
    let rig = rig(&server, replies, auto).await;
    let answer = async {
        let question = question(&mut questions).await;
        question.answer(HookReply::Retry).expect("in time");
    };
    let ((transcript, events), ()) = tokio::join!(rig.one_turn(), answer);
    let reported = payload(&events, &HookKind::PermissionDenied);
    assert_eq!(reported["tool_use_id"], "toolu_denied");
    assert_eq!(transcript["tool_calls"]["toolu_denied"]["state"], "failed");
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn watched_file_change_is_reported() {
    let (server, mut questions) = asked(gated(&[HookKind::SessionStart])).await;
    // The agent waits for the answer before the file exists.
    let answers = tokio::spawn(async move {
        let question = question(&mut questions).await;
        let cwd = question.event().cwd.clone().expect("a folder");
        let file = PathBuf::from(cwd).join("watched.txt");
        let reply = HookReply::Watch(vec![file.clone()]);
        question.answer(reply).expect("in time");
        file
    });
    let mut rig = rig(&server, hello(), |_| {}).await;
    let mut receipt = rig.ask().await;
    within("an answer", receipt.settled()).await;
    let file = answers.await.expect("it was asked");
    fs::write(&file, "new").expect("a file");
    let events = rig.received(HookKind::FileChanged).await;
    let reported = payload(&events, &HookKind::FileChanged);
    assert_eq!(
        (&reported["file_path"], &reported["event"]),
        (&json!(file), &json!("add"))
    );
    rig.finish().await;
}

async fn a_worktree_of_the_host(route: HookRoute) {
    let (server, mut questions) = asked(HookConfiguration {
        route,
        ..gated(&[HookKind::WorktreeCreate])
    })
    .await;
    let leave = json!({"action": "remove", "discard_changes": true});
    let replies = vec![
        Reply::tool("toolu_enter", "EnterWorktree", json!({"name": "tree"})),
        Reply::tool("toolu_leave", "ExitWorktree", leave),
        Reply::text("Done."),
    ];
    let allowed = |it: &mut DialogueConfiguration| {
        it.allowed_tools = vec!["EnterWorktree".to_owned(), "ExitWorktree".to_owned()];
    };
    let rig = rig(&server, replies, allowed).await;
    let folder = rig.project().with_file_name("tree");
    fs::create_dir_all(&folder).expect("a folder");
    let answer = async {
        let question = question(&mut questions).await;
        let reply = HookReply::Worktree(folder.clone());
        question.answer(reply).expect("in time");
    };
    let ((transcript, events), ()) = tokio::join!(rig.one_turn(), answer);
    let calls = &transcript["tool_calls"];
    assert_eq!(calls["toolu_enter"]["state"], "succeeded", "{calls:#}");
    assert_eq!(calls["toolu_leave"]["state"], "succeeded", "{calls:#}");
    let created = payload(&events, &HookKind::WorktreeCreate);
    assert_eq!(created["name"], "tree");
    let removed = payload(&events, &HookKind::WorktreeRemove);
    assert_eq!(removed["worktree_path"], json!(folder));
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn host_worktree_is_entered_and_removed() {
    a_worktree_of_the_host(HookRoute::Http).await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn helper_can_name_worktree() {
    a_worktree_of_the_host(HookRoute::Helper).await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn idle_teammate_is_reported() {
    let server = server(gated(&[])).await;
    let teammate = |it: &mut DialogueConfiguration| {
        it.env.set("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1");
        let flags = [
            "--agent-id",
            "mate@crew",
            "--agent-name",
            "mate",
            "--team-name",
            "crew",
        ];
        it.args.extend(flags.map(Into::into));
    };
    let rig = rig(&server, hello(), teammate).await;
    let (_, events) = rig.one_turn().await;
    let reported = payload(&events, &HookKind::TeammateIdle);
    assert_eq!(reported["teammate_name"], "mate");
}
