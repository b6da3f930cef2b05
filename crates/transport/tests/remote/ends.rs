//! Ends of sessions, and detaching.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bowline_transport::wire::{StdioKind, StreamId};
use bowline_transport::{ExitStatus, Stream, TerminationPolicy, WriteError};

use crate::network::Chaos;
use crate::owner::Owner;
use crate::support::{attach, read, soon};

#[tokio::test(start_paused = true)]
async fn end_of_input_is_sent_once() {
    let owner = Owner::new(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 8, 900));
    let session = attach(&owner, &network).await;
    let mut output = session.reader(Stream::Output);
    soon("write", session.write("bye\n".into())).await.unwrap();
    soon("close", session.close_input()).await.unwrap();
    assert_eq!(read(&mut output, 4).await, b"bye\n");
    let exit = soon("exit", session.exited()).await;
    assert_eq!(exit.status, ExitStatus::Code(0));
    assert!(matches!(
        session.write("x".into()).await,
        Err(WriteError::Closed)
    ));
}

#[tokio::test(start_paused = true)]
async fn detach_keeps_session_running() {
    let owner = Owner::new(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 1, 0));
    let session = attach(&owner, &network).await;
    let mut output = session.reader(Stream::Output);
    drop(session);
    soon("a detach", owner.until(|state| state.detaches == 1)).await;
    assert_eq!(soon("end", output.next()).await, None);
    owner.with(|state| assert_eq!(state.exit, None));
    // And another host continues with it.
    let session = attach(&owner, &network).await;
    session.write("still here\n".into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn exit_is_kept_until_detach() {
    let owner = Owner::new(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 1, 0));
    let session = attach(&owner, &network).await;
    owner.exit(ExitStatus::Code(3));
    let exit = soon("exit", session.exited()).await;
    assert_eq!(exit.status, ExitStatus::Code(3));
    owner.with(|state| assert!(!state.exit_is_acknowledged));
    drop(session);
    soon(
        "the acknowledgement",
        owner.until(|state| state.exit_is_acknowledged),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn termination_report_arrives_over_bad_network() {
    for seed in 0..20 {
        let owner = Owner::new(StdioKind::Pipes);
        let network = Arc::new(Chaos::new(owner.clone(), seed * 991, 4_000));
        let session = attach(&owner, &network).await;
        owner.say(StreamId::STDOUT, &[b'x'; 10_000]);
        // The report counts as lost a minute after these periods; a bad network may take longer.
        let policy = TerminationPolicy {
            kill: Duration::from_secs(1800),
            ..TerminationPolicy::default()
        };
        let report = soon("report", session.terminate(policy)).await;
        assert_eq!((report.killed, report.survivors), (vec![42], vec![]));
        assert_eq!(report.exit.status, ExitStatus::Signal(9));
        assert_eq!(report.exit.output_end, 10_000);
        soon(
            "the acknowledgement",
            owner.until(|state| state.exit_is_acknowledged),
        )
        .await;
        let again = soon("again", session.terminate(TerminationPolicy::AT_ONCE)).await;
        assert_eq!(again.exit.status, ExitStatus::Signal(9));
    }
}

#[tokio::test(start_paused = true)]
async fn termination_does_not_wait_for_readers() {
    let owner = Owner::new(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 1, 0));
    let session = attach(&owner, &network).await;
    let _stuck = session.reader(Stream::Output);
    owner.say(StreamId::STDOUT, &vec![b'x'; 5 << 20]);
    let report = soon("report", session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert_eq!(report.exit.output_end, 5 << 20);
}

#[tokio::test(start_paused = true)]
async fn unreachable_tree_is_reported_as_survivor() {
    let owner = Owner::new(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 3, 1500));
    let session = attach(&owner, &network).await;
    network.is_down.store(true, Relaxed);
    owner.say(StreamId::STDOUT, &[b'x'; 3000]);
    let report = soon("report", session.terminate(TerminationPolicy::default())).await;
    assert_eq!(report.exit.status, ExitStatus::Unknown);
    assert_eq!(report.survivors, [42]);
}
