//! The watchdog with real processes.

use std::time::Duration;

use bowline_lifecycle::{
    ActivitySource, DialogueConfiguration, DialogueEventKind, PhaseLimits, ProbeAnswer, Prompt,
    SilenceLimit, WatchdogPolicy, WorkPhase,
};

use super::support::{TURN, agent, start, until, within};

/// A session with a watchdog that decides quickly.
fn quick_watchdog(script: &str) -> DialogueConfiguration {
    let limit = Some(SilenceLimit {
        silence: Duration::from_millis(100),
        max_silence: None,
    });
    DialogueConfiguration {
        watchdog: WatchdogPolicy {
            check_interval: Duration::from_millis(20),
            probe: Some(Duration::from_millis(400)),
            permission_timeout: None,
            limits: PhaseLimits {
                starting: limit,
                model: limit,
                tool: limit,
                ..PhaseLimits::default()
            },
        },
        ..agent(script)
    }
}

fn is_end(kind: &DialogueEventKind) -> bool {
    matches!(kind, DialogueEventKind::SessionEnd { .. })
}

#[tokio::test]
async fn dead_agent_is_announced_and_terminated() {
    let (session, mut events) = start(quick_watchdog("exec sleep 600")).await;
    session.send(Prompt::text("go")).await.expect("it runs");
    let seen = until(&mut events, "the end", is_end).await;
    let silence = seen.iter().find_map(|event| match &event.kind {
        DialogueEventKind::SessionTimeout(silence) => Some(silence),
        _ => None,
    });
    let silence = silence.expect("it was announced");
    assert_eq!(
        (silence.phase, silence.probe),
        (WorkPhase::Starting, ProbeAnswer::Unanswered)
    );
    assert_eq!((silence.processes, silence.io_bytes), (Some(1), Some(0)));
    let end = within("the end", session.ended()).await;
    assert!(
        !end.expected && end.reason.contains("by the watchdog"),
        "{end:?}"
    );
}

#[tokio::test]
async fn busy_silent_agent_survives() {
    let (session, mut events) = start(quick_watchdog("while :; do :; done")).await;
    session.send(Prompt::text("go")).await.expect("it runs");
    for _ in 0..2 {
        let seen = until(&mut events, "a sign of life", |kind| {
            matches!(
                kind,
                DialogueEventKind::StillAlive(_) | DialogueEventKind::SessionTimeout(_)
            )
        });
        let seen = seen.await;
        let DialogueEventKind::StillAlive(silence) = &seen.last().expect("an event").kind else {
            panic!("{seen:?}");
        };
        assert!(silence.cpu > Some(Duration::ZERO), "{silence:?}");
    }
    assert!(within("the end", session.terminate()).await.expected);
}

#[tokio::test]
async fn agent_that_answers_probes_survives() {
    // Answers every probe, and never the prompt.
    let script = r#"
while read line; do
case "$line" in
*get_binary_version*)
    id=${line#*\"request_id\":\"}; id=${id%%\"*}
    echo '{"type":"control_response","response":{"subtype":"success","request_id":"'$id'","response":{}}}' ;;
esac
done"#;
    let (session, mut events) = start(quick_watchdog(script)).await;
    session.send(Prompt::text("go")).await.expect("it runs");
    for _ in 0..2 {
        let seen = until(&mut events, "a sign of life", |kind| {
            matches!(
                kind,
                DialogueEventKind::StillAlive(_) | DialogueEventKind::SessionTimeout(_)
            )
        });
        let seen = seen.await;
        let DialogueEventKind::StillAlive(silence) = &seen.last().expect("an event").kind else {
            panic!("{seen:?}");
        };
        assert_eq!(silence.probe, ProbeAnswer::Answered);
    }
    within("the end", session.terminate()).await;
}

#[tokio::test]
async fn last_activity_is_available_at_any_time() {
    let (session, mut events) = start(agent(&TURN.replace("cat >/dev/null", "cat"))).await;
    let first = within("an answer", session.last_activity()).await;
    assert_eq!(
        (first.source, first.phase),
        (ActivitySource::Start, WorkPhase::Idle)
    );
    session.send(Prompt::text("go")).await.expect("it runs");
    until(&mut events, "the turn", |kind| {
        matches!(kind, DialogueEventKind::TurnEnd { .. })
    })
    .await;
    let line = within("an answer", session.last_activity()).await;
    assert_eq!(
        (line.source, line.phase),
        (ActivitySource::Event, WorkPhase::Idle)
    );
    let later = within("an answer", session.last_activity()).await;
    assert!(later.age >= line.age, "time goes on");
    within("the end", session.terminate()).await;
    let after = within("an answer", session.last_activity()).await;
    assert_eq!(after.source, ActivitySource::Event);
    assert!(after.age >= later.age);
}
