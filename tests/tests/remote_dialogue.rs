//! Dialogues at a real runner: their transcript equals that of a local dialogue, across failures of
//! links, hosts and the runner.

#[path = "remote_dialogue/bindings.rs"]
mod bindings;
#[path = "remote_dialogue/both_directions.rs"]
mod both_directions;
#[path = "remote_dialogue/grpc.rs"]
mod grpc;
#[path = "remote_dialogue/links.rs"]
mod links;
#[path = "remote_dialogue/rig.rs"]
mod rig;
#[path = "remote_dialogue/shells.rs"]
mod shells;
#[path = "remote_dialogue/spans.rs"]
mod spans;

use std::task::Poll;

use bowline_lifecycle::{
    AgentLocation, ConnectionState, Decision, DialectName, DialogueError, DialogueSession,
    ExitStatus, Prompt, ReconnectFailure, RemoteError, SessionId, StartError,
};
use bowline_tests::session::{answered, converse, entries, kinds, terminate, transcript, within};

use bowline_tests::normalize::{normalized, same};
use bytes::Bytes;
use rig::{Rig, transcript_of};
use serde_json::Value;

#[tokio::test]
async fn runner_dialogue_equals_local_one() {
    let rig = Rig::new().await;
    let mut here = rig.configuration();
    here.location = AgentLocation::Local;
    let expected = transcript_of(DialogueSession::start(here).await).await;
    let remote = transcript_of(DialogueSession::start(rig.configuration()).await).await;
    same(&remote, &expected, "transcript");
}

#[tokio::test]
async fn dialogue_end_reports_agent_exit() {
    let rig = Rig::new().await;
    let session = rig.start().await;
    answered(&session, "hello").await;
    let end = within("the end", session.end()).await;
    assert_eq!((end.exit.status, end.expected), (ExitStatus::Code(0), true));

    let session = rig.start().await;
    let receipt = session.send(Prompt::text("/exit 3"));
    receipt.await.expect("it is sent");
    let end = within("the end", session.ended()).await;
    assert_eq!(
        (end.exit.status, end.expected),
        (ExitStatus::Code(3), false)
    );
    let left = transcript(&session).await;
    let errors = entries(&left, "error");
    assert_eq!(errors[0]["error"], "unexpected_exit", "{left:#}");
}

#[tokio::test]
async fn killed_host_is_replaced() {
    let rig = Rig::new().await;
    // A separate runtime, so that the host can be dropped at any point.
    let configuration = rig.configuration();
    let (sender, transcript_of) = std::sync::mpsc::channel();
    let host = tokio::runtime::Runtime::new().expect("a runtime");
    host.spawn(async move {
        let session = DialogueSession::start(configuration)
            .await
            .expect("it starts");
        converse(&session).await;
        sender
            .send((session.id(), normalized(transcript(&session).await)))
            .expect("the test listens");
        // The host never detaches.
        std::future::pending::<()>().await;
    });
    let wait = tokio::task::spawn_blocking(move || transcript_of.recv().expect("the host speaks"));
    let (id, before) = within("a conversation", wait).await.expect("no panic");
    host.shutdown_background();

    let session = rig.attach(id).await.expect("it is there");
    let after = normalized(transcript(&session).await);
    same(&after, &before, "transcript");
    answered(&session, "are you still there?").await;
    terminate(&session).await;
}

#[tokio::test]
async fn detached_dialogue_continues() {
    let rig = Rig::new().await;
    let session = rig.start().await;
    answered(&session, "one").await;
    let id = session.id();
    let end = within("the detach", session.detach())
        .await
        .expect("it is remote");
    assert!(end.expected && end.report.killed.is_empty());
    assert!(matches!(
        session.send(Prompt::text("late")).await,
        Err(DialogueError::Ended)
    ));

    let session = rig.attach(id).await.expect("it is there");
    answered(&session, "two").await;
    let now = transcript(&session).await;
    assert_eq!(entries(&now, "result").len(), 2);
    terminate(&session).await;
    let mut here = rig.configuration();
    here.location = AgentLocation::Local;
    let local = DialogueSession::start(here).await.expect("it starts");
    assert!(matches!(
        local.detach().await,
        Err(DialogueError::NotDetachable)
    ));
}

