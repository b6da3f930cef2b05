//! The lines above the screen, and sessions that are only shown.

use bowline_runner::{NamedTokens, TokenScope};
use serde_json::{Value, json};

use crate::support::{Reader, TestRunner, TestScreen, WebTerminal, check_described};

/// Prints this many numbered lines.
fn lines(count: u32) -> String {
    format!("seq -f 'line %.0f' 1 {count}; echo done; stty -echo; cat")
}

/// Attaches to a session for the second time, once it has printed its lines.
async fn joined_again(runner: &TestRunner, id: &str) -> WebTerminal {
    let mut terminal = WebTerminal::attach(runner, id).await;
    terminal.wait_for_screen("done").await;
    terminal.disconnect();
    WebTerminal::attach(runner, id).await
}

async fn page(runner: &TestRunner, id: &str, query: &str) -> Value {
    let path = format!("/api/sessions/{id}/scrollback?{query}");
    let response = runner.request("GET", &path, None).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

/// Returns the numbers of numbered lines.
fn numbers(lines: &Value) -> Vec<u32> {
    let lines = lines.as_array().unwrap().iter();
    let number = |line: &Value| line.as_str()?.strip_prefix("line ")?.parse().ok();
    lines.map(|line| number(line).unwrap()).collect()
}

#[tokio::test]
async fn terminal_that_joins_again_has_newest_lines() {
    let runner = TestRunner::start().await;
    let id = runner.shell(&lines(100_000)).await;
    let mut terminal = joined_again(&runner, &id).await;
    let (begin, _) = terminal.replay().await;
    let rows = terminal.all_lines();
    // The last screen has 22 lines, `done` and the cursor's row.
    let first = 100_000 - 22 - 10_000 + 1;
    let expected = (first..=100_000).map(|number| format!("line {number}"));
    let expected: Vec<_> = expected.chain(["done".to_owned(), String::new()]).collect();
    assert_eq!(rows.len(), 10_000 + 24);
    assert!(rows == expected, "{:?} … {:?}", rows.first(), rows.last());

    // Older lines follow by page.
    let at = begin["scrollback_at"].as_str().unwrap();
    let mut older = page(&runner, &id, &format!("at={at}&skip=10000&lines=5000")).await;
    let mut found = Vec::new();
    loop {
        found = [numbers(&older["lines"]), found].concat();
        let Some(at) = older["older"]["at"].as_str() else {
            break;
        };
        let skip = older["older"]["skip"].as_u64().unwrap();
        older = page(&runner, &id, &format!("at={at}&skip={skip}&lines=10000")).await;
    }
    assert_eq!(older["lost"], false);
    assert!(found.iter().copied().eq(1..first), "{:?}", found.first());
}

#[tokio::test]
async fn lines_of_scrollback_are_a_setting() {
    let runner = TestRunner::start().await;
    let spec = json!({
        "kind": "terminal", "program": "/bin/sh", "args": ["-c", lines(3_000)],
        "stdio": {"type": "pty"}, "scrollback_lines": 500,
    });
    let id = runner.create(&spec).await;
    let mut terminal = joined_again(&runner, &id).await;
    terminal.replay().await;
    assert_eq!(terminal.all_lines().len(), 500 + 24);
}

#[tokio::test]
async fn session_without_journal_has_the_lines_in_memory() {
    let runner = TestRunner::start().await;
    let spec = json!({
        "kind": "terminal", "program": "/bin/sh", "args": ["-c", lines(3_000)],
        "stdio": {"type": "pty"}, "journal": {"on": false},
    });
    let id = runner.create(&spec).await;
    let mut terminal = joined_again(&runner, &id).await;
    terminal.replay().await;
    assert_eq!(terminal.all_lines().len(), 3_000 + 2);
    let path = format!("/api/sessions/{id}/scrollback");
    let refused = runner.request("GET", &path, None).await;
    assert_eq!(refused.code(), "NO_LOG", "{}", refused.text());
}

#[tokio::test]
async fn screen_of_an_offset_is_read_after_the_end() {
    let runner = TestRunner::start().await;
    let script = "printf 'first\\r\\n'; printf '\\033[2J\\033[5;5Hsecond'; read x";
    let id = runner.shell(script).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("second").await;
    let mut reader = Reader::of(&runner, &id).await;
    terminal.close(Some(1000)).await;
    reader.exit().await;
    let screen = async |query: &str| {
        let path = format!("/api/sessions/{id}/screen{query}");
        runner.request("GET", &path, None).await
    };
    for (query, shown, hidden) in [("?at=7", "first", "second"), ("", "second", "first")] {
        let response = screen(query).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.header("bowline-size"), Some("80x24"));
        let mut terminal = TestScreen::new();
        terminal.feed(&response.body);
        let text = terminal.text();
        assert!(text.contains(shown) && !text.contains(hidden), "{text}");
    }
    let late = screen("?at=100000").await;
    assert_eq!(late.code(), "OUT_OF_RANGE", "{}", late.text());
}

