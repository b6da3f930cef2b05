//! Shell sessions of a manager.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bowline_manager::{
    EndReason, ManagerConfiguration, ManagerError, ManagerEvents, PromptOutcome, SessionKind,
    SessionManager, ShutdownMode, ShutdownSignal, StateWarning,
};
use bowline_shell::{SessionEvent, SessionExit, SessionState, ShellConfiguration, SubmitOutcome};

use crate::support::{command, login, within};

fn open(folder: &Path) -> SessionManager {
    SessionManager::open(ManagerConfiguration::new(folder.join("state"))).unwrap()
}

fn limited(folder: &Path, max_sessions: usize) -> SessionManager {
    let configuration = ManagerConfiguration::new(folder.join("state"));
    SessionManager::open(ManagerConfiguration {
        max_sessions,
        ..configuration
    })
    .unwrap()
}

fn idle_shell(folder: &Path) -> ShellConfiguration {
    command(folder, "/bin/sh", &["-c", "echo up; sleep 1000"])
}

async fn next_exit(events: &mut ManagerEvents) -> (String, SessionExit) {
    loop {
        if let SessionEvent::Exit { session, exit } = within(events.next()).await.unwrap() {
            return (session.to_string(), exit);
        }
    }
}

fn is_gone(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

#[tokio::test]
async fn create_returns_session_info() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    let info = manager
        .create_shell(idle_shell(folder.path()), "fox")
        .await
        .unwrap();
    assert_eq!(
        (info.kind, info.label.as_str()),
        (SessionKind::Shell, "fox")
    );
    assert_eq!(info.cwd, folder.path().canonicalize().unwrap());
    assert!(matches!(
        info.state,
        SessionState::Creating | SessionState::Active
    ));
    assert_eq!(manager.get(info.id).unwrap().id, info.id);
    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(json["id"], info.id.to_string());
    assert!(json["created_at"].as_str().unwrap().ends_with('Z'));
    manager.set_label(info.id, "hare").unwrap();
    assert_eq!(manager.list()[0].label, "hare");
    manager.end_all().await;
}

#[tokio::test]
async fn get_and_list_return_session_info() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    assert!(manager.list().is_empty());
    let mut made = Vec::new();
    for label in ["fox", "hare"] {
        let created = manager.create_shell(idle_shell(folder.path()), label).await;
        made.push(created.unwrap());
    }
    let listed: Vec<_> = manager.list().iter().map(|it| it.id).collect();
    assert_eq!(listed, [made[0].id, made[1].id], "in the order of making");
    for info in &made {
        let known = manager.get(info.id).unwrap();
        assert_eq!((known.pid, &known.label), (info.pid, &info.label));
        assert!(known.pid.is_some() && known.end.is_none());
    }
    manager.kill(made[0].id).await.unwrap();
    assert!(manager.get(made[0].id).is_none());
    assert_eq!(manager.list().len(), 1);
    manager.end_all().await;
}

#[tokio::test]
async fn missing_directory_creates_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let manager = limited(folder.path(), 1);
    let missing = ShellConfiguration::new(folder.path().join("missing"));
    let error = manager.create_shell(missing, "").await.unwrap_err();
    assert_eq!(error.code(), "BAD_WORKING_DIRECTORY");
    assert!(manager.list().is_empty());
    // The reservation was released.
    manager
        .create_shell(idle_shell(folder.path()), "")
        .await
        .unwrap();
    manager.end_all().await;
}

#[tokio::test]
async fn creation_over_session_limit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let manager = limited(folder.path(), 3);
    let creations = (0..8).map(|_| {
        let (manager, configuration) = (manager.clone(), idle_shell(folder.path()));
        tokio::spawn(async move { manager.create_shell(configuration, "").await })
    });
    let (mut made, mut refused) = (Vec::new(), 0);
    for creation in creations.collect::<Vec<_>>() {
        match within(creation).await.unwrap() {
            Ok(info) => made.push(info.id),
            Err(error @ ManagerError::MaxSessions { limit: 3 }) => {
                assert_eq!(error.code(), "MAX_SESSIONS");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((made.len(), refused), (3, 5));
    within(manager.kill(made[0])).await.unwrap();
    manager
        .create_shell(idle_shell(folder.path()), "")
        .await
        .unwrap();
    manager.end_all().await;
}

#[tokio::test]
async fn ten_sessions_are_created_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    let mut events = manager.subscribe();
    let creations = (0..10).map(|number| {
        let script = format!("echo session {number}; sleep 1000");
        let configuration = command(folder.path(), "/bin/sh", &["-c", &script]);
        let manager = manager.clone();
        tokio::spawn(async move {
            manager
                .create_shell(configuration, number.to_string())
                .await
        })
    });
    for creation in creations.collect::<Vec<_>>() {
        within(creation).await.unwrap().unwrap();
    }
    let mut reported = BTreeSet::new();
    while reported.len() < 10 {
        if let SessionEvent::Output { session, line, .. } = within(events.next()).await.unwrap() {
            assert_eq!(
                line,
                format!("session {}", manager.get(session).unwrap().label)
            );
            reported.insert(session);
        }
    }
    assert_eq!(manager.list().len(), 10);
    assert_eq!(within(manager.cleanup()).await.len(), 10);
}

#[tokio::test]
async fn prompt_reaches_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    let mut events = manager.subscribe();
    let info = manager
        .create_shell(login(folder.path(), ""), "")
        .await
        .unwrap();
    let outcome = within(manager.send_prompt(info.id, "echo \"<$((6 * 7))>\""))
        .await
        .unwrap();
    let PromptOutcome::Shell(submission) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(submission.outcome, SubmitOutcome::Submitted);
    loop {
        if let SessionEvent::Output {
            session,
            stream,
            line,
        } = within(events.next()).await.unwrap()
            && line == "<42>"
        {
            assert_eq!((session, stream), (info.id, "stdout"));
            break;
        }
    }
    manager.end_all().await;
}

