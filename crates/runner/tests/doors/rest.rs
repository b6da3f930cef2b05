//! The REST door, session by session.

use std::time::Duration;

use bowline_runner::wire::Lease;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::{Frames, Served, Watcher};

#[tokio::test]
async fn a_session_is_made_listed_looked_at_and_ended() {
    let served = Served::start().await;
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let cwd = folder.path().to_str().unwrap();
    let spec = json!({"kind": "terminal", "name": "mine", "program": "/bin/sh",
        "args": ["-c", "pwd; read x"], "cwd": cwd, "labels": {"team": "blue"},
        "stdio": {"type": "pty", "size": {"rows": 30, "cols": 90}}});
    let id = served.create(&spec).await;
    let one = served.session(&id).await;
    for (key, value) in [
        ("id", json!(id)),
        ("name", json!("mine")),
        ("kind", json!("terminal")),
        ("stdio", json!("pty")),
        ("state", json!("running")),
        ("program", json!("/bin/sh")),
        ("cwd", json!(cwd)),
        ("labels", json!({"team": "blue"})),
        ("size", json!({"rows": 30, "cols": 90})),
        ("input_next", json!(0)),
        ("exit", Value::Null),
    ] {
        assert_eq!(one[key], value, "{key} of {one}");
    }
    let list = served.ask("GET", "/api/sessions", None).await.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(list["sessions"][0]["id"], one["id"]);

    let path = format!("/api/sessions/{id}");
    let ended = served.ask("DELETE", &path, None).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    assert_eq!(ended.json()["removed"], true);
    assert_eq!(ended.json()["survivors"], json!([]));
    let gone = served.ask("GET", &path, None).await;
    assert_eq!(
        (gone.status, gone.code().as_str()),
        (404, "SESSION_NOT_FOUND")
    );
    let again = served.ask("DELETE", &path, None).await;
    assert_eq!(
        (again.status, again.code().as_str()),
        (404, "SESSION_NOT_FOUND")
    );
}

#[tokio::test]
async fn a_session_that_is_kept_can_still_be_read() {
    let served = Served::start().await;
    let id = served.shell("echo last words; exit 5").await;
    Watcher::of(&served, &id).await.exit().await;
    let path = format!("/api/sessions/{id}?keep=true");
    let ended = served.ask("DELETE", &path, None).await.json();
    assert_eq!(
        (&ended["exit"]["code"], &ended["removed"]),
        (&json!(5), &json!(false))
    );
    let one = served.session(&id).await;
    assert_eq!(
        (&one["state"], &one["exit"]["code"]),
        (&json!("exited"), &json!(5))
    );
    let log = served
        .ask("GET", &format!("/api/sessions/{id}/log"), None)
        .await;
    assert_eq!((log.status, log.text().as_str()), (200, "last words\r\n"));
    let removed = served
        .ask("DELETE", &format!("/api/sessions/{id}"), None)
        .await;
    assert_eq!(removed.json()["removed"], true);
    assert!(!served.folder(&id).path().exists());
}

#[tokio::test]
async fn what_cannot_be_started_is_told_by_its_kind_and_leaves_nothing() {
    let served = Served::start().await;
    let nowhere = json!({"kind": "terminal", "program": "/bin/sh", "cwd": "/no/such/folder"});
    let nothing = json!({"kind": "terminal", "program": "/no/such/program"});
    for (spec, status, code) in [
        (nothing, 422, "PROGRAM_NOT_FOUND"),
        (nowhere, 422, "DIRECTORY_NOT_FOUND"),
        (json!({"kind": "terminal"}), 400, "BAD_REQUEST"),
        (
            json!({"kind": "other", "program": "sh"}),
            400,
            "BAD_REQUEST",
        ),
        (json!([]), 400, "BAD_REQUEST"),
    ] {
        let answer = served.ask("POST", "/api/sessions", Some(&spec)).await;
        let problem = answer.json();
        assert_eq!(
            (answer.status, &problem["code"]),
            (status, &json!(code)),
            "{problem}"
        );
        assert!(!problem["next"].as_str().unwrap().is_empty());
    }
    let list = served.ask("GET", "/api/sessions", None).await.json();
    assert_eq!(list["sessions"], json!([]));
    let id = served.shell("read x").await;
    let twice = json!({"id": id, "kind": "terminal", "program": "/bin/sh"});
    let answer = served.ask("POST", "/api/sessions", Some(&twice)).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (409, "SESSION_EXISTS")
    );
}