#[tokio::test]
async fn restarted_runner_recovers_dialogues() {
    let mut rig = Rig::new().await;
    let session = rig.start().await;
    answered(&session, "before").await;
    rig.restart().await;
    answered(&session, "after").await;
    let now = transcript(&session).await;
    assert_eq!(
        kinds(&now),
        ["user", "assistant", "result", "user", "assistant", "result"]
    );
    terminate(&session).await;
}

#[tokio::test]
async fn refusals_are_typed_errors() {
    let rig = Rig::new().await;
    let mut missing = rig.configuration();
    missing.program = "no-such-agent-anywhere".into();
    let refused = DialogueSession::start(missing).await;
    let Err(StartError::Remote(RemoteError::Refused { detail, .. })) = &refused else {
        panic!("{refused:?}");
    };
    assert!(detail.contains("no-such-agent-anywhere"), "{detail}");

    let id = SessionId::random();
    let refused = rig.attach(id).await;
    let gone = ReconnectFailure::Gone;
    assert!(
        matches!(&refused, Err(StartError::Remote(RemoteError::Link { failure, .. })) if *failure == gone),
        "{refused:?}"
    );
}

#[tokio::test]
async fn attach_returns_with_folded_history() {
    let rig = Rig::new().await;
    let mut session = rig.start().await;
    answered(&session, "hello").await;
    for host in 0..20 {
        let attached = rig.attach(session.id()).await.expect("it is there");
        let now = transcript(&attached).await;
        assert_eq!(entries(&now, "result").len(), 1, "host {host}");
        session = attached;
    }
    terminate(&session).await;
}

#[tokio::test]
async fn fenced_host_is_refused() {
    let rig = Rig::new().await;
    let session = rig.start().await;
    let mut connection = session.connection();
    let other = rig.attach(session.id()).await.expect("it is there");
    let fenced = connection.wait_for(ConnectionState::is_failed);
    within("the fence", fenced).await.expect("it is published");
    let refused = session.send(Prompt::text("stale")).await;
    let Err(DialogueError::Disconnected(failed)) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(failed.failure, ReconnectFailure::Fenced);
    let refused = session
        .answer_permission("r1", Decision::allow())
        .await
        .expect_err("it is fenced");
    assert!(
        matches!(refused, DialogueError::Disconnected(_)),
        "{refused}"
    );
    drop(session);
    answered(&other, "still there?").await;
    terminate(&other).await;
}

#[tokio::test]
async fn dropping_last_handle_leaves_remote_agent_running() {
    let rig = Rig::new().await;
    let session = rig.start().await;
    answered(&session, "one").await;
    let id = session.id();
    drop(session);
    let session = rig.attach(id).await.expect("it is there");
    answered(&session, "two").await;
    let now = transcript(&session).await;
    assert_eq!(entries(&now, "result").len(), 2);
    terminate(&session).await;
}

/// Polls a future up to `polls` times, each time when it is woken, and then drops it.
async fn polled<T>(work: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut work = std::pin::pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        work.as_mut().poll(context).map(Some)
    })
    .await
}

#[tokio::test]
async fn dropped_start_leaves_no_agent_at_runner() {
    let rig = Rig::new().await;
    let remote = rig.remote();
    for dialect in [DialectName::Claude, DialectName::Codex, DialectName::Acp] {
        let mut dropped = 0;
        for polls in 1..40 {
            let mut configuration = rig.configuration();
            configuration.dialect = dialect;
            let args = ["--dialect", dialect.as_str()];
            configuration.args.extend(args.map(Into::into));
            match polled(DialogueSession::start(configuration), polls).await {
                None => dropped += 1,
                Some(started) => drop(terminate(&started.expect("it starts")).await),
            }
        }
        assert!(dropped > 3, "{dropped} starts were dropped");
    }
    // By its end, the runner has received all earlier requests.
    terminate(&rig.start().await).await;
    within("an empty runner", async {
        loop {
            let list = remote.ask("GET", "/api/sessions", Bytes::new()).await;
            let list: Value = serde_json::from_slice(&list.expect("a list").1).expect("JSON");
            let sessions = list["sessions"].as_array().expect("sessions");
            if sessions.iter().all(|it| !it["ended_ms"].is_null()) {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}
