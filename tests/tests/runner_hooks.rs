//! Hooks of agents at runners: served there, decided here.

#[path = "daemon_driver/rig.rs"]
#[expect(
    dead_code,
    reason = "shared with the tests of conversations that the daemon drives"
)]
mod rig;
#[path = "daemon_driver/stream.rs"]
#[expect(dead_code, reason = "shared with the same tests")]
mod stream;

use std::time::Duration;

use bowline::hooks::{
    HookConfiguration, HookGate, HookHelper, HookKind, HookQuestion, HookQuestions, HookReply,
    HookServer, HookServerError,
};
use bowline_lifecycle::{
    AgentLocation, DialogueConfiguration, DialogueSession, HookFeed, Prompt, Remote, StartError,
    TokenFile,
};
use bowline_tests::runner::{runner_token, start_runner};
use bowline_tests::session::{answered, terminate, until, within};
use rig::Daemon;
use serde_json::Value;

async fn server(deadline: Duration) -> (HookServer, HookQuestions) {
    let mut server = HookServer::start(HookConfiguration {
        gate: Some(HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline,
            default: HookReply::deny("no host"),
        }),
        ..HookConfiguration::default()
    })
    .await
    .expect("a server");
    let questions = server.questions().expect("the first call");
    (server, questions)
}

fn configuration(remote: &Remote, server: &HookServer) -> DialogueConfiguration {
    let spec = server.spec("run-1", None).expect("a spec");
    DialogueConfiguration {
        program: env!("CARGO_BIN_EXE_stand-in").into(),
        args: vec!["--pace".into(), "0".into()],
        location: AgentLocation::Runner(remote.clone()),
        hooks: Some(serde_json::to_value(spec).expect("JSON")),
        ..DialogueConfiguration::default()
    }
}

async fn feed(remote: &Remote, session: &DialogueSession, has_past: bool) -> HookFeed {
    let attached = HookFeed::attach(remote, session.id(), has_past);
    within("the hooks", attached)
        .await
        .expect("they are served")
}

async fn next(questions: &mut HookQuestions) -> HookQuestion {
    within("a question", questions.next())
        .await
        .expect("the server runs")
}

/// Does some work while hooks are relayed, which ends with the session.
async fn beside(relay: impl Future<Output = ()>, work: impl Future<Output = ()>) {
    tokio::pin!(relay, work);
    tokio::select! {
        () = &mut work => return,
        () = &mut relay => {}
    }
    work.await;
}

fn call_states(transcript: &Value) -> Vec<&str> {
    let calls = transcript["tool_calls"].as_object().into_iter().flatten();
    calls
        .filter_map(|(_, call)| call["state"].as_str())
        .collect()
}

