//! What all routes have in common: keys of repeated requests, pages of lists, ranges, origins, problems and ids.

use bowline_reducer::Mirror;
use serde_json::{Value, json};

use crate::support::{ORIGIN, TestResponse, TestRunner, request};

/// Sends a request with the token and further headers.
async fn send(
    runner: &TestRunner,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> TestResponse {
    let bearer = format!("Bearer {}", runner.token());
    let mut all = vec![("Authorization", bearer.as_str())];
    all.extend(headers);
    request(runner.address(), method, path, &all, body).await
}

fn id_of(response: &TestResponse) -> String {
    assert_eq!(response.status, 201, "{}", response.text());
    response.json()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn repeated_create_with_a_key_returns_the_session() {
    let runner = TestRunner::start().await;
    let create = ("POST", "/api/sessions");
    let key = [("Idempotency-Key", "job 7")];
    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", "read x"]});
    let first = id_of(&send(&runner, create, &key, Some(&spec)).await);
    let second = id_of(&send(&runner, create, &key, Some(&spec)).await);
    assert_eq!(first, second);
    let other = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", "read y"]});
    let reused = send(&runner, create, &key, Some(&other)).await;
    let refusal = (reused.status, reused.code());
    assert_eq!(refusal, (422, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    let runner = runner.restart(|_| ()).await;
    let third = id_of(&send(&runner, create, &key, Some(&spec)).await);
    assert_eq!(first, third, "the key survives the runner");
    let another = [("Idempotency-Key", "job 8")];
    assert_ne!(
        first,
        id_of(&send(&runner, create, &another, Some(&spec)).await)
    );
    let list = runner.request("GET", "/api/sessions", None).await.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 2);
    for invalid in ["", &"x".repeat(256)] {
        let refused = send(
            &runner,
            create,
            &[("Idempotency-Key", invalid)],
            Some(&spec),
        )
        .await;
        assert_eq!(refused.code(), "INVALID_IDEMPOTENCY_KEY", "{invalid}");
    }
}

#[tokio::test]
async fn repeated_restart_and_prompt_with_a_key_take_effect_once() {
    let runner = TestRunner::start().await;
    let script = "stty -echo; echo ready; while read x; do echo \"got $x\"; done";
    let first = runner.shell(script).await;
    let restart = format!("/api/sessions/{first}/restart");
    let key = [("Idempotency-Key", "again")];
    let second = id_of(&send(&runner, ("POST", &restart), &key, None).await);
    assert_ne!(first, second);
    assert_eq!(
        second,
        id_of(&send(&runner, ("POST", &restart), &key, None).await)
    );
    let prompt = format!("/api/sessions/{second}/prompt");
    let mut ids = Vec::new();
    for _ in 0..2 {
        let sent = send(
            &runner,
            ("POST", &prompt),
            &key,
            Some(&json!({"text": "a"})),
        )
        .await;
        assert_eq!(sent.status, 202, "{}", sent.text());
        ids.push(sent.json()["id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
    let other = send(
        &runner,
        ("POST", &prompt),
        &key,
        Some(&json!({"text": "b"})),
    )
    .await;
    assert_eq!((other.status, other.code()), (409, "ID_REUSED".to_owned()));
}

#[tokio::test]
async fn list_is_filtered_and_paged() {
    let runner = TestRunner::start().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let team = ["red", "blue"][number % 2];
        let script = if number == 4 { "exit 3" } else { "read x" };
        let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", script],
            "cwd": "/tmp", "labels": {"team": team, "number": number.to_string()}});
        ids.push(runner.create(&spec).await);
    }
    let list = async |query: &str| {
        let path = format!("/api/sessions?{query}");
        let response = runner.request("GET", &path, None).await;
        assert_eq!(response.status, 200, "{query}: {}", response.text());
        let list = response.json();
        let sessions = list["sessions"].as_array().unwrap().iter();
        let found: Vec<_> = sessions
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect();
        (found, list["next"].as_str().map(str::to_owned))
    };
    while list("state=ended").await.0 != ids[4..] {}
    assert_eq!(
        list("label=team=red").await.0,
        [&*ids[0], &*ids[2], &*ids[4]]
    );
    assert_eq!(list("label=team=red,number=2").await.0, ids[2..3]);
    assert_eq!(list("label=number").await.0, ids);
    assert_eq!(list("label=other").await.0, [""; 0]);
    assert_eq!(list("state=active,starting").await.0, ids[..4]);
    assert_eq!(list("state=terminated&label=team=blue").await.0, [""; 0]);
    assert_eq!(list("cwd=/tmp/").await.0, ids);
    assert_eq!(list("cwd=/").await.0, [""; 0]);
    assert_eq!(list("agent=sh").await.0, ids);
    assert_eq!(list("agent=claude").await.0, [""; 0]);
    let (mut found, mut query) = (Vec::new(), "limit=2".to_owned());
    loop {
        let (page, next) = list(&query).await;
        assert!(page.len() <= 2);
        found.extend(page);
        match next {
            Some(next) => query = format!("limit=2&after={next}"),
            None => break,
        }
    }
    assert_eq!(found, ids);
    for query in [
        "state=busy",
        "limit=0",
        "limit=1001",
        "after=x",
        "color=red",
    ] {
        let path = format!("/api/sessions?{query}");
        let refused = runner.request("GET", &path, None).await;
        assert_eq!(refused.code(), "BAD_REQUEST", "{query}");
    }
}

#[tokio::test]
async fn log_has_ranges_and_tags() {
    let runner = TestRunner::start().await;
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", "printf 0123456789; read x"]});
    let id = runner.create(&spec).await;
    let path = format!("/api/sessions/{id}/log");
    let get = async |headers: &[(&str, &str)]| send(&runner, ("GET", &path), headers, None).await;
    let whole = loop {
        let log = get(&[]).await;
        if log.body.len() == 10 {
            break log;
        }
    };
    assert_eq!(
        (whole.status, whole.header("accept-ranges")),
        (200, Some("bytes"))
    );
    let tag = whole.header("etag").unwrap();
    let known = get(&[("If-None-Match", tag)]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    for (range, text, content_range) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=7-", "789", "bytes 7-9/10"),
        ("bytes=-2", "89", "bytes 8-9/10"),
        ("bytes=8-99", "89", "bytes 8-9/10"),
    ] {
        let part = get(&[("Range", range)]).await;
        assert_eq!((part.status, &*part.text()), (206, text), "{range}");
        assert_eq!(part.header("content-range"), Some(content_range));
        assert_ne!(part.header("etag"), Some(tag));
    }
    let refused = get(&[("Range", "bytes=10-")]).await;
    assert_eq!(
        (refused.status, refused.header("content-range")),
        (416, Some("bytes */10"))
    );
    let ignored = get(&[("Range", "lines=1-2")]).await;
    assert_eq!((ignored.status, &*ignored.text()), (200, "0123456789"));
}

#[tokio::test]
async fn only_pages_of_accepted_origins_read_responses() {
    let runner = TestRunner::start().await;
    let preflight = async |origin: &str| {
        let headers = [
            ("Origin", origin),
            ("Access-Control-Request-Method", "PATCH"),
            (
                "Access-Control-Request-Headers",
                "authorization,content-type",
            ),
        ];
        let path = "/api/sessions/x";
        request(runner.address(), "OPTIONS", path, &headers, None).await
    };
    let permitted = preflight(ORIGIN).await;
    assert_eq!(permitted.status, 204, "{}", permitted.text());
    assert_eq!(
        permitted.header("access-control-allow-origin"),
        Some(ORIGIN)
    );
    let methods = permitted.header("access-control-allow-methods").unwrap();
    assert!(methods.contains("PATCH"), "{methods}");
    let names = permitted.header("access-control-allow-headers").unwrap();
    assert!(
        names.contains("authorization") && names.contains("idempotency-key"),
        "{names}"
    );
    let refused = preflight("https://evil.example").await;
    assert_eq!(
        (refused.status, refused.code()),
        (403, "ORIGIN_REFUSED".to_owned())
    );
    assert_eq!(refused.header("access-control-allow-origin"), None);
    let list = send(
        &runner,
        ("GET", "/api/sessions"),
        &[("Origin", ORIGIN)],
        None,
    )
    .await;
    assert_eq!(
        (list.status, list.header("access-control-allow-origin")),
        (200, Some(ORIGIN))
    );
    assert!(
        list.header("access-control-expose-headers")
            .unwrap()
            .contains("bowline-next")
    );
    // An error is readable too.
    let missing = send(
        &runner,
        ("GET", "/api/sessions/x"),
        &[("Origin", ORIGIN)],
        None,
    )
    .await;
    assert_eq!(
        (
            missing.status,
            missing.header("access-control-allow-origin")
        ),
        (404, Some(ORIGIN))
    );
    let without = runner.request("GET", "/api/sessions", None).await;
    assert_eq!(without.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn error_is_a_problem_document() {
    let runner = TestRunner::start().await;
    let missing = runner.request("GET", "/api/sessions/x", None).await;
    assert_eq!(
        missing.header("content-type"),
        Some("application/problem+json")
    );
    let problem = missing.json();
    for (member, value) in [
        ("type", json!("urn:bowline:problem:SESSION_NOT_FOUND")),
        ("title", json!("Not Found")),
        ("status", json!(404)),
        ("code", json!("SESSION_NOT_FOUND")),
    ] {
        assert_eq!(problem[member], value, "{problem}");
    }
    assert!(
        problem["detail"].is_string() && problem["next"].is_string(),
        "{problem}"
    );
}

#[tokio::test]
async fn unknown_member_is_refused_by_its_name() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    for (path, body) in [
        (
            "/api/sessions".to_owned(),
            json!({"kind": "terminal", "program": "sh", "colour": 1}),
        ),
        (
            "/api/sessions".to_owned(),
            json!({"agent": "claude", "colour": 1}),
        ),
        (
            format!("/api/sessions/{id}/prompt"),
            json!({"text": "a", "colour": 1}),
        ),
        (
            format!("/api/sessions/{id}/interrupt"),
            json!({"colour": 1}),
        ),
        (
            format!("/api/sessions/{id}/options"),
            json!({"option": "a", "value": "b", "colour": 1}),
        ),
        (
            format!("/api/sessions/{id}/permissions"),
            json!({"request_id": "a", "colour": 1}),
        ),
        (
            "/api/tickets".to_owned(),
            json!({"session": id, "colour": 1}),
        ),
    ] {
        let refused = runner.request("POST", &path, Some(&body)).await;
        assert_eq!(
            (refused.status, refused.code()),
            (422, "INVALID_BODY".to_owned()),
            "{path}"
        );
        assert!(refused.text().contains("`colour`"), "{}", refused.text());
    }
}

#[tokio::test]
async fn folder_alone_starts_a_shell_in_a_terminal() {
    let runner = TestRunner::start().await;
    let id = runner
        .create(&json!({"cwd": "/tmp", "label": "mine"}))
        .await;
    let session = runner.session(&id).await;
    for (member, value) in [
        ("kind", json!("terminal")),
        ("stdio", json!("pty")),
        ("cwd", json!("/tmp")),
        ("name", json!("mine")),
    ] {
        assert_eq!(session[member], value, "{session}");
    }
    // One that is asked for without its streams is one, too.
    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", "read x"]});
    let id = runner.create(&spec).await;
    assert_eq!(runner.session(&id).await["stdio"], "pty");
}

#[tokio::test]
async fn request_id_reaches_the_session() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x; echo done; read y").await;
    let path = format!("/api/sessions/{id}/prompt");
    let headers = [("X-Request-Id", "trace-77")];
    let sent = send(
        &runner,
        ("POST", &path),
        &headers,
        Some(&json!({"text": "a"})),
    )
    .await;
    assert_eq!(sent.header("x-request-id"), Some("trace-77"));
    let path = format!("/api/sessions/{id}/log?stream=lifecycle");
    while !runner
        .request("GET", &path, None)
        .await
        .text()
        .contains("request trace-77")
    {}
    let invalid = [("X-Request-Id", "a b")];
    let listed = send(&runner, ("GET", "/api/sessions"), &invalid, None).await;
    let own = listed.header("x-request-id").unwrap();
    assert_eq!(own.len(), 36, "{own}");
}

#[tokio::test]
async fn metrics_are_rendered_as_open_metrics() {
    let runner = TestRunner::start().await;
    runner.shell("read x").await;
    let accept = [("Accept", "application/openmetrics-text; version=1.0.0")];
    let page = send(&runner, ("GET", "/metrics"), &accept, None).await;
    let kind = page.header("content-type").unwrap();
    assert!(
        kind.starts_with("application/openmetrics-text; version=1.0.0"),
        "{kind}"
    );
    let text = page.text();
    assert!(
        text.contains("bowline_sessions_created_total{agent=\"none\"} 1\n"),
        "{text}"
    );
    assert!(text.ends_with("# EOF\n"), "{text}");
    let plain = runner.request("GET", "/metrics", None).await;
    assert!(
        plain
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
}

/// An agent that answers each line.
const AGENT: &str = r#"n=0; while read -r line; do n=$((n + 1))
printf '{"type":"assistant","uuid":"a%s","session_id":"s","message":{"id":"m%s","role":"assistant","content":[{"type":"text","text":"answer %s"}]}}\n' $n $n $n
done"#;

#[tokio::test]
async fn compressed_changes_are_complete() {
    let runner = TestRunner::start().await;
    let spec = json!({"kind": "dialogue", "program": "/bin/cat"});
    let id = runner.create(&spec).await;
    let bearer = format!("Bearer {}", runner.token());
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Accept-Encoding", "gzip"),
    ];
    let path = format!("/api/sessions/{id}/transcript?since=");
    let response = request(runner.address(), "GET", &path, &headers, None).await;
    assert_eq!(response.header("Content-Encoding"), Some("gzip"));
    // The magic number and, at the end, the size (RFC 1952, section 2.3).
    assert_eq!(response.body[..2], [0x1f, 0x8b]);
    assert!(response.body.len() > 18, "{} bytes", response.body.len());
}

#[tokio::test]
async fn events_are_compressed_for_no_reader() {
    let runner = TestRunner::start().await;
    let id = runner
        .create(&json!({"kind": "dialogue", "program": "/bin/cat"}))
        .await;
    let path = format!("/api/sessions/{id}");
    let ended = runner.request("DELETE", &path, None).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    // Each reader would have a compressor of its own.
    let gzip = [("Accept-Encoding", "gzip")];
    let events = send(&runner, ("GET", &format!("{path}/events")), &gzip, None).await;
    assert_eq!(
        (events.status, events.header("Content-Encoding")),
        (200, None)
    );
    assert!(
        events.text().contains("data: {\"change\":\"reset\"}"),
        "{}",
        events.text()
    );
}

#[tokio::test]
async fn transcript_since_a_cursor_has_what_changed() {
    let runner = TestRunner::start().await;
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", AGENT]});
    let id = runner.create(&spec).await;
    let base = format!("/api/sessions/{id}");
    let changes = async |since: &str| {
        let path = format!("{base}/transcript?since={since}&wait=20");
        let response = runner.request("GET", &path, None).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    };
    let (mut mirror, mut cursor) = (Mirror::new(), String::new());
    for number in 1..=3 {
        let prompt = json!({"text": format!("question {number}")});
        let sent = runner
            .request("POST", &format!("{base}/prompt"), Some(&prompt))
            .await;
        assert_eq!(sent.status, 202, "{}", sent.text());
        let answer = format!("answer {number}");
        while !mirror.transcript().to_string().contains(&answer) {
            let body = changes(&cursor).await;
            let is_reset = body["changes"][0]["change"] == "reset";
            assert_eq!(is_reset, cursor.is_empty(), "{body}");
            for change in body["changes"].as_array().unwrap() {
                mirror.apply(change);
            }
            body["cursor"].as_str().unwrap().clone_into(&mut cursor);
            assert_eq!(body["ended"], false);
        }
    }
    // Nothing new, and no time to wait.
    let path = format!("{base}/transcript?since={cursor}");
    let nothing = runner.request("GET", &path, None).await.json();
    assert_eq!(nothing["changes"], json!([]));
    // A cursor of another run of the runner.
    let runner = runner.restart(|_| ()).await;
    let other = runner.request("GET", &path, None).await.json();
    assert_eq!(other["changes"][0]["change"], "reset", "{other}");
    let whole = runner
        .request("GET", &format!("{base}/transcript"), None)
        .await
        .json();
    assert_eq!(mirror.transcript()["entries"], whole["entries"]);
}

#[tokio::test]
async fn long_transcript_since_nothing_is_complete() {
    const MESSAGES: usize = 17_000;
    let runner = TestRunner::start().await;
    let script = format!(
        r#"awk 'BEGIN {{ for (n = 0; n < {MESSAGES}; n++) printf "{{\"type\":\"assistant\",\"uuid\":\"a%d\",\"session_id\":\"s\",\"message\":{{\"id\":\"m%d\",\"role\":\"assistant\",\"content\":[]}}}}\n", n, n }}'"#
    );
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", script], "journal": {"on": true}});
    let id = runner.create(&spec).await;
    while runner.session(&id).await["state"] != "exited" {}
    let since = async |cursor: &str| {
        let path = format!("/api/sessions/{id}/transcript?since={cursor}");
        let response = runner.request("GET", &path, None).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    };
    let whole = since("").await;
    let changes = whole["changes"].as_array().unwrap();
    let entries = changes.iter().filter(|it| it["change"] == "entry").count();
    assert_eq!(entries, MESSAGES);
    // A reader continues after it.
    let rest = since(whole["cursor"].as_str().unwrap()).await;
    assert_eq!(rest["changes"], json!([]), "{}", rest["cursor"]);
}

#[tokio::test]
async fn newest_entries_are_read_and_earlier_ones_by_pages() {
    let runner = TestRunner::start().await;
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", AGENT]});
    let id = runner.create(&spec).await;
    let base = format!("/api/sessions/{id}");
    for number in 1..=5 {
        let prompt = json!({"text": format!("question {number}")});
        runner
            .request("POST", &format!("{base}/prompt"), Some(&prompt))
            .await;
    }
    let whole = loop {
        let whole = runner
            .request("GET", &format!("{base}/transcript"), None)
            .await
            .json();
        if whole.to_string().contains("answer 5") {
            break whole;
        }
    };
    let (mut entries, mut query) = (Vec::new(), "limit=3".to_owned());
    loop {
        let path = format!("{base}/transcript?{query}");
        let window = runner.request("GET", &path, None).await.json();
        assert_eq!(window["status"], whole["status"], "{window}");
        let page = window["entries"].as_array().unwrap();
        assert!(page.len() <= 3);
        entries.splice(0..0, page.clone());
        match window["before"].as_u64() {
            Some(before) => query = format!("limit=3&before={before}"),
            None => break,
        }
    }
    assert_eq!(json!(entries), whole["entries"]);
    let path = format!("{base}/transcript?limit=0");
    assert_eq!(
        runner.request("GET", &path, None).await.code(),
        "BAD_REQUEST"
    );
}
