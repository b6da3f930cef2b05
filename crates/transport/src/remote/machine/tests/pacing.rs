//! How often a runner that misbehaves is tried, and how long it can be waited for.

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

/// Attempts of the busiest minute.
fn attempts_a_minute(attempts: &[Duration]) -> usize {
    let since = |first: Duration| {
        let later = attempts.iter().filter(|at| **at >= first);
        later.filter(|at| **at < first + MINUTE).count()
    };
    attempts
        .iter()
        .map(|first| since(*first))
        .max()
        .unwrap_or(0)
}

/// Plays a runner for ten minutes, and returns the time of each attempt. `round` handles one attempt,
/// and leaves the host without a link.
fn play(random: u64, mut round: impl FnMut(&mut Host)) -> Vec<Duration> {
    let mut host = Host::new(joining());
    host.machine = Machine::new(joining(), random);
    host.give(Input::Start);
    while host.now < MINUTE * 10 {
        round(&mut host);
        host.pass();
    }
    host.attempts
}

#[test]
fn link_dropped_after_attach_is_tried_30_times_a_minute() {
    for random in 0..50 {
        let attempts = play(random, |host| {
            host.open();
            host.break_off(ReconnectFailure::Lost);
        });
        let busiest = attempts_a_minute(&attempts);
        assert!((10..=30).contains(&busiest), "{busiest} with {random}");
    }
}

#[test]
fn link_dropped_after_first_output_is_tried_30_times_a_minute() {
    for random in 0..50 {
        let mut offset = 0;
        let attempts = play(random, |host| {
            host.open();
            host.hear(data(offset, "some"));
            offset += 4;
            host.break_off(ReconnectFailure::Lost);
        });
        let busiest = attempts_a_minute(&attempts);
        assert!((10..=30).contains(&busiest), "{busiest} with {random}");
    }
}

#[test]
fn token_is_replaced_once_while_link_keeps_breaking() {
    let mut host = up(joining());
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    assert_eq!(failed(&host.break_off(ReconnectFailure::Auth)), None);
    for _ in 0..3 {
        host.open();
        host.break_off(ReconnectFailure::Lost);
        host.pass();
    }
    let outputs = host.break_off(ReconnectFailure::Auth);
    assert_eq!(failed(&outputs), Some(ReconnectFailure::Auth));
    host.give(Input::Retry);
    host.open();
    host.now += Duration::from_secs(2);
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    assert_eq!(failed(&host.break_off(ReconnectFailure::Auth)), None);
}

#[test]
fn connect_timeout_begins_with_refused_token() {
    let mut host = Host::new(joining());
    host.give(Input::Start);
    assert_eq!(failed(&host.break_off(ReconnectFailure::Auth)), None);
    host.now += Duration::from_secs(9);
    let mut outputs = host.break_off(ReconnectFailure::Lost);
    while failed(&outputs).is_none() {
        host.pass();
        outputs = host.break_off(ReconnectFailure::Lost);
    }
    assert_eq!(host.now, Duration::from_secs(60));
}

#[test]
fn misconfigured_link_is_retried_only_after_it_was_up() {
    let mut host = Host::new(joining());
    host.give(Input::Start);
    let outputs = host.break_off(ReconnectFailure::Misconfigured);
    assert_eq!(failed(&outputs), Some(ReconnectFailure::Misconfigured));
    let mut host = up(joining());
    let mut outputs = host.break_off(ReconnectFailure::Misconfigured);
    while failed(&outputs).is_none() {
        host.pass();
        outputs = host.break_off(ReconnectFailure::Misconfigured);
    }
    assert_eq!(failed(&outputs), Some(ReconnectFailure::Misconfigured));
    assert_eq!(host.now, Duration::from_secs(600));
}

#[test]
fn listener_of_another_user_fails_at_once() {
    let mut host = up(joining());
    let outputs = host.break_off(ReconnectFailure::ForeignPeer);
    assert_eq!(failed(&outputs), Some(ReconnectFailure::ForeignPeer));
    assert_eq!(host.machine.poll_timeout(), None);
}

#[test]
fn unreported_kill_ends_at_its_deadline() {
    let deadline = Duration::from_secs(2 + 2 + 2 + 60);
    // A runner that cannot be reached, and one that replies to pings only.
    for answers in [false, true] {
        let mut host = up(joining());
        host.give(Input::Kill(TerminationPolicy::default()));
        let mut outputs = Vec::new();
        while !outputs.contains(&Output::Over) {
            assert!(host.now <= deadline, "the kill has no deadline");
            outputs = host.pass();
            if answers {
                let nonces = host.sent().into_iter().filter_map(|sent| match sent {
                    Message::Ping { nonce } => Some(nonce),
                    _ => None,
                });
                for nonce in nonces {
                    host.hear(Message::Pong { nonce });
                }
            } else if outputs
                .iter()
                .any(|it| matches!(it, Output::Connect { .. }))
            {
                outputs = host.break_off(ReconnectFailure::Lost);
            }
        }
        assert_eq!(host.now, deadline);
        assert!(outputs.contains(&Output::Exited(None)), "{outputs:?}");
        assert!(
            outputs.contains(&Output::Killed(None, deadline)),
            "{outputs:?}"
        );
    }
}

