//! A login shell as a session.

use std::task::Poll;
use std::time::Duration;

use bowline_lifecycle::{
    Environment, ExitStatus, LoginShell, SpawnError, TerminalRegistry, TerminalTag,
};
use bowline_shell::{
    SessionEvent, SessionExit, SessionState, ShellConfiguration, ShellProgram, ShellSession,
};
use bowline_transport::{Signal, WindowSize, WriteError};
use tokio::io::AsyncWriteExt as _;

use crate::support::{command, line_that, login, quick, within};

#[tokio::test]
async fn login_shell_output_arrives_as_lines() {
    let home = tempfile::tempdir().unwrap();
    let profile = "greeting=from-the-profile; case $- in *i*) kind=interactive;; esac";
    let session = ShellSession::start(login(home.path(), profile))
        .await
        .unwrap();
    let mut events = session.subscribe_from_start();
    within(session.write("echo \"<$greeting $kind>\"\n"))
        .await
        .unwrap();
    let line = line_that(&mut events, |line| line.starts_with('<')).await;
    assert_eq!(line, "<from-the-profile interactive>");
    session.kill().await;
}

#[tokio::test]
async fn login_shell_is_that_of_the_user() {
    let home = tempfile::tempdir().unwrap();
    let session = ShellSession::start(ShellConfiguration::new(home.path()))
        .await
        .unwrap();
    let mut events = session.subscribe_from_start();
    let own = std::env::var("SHELL").ok();
    within(session.write("echo \"<$0>\"\n")).await.unwrap();
    let line = line_that(&mut events, |line| line.starts_with('<')).await;
    let shell = line.trim_matches(['<', '>']);
    assert!(
        own.is_none_or(|own| own == shell) && shell.contains("sh"),
        "{shell}"
    );
    session.kill().await;
}

#[tokio::test]
async fn host_environment_is_inherited() {
    let home = tempfile::tempdir().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut configuration = command(
        home.path(),
        "/bin/sh",
        &["-c", "echo \"<$PATH $TOKEN>\"; exec cat"],
    );
    configuration.env.set("TOKEN", "added");
    configuration.size = WindowSize::new(24, 4096);
    let session = ShellSession::start(configuration).await.unwrap();
    let mut events = session.subscribe_from_start();
    let line = line_that(&mut events, |line| line.starts_with('<')).await;
    assert_eq!(line, format!("<{path} added>"));
    session.kill().await;
}

#[tokio::test]
async fn terminal_is_xterm_256color_of_80_by_24() {
    let home = tempfile::tempdir().unwrap();
    let cwd = home.path().canonicalize().unwrap();
    let session = ShellSession::start(login(&cwd, "")).await.unwrap();
    let mut events = session.subscribe_from_start();
    within(session.write("echo \"<$TERM $(stty size) $PWD>\"\n"))
        .await
        .unwrap();
    let line = line_that(&mut events, |line| line.starts_with('<')).await;
    assert_eq!(line, format!("<xterm-256color 24 80 {}>", cwd.display()));
    session.resize(WindowSize::new(50, 132)).unwrap();
    within(session.write("echo \"<$(stty size)>\"\n"))
        .await
        .unwrap();
    assert_eq!(
        line_that(&mut events, |line| line.starts_with('<')).await,
        "<50 132>"
    );
    session.kill().await;
}

#[tokio::test]
async fn missing_working_directory_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("missing");
    let refused = ShellSession::start(ShellConfiguration::new(&missing)).await;
    assert!(matches!(refused, Err(SpawnError::CwdMissing { path }) if path == missing));
    std::fs::write(&missing, "").unwrap();
    let refused = ShellSession::start(ShellConfiguration::new(&missing)).await;
    assert!(matches!(refused, Err(SpawnError::CwdNotADirectory { .. })));
}

