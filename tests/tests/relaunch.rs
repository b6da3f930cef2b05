//! Hosts that are killed or shut down, and find their sessions again.

#[path = "relaunch/rig.rs"]
mod rig;

use std::collections::HashSet;

use bowline_lifecycle::{
    Decision, DialogueConfiguration, DialogueSession, InboxEvent, RequestState, SessionId,
    TerminalRegistry,
};
use bowline_manager::{EndReason, ManagerError, SessionInfo, SessionManager};
use bowline_shell::SessionState;
use bowline_tests::session::{answered, entries, terminate, transcript, until, within};
use rig::{App, LOCAL, REMOTE, Rig, agent, is_gone, open, prompts_of};
use serde_json::Value;

/// The host of the other test, in a process of its own. Runs until it is killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by killed_host_finds_its_sessions_again"]
async fn host_process() {
    if let Some(app) = App::from_environment() {
        app.run().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_host_finds_its_sessions_again() {
    let rig = Rig::start().await;
    let mut process = rig.spawn_host("host_process");
    let children = within("the sessions of the host", process.ready()).await;
    process.kill().await;
    for pid in children {
        within("the end of a guarded process", is_gone(pid)).await;
    }

    let mut inbox = TerminalRegistry::shared().inbox();
    let manager = open(rig.folder());
    let (remote, local): (Vec<_>, Vec<_>) = manager
        .list()
        .into_iter()
        .partition(|it| it.runner.is_some());
    assert_eq!((remote.len(), local.len()), (REMOTE, LOCAL));
    for info in &local {
        let end = info.end.as_ref().expect("it is said to have ended");
        assert_eq!(end.reason, EndReason::HostLost);
    }
    for info in &remote {
        assert_eq!((info.state, &info.end), (SessionState::Detached, &None));
        let refused = manager.dialogue(info.id).expect_err("not attached");
        assert_eq!(refused.code(), "NOT_ATTACHED");
    }
    let list = std::fs::read_to_string(rig.folder().join("app/state.json")).expect("a list");
    assert!(!list.contains(&rig.token()), "the token is in the list");

    let runners = [rig.remote()];
    let reattached = manager.reattach(&runners, DialogueConfiguration::default());
    let report = within("the attachments", reattached).await;
    assert!(
        report.failed.is_empty() && report.ended.is_empty(),
        "{report:?}"
    );
    assert_eq!(report.attached.len(), REMOTE);

    // The inbox of the new host has the requests that wait, each once, and none of those that were answered.
    let of_rig: HashSet<_> = remote.iter().map(at_runner).collect();
    let asking = remote.iter().filter(|it| it.label.starts_with("asking"));
    let asking: HashSet<_> = asking.map(at_runner).collect();
    let mut open = HashSet::new();
    while open.len() < asking.len() {
        if let InboxEvent::Opened(it) = within("a request", inbox.next()).await
            && of_rig.contains(&it.session)
        {
            assert!(open.insert(it.session), "asked twice: {it:?}");
        }
    }
    assert_eq!(open, asking);

    for info in &remote {
        let session = manager.dialogue(info.id).expect("it is attached");
        check_session(&manager, info, &session).await;
    }
    // Answers close what is open; nothing is asked again.
    while let Some(event) = inbox.try_next() {
        match event {
            InboxEvent::Opened(it) => assert!(!of_rig.contains(&it.session), "asked twice: {it:?}"),
            InboxEvent::Closed(it) if of_rig.contains(&it.session) => {
                assert!(open.remove(&it.session))
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let names: Vec<_> = rig.sessions().await;
    assert_eq!(names.len(), REMOTE);
    for info in &remote {
        assert!(names.contains(&info.label), "{names:?}");
    }
    let ended = within("the end of all", manager.end_all()).await;
    assert_eq!(ended.sessions.len(), REMOTE);
    assert!(manager.list().iter().all(|it| it.end.is_some()));
}

/// Returns the id that a session has at its runner.
fn at_runner(info: &SessionInfo) -> SessionId {
    info.runner.as_ref().expect("at a runner").session
}

/// Checks that a session has its whole transcript, and continues; and that its permission was asked once.
async fn check_session(manager: &SessionManager, info: &SessionInfo, session: &DialogueSession) {
    let label = &info.label;
    let sent = prompts_of(label);
    let now = until(session, "the prompts", |it| {
        entries(it, "user").len() == sent.len()
    })
    .await;
    let texts: Vec<_> = entries(&now, "user")
        .iter()
        .map(|it| it["text"].clone())
        .collect();
    assert_eq!(texts, sent, "{label}");
    let metadata = within("the metadata", manager.metadata(info.id)).await;
    let metadata = metadata.expect("it is read");
    assert_eq!(metadata.as_deref(), Some(&*format!("draft of {label}")));

    let open: Vec<_> = session.permissions().open().cloned().collect();
    let is_asking = label.starts_with("asking");
    assert_eq!(open.len(), usize::from(is_asking), "{label}: {now:#}");
    for request in open {
        let answer = session.answer_permission(&*request.request_id, Decision::allow());
        within("the answer", answer).await.expect("it is open");
    }
    let done = until(session, "the results", |it| {
        entries(it, "result").len() == sent.len()
    })
    .await;
    let permissions = done["permissions"].as_array().expect("permissions");
    let asks = usize::from(is_asking || label.starts_with("answered"));
    assert_eq!(permissions.len(), asks, "{label}: {permissions:?}");
    for request in session.permissions().iter() {
        assert_eq!(request.state, RequestState::Answered, "{label}");
    }
    let calls = done["tool_calls"].as_object().expect("calls").values();
    assert!(
        calls.clone().all(|it| it["state"] == "succeeded"),
        "{label}"
    );
    answered(session, "go on").await;
    let entries_now = entries(&transcript(session).await, "error").len();
    assert_eq!(entries_now, 0, "{label}");
}

#[tokio::test(flavor = "multi_thread")]
async fn host_detaches_and_returns() {
    let rig = Rig::start().await;
    let manager = open(rig.folder());
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        let info = manager.create_dialogue(rig.remote_agent(), name).await;
        ids.push(info.expect("it starts").id);
    }
    let local = manager
        .create_dialogue(agent(), "local")
        .await
        .expect("it starts")
        .id;
    answered(&manager.dialogue(ids[0]).expect("attached"), "hello").await;
    let refused = manager
        .set_metadata(ids[0], Some("m".repeat((64 << 10) + 1)))
        .await;
    assert!(matches!(
        refused,
        Err(ManagerError::MetadataTooLarge {
            bytes: 65_537,
            limit: 65_536
        })
    ));
    let stored = manager
        .set_metadata(ids[0], Some("{\"order\":1}".into()))
        .await;
    stored.expect("it fits");
    let report = within("the shutdown", manager.detach_all()).await;
    let ended: Vec<_> = report.sessions.iter().map(|(id, _)| *id).collect();
    assert_eq!(ended, [local], "only the local one");
    for id in &ids {
        let info = manager.get(*id).expect("listed");
        assert_eq!((info.state, info.end), (SessionState::Detached, None));
    }
    drop(manager);
    let manager = open(rig.folder());
    let lost = at_runner(&manager.get(ids[1]).expect("listed"));
    let ended = at_runner(&manager.get(ids[2]).expect("listed"));
    rig.end(lost, true).await;
    rig.end(ended, false).await;
    let without = manager
        .reattach(&[], DialogueConfiguration::default())
        .await;
    assert!(
        without
            .failed
            .iter()
            .all(|(_, error)| error.code() == "NO_RUNNER")
    );
    assert_eq!(
        without.failed.len(),
        3,
        "nothing is lost for want of a runner"
    );
    let runners = [rig.remote()];
    let report = manager.reattach(&runners, DialogueConfiguration::default());
    let report = within("the attachments", report).await;
    assert_eq!(report.attached, [ids[0]], "{report:?}");
    assert_eq!(report.ended.len(), 2, "{report:?}");
    let reason = |id| manager.get(id).and_then(|it| it.end).map(|it| it.reason);
    within("the observed end", async {
        let mut events = manager.subscribe();
        while reason(ids[2]).is_none() {
            events.next().await;
        }
    })
    .await;
    assert_eq!(reason(ids[1]), Some(EndReason::Lost));
    assert_eq!(reason(ids[2]), Some(EndReason::Exited));
    let metadata = rig
        .metadata(at_runner(&manager.get(ids[0]).expect("listed")))
        .await;
    assert_eq!(metadata, Value::from("{\"order\":1}"));
    let attached = manager.dialogue(ids[0]).expect("attached");
    assert_eq!(entries(&transcript(&attached).await, "result").len(), 1);
    terminate(&attached).await;
}
