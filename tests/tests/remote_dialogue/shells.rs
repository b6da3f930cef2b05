//! Shells at a real runner.

use std::path::Path;

use bowline_lifecycle::{DialogueError, ReconnectFailure, RemoteError, SessionId, StartError};
use bowline_manager::{ManagerConfiguration, SessionManager};
use bowline_shell::{SessionEvent, ShellConfiguration, ShellProgram, ShellSession};
use bowline_tests::session::within;

use crate::rig::Rig;

fn echo(folder: &Path) -> ShellConfiguration {
    let script = "echo begun; while read line; do echo \"received $line\"; done";
    ShellConfiguration {
        program: ShellProgram::Command("/bin/sh".into(), vec!["-c".into(), script.into()]),
        ..ShellConfiguration::new(folder)
    }
}

/// Waits for a line of the shell with this ending, starting from the oldest. The prompt may precede
/// it on the same line: input that arrives before the first prompt is executed after the prompt was
/// printed.
async fn line(shell: &ShellSession, wanted: &str) {
    let mut events = shell.subscribe_from_start();
    within(wanted, async {
        while let Some(event) = events.next().await {
            if matches!(&event, SessionEvent::Output { line, .. } if line.ends_with(wanted)) {
                return;
            }
        }
        panic!("it ended without {wanted:?}");
    })
    .await;
}

async fn attach(rig: &Rig, id: SessionId) -> Result<ShellSession, StartError> {
    let (remote, configuration) = (rig.remote(), echo(rig.folder.path()));
    within(
        "another host",
        ShellSession::attach(&remote, id, configuration),
    )
    .await
}

#[tokio::test]
async fn shell_outlives_host_and_is_ended_by_next() {
    let mut rig = Rig::new().await;
    let remote = rig.remote();
    let started = ShellSession::start_at(&remote, echo(rig.folder.path()));
    let shell = within("a shell", started).await.expect("it starts");
    line(&shell, "begun").await;
    shell.write("one\n").await.expect("it is typed");
    line(&shell, "received one").await;
    let id = shell.terminal();
    within("the detach", shell.detach())
        .await
        .expect("it is kept");
    assert!(shell.write("late\n").await.is_err());
    drop(shell);

    rig.restart().await;
    let shell = attach(&rig, id).await.expect("it is there");
    // Earlier output is available, too.
    line(&shell, "received one").await;
    shell.write("two\n").await.expect("it is typed");
    line(&shell, "received two").await;
    let report = within("the end", shell.terminate()).await;
    assert!(report.survivors.is_empty(), "{report:?}");
}

#[tokio::test]
async fn login_shell_is_that_of_runner_user() {
    let rig = Rig::new().await;
    let configuration = ShellConfiguration::new(rig.folder.path());
    let remote = rig.remote();
    let started = ShellSession::start_at(&remote, configuration);
    let shell = within("a shell", started).await.expect("it starts");
    shell
        .write("expr 40000 + 2345\n") // Whatever shell it is, it knows this.
        .await
        .expect("it is typed");
    line(&shell, "42345").await;
    shell.write("exit 3\n").await.expect("it is typed");
    let exit = within("the end", shell.exited()).await;
    assert_eq!(exit.status, bowline_lifecycle::ExitStatus::Code(3));
}

#[tokio::test]
async fn manager_runs_shells_at_runner() {
    let rig = Rig::new().await;
    let list = ManagerConfiguration::new(rig.folder.path().join("list"));
    let manager = SessionManager::open(list).expect("a manager");
    let remote = rig.remote();
    let made = manager.create_shell_at(&remote, echo(rig.folder.path()), "far");
    let info = within("a shell", made).await.expect("it starts");
    let shell = manager.shell(info.id).expect("it is one");
    line(&shell, "begun").await;
    let id = shell.terminal();
    drop(shell);
    within("its end", manager.kill(info.id))
        .await
        .expect("it lives");
    let refused = attach(&rig, id).await;
    if let Ok(late) = refused {
        let exit = within("the end", late.exited()).await;
        assert_ne!(
            exit.status,
            bowline_lifecycle::ExitStatus::Code(0),
            "it was ended"
        );
    }
    within("the end", manager.end_all()).await;
}

#[tokio::test]
async fn shell_start_failure_is_typed_error() {
    let rig = Rig::new().await;
    let attached = attach(&rig, SessionId::random()).await;
    let Err(StartError::Remote(RemoteError::Link { failure, .. })) = &attached else {
        panic!("{attached:?}");
    };
    assert_eq!(*failure, ReconnectFailure::Gone);
    let missing = ShellConfiguration {
        program: ShellProgram::Command("no-such-program-anywhere".into(), Vec::new()),
        ..ShellConfiguration::new(rig.folder.path())
    };
    let refused = within("an answer", ShellSession::start_at(&rig.remote(), missing)).await;
    assert!(
        matches!(
            &refused,
            Err(StartError::Remote(RemoteError::Refused { .. }))
        ),
        "{refused:?}"
    );
    let local = ShellSession::start(echo(rig.folder.path()))
        .await
        .expect("it starts");
    assert!(matches!(
        local.detach().await,
        Err(DialogueError::NotDetachable)
    ));
    local.kill().await;
}
