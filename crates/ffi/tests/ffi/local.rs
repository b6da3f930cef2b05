//! The exported API of a library for local sessions only.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_ffi::{
    BowlineError, Engine, ExecutorConfiguration, HistoryConfiguration, HookConfiguration,
    ManagerConfiguration, RunnerConfiguration, SessionState, ShellConfiguration, ShellProgram,
    common_hook_kinds, merge_settings,
};

fn engine() -> Arc<Engine> {
    Engine::new(None)
}

fn runner() -> RunnerConfiguration {
    RunnerConfiguration {
        url: "http://127.0.0.1:1".to_owned(),
        token: None,
        token_file: None,
        token_provider: None,
        certificates: None,
        identity: None,
        allow_clear_text: false,
        reconnect_timeout_ms: None,
        client_name: None,
    }
}

fn shell(runner: Option<RunnerConfiguration>) -> ShellConfiguration {
    ShellConfiguration {
        cwd: "/".to_owned(),
        runner,
        name: None,
        labels: HashMap::new(),
        program: Some(ShellProgram::Command {
            program: "/bin/sh".to_owned(),
            args: Vec::new(),
        }),
        environment: None,
        size: None,
        idle_after_ms: 100,
        max_line: 1000,
        history_lines: 100,
        history_bytes: 10_000,
        termination: None,
        containment: None,
        guard: None,
    }
}

/// Checks that a call fails with a remedy.
fn assert_absent<T>(result: Result<T, BowlineError>, action: &str) {
    match result {
        Err(BowlineError::Configuration { reason }) => {
            assert!(reason.starts_with(action), "{reason}");
            assert!(
                reason.ends_with("build bowline-ffi with its default features"),
                "{reason}"
            );
        }
        Err(error) => panic!("{action}: {error:?}"),
        Ok(_) => panic!("{action}: it has not failed"),
    }
}

#[tokio::test]
async fn calls_that_are_left_out_fail_with_the_remedy() {
    let engine = engine();
    assert_absent(engine.runner(runner()), "use a runner");
    assert_absent(
        engine.start_shell(shell(Some(runner()))).await,
        "use a runner",
    );
    let id = "00000000-0000-4000-8000-000000000001".to_owned();
    let attached = engine.attach_shell(runner(), id, shell(None)).await;
    assert_absent(attached, "use a runner");
    let recording = engine.open_recording("/no/such/file".to_owned(), None);
    assert_absent(recording.await, "read /no/such/file");
    let history = engine.history(Some(HistoryConfiguration::default()));
    let history = history.expect("nothing is read");
    assert_absent(history.list(None).await, "list past conversations");
    assert_absent(
        history.open("1".to_owned()).await,
        "open a past conversation",
    );
    let hooks = HookConfiguration {
        kinds: None,
        route: None,
        helper: None,
        gate: None,
        variables: None,
        secret_path: false,
        backend: None,
        limits: None,
    };
    assert_absent(engine.start_hooks(hooks).await, "start a hook server");
    assert!(common_hook_kinds().is_empty());
    assert_absent(
        merge_settings("{}".to_owned(), "{}".to_owned()),
        "merge settings",
    );
    let executor = ExecutorConfiguration {
        session: "s".to_owned(),
        agent: None,
        environment: None,
        conversation: None,
        hooks: None,
        max_run_ms: None,
        exit_grace_ms: 0,
        hook_grace_ms: 0,
        end_grace_ms: 0,
        size: None,
    };
    assert_absent(
        engine.start_executor(executor, None).await,
        "start an executor",
    );
}

#[tokio::test]
async fn local_sessions_of_a_manager_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = ManagerConfiguration {
        state_directory: folder.path().to_string_lossy().into_owned(),
        max_sessions: 4,
        keep_ended: 4,
        lease_directory: None,
        agent_directory: None,
        budget: None,
    };
    let manager = engine()
        .open_manager(configuration)
        .await
        .expect("it is new");
    let created = manager.create_shell(shell(None), "here".to_owned()).await;
    let id = created.expect("sh is there").id;
    let running = manager
        .session(id.clone())
        .expect("a valid id")
        .expect("listed");
    assert_ne!(running.state, SessionState::Terminated);
    let report = manager.reattach(Vec::new(), None).await.expect("no runner");
    assert!(
        report.attached.is_empty() && report.failed.is_empty(),
        "{report:?}"
    );
    assert_absent(manager.reattach(vec![runner()], None).await, "use a runner");
    let killed = manager.kill(id.clone()).await.expect("it runs");
    assert!(killed.report.is_some());
    assert_eq!(manager.session(id).expect("a valid id"), None);
}