#[tokio::test]
async fn kill_ends_process_and_removes_session() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    let mut events = manager.subscribe();
    let info = manager
        .create_shell(idle_shell(folder.path()), "")
        .await
        .unwrap();
    let killed = within(manager.kill(info.id)).await.unwrap();
    assert_eq!(killed.info.end.as_ref().unwrap().reason, EndReason::Killed);
    assert!(killed.report.unwrap().survivors.is_empty());
    assert!(is_gone(info.pid.unwrap()));
    assert_eq!((manager.get(info.id), manager.list()), (None, Vec::new()));
    assert_eq!(next_exit(&mut events).await.0, info.id.to_string());
    let again = within(manager.kill(info.id)).await.unwrap_err();
    assert_eq!(again.code(), "NOT_FOUND");
    let late = within(manager.send_prompt(info.id, "x")).await.unwrap_err();
    assert_eq!(late.code(), "NOT_FOUND");
}

#[tokio::test]
async fn crash_is_reported_with_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    let mut events = manager.subscribe();
    let crash = command(folder.path(), "/bin/sh", &["-c", "exit 42"]);
    let info = manager.create_shell(crash, "").await.unwrap();
    let exit = SessionExit {
        code: Some(42),
        signal: None,
    };
    assert_eq!(next_exit(&mut events).await, (info.id.to_string(), exit));
    within(async {
        while manager.get(info.id).unwrap().end.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let info = manager.get(info.id).unwrap();
    let end = info.end.unwrap();
    assert_eq!((info.state, info.pid), (SessionState::Terminated, None));
    assert_eq!((end.exit, end.reason), (exit, EndReason::Exited));
}

#[tokio::test]
async fn cleanup_kills_all_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    let mut pids = Vec::new();
    for _ in 0..5 {
        let info = manager
            .create_shell(idle_shell(folder.path()), "")
            .await
            .unwrap();
        pids.push(info.pid.unwrap());
    }
    assert_eq!(within(manager.cleanup()).await.len(), 5);
    assert!(pids.into_iter().all(is_gone));
    assert!(
        manager
            .list()
            .iter()
            .all(|info| info.end.as_ref().unwrap().reason == EndReason::Shutdown)
    );
}

#[tokio::test]
async fn signals_kill_all_sessions() {
    for (name, signal) in [
        ("TERM", ShutdownSignal::Terminate),
        ("INT", ShutdownSignal::Interrupt),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let manager = open(folder.path());
        let shutdown = manager.shutdown_on_signals(ShutdownMode::End).unwrap();
        let info = manager
            .create_shell(idle_shell(folder.path()), "")
            .await
            .unwrap();
        let own = std::process::id().to_string();
        let sent = std::process::Command::new("kill")
            .args([format!("-{name}"), own])
            .status()
            .unwrap();
        assert!(sent.success());
        let report = within(shutdown).await;
        assert_eq!((report.signal, report.list_failed), (Some(signal), None));
        assert_eq!(report.sessions.len(), 1);
        assert!(is_gone(info.pid.unwrap()));
        let late = manager
            .create_shell(idle_shell(folder.path()), "")
            .await
            .unwrap_err();
        assert_eq!(late.code(), "SHUTTING_DOWN");
    }
}

