use serde_json::json;

use crate::test_util::TestSession;

fn started(more: &str) -> TestSession {
    let mut session = TestSession::new();
    session.line(&format!(r#""type":"system","subtype":"task_started","task_id":"k","tool_use_id":"t1","task_type":"local_bash","description":"dig"{more}"#));
    session
}

fn ended(session: &mut TestSession, status: &str) {
    session.line(&format!(
        r#""type":"system","subtype":"task_notification","task_id":"k","status":"{status}""#
    ));
}

fn updated(session: &mut TestSession, status: &str) {
    session.line(&format!(
        r#""type":"system","subtype":"task_updated","task_id":"k","patch":{{"status":"{status}"}}"#
    ));
}

fn state(session: &mut TestSession) -> String {
    session.json()["tasks"]["k"]["state"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn task_has_kind_and_description() {
    let mut session = started("");
    let expected = json!({"kind": "local_bash", "state": "running", "description": "dig", "tool_use_id": "t1"});
    assert_eq!(session.json()["tasks"]["k"], expected);
    session
        .line(r#""type":"system","subtype":"task_progress","task_id":"k","description":"digging""#);
    assert_eq!(session.json()["tasks"]["k"], expected);
    let task = session.transcript.tasks().next().unwrap();
    assert!(task.activity() == "digging");
}

#[test]
fn first_task_end_wins() {
    for (first, state_) in [
        ("completed", "completed"),
        ("failed", "failed"),
        ("stopped", "killed"),
    ] {
        let mut session = started("");
        ended(&mut session, first);
        updated(&mut session, "running");
        ended(&mut session, "failed");
        assert_eq!(state(&mut session), state_);
    }
    let mut session = started("");
    updated(&mut session, "killed");
    ended(&mut session, "completed");
    assert_eq!(state(&mut session), "killed");
    assert_eq!(session.phase(), "idle");
}

#[test]
fn paused_task_keeps_session_running() {
    let mut session = started("");
    updated(&mut session, "paused");
    assert_eq!(
        (state(&mut session), session.phase()),
        ("paused".into(), "running".into())
    );
}

#[test]
fn late_line_of_previous_run_is_ignored() {
    let mut session = started(r#","run_id":"b""#);
    let end = |run, status| {
        format!(
            r#""type":"system","subtype":"task_notification","task_id":"k","run_id":"{run}","status":"{status}""#
        )
    };
    session.line(&end("a", "failed"));
    assert_eq!(state(&mut session), "running");
    session.line(&end("b", "completed"));
    session.line(r#""type":"system","subtype":"task_started","task_id":"k","run_id":"c""#);
    assert_eq!(state(&mut session), "running");
    session.line(&end("c", "failed"));
    assert_eq!(state(&mut session), "failed");
}

#[test]
fn task_missing_from_list_is_lost() {
    let mut session = TestSession::new();
    session.line(r#""type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"k","task_type":"local_bash","description":"dig"}]"#);
    assert_eq!(state(&mut session), "running");
    session.line(r#""type":"system","subtype":"background_tasks_changed","tasks":[]"#);
    assert_eq!(state(&mut session), "lost");
    ended(&mut session, "completed");
    assert_eq!(state(&mut session), "completed");
}

#[test]
fn foreground_task_ends_with_its_call() {
    for (is_backgrounded, state_) in [(false, "completed"), (true, "running")] {
        let mut session = started(&format!(r#","is_backgrounded":{is_backgrounded}"#));
        session
            .tool_use("null", "t1", "Bash")
            .tool_result("t1", "ok", false, "");
        assert_eq!(state(&mut session), state_);
    }
}

#[test]
fn running_task_is_lost_at_process_end() {
    let mut session = started("");
    session.end();
    assert_eq!(state(&mut session), "lost");
}

#[test]
fn result_closes_only_tasks_of_its_call() {
    let mut session = TestSession::new();
    session
        .tool_use("null", "t1", "Bash")
        .tool_use("null", "t2", "Bash");
    for (task, call) in [("a", "t1"), ("b", "t2"), ("c", "t1"), ("d", "t1")] {
        session.line(&format!(r#""type":"system","subtype":"task_started","task_id":"{task}","tool_use_id":"{call}","task_type":"local_bash","description":"dig""#));
    }
    session.tool_result("t1", "ok", false, "");
    let tasks = session.json()["tasks"].clone();
    let states = ["a", "b", "c", "d"].map(|task| tasks[task]["state"].clone());
    assert_eq!(states, ["completed", "running", "completed", "completed"]);
}
