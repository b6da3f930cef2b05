//! The watchdog and real processes.

use std::time::Duration;

use bowline_lifecycle::{
    ActivitySource, DialogueConfiguration, DialogueEventKind, PhaseLimits, ProbeAnswer, Prompt,
    SilenceLimit, WatchdogPolicy, WorkPhase,
};

use super::support::{TURN, agent, start, until, within};

/// As the real one, in a hurry.
fn hasty(script: &str) -> DialogueConfiguration {
    let limit = Some(SilenceLimit {
        silence: Duration::from_millis(100),
        at_most: None,
    });
    DialogueConfiguration {
        watchdog: WatchdogPolicy {
            check: Duration::from_millis(20),
            inquiry: Some(Duration::from_millis(400)),
            permission: None,
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
async fn seed_001_a_dead_agent_is_announced_and_then_killed() {
    let (session, mut events) = start(hasty("exec sleep 600")).await;
    session.send(Prompt::text("go")).await.expect("it lives");
    let told = until(&mut events, "the end", is_end).await;
    let silence = told.iter().find_map(|event| match &event.kind {
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
async fn an_agent_that_works_in_silence_lives() {
    let (session, mut events) = start(hasty("while :; do :; done")).await;
    session.send(Prompt::text("go")).await.expect("it lives");
    for _ in 0..2 {
        let told = until(&mut events, "a sign of life", |kind| {
            matches!(
                kind,
                DialogueEventKind::StillAlive(_) | DialogueEventKind::SessionTimeout(_)
            )
        });
        let told = told.await;
        let DialogueEventKind::StillAlive(silence) = &told.last().expect("told").kind else {
            panic!("{told:?}");
        };
        assert!(silence.cpu > Some(Duration::ZERO), "{silence:?}");
    }
    assert!(within("the end", session.terminate()).await.expected);
}

#[tokio::test]
async fn an_agent_that_answers_in_silence_lives() {
    // Answers every question, and never the prompt.
    let script = r#"
while read line; do
case "$line" in
*get_binary_version*)
    id=${line#*\"request_id\":\"}; id=${id%%\"*}
    echo '{"type":"control_response","response":{"subtype":"success","request_id":"'$id'","response":{}}}' ;;
esac
done"#;
    let (session, mut events) = start(hasty(script)).await;
    session.send(Prompt::text("go")).await.expect("it lives");
    for _ in 0..2 {
        let told = until(&mut events, "a sign of life", |kind| {
            matches!(
                kind,
                DialogueEventKind::StillAlive(_) | DialogueEventKind::SessionTimeout(_)
            )
        });
        let told = told.await;
        let DialogueEventKind::StillAlive(silence) = &told.last().expect("told").kind else {
            panic!("{told:?}");
        };
        assert_eq!(silence.probe, ProbeAnswer::Answered);
    }
    within("the end", session.terminate()).await;
}

#[tokio::test]
async fn seed_001_the_last_activity_of_a_session_is_known_at_any_time() {
    let (session, mut events) = start(agent(&TURN.replace("cat >/dev/null", "cat"))).await;
    let first = within("an answer", session.last_activity()).await;
    assert_eq!(
        (first.source, first.phase),
        (ActivitySource::Start, WorkPhase::Idle)
    );
    session.send(Prompt::text("go")).await.expect("it lives");
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
