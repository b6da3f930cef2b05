//! Sessions on a PTY.

use std::time::Duration;

use bowline_transport::{
    Configuration, Drained, ExitStatus, InputLimits, Kind, Piece, PtyMode, ResizeError, Signal,
    Stream, TerminationPolicy, WindowSize, WriteError,
};
use bowline_transport::{Containment, PtyBackend, SpawnError, Stdio, TerminalEngine};
use bytes::Bytes;

use crate::support::{is_gone, on_pty, read_all, read_until, shell, start, until, within};

#[tokio::test]
async fn raw_terminal_passes_every_byte() {
    let session = start(on_pty(
        shell("echo ready; exec head -c 70256"),
        PtyMode::Raw,
    ));
    assert_eq!(session.kind(), Kind::LocalPty);
    let mut output = session.reader(Stream::Output);
    read_until(&mut output, "ready\n").await;
    let mut sent: Vec<u8> = (0..=255).collect();
    sent.extend(vec![b'x'; 70_000]);
    within(session.write(sent.clone().into())).await.unwrap();
    let exit = within(session.exited()).await;
    assert_eq!(
        (exit.status, exit.drained),
        (ExitStatus::Code(0), Drained::Clean)
    );
    let (all, missing) = read_all(&mut session.reader(Stream::Output)).await;
    assert_eq!((&all[6..], missing), (&sent[..], 0));
    assert_eq!(
        read_all(&mut session.reader(Stream::Errors)).await,
        (Vec::new(), 0)
    );
}

#[tokio::test]
async fn cooked_terminal_echoes_edits_and_interrupts() {
    let session = start(on_pty(Configuration::new("cat"), PtyMode::Cooked));
    let mut output = session.reader(Stream::Output);
    within(session.write("hix\x7f\n".into())).await.unwrap();
    let seen = read_until(&mut output, "\r\nhi\r\n").await;
    assert_eq!(seen, "hix\x08 \x08\r\nhi\r\n");
    let closed = within(session.close_input()).await;
    assert!(matches!(closed, Err(WriteError::NoEndOfInput)));
    within(session.write("\x03".into())).await.unwrap();
    assert_eq!(within(session.exited()).await.status, ExitStatus::Signal(2));
    assert!(matches!(
        session.resize(WindowSize::default()),
        Err(ResizeError::Ended)
    ));
}

#[tokio::test]
async fn too_long_line_is_refused() {
    let session = start(on_pty(
        shell("stty -echo; echo ready; exec wc -c"),
        PtyMode::Cooked,
    ));
    read_until(&mut session.reader(Stream::Output), "ready").await;
    let long = Bytes::from([vec![b'x'; 4096], vec![b'\n']].concat());
    let refused = within(session.write(long.clone())).await;
    assert!(matches!(
        refused,
        Err(WriteError::LineTooLong {
            length: 4096,
            limit: 4095
        })
    ));
    within(session.write(long.slice(1..))).await.unwrap();
    within(session.write("\x04".into())).await.unwrap();
    let mut output = session.reader(Stream::Output);
    within(session.exited()).await;
    let (all, _) = read_all(&mut output).await;
    assert_eq!(String::from_utf8(all).unwrap(), "ready\r\n4096\r\n");
}

#[tokio::test]
async fn window_size_is_initial_and_updated() {
    let script = "stty size; trap 'stty size; exit' WINCH; echo ready; sleep 1000 & wait";
    let session = start(on_pty(shell(script), PtyMode::Cooked));
    let mut output = session.reader(Stream::Output);
    let seen = read_until(&mut output, "ready").await;
    assert!(seen.starts_with("30 100\r\n"), "{seen:?}");
    session.resize(WindowSize::new(50, 132)).unwrap();
    read_until(&mut output, "50 132\r\n").await;
}

#[tokio::test]
async fn window_size_is_clamped() {
    for (given, seen) in [(0, "1 1\n"), (u16::MAX, "1000 1000\n")] {
        let mut configuration = shell("stty size");
        configuration.stdio = Stdio::Pty {
            size: WindowSize::new(given, given),
            mode: PtyMode::Raw,
        };
        read_until(&mut start(configuration).reader(Stream::Output), seen).await;
    }
}

