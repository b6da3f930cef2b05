//! Connection states and attach modes.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bowline_transport::wire::{
    MAX_MESSAGE, Prompt, PromptMode, PromptStatus, StdioKind, StreamId, code,
};
use bowline_transport::{
    Attachment, ConnectionState, Kind, Piece, ReconnectFailed, ReconnectFailure, RemoteError,
    RetryError, Signal, StartPosition, Stream, TerminalEngine, TerminationPolicy, WindowSize,
    WriteError,
};

use crate::network::Chaos;
use crate::owner::Owner;
use crate::support::{attach, read, remote, soon, state};

fn calm(stdio: StdioKind) -> (Owner, Arc<Chaos>) {
    let owner = Owner::new(stdio);
    let network = Arc::new(Chaos::new(owner.clone(), 1, 0));
    (owner, network)
}

fn has_failed(state: &ConnectionState) -> bool {
    matches!(state, ConnectionState::Failed(_))
}

#[tokio::test(start_paused = true)]
async fn session_reports_its_facts() {
    let (owner, network) = calm(StdioKind::Pipes);
    let session = attach(&owner, &network).await;
    assert_eq!(
        (session.id(), session.kind()),
        (owner.session, Kind::RemotePipes)
    );
    assert_eq!(session.pid(), Some(42));
    assert_eq!(*session.connection().borrow(), ConnectionState::Connected);
    assert!(session.resize(WindowSize::default()).is_err());
    assert_eq!(session.retry(), Err(RetryError::NotFailed));

    let (owner, network) = calm(StdioKind::Pty);
    let session = attach(&owner, &network).await;
    assert_eq!(session.kind(), Kind::RemotePty);
    let mut errors = session.reader(Stream::Errors);
    assert_eq!(soon("errors", errors.next()).await, None);
    assert!(matches!(
        session.close_input().await,
        Err(WriteError::NoEndOfInput)
    ));
    session.resize(WindowSize::new(50, 132)).unwrap();
    session.signal(Signal::Interrupt).unwrap();
    session.write("done\n".into()).await.unwrap();
    owner.with(|state| {
        assert_eq!(state.sizes, [(50, 132)]);
        assert!(matches!(state.signals[..], [(_, Signal::Interrupt)]));
    });
}

