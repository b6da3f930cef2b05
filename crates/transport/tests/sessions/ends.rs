//! Exits of children, and their notification.

use std::time::Duration;

use bowline_transport::{Drained, ExitStatus, ResizeError, SignalError, Stream, TerminationPolicy};
use bowline_transport::{Signal, WindowSize};

use crate::support::{is_gone, read_all, read_until, shell, start, within};

#[tokio::test]
async fn exit_follows_last_byte() {
    for round in 0_u64..200 {
        // 1 byte to 1 MiB, with different remainders.
        let size = 1_u64.max((1 << (round % 21)) - round % 7 * u64::from(round > 100));
        let session = start(shell(&format!("head -c {size} /dev/zero")));
        // Not read before the exit, whose notification must not depend on a reader.
        let exit = within(session.exited()).await;
        assert_eq!((exit.output_end, exit.drained), (size, Drained::Clean));
        assert_eq!(exit.status, ExitStatus::Code(0));
        let (all, missing) = read_all(&mut session.reader(Stream::Output)).await;
        assert_eq!((all.len() as u64, missing), (size, 0));
    }
}

#[tokio::test]
async fn exit_codes_and_signals_are_distinguished() {
    let session = start(shell("exit 7"));
    let waiters: Vec<_> = (0..5)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.exited().await })
        })
        .collect();
    for waiter in waiters {
        assert_eq!(within(waiter).await.unwrap().status, ExitStatus::Code(7));
    }
    assert_eq!(within(session.exited()).await.status, ExitStatus::Code(7));
    assert!(matches!(
        session.signal(Signal::Interrupt),
        Err(SignalError::Ended)
    ));
    let killed = start(shell("kill -9 $$"));
    assert_eq!(within(killed.exited()).await.status, ExitStatus::Signal(9));
}

#[tokio::test]
async fn closed_output_is_not_an_exit() {
    let session = start(shell("echo bye; exec >&-; read answer; exit $answer"));
    let (all, _) = read_all(&mut session.reader(Stream::Output)).await;
    assert_eq!(all, b"bye\n");
    assert!(!is_gone(session.pid().unwrap()));
    within(session.write("3\n".into())).await.unwrap();
    assert_eq!(within(session.exited()).await.status, ExitStatus::Code(3));
}

#[tokio::test]
async fn child_with_closed_output_is_terminated() {
    let session = start(shell("exec >&- 2>&-; exec sleep 1000"));
    assert_eq!(
        read_all(&mut session.reader(Stream::Output)).await,
        (Vec::new(), 0)
    );
    let report = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert_eq!(report.exit.status, ExitStatus::Signal(9));
    assert_eq!(report.killed, [session.pid().unwrap()]);
    assert!(is_gone(session.pid().unwrap()));
}

#[tokio::test]
async fn open_output_of_grandchild_does_not_delay_exit() {
    let session = start(shell("sleep 1000 & echo $!"));
    let mut output = session.reader(Stream::Output);
    let exit = within(session.exited()).await;
    assert_eq!(
        (exit.status, exit.drained),
        (ExitStatus::Code(0), Drained::Timeout)
    );
    let (all, _) = read_all(&mut output).await;
    assert_eq!(all.len() as u64, exit.output_end);
    let grandchild = String::from_utf8(all).unwrap().trim().parse().unwrap();
    let report = within(session.terminate(TerminationPolicy::default())).await;
    assert_eq!((report.killed, report.exit), (vec![grandchild], exit));
    assert!(is_gone(grandchild));
}

#[tokio::test]
async fn output_of_endless_grandchild_is_cut() {
    let session = start(shell("yes 2>&1 & echo"));
    let mut output = session.reader(Stream::Output);
    let reading = tokio::spawn(async move { read_all(&mut output).await });
    let exit = within(session.exited()).await;
    assert_eq!(exit.drained, Drained::Timeout);
    assert_eq!(
        within(reading).await.unwrap().0.len() as u64,
        exit.output_end
    );
    let report = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert_eq!(report.survivors, [0_u32; 0]);
}