#[tokio::test]
async fn reopened_terminal_is_read() {
    let script = "trap 'echo late > /dev/tty; exit 3' USR1; echo early; exec <&- >&- 2>&-; \
                  while :; do sleep 1000 & wait; done";
    let session = start(on_pty(shell(script), PtyMode::Raw));
    let mut output = session.reader(Stream::Output);
    read_until(&mut output, "early").await;
    // The terminal is closed before the first background process starts.
    let child = session.pid().unwrap();
    let children = format!("/proc/{child}/task/{child}/children");
    until(|| std::fs::read(&children).is_ok_and(|children| !children.is_empty())).await;
    session.signal(Signal::User1).unwrap();
    read_until(&mut output, "late").await;
    let exit = within(session.exited()).await;
    assert_eq!(
        (exit.status, exit.drained),
        (ExitStatus::Code(3), Drained::Clean)
    );
}

#[tokio::test]
async fn both_backends_run_sessions() {
    for backend in [PtyBackend::Hardened, PtyBackend::Native] {
        let on_backend = |script: &str| {
            let mut configuration = on_pty(shell(script), PtyMode::Cooked);
            configuration.pty_backend = backend;
            configuration.env.set("GIVEN", "given");
            configuration
        };
        let script = "stty size; tty -s && echo $GIVEN; read -r line; stty size; exit 7";
        let session = start(on_backend(script));
        let mut output = session.reader(Stream::Output);
        read_until(&mut output, "30 100\r\ngiven\r\n").await;
        session.resize(WindowSize::new(50, 132)).unwrap();
        within(session.write("\n".into())).await.unwrap();
        read_until(&mut output, "50 132\r\n").await;
        let exit = within(session.exited()).await;
        assert_eq!(
            (exit.status, exit.drained),
            (ExitStatus::Code(7), Drained::Clean)
        );

        let session = start(on_backend("setsid sleep 1000 & echo $!; exec sleep 1000"));
        let background = read_until(&mut session.reader(Stream::Output), "\n").await;
        let background = background.trim().parse().unwrap();
        let report = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
        assert_eq!(report.exit.status, ExitStatus::Signal(9));
        assert!(report.killed.contains(&background) && is_gone(background));
        if backend == PtyBackend::Native {
            assert_eq!(report.level, Containment::Group);
        }

        let mut missing = on_backend("");
        missing.program = "/no/such/program".into();
        let refused = TerminalEngine.make_session(missing).map(drop);
        assert!(matches!(refused, Err(SpawnError::NotFound { .. })));
    }
}

#[tokio::test]
async fn pty_is_controlling_terminal() {
    let script = "test -t 0 && test -t 1 && test -t 2 && echo \"$TERM\" > /dev/tty";
    let mut configuration = on_pty(shell(script), PtyMode::Cooked);
    configuration.env.remove("TERM");
    let session = start(configuration);
    read_until(&mut session.reader(Stream::Output), "xterm-256color").await;
    assert_eq!(within(session.exited()).await.status, ExitStatus::Code(0));
}

#[tokio::test]
async fn output_is_read_to_the_end() {
    for round in 0..100_usize {
        let size = 1 << (round % 20);
        let session = start(on_pty(
            shell(&format!("head -c {size} /dev/zero")),
            PtyMode::Raw,
        ));
        let exit = within(session.exited()).await;
        assert_eq!(
            (exit.output_end, exit.drained),
            (size as u64, Drained::Clean)
        );
        assert_eq!(
            read_all(&mut session.reader(Stream::Output)).await,
            (vec![0; size], 0)
        );
    }
}

#[tokio::test]
async fn unread_output_is_dropped_with_gap() {
    let session = start(on_pty(
        shell("head -c 3000000 /dev/zero; echo end"),
        PtyMode::Raw,
    ));
    let mut slow = session.reader(Stream::Output);
    let exit = within(session.exited()).await;
    assert_eq!(exit.output_end, 3_000_004);
    let first = within(slow.next()).await;
    assert!(
        matches!(first, Some(Piece::Gap { from: 0, .. })),
        "{first:?}"
    );
}

#[tokio::test]
async fn full_pty_can_be_terminated() {
    // Writes continuously and never reads.
    let session = start(on_pty(shell("yes"), PtyMode::Raw));
    let writing = tokio::spawn({
        let session = session.clone();
        async move { session.write(Bytes::from(vec![b'x'; 1 << 20])).await }
    });
    until(|| session.end(Stream::Output) > 1 << 20).await;
    assert!(!writing.is_finished());
    within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert!(matches!(
        within(writing).await.unwrap(),
        Err(WriteError::Ended)
    ));
}

#[test]
fn unread_input_does_not_outlive_child() {
    // On a thread of its own, so that a session that never yields fails the test.
    let (result, results) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        for _ in 0..10 {
            let exit = runtime.block_on(end_with_unread_input());
            result.send(exit).unwrap();
        }
    });
    for _ in 0..10 {
        let status = results.recv_timeout(Duration::from_secs(60));
        assert_eq!(status, Ok(ExitStatus::Signal(10)));
    }
}