#[tokio::test(start_paused = true)]
async fn output_begins_as_requested() {
    let (owner, network) = calm(StdioKind::Pipes);
    owner.say(StreamId::STDOUT, b"0123456789");
    owner.with(|state| state.start = 3);
    let cases = [
        (StartPosition::Start, 0, Some((0, 3)), "3456789!"),
        (
            StartPosition::At {
                output: 5,
                errors: 0,
                input: 0,
            },
            5,
            None,
            "56789!",
        ),
        (StartPosition::Now, 10, None, "!"),
    ];
    for (start, offset, gap, rest) in cases {
        let attachment = Attachment {
            start,
            ..Attachment::default()
        };
        let remote = remote(&network);
        let joined = TerminalEngine.attach_remote(&remote, owner.session, attachment);
        let session = soon("attach", joined).await.unwrap();
        let mut output = session.reader(Stream::Output);
        assert_eq!(output.offset(), offset, "{start:?}");
        owner.with(|state| {
            let output = state.stream(StreamId::STDOUT);
            output.truncate(10);
            output.push(b'!');
        });
        if let Some((from, to)) = gap {
            let first = soon("gap", output.next()).await;
            assert_eq!(first, Some(Piece::Gap { from, to }));
        }
        assert_eq!(read(&mut output, rest.len()).await, rest.as_bytes());
        drop(session);
        owner.with(|state| {
            state
                .streams
                .get_mut(&StreamId::STDOUT)
                .unwrap()
                .truncate(10);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn lost_link_is_reported_and_restored() {
    let (owner, network) = calm(StdioKind::Pipes);
    let fragile = Arc::new(Chaos::new(owner.clone(), 3, 1500));
    let session = attach(&owner, &fragile).await;
    let mut output = session.reader(Stream::Output);
    drop(network);
    let mut link = session.connection();
    link.mark_unchanged();
    fragile.is_down.store(true, Relaxed);
    owner.say(StreamId::STDOUT, &[b'x'; 3000]);
    let down = state(&session, "down", |it| {
        matches!(it, ConnectionState::Reconnecting { attempt: 3.. })
    });
    down.await;
    fragile.calm();
    fragile.is_down.store(false, Relaxed);
    let up = state(&session, "up", |it| {
        matches!(it, ConnectionState::Reconnected { .. })
    })
    .await;
    assert!(
        matches!(up, ConnectionState::Reconnected { gap: 0, .. }),
        "{up:?}"
    );
    assert_eq!(read(&mut output, 3000).await, [b'x'; 3000]);
}

#[tokio::test(start_paused = true)]
async fn earlier_output_is_marked_as_replay() {
    let (owner, network) = calm(StdioKind::Pty);
    owner.say(StreamId::TTY, b"old");
    let session = attach(&owner, &network).await;
    let mut output = session.reader(Stream::Output);
    assert_eq!(read(&mut output, 3).await, b"old");
    assert!(output.is_replay());
    owner.say(StreamId::TTY, b"new");
    assert_eq!(read(&mut output, 3).await, b"new");
    assert!(!output.is_replay());

    network.is_down.store(true, Relaxed);
    owner.hang_up();
    let is_down = |it: &ConnectionState| matches!(it, ConnectionState::Reconnecting { .. });
    state(&session, "down", is_down).await;
    owner.say(StreamId::TTY, b"missed");
    network.is_down.store(false, Relaxed);
    assert_eq!(read(&mut output, 6).await, b"missed");
    assert!(output.is_replay());
    owner.say(StreamId::TTY, b"live");
    assert_eq!(read(&mut output, 4).await, b"live");
    assert!(!output.is_replay());
}

#[tokio::test(start_paused = true)]
async fn lost_link_fails_and_can_be_retried() {
    let (owner, _) = calm(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 3, 1500));
    let session = attach(&owner, &network).await;
    let mut states = session.connection_states();
    network.is_down.store(true, Relaxed);
    owner.say(StreamId::STDOUT, &[b'x'; 3000]);
    let began = tokio::time::Instant::now();
    let failed = state(&session, "given up", has_failed).await;
    assert!(matches!(
        failed,
        ConnectionState::Failed(ReconnectFailed {
            failure: ReconnectFailure::Lost,
            ..
        })
    ));
    assert!(began.elapsed() >= Duration::from_secs(600));
    let waiting = tokio::spawn({
        let session = session.clone();
        async move { session.write("kept\n".into()).await }
    });
    network.calm();
    network.is_down.store(false, Relaxed);
    session.retry().unwrap();
    soon("write", waiting).await.unwrap().unwrap();
    owner.with(|state| assert_eq!(state.typed, b"kept\n"));
    session.detach();
    let mut all = Vec::new();
    while let Some(state) = soon("states", states.next()).await {
        all.push(state);
    }
    // All attempts of an outage are one state, since they were not read meanwhile.
    assert!(
        matches!(
            all[..],
            [
                ConnectionState::Connected,
                ConnectionState::Reconnecting { attempt: 2.. },
                ConnectionState::Failed(_),
                ConnectionState::Reconnecting { attempt: 1 },
                ConnectionState::Reconnected { gap: 0, .. },
            ]
        ),
        "{all:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn silent_connection_is_detected() {
    let owner = Owner::new(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 9, 1200));
    network.is_silent.store(true, Relaxed);
    let session = attach(&owner, &network).await;
    let mut output = session.reader(Stream::Output);
    owner.say(StreamId::STDOUT, &[b'x'; 5000]);
    let began = tokio::time::Instant::now();
    let down = |it: &ConnectionState| matches!(it, ConnectionState::Reconnecting { .. });
    state(&session, "found out", down).await;
    assert!(
        began.elapsed() <= Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    network.calm();
    assert_eq!(read(&mut output, 5000).await.len(), 5000);
}

#[tokio::test(start_paused = true)]
async fn gone_session_ends_with_reason() {
    for (code, failure) in [
        (code::UNKNOWN_SESSION, ReconnectFailure::Gone),
        (code::EXPIRED, ReconnectFailure::Expired),
        (code::VERSION, ReconnectFailure::Version),
    ] {
        let owner = Owner::new(StdioKind::Pipes);
        let network = Arc::new(Chaos::new(owner.clone(), 3, 1500));
        let session = attach(&owner, &network).await;
        owner.with(|state| state.refusal = Some(code));
        owner.say(StreamId::STDOUT, &[b'x'; 3000]);
        let failed = state(&session, "failed", has_failed).await;
        let ConnectionState::Failed(failed) = failed else {
            unreachable!()
        };
        assert_eq!(failed.failure, failure);
        assert_eq!(session.retry(), Err(RetryError::Hopeless { failure }));
        let exit = soon("exit", session.exited()).await;
        assert_eq!(exit.status, bowline_transport::ExitStatus::Unknown);
        assert!(matches!(
            session.write("x".into()).await,
            Err(WriteError::Ended)
        ));
        let remote = remote(&network);
        let late = TerminalEngine.attach_remote(&remote, owner.session, Attachment::default());
        let refused = soon("late", late).await;
        assert!(
            matches!(refused, Err(RemoteError::Link { failure: it, .. }) if it == failure),
            "{refused:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn missing_runner_fails_at_once() {
    let (owner, network) = calm(StdioKind::Pipes);
    network.is_down.store(true, Relaxed);
    let began = tokio::time::Instant::now();
    let remote = remote(&network);
    let joined = TerminalEngine.attach_remote(&remote, owner.session, Attachment::default());
    let refused = soon("refusal", joined).await;
    let lost = ReconnectFailure::Lost;
    assert!(matches!(refused, Err(RemoteError::Link { failure, .. }) if failure == lost));
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn new_host_fences_previous_one() {
    let (owner, network) = calm(StdioKind::Pipes);
    let first = attach(&owner, &network).await;
    first.write("first\n".into()).await.unwrap();
    let second = attach(&owner, &network).await;
    let failed = state(&first, "fenced", has_failed).await;
    assert!(matches!(
        failed,
        ConnectionState::Failed(ReconnectFailed {
            failure: ReconnectFailure::Fenced,
            ..
        })
    ));
    second.write("second\n".into()).await.unwrap();
    drop(first);
    second.write("third\n".into()).await.unwrap();
    owner.with(|state| {
        assert_eq!(state.typed, b"first\nsecond\nthird\n");
        assert_eq!(state.detaches, 0, "a fenced host cannot detach");
    });
}

#[tokio::test(start_paused = true)]
async fn prompt_is_sent_once() {
    let owner = Owner::new(StdioKind::Pipes);
    let network = Arc::new(Chaos::new(owner.clone(), 21, 2_500));
    let session = attach(&owner, &network).await;
    for number in 0..40 {
        let status = session.prompt(Prompt {
            id: format!("p{number}"),
            bytes: "y".repeat(200).into(),
            mode: PromptMode::Line,
            request_id: None,
        });
        assert_eq!(soon("prompt", status).await.unwrap(), PromptStatus::Written);
    }
    owner.with(|state| assert_eq!(state.prompts.len(), 40));
    assert!(
        network.connections.load(Relaxed) > 3,
        "the link was never cut"
    );
}

/// Sent, it would end the link again and again.
#[tokio::test(start_paused = true)]
async fn prompt_that_fits_no_message_is_refused() {
    let (owner, network) = calm(StdioKind::Pipes);
    let session = attach(&owner, &network).await;
    let prompt = |bytes: String| {
        session.prompt(Prompt {
            id: "p".to_owned(),
            bytes: bytes.into(),
            mode: PromptMode::Line,
            request_id: None,
        })
    };
    let refused = soon("refusal", prompt("y".repeat(MAX_MESSAGE))).await;
    assert!(matches!(refused, Err(WriteError::Io(_))), "{refused:?}");
    let written = soon("prompt", prompt("y".to_owned())).await;
    assert_eq!(written.unwrap(), PromptStatus::Written);
    assert_eq!(network.connections.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn panicked_connection_task_is_a_failed_link() {
    let (owner, network) = calm(StdioKind::Pipes);
    let session = attach(&owner, &network).await;
    let mut output = session.reader(Stream::Output);
    network.is_faulty.store(true, Relaxed);
    owner.hang_up();
    let state = state(&session, "a failed link", has_failed).await;
    let ConnectionState::Failed(failed) = state else {
        unreachable!("{state:?}");
    };
    assert!(
        failed.detail.contains("attach to the session again"),
        "{failed}"
    );
    assert_eq!(soon("the end of output", output.next()).await, None);
    let exit = soon("exit", session.exited()).await;
    assert_eq!(exit.status, bowline_transport::ExitStatus::Unknown);
    let failure = ReconnectFailure::Lost;
    assert_eq!(session.retry(), Err(RetryError::Hopeless { failure }));
    soon("terminate", session.terminate(TerminationPolicy::AT_ONCE)).await;
}

#[tokio::test(start_paused = true)]
async fn panic_while_joining_is_a_link_error() {
    let (owner, network) = calm(StdioKind::Pipes);
    network.is_faulty.store(true, Relaxed);
    let remote = remote(&network);
    let joined = TerminalEngine.attach_remote(&remote, owner.session, Attachment::default());
    let error = soon("attach", joined).await.unwrap_err();
    assert!(matches!(error, RemoteError::Link { .. }), "{error}");
}
