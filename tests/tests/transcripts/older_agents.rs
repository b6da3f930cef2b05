//! Recordings of older versions of the agent.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::fixture::{fold, older_fixtures, to_value};
use crate::oracle;

#[test]
fn older_agents_fold_without_unknown_line() {
    let mut counts = String::new();
    for fixture in older_fixtures() {
        let transcript = to_value(&fold(&fixture.bytes));
        let stats = &transcript["stats"];
        assert_eq!(stats["unknown"], json!({}), "{}", fixture.name);
        assert_eq!(stats["parse_errors"], 0, "{}", fixture.name);
        assert_eq!(stats["truncated"], false, "{}", fixture.name);
        oracle::compare(&fixture, &transcript);
        writeln!(counts, "{:18} {}", fixture.name, count(&transcript)).unwrap();
    }
    insta::assert_snapshot!(counts, @r"
    1.0.128-parallel   1 user, 2 assistant, 1 result, 4 calls, 0 inner calls, 0 tasks
    1.0.128-plain      1 user, 1 assistant, 1 result, 0 calls, 0 inner calls, 0 tasks
    1.0.128-sub_nest   1 user, 2 assistant, 1 result, 1 calls, 0 inner calls, 0 tasks
    2.0.0-plain        1 user, 1 assistant, 1 result, 0 calls, 0 inner calls, 0 tasks
    2.0.0-sub_nest     1 user, 2 assistant, 1 result, 1 calls, 0 inner calls, 0 tasks
    2.0.77-parallel    1 user, 2 assistant, 1 result, 4 calls, 0 inner calls, 0 tasks
    2.0.77-perm        1 user, 3 assistant, 1 result, 2 calls, 0 inner calls, 0 tasks
    2.0.77-plain       1 user, 1 assistant, 1 result, 0 calls, 0 inner calls, 0 tasks
    2.0.77-sub_nest    1 user, 2 assistant, 1 result, 1 calls, 0 inner calls, 0 tasks
    2.0.77-thinking    1 user, 1 assistant, 1 result, 0 calls, 0 inner calls, 0 tasks
    2.1.100-err529     1 user, 1 assistant, 1 result, 0 calls, 0 inner calls, 0 tasks
    2.1.100-plain      1 user, 1 assistant, 1 result, 0 calls, 0 inner calls, 0 tasks
    2.1.100-sub_nest   1 user, 2 assistant, 1 result, 1 calls, 1 inner calls, 1 tasks
    2.1.197-bgbash     1 user, 2 assistant, 1 result, 1 calls, 0 inner calls, 1 tasks
    2.1.197-plain      1 user, 1 assistant, 1 result, 0 calls, 0 inner calls, 0 tasks
    2.1.197-sub_nest   1 user, 2 assistant, 1 result, 1 calls, 1 inner calls, 2 tasks
    2.1.197-todo       1 user, 2 assistant, 1 result, 1 calls, 0 inner calls, 0 tasks
    2.1.5-plain        1 user, 1 assistant, 1 result, 0 calls, 0 inner calls, 0 tasks
    2.1.5-sub_nest     1 user, 2 assistant, 1 result, 1 calls, 0 inner calls, 0 tasks
    ");
}

/// Counts the entries and calls of the main thread, the calls of sub-agents, and the tasks.
fn count(transcript: &Value) -> String {
    let kind = |kind: &str| {
        let entries = transcript["entries"].as_array().unwrap().iter();
        entries.filter(|entry| entry["kind"] == kind).count()
    };
    let (user, assistant, result) = (kind("user"), kind("assistant"), kind("result"));
    let (calls, inner) = calls(transcript);
    let tasks = transcript["tasks"].as_object().map_or(0, |it| it.len());
    format!(
        "{user} user, {assistant} assistant, {result} result, {calls} calls, {inner} inner calls, \
         {tasks} tasks"
    )
}

/// Returns the number of calls of a thread, and of all its sub-agents.
fn calls(thread: &Value) -> (usize, usize) {
    let calls = thread["tool_calls"].as_object();
    let agents = calls.into_iter().flat_map(|calls| calls.values());
    let inner = agents.map(|call| {
        let (calls, inner) = self::calls(&call["subagent"]);
        calls + inner
    });
    (calls.map_or(0, |it| it.len()), inner.sum())
}