#[tokio::test]
async fn no_more_sessions_than_may_be_are_made_even_at_once() {
    let served = Served::with(|limits| limits.sessions = 3).await;
    let spec = json!({"kind": "terminal", "program": "/bin/cat", "stdio": {"type": "pty"}});
    let asked = (0..8).map(|_| served.ask("POST", "/api/sessions", Some(&spec)));
    let answers = join_all(asked).await;
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 3);
    for refused in answers.iter().filter(|answer| answer.status != 201) {
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (503, "MAX_SESSIONS")
        );
    }
    // Ten at once is what seed 004 asks for; a place that is given back is taken again.
    let list = served.ask("GET", "/api/sessions", None).await.json();
    let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    served
        .ask("DELETE", &format!("/api/sessions/{id}?force=true"), None)
        .await;
    assert_eq!(
        served
            .ask("POST", "/api/sessions", Some(&spec))
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn a_log_is_read_in_parts() {
    let served = Served::start().await;
    let id = served.shell("printf 0123456789; read x").await;
    Watcher::of(&served, &id).await;
    let path = format!("/api/sessions/{id}/log");
    // The log is asked until all of it is there.
    let mut whole = served.ask("GET", &path, None).await;
    while whole.body.len() < 10 {
        whole = served.ask("GET", &path, None).await;
    }
    assert_eq!(whole.text(), "0123456789");
    assert_eq!(whole.header("bowline-end"), Some("10"));
    let part = served
        .ask("GET", &format!("{path}?stream=tty&from=3&max=4"), None)
        .await;
    assert_eq!(part.text(), "3456");
    assert_eq!(
        (part.header("bowline-from"), part.header("bowline-next")),
        (Some("3"), Some("7"))
    );
    let end = served.ask("GET", &format!("{path}?from=10"), None).await;
    assert_eq!((end.status, end.text().as_str()), (200, ""));
    for (query, status, code) in [
        ("from=11", 416, "OUT_OF_RANGE"),
        ("stream=stdout", 404, "NO_STREAM"),
        ("stream=other", 400, "BAD_REQUEST"),
        ("from=-1", 400, "BAD_REQUEST"),
    ] {
        let answer = served.ask("GET", &format!("{path}?{query}"), None).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_log_says_what_is_missing() {
    let served = Served::start().await;
    let script = "head -c 500000 /dev/zero | tr '\\0' x; echo; echo end; read x";
    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", script],
        "stdio": {"type": "pty"}, "ring_bytes": 256, "journal": {"on": false}});
    let id = served.create(&spec).await;
    let path = format!("/api/sessions/{id}/log");
    let log = loop {
        let log = served.ask("GET", &path, None).await;
        assert_eq!(log.status, 200, "{}", log.text());
        if log.header("bowline-gap").is_some() {
            break log;
        }
    };
    let from = log.header("bowline-from").unwrap();
    assert_eq!(
        log.header("bowline-gap"),
        Some(format!("0-{from}").as_str())
    );
}

#[tokio::test]
async fn a_terminal_takes_prompts_and_interrupts() {
    let served = Served::start().await;
    let script = "trap 'echo interrupted' INT; stty -echo; echo ready; \
                  while :; do read x && echo \"got $x\"; done";
    let id = served.shell(script).await;
    let mut watcher = Watcher::of(&served, &id).await;
    let prompt = json!({"text": "hello", "id": "p1"});
    let path = format!("/api/sessions/{id}/prompt");
    for _ in 0..2 {
        // The same id is written once.
        let answer = served.ask("POST", &path, Some(&prompt)).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
    }
    watcher.sees("got hello").await;
    let path = format!("/api/sessions/{id}/interrupt");
    let answer = served.ask("POST", &path, Some(&json!({}))).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    watcher.sees("interrupted").await;
    let transcript = served
        .ask("GET", &format!("/api/sessions/{id}/transcript"), None)
        .await;
    assert_eq!(
        (transcript.status, transcript.code().as_str()),
        (409, "NOT_A_DIALOGUE")
    );
    let log = served
        .ask("GET", &format!("/api/sessions/{id}/log"), None)
        .await;
    assert_eq!(log.text().matches("got hello").count(), 1);
}

#[tokio::test]
async fn bodies_have_a_kind_and_a_size() {
    let served = Served::start().await;
    let id = served.shell("read x").await;
    let bearer = format!("Bearer {}", served.token());
    let headers = [("Authorization", bearer.as_str()), ("Content-Length", "0")];
    let path = format!("/api/sessions/{id}/prompt");
    let answer = crate::support::request(served.address(), "POST", &path, &headers, None).await;
    assert_eq!((answer.status, answer.code().as_str()), (415, "NOT_JSON"));
    let long = json!({"text": "x".repeat(20 << 20)});
    let answer = served.ask("POST", &path, Some(&long)).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (413, "BODY_TOO_LARGE")
    );
}