/// Ends a child that has not read its input.
async fn end_with_unread_input() -> ExitStatus {
    let session = start(on_pty(
        shell("echo ready; exec sleep 1000"),
        PtyMode::Cooked,
    ));
    read_until(&mut session.reader(Stream::Output), "ready").await;
    let lines = "a short line\n".repeat(3_000);
    let length = lines.len();
    let writing = tokio::spawn({
        let session = session.clone();
        async move { session.write(lines.into()).await }
    });
    until(|| (1..length).contains(&session.queued_input())).await;
    session.signal(Signal::User1).unwrap();
    let written = within(writing).await.unwrap();
    assert!(matches!(written, Err(WriteError::Ended)), "{written:?}");
    within(session.exited()).await.status
}

#[tokio::test]
async fn hangup_ends_terminal_input() {
    let session = start(on_pty(shell("echo ready; exec cat"), PtyMode::Cooked));
    read_until(&mut session.reader(Stream::Output), "ready").await;
    let report = within(session.terminate(TerminationPolicy::default())).await;
    assert_eq!(
        (report.exit.status, report.killed),
        (ExitStatus::Signal(1), vec![])
    );
}

#[tokio::test]
async fn signal_reaches_foreground_group() {
    // With job control the second sleep has its own process group, in the foreground.
    let script =
        "set -m; trap 'echo wrong' USR1; sh -c 'echo ready; exec sleep 1000'; echo \"job $?\"";
    let session = start(on_pty(shell(script), PtyMode::Cooked));
    let mut output = session.reader(Stream::Output);
    read_until(&mut output, "ready").await;
    session.signal(Signal::User1).unwrap();
    let seen = read_until(&mut output, "job ").await;
    assert!(!seen.contains("wrong"), "{seen:?}");
}

#[tokio::test]
async fn terminal_state_is_reported() {
    let script = "echo cooked; head -n1; stty raw -echo; echo raw; read -r gone; echo $gone";
    let session = start(on_pty(shell(script), PtyMode::Cooked));
    let mut output = session.reader(Stream::Output);
    read_until(&mut output, "cooked").await;
    assert_eq!(session.terminal_state().unwrap().line_limit, Some(4095));
    // Without job control the reader is in the shell's process group.
    assert_eq!(session.terminal_state().unwrap().foreground, session.pid());
    within(session.write("go\n".into())).await.unwrap();
    read_until(&mut output, "raw").await;
    assert_eq!(session.terminal_state().unwrap().line_limit, None);
    session.signal(Signal::Stop).unwrap();
    let stat = format!("/proc/{}/stat", session.pid().unwrap());
    until(|| std::fs::read_to_string(&stat).unwrap().contains(") T ")).await;
    within(session.write("12345".into())).await.unwrap();
    until(|| session.terminal_state().unwrap().unread == Some(5)).await;
    session.signal(Signal::Continue).unwrap();
    until(|| session.terminal_state().unwrap().unread == Some(0)).await;
    within(session.write("\n".into())).await.unwrap();
    read_until(&mut output, "12345").await;
    within(session.exited()).await;
    assert_eq!(session.terminal_state(), None);
    assert_eq!(start(shell("sleep 1000")).terminal_state(), None);
}

#[tokio::test]
async fn unread_input_is_bounded_and_times_out() {
    for console in [true, false] {
        let mut configuration = shell("echo ready; exec sleep 1000");
        if console {
            configuration = on_pty(configuration, PtyMode::Raw);
        }
        configuration.input = InputLimits {
            queue_bytes: 1 << 20,
            deadline: Some(Duration::from_millis(300)),
        };
        let session = start(configuration);
        read_until(&mut session.reader(Stream::Output), "ready").await;
        let stuck = tokio::spawn({
            let session = session.clone();
            async move { session.write(vec![b'x'; 900_000].into()).await }
        });
        until(|| session.queued_input() > 0).await;
        let refused = within(session.write(vec![b'y'; 1 << 20].into())).await;
        assert!(matches!(refused, Err(WriteError::QueueFull { .. })));
        match within(stuck).await.unwrap() {
            Err(WriteError::Stalled { taken, length, .. }) => {
                assert!(taken > 0 && taken < length && length == 900_000, "{taken}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(session.queued_input(), 0);
        let after = within(session.write("z".into())).await;
        match console {
            true => assert!(matches!(after, Err(WriteError::Stalled { taken: 0, .. }))),
            false => assert!(matches!(after, Err(WriteError::Torn))),
        }
    }
}