#[test]
fn link_lost_after_seconds_up_is_tried_at_once() {
    let mut host = up(joining());
    for _ in 0..10 {
        host.break_off(ReconnectFailure::Lost);
        host.pass();
        host.open();
    }
    host.break_off(ReconnectFailure::Lost);
    let slow = host.machine.poll_timeout().unwrap() - host.now;
    assert!(slow >= Duration::from_millis(2500), "{slow:?}");
    host.pass();
    host.open();
    host.now += Duration::from_secs(2);
    host.break_off(ReconnectFailure::Lost);
    let fast = host.machine.poll_timeout().unwrap() - host.now;
    assert!(fast < Duration::from_millis(100), "{fast:?}");
}

#[test]
fn requested_delay_is_capped_at_time_left() {
    let day = Duration::from_secs(24 * 3600);
    for after in [
        day,
        Duration::from_millis(u64::MAX),
        Duration::from_secs(u64::MAX),
    ] {
        let mut host = up(joining());
        let begin = host.now;
        let refusal = |after| {
            let mut why = LinkError::lost("overloaded");
            why.after = Some(after);
            why
        };
        host.give(Input::Broken(
            host.connection,
            refusal(Duration::from_secs(100)),
        ));
        assert_eq!(
            host.machine.poll_timeout(),
            Some(begin + Duration::from_secs(100))
        );
        host.pass();
        host.give(Input::Broken(host.connection, refusal(after)));
        let end = begin + Duration::from_secs(600);
        assert_eq!(host.machine.poll_timeout(), Some(end), "{after:?}");
        host.pass();
        let outputs = host.give(Input::Broken(host.connection, refusal(after)));
        assert_eq!(failed(&outputs), Some(ReconnectFailure::Lost));
    }
}

#[test]
fn delays_of_frames_are_capped_at_time_left() {
    let error = Message::Error {
        code: code::LIMIT.to_owned(),
        retryable: true,
        after_ms: Some(u64::MAX),
        detail: String::new(),
    };
    for message in [Message::GoAway { after_ms: u64::MAX }, error] {
        let mut host = up(joining());
        host.hear(message);
        assert_eq!(
            host.machine.poll_timeout(),
            Some(host.now + Duration::from_secs(600))
        );
    }
}

#[test]
fn endless_timeout_is_no_overflow() {
    let mut joining = joining();
    joining.reconnect_timeout = Duration::MAX;
    let mut host = up(joining);
    host.now = Duration::from_secs(1);
    host.hear(Message::GoAway { after_ms: u64::MAX });
    let mut why = LinkError::lost("overloaded");
    why.after = Some(Duration::MAX);
    host.pass();
    host.give(Input::Broken(host.connection, why));
    assert_eq!(host.machine.poll_timeout(), Some(Duration::MAX));
}

#[test]
fn kill_report_without_exit_ends_at_its_deadline() {
    let mut host = up(joining());
    host.give(Input::Kill(TerminationPolicy::AT_ONCE));
    let report = KillReport {
        killed: vec![1],
        survivors: Vec::new(),
        level: Containment::Group,
        took: Duration::ZERO,
    };
    let id = "x".to_owned();
    host.hear(Message::Killed { id, report });
    let mut outputs = Vec::new();
    while !outputs.contains(&Output::Over) {
        assert!(
            host.now < Duration::from_secs(600),
            "the kill has no deadline"
        );
        outputs = host.pass();
        let nonces = host.sent().into_iter().filter_map(|sent| match sent {
            Message::Ping { nonce } => Some(nonce),
            _ => None,
        });
        for nonce in nonces {
            host.hear(Message::Pong { nonce });
        }
    }
    assert_eq!(host.now, Duration::from_secs(2 + 60));
    assert!(
        outputs
            .iter()
            .any(|it| matches!(it, Output::Killed(Some(_), _)))
    );
}

#[test]
fn offsets_without_room_for_a_sum_break_the_link() {
    let most = u64::MAX;
    let extremes = [
        data(most, "x"),
        Message::Gap {
            stream: OUT,
            from: 0,
            to: most,
            reason: GapReason::Overflow,
        },
        Message::InputAck {
            offset: most,
            ended: false,
        },
        attached(1, most, 0),
    ];
    for message in extremes {
        let mut host = up(joining());
        let outputs = host.hear(message);
        assert_eq!(outputs[0], Output::Disconnect, "{outputs:?}");
    }
}