#[tokio::test]
async fn child_that_exits_on_request_is_not_killed() {
    let by_end_of_input = start(shell("cat; echo over; exit 4"));
    let mut output = by_end_of_input.reader(Stream::Output);
    let report = within(by_end_of_input.terminate(TerminationPolicy::default())).await;
    assert_eq!(
        (report.exit.status, report.killed),
        (ExitStatus::Code(4), vec![])
    );
    read_until(&mut output, "over").await;

    let by_signal = start(shell(
        "trap 'exit 9' TERM; echo ready; while :; do sleep 1000 & wait; done",
    ));
    read_until(&mut by_signal.reader(Stream::Output), "ready").await;
    let policy = TerminationPolicy {
        eof_grace: Duration::ZERO,
        ..TerminationPolicy::default()
    };
    let report = within(by_signal.terminate(policy)).await;
    assert_eq!(report.exit.status, ExitStatus::Code(9));

    let by_interrupt = start(shell(
        "trap 'exit 5' INT; echo ready; while :; do sleep 1000 & wait; done",
    ));
    read_until(&mut by_interrupt.reader(Stream::Output), "ready").await;
    let policy = TerminationPolicy {
        interrupt: Some(Duration::from_secs(30)),
        ..policy
    };
    let report = within(by_interrupt.terminate(policy)).await;
    assert_eq!(report.exit.status, ExitStatus::Code(5));
}

/// A host may set every duration to its maximum.
#[tokio::test]
async fn maximum_grace_periods_do_not_overflow() {
    let policy = TerminationPolicy {
        eof_grace: Duration::MAX,
        interrupt: Some(Duration::MAX),
        term_grace: Duration::MAX,
        kill: Duration::MAX,
    };
    let session = start(shell("echo ready; cat; exit 4"));
    read_until(&mut session.reader(Stream::Output), "ready").await;
    let report = within(session.terminate(policy)).await;
    assert_eq!(report.exit.status, ExitStatus::Code(4));
    let skipped = TerminationPolicy {
        eof_grace: Duration::ZERO,
        interrupt: None,
        term_grace: Duration::ZERO,
        ..policy
    };
    let session = start(shell(
        "trap '' TERM; echo ready; while :; do sleep 1000; done",
    ));
    read_until(&mut session.reader(Stream::Output), "ready").await;
    let report = within(session.terminate(skipped)).await;
    assert_eq!(report.exit.status, ExitStatus::Signal(9));
}

#[tokio::test]
async fn stopped_child_is_terminated() {
    let session = start(shell("echo ready; kill -STOP $$; exit 1"));
    read_until(&mut session.reader(Stream::Output), "ready").await;
    let policy = TerminationPolicy {
        eof_grace: Duration::from_millis(1),
        ..TerminationPolicy::default()
    };
    let report = within(session.terminate(policy)).await;
    assert!(report.killed.is_empty(), "{report:?}");
}

#[tokio::test]
async fn concurrent_terminations_share_report_and_shortest_grace() {
    let session = start(shell(
        "trap '' TERM HUP INT; echo ready; while :; do sleep 1000; done",
    ));
    read_until(&mut session.reader(Stream::Output), "ready").await;
    let patient = TerminationPolicy {
        eof_grace: Duration::from_secs(600),
        term_grace: Duration::from_secs(600),
        ..TerminationPolicy::default()
    };
    let first = tokio::spawn({
        let session = session.clone();
        async move { session.terminate(patient).await }
    });
    tokio::task::yield_now().await;
    let second = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert_eq!(within(first).await.unwrap(), second);
    assert_eq!(within(session.terminate(patient)).await, second);
    assert_eq!(second.exit.status, ExitStatus::Signal(9));
    assert!(second.killed.contains(&session.pid().unwrap()));
    let resized = session.resize(WindowSize::default());
    assert!(matches!(resized, Err(ResizeError::NotATerminal)));
}

#[tokio::test]
async fn full_log_does_not_block_termination() {
    let session = start(shell("yes"));
    let _never_reads = session.reader(Stream::Output);
    crate::support::until(|| session.end(Stream::Output) == 1 << 20).await;
    let report = within(session.terminate(TerminationPolicy::default())).await;
    assert_eq!(
        (report.exit.drained, report.survivors),
        (Drained::Clean, vec![])
    );
}