/// The example of the OpenAPI document, and lines of a session that has ended.
#[tokio::test]
async fn documented_example_of_scrollback_is_valid() {
    let runner = TestRunner::start().await;
    let script = "printf '\\033[32mgreen\\033[m\\r\\n'; seq 1 60; read x";
    let id = runner.shell(script).await;
    let mut terminal = WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("60").await;
    let mut reader = Reader::of(&runner, &id).await;
    terminal.close(Some(1000)).await;
    reader.exit().await;
    let newest = page(&runner, &id, "lines=3").await;
    assert_eq!(newest["lines"], json!(["35", "36", "37"]));
    let all = page(&runner, &id, "").await;
    assert_eq!(all["lines"][0], "\u{1b}[32mgreen\u{1b}[39m");
    assert_eq!((&all["older"], &all["lost"]), (&Value::Null, &json!(false)));
    let document = runner.request("GET", "/openapi.json", None).await.json();
    let schema = &document["components"]["schemas"]["Scrollback"];
    for value in [&newest, &all, &schema["example"]] {
        check_described(&document, schema, value, "scrollback");
    }
    let example = &schema["example"]["older"]["at"];
    page(&runner, &id, &format!("at={}", example.as_str().unwrap())).await;
    for query in ["at=x", "lines=0", "lines=10001", "skip=1000001"] {
        let path = format!("/api/sessions/{id}/scrollback?{query}");
        let refused = runner.request("GET", &path, None).await;
        assert_eq!(refused.status, 400, "{query}: {}", refused.text());
    }
}

#[tokio::test]
async fn look_token_watches_a_terminal() {
    let runner = TestRunner::start().await;
    let tokens = NamedTokens::at(runner.token_folder().join("tokens"));
    let secret = tokens.add("board", TokenScope::Look, 0).unwrap();
    let script = "stty -echo; echo ready; while read line; do echo \"got $line\"; done";
    let id = runner.shell(script).await;
    let mut writer = WebTerminal::attach(&runner, &id).await;
    writer.wait_for_screen("ready").await;
    let path = format!("/api/sessions/{id}/attach");
    let mut watcher = WebTerminal::open(runner.address(), &path, &secret)
        .await
        .unwrap();
    let (begin, _) = watcher.replay().await;
    assert_eq!(begin["read_only"], true);
    watcher.wait_for_screen("ready").await;
    watcher.input("typed by a watcher\n").await;
    assert_eq!(watcher.text("error").await["code"], "READ_ONLY");
    watcher
        .send(json!({"type": "resize", "cols": 40, "rows": 10}))
        .await;
    assert_eq!(watcher.text("error").await["code"], "READ_ONLY");
    // The writer keeps its lease, and both see its input.
    writer.input("one\n").await;
    writer.wait_for_screen("got one").await;
    let shown = watcher.wait_for_screen("got one").await;
    assert!(!shown.contains("watcher"), "{shown:?}");
    // No close code of a watcher ends the session.
    watcher.close(Some(1000)).await;
    writer.input("two\n").await;
    writer.wait_for_screen("got two").await;
    assert_eq!(runner.session(&id).await["state"], "running");
}