#[tokio::test]
async fn written_line_reaches_shell() {
    let home = tempfile::tempdir().unwrap();
    let script = "stty -echo; echo ready; head -n 2 | od -An -tx1";
    let session = ShellSession::start(command(home.path(), "/bin/sh", &["-c", script]))
        .await
        .unwrap();
    let mut events = session.subscribe_from_start();
    line_that(&mut events, |line| line == "ready").await;
    let prompt = "say \"h\u{e9}\"";
    within(session.write(format!("{prompt}\n"))).await.unwrap();
    within(session.write("two\n")).await.unwrap();
    let hex = line_that(&mut events, |line| line.starts_with(' ')).await;
    assert_eq!(hex, " 73 61 79 20 22 68 c3 a9 22 0a 74 77 6f 0a");
}

#[tokio::test]
async fn exit_event_follows_last_line() {
    let home = tempfile::tempdir().unwrap();
    for (script, exit) in [
        (
            "printf last; exit 7",
            SessionExit {
                code: Some(7),
                signal: None,
            },
        ),
        (
            "printf last; kill -9 $$",
            SessionExit {
                code: None,
                signal: Some(9),
            },
        ),
    ] {
        let session = ShellSession::start(command(home.path(), "/bin/sh", &["-c", script]))
            .await
            .unwrap();
        let mut events = session.subscribe_from_start();
        assert_eq!(line_that(&mut events, |_| true).await, "last");
        let mut last = None;
        while let Some(event) = within(events.next()).await {
            last = Some(event);
        }
        let session_id = session.id();
        assert_eq!(
            last,
            Some(SessionEvent::Exit {
                session: session_id,
                exit
            })
        );
        assert_eq!(session.state(), SessionState::Terminated);
        let late = within(session.write("x")).await;
        assert!(matches!(late, Err(WriteError::Ended)));
    }
}

#[tokio::test]
async fn states_follow_creating_active_idle_terminated() {
    let home = tempfile::tempdir().unwrap();
    let mut configuration = login(home.path(), "");
    configuration.idle_after = Duration::from_millis(50);
    let session = ShellSession::start(configuration).await.unwrap();
    let mut events = session.subscribe_from_start();
    let mut next = async || loop {
        match within(events.next()).await {
            Some(SessionEvent::State { state, .. }) => return state,
            Some(_) => {}
            None => panic!("a state was reported before the end"),
        }
    };
    assert_eq!(session.state(), SessionState::Creating);
    // A state that is left at once may not be reported.
    let mut state = next().await;
    if state == SessionState::Creating {
        state = next().await;
    }
    if state == SessionState::Active {
        state = next().await;
    }
    assert_eq!(state, SessionState::Idle);
    // Silent, but in the foreground: the session works for as long as the program runs.
    let gate = home.path().join("gate");
    std::process::Command::new("mkfifo")
        .arg(&gate)
        .status()
        .unwrap();
    within(session.write("/bin/sh -c 'exec < gate; read line'\n"))
        .await
        .unwrap();
    assert_eq!(next().await, SessionState::Active);
    let mut opened = tokio::fs::OpenOptions::new();
    let mut opened = within(opened.write(true).open(&gate)).await.unwrap();
    let unchanged = tokio::time::timeout(Duration::from_millis(300), next()).await;
    assert!(unchanged.is_err(), "{unchanged:?} while a program ran");
    opened.write_all(b"go\n").await.unwrap();
    opened.flush().await.unwrap();
    assert_eq!(next().await, SessionState::Idle);
    within(session.write("exit 3\n")).await.unwrap();
    let mut last = next().await;
    if last == SessionState::Active {
        last = next().await;
    }
    assert_eq!(last, SessionState::Terminated);
    assert_eq!(within(session.exited()).await.status, ExitStatus::Code(3));
}

#[tokio::test]
async fn partial_line_is_readable() {
    let home = tempfile::tempdir().unwrap();
    let session = ShellSession::start(command(
        home.path(),
        "/bin/sh",
        &[
            "-c",
            "printf '\\033[1mname? '; read name; echo \"hi $name\"",
        ],
    ))
    .await
    .unwrap();
    let mut events = session.subscribe_from_start();
    within(async {
        while session.partial_line() != "\x1b[1mname? " {
            tokio::task::yield_now().await;
        }
    })
    .await;
    within(session.write("you\n")).await.unwrap();
    assert_eq!(line_that(&mut events, |_| true).await, "\x1b[1mname? you");
    assert_eq!(line_that(&mut events, |_| true).await, "hi you");
}