/// Waits for a number of results and returns the states of the tool calls.
async fn results(session: &DialogueSession, count: usize) -> Value {
    until(session, "the results", |it| {
        bowline_tests::session::entries(it, "result").len() == count
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn host_decides_over_both_carriers() {
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let runner = start_runner(folder.path(), env!("CARGO_BIN_EXE_shim"), Vec::new()).await;
    for carrier in ["http", "grpc"] {
        let url = format!("{carrier}://{}", runner.addresses()[0]);
        let remote = Remote::new(url.parse().expect("a URL"))
            .with_credentials(TokenFile(runner_token(folder.path())));
        let (server, mut questions) = server(Duration::from_secs(100)).await;
        let mut events = server.subscribe();
        let started = DialogueSession::start(configuration(&remote, &server));
        let session = within("a session", started).await.expect("it starts");
        let relay = bowline::relay_hooks(&server, feed(&remote, &session, false).await);
        let work = async {
            for (reply, state) in [
                (HookReply::allow(), "succeeded"),
                (HookReply::deny("not this one"), "failed"),
            ] {
                let sent = session.send(Prompt::text("/tool ls")).await;
                let mut receipt = sent.expect("it is sent");
                let question = next(&mut questions).await;
                assert_eq!(&*question.event().interaction, "run-1");
                question.answer(reply).expect("in time");
                within("the answer", receipt.settled()).await;
                let now = bowline_tests::session::transcript(&session).await;
                assert_eq!(call_states(&now).last(), Some(&state), "{carrier}");
            }
            terminate(&session).await;
        };
        beside(relay, work).await;
        let mut kinds = Vec::new();
        while let Ok(Some(item)) = tokio::time::timeout(Duration::ZERO, events.next()).await {
            if let bowline::hooks::HookEventItem::Event(event) = item {
                kinds.push(event.kind);
            }
        }
        assert!(kinds.contains(&HookKind::PostToolUse), "{kinds:?}");
        assert_eq!(
            kinds
                .iter()
                .filter(|it| **it == HookKind::PreToolUse)
                .count(),
            2
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn default_decides_without_a_host() {
    let daemon = Daemon::start().await;
    let (server, _questions) = server(Duration::from_millis(200)).await;
    let started = DialogueSession::start(configuration(&daemon.remote(), &server));
    let session = within("a session", started).await.expect("it starts");
    answered(&session, "/tool ls").await;
    let now = bowline_tests::session::transcript(&session).await;
    assert_eq!(call_states(&now), ["failed"], "closed by default");
    terminate(&session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_question_survives_a_killed_daemon_and_another_host() {
    let mut daemon = Daemon::start().await;
    let remote = daemon.remote();
    let (first, mut questions) = server(Duration::from_secs(100)).await;
    let started = DialogueSession::start(configuration(&remote, &first));
    let session = within("a session", started).await.expect("it starts");
    let relayed = feed(&remote, &session, false).await;
    {
        let relay = bowline::relay_hooks(&first, relayed);
        let work = async {
            session.send(Prompt::text("/tool one")).await.expect("sent");
            let question = next(&mut questions).await;
            daemon.kill().await;
            question.answer(HookReply::allow()).expect("in time");
            let now = results(&session, 1).await;
            assert_eq!(call_states(&now), ["succeeded"]);
            session.send(Prompt::text("/tool two")).await.expect("sent");
            drop(next(&mut questions).await.event().raw().to_owned());
        };
        // The host leaves with its second question open.
        beside(relay, work).await;
    }
    let (second, mut questions) = server(Duration::from_secs(100)).await;
    let mut events = second.subscribe();
    let relay = bowline::relay_hooks(&second, feed(&remote, &session, true).await);
    let work = async {
        let now = results(&session, 2).await;
        assert_eq!(call_states(&now).len(), 2);
        terminate(&session).await;
    };
    let answer = async {
        let question = next(&mut questions).await;
        assert!(
            question.event().raw().contains("two"),
            "the first one is past"
        );
        question.answer(HookReply::allow()).expect("in time");
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = beside(relay, work) => {}
        () = answer => {}
    }
    let first = within("an event", events.next()).await;
    let Some(bowline::hooks::HookEventItem::Event(first)) = first else {
        panic!("{first:?}");
    };
    assert_eq!(first.kind, HookKind::PreToolUse, "nothing of the past");
}

#[tokio::test]
async fn hooks_that_cannot_work_are_refused_by_name() {
    let daemon = Daemon::start().await;
    let helped = HookServer::start(HookConfiguration {
        helper: Some(HookHelper::bowline("/usr/bin/bowline")),
        ..HookConfiguration::default()
    });
    let error = helped.await.expect("a server").spec("run-1", None);
    assert!(matches!(
        error,
        Err(HookServerError::NotAtRunner {
            what: "a helper program"
        })
    ));

    let (server, _questions) = server(Duration::from_secs(100)).await;
    let plain = configuration(&daemon.remote(), &server);
    let local = DialogueConfiguration {
        location: AgentLocation::Local,
        ..plain.clone()
    };
    let mut codex = plain.clone();
    codex.set_agent(
        env!("CARGO_BIN_EXE_stand-in"),
        Some("codex".parse().expect("a dialect")),
    );
    let mut settings = plain.clone();
    settings.options.settings = Some(bowline_lifecycle::AgentDocument::Json("{}".into()));
    for (refused, name) in [
        (local, "this machine"),
        (codex, "hooks"),
        (settings, "settings"),
    ] {
        let error = DialogueSession::start(refused)
            .await
            .expect_err("it is refused");
        assert!(matches!(error, StartError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let broken = DialogueConfiguration {
        hooks: Some(serde_json::json!({"interaction": 1})),
        ..plain
    };
    let error = DialogueSession::start(broken)
        .await
        .expect_err("it is refused");
    assert!(matches!(error, StartError::Remote(_)), "{error}");
    assert!(
        within("the list", daemon.remote().sessions())
            .await
            .expect("a list")
            .is_empty()
    );
}
