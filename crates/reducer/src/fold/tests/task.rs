use serde_json::json;

use crate::feed::Feed;

fn started(more: &str) -> Feed {
    let mut feed = Feed::new();
    feed.line(&format!(r#""type":"system","subtype":"task_started","task_id":"k","tool_use_id":"t1","task_type":"local_bash","description":"dig"{more}"#));
    feed
}

fn ended(feed: &mut Feed, status: &str) {
    feed.line(&format!(
        r#""type":"system","subtype":"task_notification","task_id":"k","status":"{status}""#
    ));
}

fn updated(feed: &mut Feed, status: &str) {
    feed.line(&format!(
        r#""type":"system","subtype":"task_updated","task_id":"k","patch":{{"status":"{status}"}}"#
    ));
}

fn state(feed: &mut Feed) -> String {
    feed.json()["tasks"]["k"]["state"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_task_is_described() {
    let mut feed = started("");
    let expected = json!({"kind": "local_bash", "state": "running", "description": "dig", "tool_use_id": "t1"});
    assert_eq!(feed.json()["tasks"]["k"], expected);
    feed.line(r#""type":"system","subtype":"task_progress","task_id":"k","description":"digging""#);
    assert_eq!(feed.json()["tasks"]["k"], expected);
    let task = feed.transcript.tasks().next().unwrap();
    assert!(task.activity() == "digging");
}

#[test]
fn the_first_end_counts() {
    for (first, state_) in [
        ("completed", "completed"),
        ("failed", "failed"),
        ("stopped", "killed"),
    ] {
        let mut feed = started("");
        ended(&mut feed, first);
        updated(&mut feed, "running");
        ended(&mut feed, "failed");
        assert_eq!(state(&mut feed), state_);
    }
    let mut feed = started("");
    updated(&mut feed, "killed");
    ended(&mut feed, "completed");
    assert_eq!(state(&mut feed), "killed");
    assert_eq!(feed.phase(), "idle");
}

#[test]
fn a_task_may_rest() {
    let mut feed = started("");
    updated(&mut feed, "paused");
    assert_eq!(
        (state(&mut feed), feed.phase()),
        ("paused".into(), "running".into())
    );
}

#[test]
fn a_new_run_begins_and_a_late_line_of_the_old_one_is_ignored() {
    let mut feed = started(r#","run_id":"b""#);
    let end = |run, status| {
        format!(
            r#""type":"system","subtype":"task_notification","task_id":"k","run_id":"{run}","status":"{status}""#
        )
    };
    feed.line(&end("a", "failed"));
    assert_eq!(state(&mut feed), "running");
    feed.line(&end("b", "completed"));
    feed.line(r#""type":"system","subtype":"task_started","task_id":"k","run_id":"c""#);
    assert_eq!(state(&mut feed), "running");
    feed.line(&end("c", "failed"));
    assert_eq!(state(&mut feed), "failed");
}

#[test]
fn what_leaves_the_list_runs_no_more() {
    let mut feed = Feed::new();
    feed.line(r#""type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"k","task_type":"local_bash","description":"dig"}]"#);
    assert_eq!(state(&mut feed), "running");
    feed.line(r#""type":"system","subtype":"background_tasks_changed","tasks":[]"#);
    assert_eq!(state(&mut feed), "lost");
    ended(&mut feed, "completed");
    assert_eq!(state(&mut feed), "completed");
}

#[test]
fn a_task_in_the_foreground_ends_with_its_call() {
    for (is_backgrounded, state_) in [(false, "completed"), (true, "running")] {
        let mut feed = started(&format!(r#","is_backgrounded":{is_backgrounded}"#));
        feed.calls("null", "t1", "Bash")
            .gives("t1", "ok", false, "");
        assert_eq!(state(&mut feed), state_);
    }
}

#[test]
fn what_runs_when_the_process_ends_is_lost() {
    let mut feed = started("");
    feed.ends();
    assert_eq!(state(&mut feed), "lost");
}

#[test]
fn a_result_closes_every_task_of_its_call_and_no_other() {
    let mut feed = Feed::new();
    feed.calls("null", "t1", "Bash").calls("null", "t2", "Bash");
    for (task, call) in [("a", "t1"), ("b", "t2"), ("c", "t1"), ("d", "t1")] {
        feed.line(&format!(r#""type":"system","subtype":"task_started","task_id":"{task}","tool_use_id":"{call}","task_type":"local_bash","description":"dig""#));
    }
    feed.gives("t1", "ok", false, "");
    let tasks = feed.json()["tasks"].clone();
    let states = ["a", "b", "c", "d"].map(|task| tasks[task]["state"].clone());
    assert_eq!(states, ["completed", "running", "completed", "completed"]);
}