#[tokio::test]
async fn dropping_the_manager_kills_its_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    let mut events = manager.subscribe();
    let info = manager
        .create_shell(idle_shell(folder.path()), "")
        .await
        .unwrap();
    drop(manager);
    while within(events.next()).await.is_some() {}
    within(async {
        while !is_gone(info.pid.unwrap()) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn reopened_list_shows_sessions_as_ended() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("state/state.json");
    let manager = open(folder.path());
    let lost = manager
        .create_shell(idle_shell(folder.path()), "lost")
        .await
        .unwrap();
    within(manager.flush()).await.unwrap();
    let as_killed = std::fs::read(&list).unwrap();
    assert_eq!(
        std::fs::metadata(&list).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let second =
        SessionManager::open(ManagerConfiguration::new(folder.path().join("state"))).unwrap_err();
    assert_eq!(second.code(), "STATE_IN_USE");
    within(manager.end_all()).await;
    drop(manager);

    let manager = open(folder.path());
    assert_eq!(
        manager.list()[0].end.as_ref().unwrap().reason,
        EndReason::Shutdown
    );
    let gone = manager.shell(lost.id).unwrap_err();
    assert_eq!(gone.code(), "ENDED");
    drop(manager);

    // As a killed host leaves it.
    std::fs::write(&list, as_killed).unwrap();
    let manager = open(folder.path());
    let info = manager.get(lost.id).unwrap();
    assert_eq!(
        (info.label.as_str(), info.state, info.pid),
        ("lost", SessionState::Terminated, None)
    );
    assert_eq!(info.end.unwrap().reason, EndReason::HostLost);
    assert!(manager.warnings().is_empty());
    within(manager.kill(lost.id)).await.unwrap();
    assert!(manager.list().is_empty());
}

#[tokio::test]
async fn invalid_list_is_renamed_with_a_warning() {
    for broken in [
        "",
        "{\"schema\":1,\"sess",
        "{\"schema\":2,\"sessions\":[]}",
        "\0\0\0",
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("state")).unwrap();
        std::fs::write(folder.path().join("state/state.json"), broken).unwrap();
        let manager = open(folder.path());
        assert!(manager.list().is_empty());
        let [StateWarning::SetAside { path, .. }] = manager.warnings() else {
            panic!("{:?}", manager.warnings());
        };
        assert_eq!(std::fs::read_to_string(path).unwrap(), broken);
        manager
            .create_shell(idle_shell(folder.path()), "")
            .await
            .unwrap();
        within(manager.flush()).await.unwrap();
        assert!(folder.path().join("state/state.json").exists());
    }
}

#[tokio::test]
async fn failed_write_is_reported_and_keeps_old_list() {
    let folder = tempfile::tempdir().unwrap();
    let manager = open(folder.path());
    manager
        .create_shell(idle_shell(folder.path()), "one")
        .await
        .unwrap();
    within(manager.flush()).await.unwrap();
    let list = folder.path().join("state/state.json");
    let before = std::fs::read(&list).unwrap();
    // A directory in the place of the new file: permissions do not stop a superuser.
    std::fs::create_dir(folder.path().join("state/state.json.new")).unwrap();
    manager
        .create_shell(idle_shell(folder.path()), "two")
        .await
        .unwrap();
    assert_eq!(within(manager.flush()).await.unwrap_err().code(), "STATE");
    assert_eq!(std::fs::read(&list).unwrap(), before);
    std::fs::remove_dir(folder.path().join("state/state.json.new")).unwrap();
    let report = within(manager.end_all()).await;
    assert_eq!((report.sessions.len(), report.list_failed), (2, None));
}

#[tokio::test]
async fn oldest_ended_session_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = ManagerConfiguration::new(folder.path().join("state"));
    let manager = SessionManager::open(ManagerConfiguration {
        keep_ended: 2,
        ..configuration
    })
    .unwrap();
    let mut events = manager.subscribe();
    let living = manager
        .create_shell(idle_shell(folder.path()), "living")
        .await
        .unwrap();
    for label in ["one", "two", "three"] {
        let ended = command(folder.path(), "/bin/sh", &["-c", "exit"]);
        manager.create_shell(ended, label).await.unwrap();
        next_exit(&mut events).await;
    }
    within(async {
        while manager.list().len() > 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let labels: Vec<String> = manager.list().into_iter().map(|info| info.label).collect();
    assert_eq!(labels, ["living", "two", "three"]);
    within(manager.kill(living.id)).await.unwrap();
}

#[tokio::test]
async fn hundred_sessions_leave_no_file_and_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let manager = limited(folder.path(), 100);
    let mut pids = Vec::new();
    for _ in 0..100 {
        let info = within(manager.create_shell(idle_shell(folder.path()), ""))
            .await
            .unwrap();
        pids.push(info.pid.unwrap());
    }
    let report = within(manager.end_all()).await;
    assert_eq!((report.sessions.len(), report.list_failed), (100, None));
    assert!(pids.into_iter().all(is_gone));
    drop(manager);
    let left: Vec<_> = std::fs::read_dir(folder.path().join("state"))
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    assert_eq!(left, ["state.json"]);
}