#[tokio::test]
async fn a_killed_shim_is_told_as_lost() {
    let served = Served::start().await;
    let id = served.shell("read x").await;
    let info = served.folder(&id).info().unwrap().unwrap();
    let pid = rustix::process::Pid::from_raw(info.shim_pid.cast_signed()).unwrap();
    let mut watcher = Watcher::of(&served, &id).await;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    watcher.gone().await;
    // The system closes the socket that listens a moment later.
    while served.session(&id).await["state"] != "lost" {}
    let removed = served
        .ask("DELETE", &format!("/api/sessions/{id}"), None)
        .await;
    assert_eq!(removed.status, 200, "{}", removed.text());
}

#[tokio::test]
async fn a_runner_that_comes_back_finds_what_it_left_and_a_panel_has_its_window_again() {
    let served = Served::with(|limits| limits.detach_window = Duration::from_secs(60)).await;
    let id = served.shell("echo here; read x").await;
    let mut panel = crate::support::Panel::attach(&served, &id).await;
    panel.shows("here").await;
    let served = served
        .again(|limits| limits.detach_window = Duration::from_millis(1))
        .await;
    let list = served.ask("GET", "/api/sessions", None).await.json();
    assert_eq!(list["sessions"][0]["id"], json!(id));
    loop {
        // The panel does not come back in time.
        if served.session(&id).await["state"] == "exited" {
            break;
        }
    }
}

#[tokio::test]
async fn the_next_runner_ends_what_is_a_panels_and_nobody_elses() {
    let served = Served::start().await;
    let panel = crate::support::Panel::attach;
    let gone = served.shell("echo here; read x").await;
    let back = served.shell("echo here; read x").await;
    let taken = served.shell("echo here; read x").await;
    for id in [&gone, &back, &taken] {
        panel(&served, id).await.shows("here").await;
    }
    let (host, _) = Frames::attach(&served, &taken, Lease::Write).await;
    drop(host);
    let served = served
        .again(|limits| limits.detach_window = Duration::from_secs(10))
        .await;
    let _panel = panel(&served, &back).await;
    while served.session(&gone).await["state"] != "exited" {}
    for id in [&back, &taken] {
        assert_eq!(served.session(id).await["state"], "running");
    }
}

#[tokio::test]
async fn a_restart_that_nobody_waits_for_is_done() {
    let served = Served::start().await;
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let (mark, ready) = (folder.path().join("asked"), folder.path().join("ready"));
    // It does not end for being asked, so that its end takes all steps of the ladder.
    let script = "trap 'touch \"$0\"' TERM HUP INT; touch \"$1\"; while :; do read x; done";
    let id = served
        .create(&json!({"kind": "terminal", "program": "/bin/sh",
            "args": ["-c", script, mark, ready], "stdio": {"type": "pty"}}))
        .await;
    while !ready.exists() {
        assert_eq!(served.session(&id).await["state"], "running");
    }
    let head = format!(
        "POST /api/sessions/{id}/restart HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        served.address(),
        served.token()
    );
    let mut asker = TcpStream::connect(served.address()).await.unwrap();
    asker.write_all(head.as_bytes()).await.unwrap();
    while !mark.exists() {
        assert_eq!(served.session(&id).await["state"], "running");
    }
    drop(asker);
    loop {
        let list = served.ask("GET", "/api/sessions", None).await.json();
        let sessions = list["sessions"].as_array().unwrap();
        let is_fresh = |it: &Value| it["id"] != json!(id) && it["state"] == "running";
        if sessions.iter().any(is_fresh) {
            break;
        }
    }
}
