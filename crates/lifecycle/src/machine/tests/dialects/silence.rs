//! What a silence may be due to.

use super::*;
use crate::watchdog::Silence;

/// A session of opencode whose sub-agent waits for a permission that was not asked for.
fn waiting(change: impl Fn(&mut Value)) -> Fixture {
    let limits = Limits {
        watchdog: WatchdogPolicy::default(),
        ..LIMITS
    };
    let machine = Machine::speaking(DialectName::Acp, opening(), limits, 0);
    let mut session = Session {
        fixture: Fixture::of(machine),
        ids: Vec::new(),
        written: VecDeque::new(),
    };
    session.collect();
    let mut recording = Recording::read("opencode/acp.sub");
    recording.0.iter_mut().for_each(|(_, line)| change(line));
    session.replay(&recording, host);
    session.fixture
}

/// Advances to the next inquiry.
fn inquiry(fixture: &mut Fixture) -> Silence {
    fixture.events.clear();
    loop {
        fixture.step();
        let silence = fixture.events.iter().find_map(|event| match &event.kind {
            DialogueEventKind::Inquiry(silence) => Some(silence.clone()),
            _ => None,
        });
        if let Some(silence) = silence {
            return silence;
        }
    }
}

#[test]
fn hidden_permission_is_named_after_a_minute() {
    let mut fixture = waiting(|_| {});
    let silence = inquiry(&mut fixture);
    assert_eq!(silence.silent_for, Duration::from_secs(60));
    let cause = silence.cause.clone().expect("a cause");
    let wanted = "the sub-agent \"child task\" may wait for a permission, which opencode does not ask the host for; \
                  interrupt the turn, and allow the tool in opencode's configuration";
    assert_eq!(cause.to_string(), wanted);
    assert!(silence.to_string().ends_with(wanted), "{silence}");
    let overdue = |now| fixture.machine.overdue_silence(now).map(|it| it.cause);
    assert_eq!(overdue(fixture.now), Some(Some(cause)));
    assert_eq!(overdue(fixture.now - Duration::from_secs(1)), None);
    // Nothing answers, and it is terminated no earlier than without a cause.
    while fixture.terminations == 0 {
        assert!(fixture.now < Duration::from_secs(1000));
        fixture.step();
    }
    assert!(fixture.now >= Duration::from_secs(900), "{:?}", fixture.now);
}

#[test]
fn silence_of_another_agent_has_no_cause() {
    let mut fixture = waiting(|line| {
        if let Some(name) = line.pointer_mut("/result/agentInfo/name") {
            *name = json!("Another");
        }
    });
    let silence = inquiry(&mut fixture);
    assert_eq!(
        (silence.silent_for, silence.cause),
        (Duration::from_secs(900), None)
    );
}