#[tokio::test]
async fn dropping_last_handle_kills_shell() {
    let home = tempfile::tempdir().unwrap();
    let session = ShellSession::start(command(
        home.path(),
        "/bin/sh",
        &["-c", "echo up; sleep 1000"],
    ))
    .await
    .unwrap();
    let mut events = session.subscribe_from_start();
    line_that(&mut events, |line| line == "up").await;
    let stat = format!("/proc/{}/stat", session.pid().unwrap());
    drop(session);
    while within(events.next()).await.is_some() {}
    within(async {
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn unread_output_is_bounded_and_loss_reported() {
    let home = tempfile::tempdir().unwrap();
    let session = ShellSession::start(command(
        home.path(),
        "/bin/sh",
        &["-c", "seq 1 200000; echo done"],
    ))
    .await
    .unwrap();
    let mut slow = session.subscribe_from_start();
    within(session.exited()).await;
    let (mut lines, mut missed, mut gaps, mut last) = (0, 0, 0, String::new());
    while let Some(event) = within(slow.next()).await {
        match event {
            SessionEvent::Output { line, .. } => (lines, last) = (lines + 1, line),
            SessionEvent::Lagged { lines, .. } => missed += lines,
            SessionEvent::Gap { bytes, .. } => gaps += bytes,
            _ => {}
        }
    }
    assert!(lines <= 1_000, "{lines} lines are kept");
    assert_eq!(last, "done");
    assert!(
        gaps > 0 || lines + missed == 200_001,
        "{lines} + {missed} lines, {gaps} bytes"
    );
}

#[tokio::test]
async fn line_written_in_pieces_is_limited() {
    let home = tempfile::tempdir().unwrap();
    let script = "stty -echo; echo ready; head -n 1 | wc -c";
    let session = ShellSession::start(command(home.path(), "/bin/sh", &["-c", script]))
        .await
        .unwrap();
    let mut events = session.subscribe_from_start();
    line_that(&mut events, |line| line == "ready").await;
    within(session.write("x".repeat(4000))).await.unwrap();
    let refused = within(session.write("y".repeat(96) + "\n")).await;
    assert!(matches!(
        refused,
        Err(WriteError::LineTooLong {
            length: 4096,
            limit: 4095
        })
    ));
    let submitted = within(session.submit("y".repeat(96), quick())).await;
    assert!(submitted.typed == 0, "{submitted:?}");
    within(session.write("y".repeat(95) + "\n")).await.unwrap();
    assert_eq!(line_that(&mut events, |_| true).await, "4096");
}

/// Polls a future once, drops it, and returns whether it was pending.
async fn drop_after_poll(future: impl Future) -> bool {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

#[tokio::test]
async fn dropped_write_counts_what_is_delivered() {
    let home = tempfile::tempdir().unwrap();
    let script = "stty -echo; echo ready; head -n 1 | wc -c";
    let session = ShellSession::start(command(home.path(), "/bin/sh", &["-c", script]))
        .await
        .unwrap();
    let mut events = session.subscribe_from_start();
    line_that(&mut events, |line| line == "ready").await;
    assert!(drop_after_poll(session.write("x".repeat(4000))).await);
    let refused = within(session.write("y".repeat(96) + "\n")).await;
    assert!(matches!(refused, Err(WriteError::LineTooLong { .. })));
    within(session.write("y".repeat(95) + "\n")).await.unwrap();
    assert_eq!(line_that(&mut events, |_| true).await, "4096");
}

#[tokio::test]
async fn write_dropped_before_its_turn_is_not_counted() {
    let home = tempfile::tempdir().unwrap();
    let script = "stty -echo; echo ready; kill -STOP $$; exec awk '/^d+$/ { print length($0) }'";
    let session = ShellSession::start(command(home.path(), "/bin/sh", &["-c", script]))
        .await
        .unwrap();
    let mut events = session.subscribe_from_start();
    line_that(&mut events, |line| line == "ready").await;
    // More than the terminal takes while its program is stopped.
    let blocked = "b\n".repeat(200_000);
    assert!(drop_after_poll(session.write(blocked)).await);
    assert!(drop_after_poll(session.write("c".repeat(4000))).await);
    let written = async {
        // Repeated, since the program may not have stopped yet.
        loop {
            session.signal(Signal::Continue).unwrap();
            tokio::task::yield_now().await;
        }
    };
    let line = session.write("d".repeat(4000) + "\n");
    tokio::select! {
        biased;
        accepted = within(line) => accepted.unwrap(),
        () = written => unreachable!("it has no end"),
    }
    session.signal(Signal::Continue).unwrap();
    within(session.write("\x04")).await.unwrap();
    assert_eq!(line_that(&mut events, |_| true).await, "4000");
}

/// A home whose profile sets a variable, and counts how often it is read.
fn profiled(home: &std::path::Path) -> LoginShell {
    let profile = "echo read >> \"$HOME/count\"\nexport FROM_PROFILE=yes\n";
    std::fs::write(home.join(".bash_profile"), profile).unwrap();
    let mut env = Environment::inherited();
    env.set("HOME", home);
    LoginShell {
        shell: "/bin/bash".into(),
        env,
        ..LoginShell::of_user()
    }
}

#[tokio::test]
async fn login_environment_is_captured_once() {
    let home = tempfile::tempdir().unwrap();
    let shell = profiled(home.path());
    let line = "echo \"<$FROM_PROFILE>\"; exec cat";
    for _ in 0..2 {
        let configuration = ShellConfiguration {
            program: ShellProgram::Command("sh".into(), vec!["-c".into(), line.into()]),
            ..ShellConfiguration::new(home.path())
        };
        let configuration = within(configuration.with_login_environment(&shell)).await;
        let session = ShellSession::start(configuration).await.unwrap();
        let mut events = session.subscribe_from_start();
        let line = line_that(&mut events, |line| line.starts_with('<')).await;
        assert_eq!(line, "<yes>");
        session.kill().await;
    }
    let dialogue = bowline_lifecycle::DialogueConfiguration::default();
    let dialogue = within(dialogue.with_login_environment(&shell)).await;
    assert_eq!(dialogue.env.value("FROM_PROFILE"), Some("yes".into()));
    let read = std::fs::read_to_string(home.path().join("count")).unwrap();
    assert_eq!(read, "read\n");
}

#[tokio::test]
async fn shell_is_listed_with_its_tag() {
    let registry = TerminalRegistry::shared();
    let shell = ShellSession::start(ShellConfiguration {
        program: ShellProgram::Command("/bin/cat".into(), Vec::new()),
        ..ShellConfiguration::new("/")
    })
    .await;
    let shell = shell.expect("every system has a cat");
    let listed = registry.list();
    let own = listed
        .iter()
        .find(|it| it.pid == shell.pid())
        .expect("it lives");
    assert_eq!(own.tag, TerminalTag::Shell);
    let id = own.id;
    let mut events = shell.subscribe();
    within(shell.terminate()).await;
    within(async { while events.next().await.is_some() {} }).await;
    assert!(registry.get(id).is_none());
    assert!(registry.tombstone(id).expect("a tombstone").expected);
}

#[test]
fn dropped_runtime_ends_the_session() {
    let home = tempfile::tempdir().unwrap();
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let owner = runtime();
    let session = owner.block_on(async {
        let session = ShellSession::start(command(home.path(), "cat", &[]))
            .await
            .unwrap();
        within(session.write("hello\n")).await.unwrap();
        session
    });
    owner.shutdown_background();
    runtime().block_on(async {
        within(session.log().ended()).await;
        assert_eq!(session.state(), SessionState::Terminated);
        within(session.terminate()).await;
        within(session.exited()).await;
        assert!(within(session.write("late\n")).await.is_err());
    });
}
