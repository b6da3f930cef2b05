//! The REST API.

use std::time::Duration;

use bowline_runner::wire::Lease;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::{Frames, Reader, TestRunner};

#[tokio::test]
async fn session_is_created_listed_and_deleted() {
    let runner = TestRunner::start().await;
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let cwd = folder.path().to_str().unwrap();
    let spec = json!({"kind": "terminal", "name": "mine", "program": "/bin/sh",
        "args": ["-c", "pwd; read x"], "cwd": cwd, "labels": {"team": "blue"},
        "stdio": {"type": "pty", "size": {"rows": 30, "cols": 90}}});
    let id = runner.create(&spec).await;
    let one = runner.session(&id).await;
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
    let list = runner.request("GET", "/api/sessions", None).await.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(list["sessions"][0]["id"], one["id"]);

    let path = format!("/api/sessions/{id}");
    let remove = format!("{path}?remove=true");
    let ended = runner.request("DELETE", &remove, None).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    assert_eq!(ended.json()["removed"], true);
    assert_eq!(ended.json()["survivors"], json!([]));
    let gone = runner.request("GET", &path, None).await;
    assert_eq!(
        (gone.status, gone.code().as_str()),
        (404, "SESSION_NOT_FOUND")
    );
    let again = runner.request("DELETE", &path, None).await;
    assert_eq!(
        (again.status, again.code().as_str()),
        (404, "SESSION_NOT_FOUND")
    );
}

#[tokio::test]
async fn damaged_record_affects_only_its_session() {
    let runner = TestRunner::start().await;
    let intact = runner.shell("read x").await;
    for text in ["", "{\"id\": \"", "[]"] {
        let damaged = runner.shell("read x").await;
        let path = runner.folder(&damaged).path().join("info.json");
        std::fs::write(&path, text).unwrap();
        let list = runner.request("GET", "/api/sessions", None).await;
        assert_eq!(list.status, 200, "{}", list.text());
        let list = list.json();
        let find = |id: &str| {
            let mut sessions = list["sessions"].as_array().unwrap().iter();
            sessions.find(|it| it["id"] == *id).unwrap().clone()
        };
        assert_eq!(find(&intact)["damage"], Value::Null);
        let one = find(&damaged);
        assert_eq!(one["state"], "running", "its shim listens");
        assert!(one["damage"]["reason"].is_string(), "{one}");
        let path = format!("/api/sessions/{damaged}?remove=true");
        let ended = runner.request("DELETE", &path, None).await;
        assert_eq!(ended.status, 200, "{}", ended.text());
        assert_eq!(ended.json()["survivors"], json!([]));
        assert!(!runner.folder(&damaged).path().exists());
    }
    assert_eq!(runner.session(&intact).await["state"], "running");
}

#[tokio::test]
async fn missing_state_folder_is_named_until_it_is_back() {
    let runner = TestRunner::start().await;
    let session = runner.shell("read x").await;
    let folder = runner.folder(&session);
    let sessions = folder.path().parent().unwrap();
    let away = sessions.with_extension("away");
    std::fs::rename(sessions, &away).unwrap();
    let spec = json!({"kind": "terminal", "program": "/bin/sh", "stdio": {"type": "pty"}});
    for (method, body) in [("GET", None), ("POST", Some(&spec))] {
        let refused = runner.request(method, "/api/sessions", body).await;
        assert_eq!(refused.status, 500, "{}", refused.text());
        let text = refused.text();
        assert!(text.contains(sessions.to_str().unwrap()), "{text}");
        assert!(text.contains("check the directory"), "{text}");
    }
    std::fs::rename(&away, sessions).unwrap();
    assert_eq!(runner.session(&session).await["state"], "running");
}

/// A daemon that is killed while it creates a session leaves a folder without metadata.
#[tokio::test]
async fn id_of_an_interrupted_create_is_usable() {
    let runner = TestRunner::start().await;
    let id = "00000000-0000-4000-8000-0000000000aa";
    let folder = runner.folder(id);
    std::fs::create_dir(folder.path()).unwrap();
    std::fs::write(folder.log_path(), "").unwrap();
    let spec = json!({"id": id, "kind": "terminal", "program": "/bin/sh",
        "args": ["-c", "read x"], "stdio": {"type": "pty"}});
    // As a shim does that has not recorded its session, or no longer does.
    let shim = std::fs::File::open(folder.path()).unwrap();
    shim.lock_shared().unwrap();
    let early = runner.request("POST", "/api/sessions", Some(&spec)).await;
    assert_eq!(
        (early.status, early.code().as_str()),
        (409, "REQUEST_IN_PROGRESS")
    );
    drop(shim);
    assert_eq!(runner.create(&spec).await, id);
    let again = runner.request("POST", "/api/sessions", Some(&spec)).await;
    assert_eq!(
        (again.status, again.code().as_str()),
        (409, "SESSION_EXISTS")
    );
}

#[tokio::test]
async fn kept_session_is_readable_after_delete() {
    let runner = TestRunner::start().await;
    let id = runner.shell("echo last line; exit 5").await;
    Reader::of(&runner, &id).await.exit().await;
    let path = format!("/api/sessions/{id}");
    let ended = runner.request("DELETE", &path, None).await.json();
    assert_eq!(
        (&ended["exit"]["code"], &ended["removed"]),
        (&json!(5), &json!(false))
    );
    let one = runner.session(&id).await;
    assert_eq!(
        (&one["state"], &one["exit"]["code"]),
        (&json!("exited"), &json!(5))
    );
    let log = runner
        .request("GET", &format!("/api/sessions/{id}/log"), None)
        .await;
    assert_eq!((log.status, log.text().as_str()), (200, "last line\r\n"));
    let remove = format!("{path}?remove=true");
    let removed = runner.request("DELETE", &remove, None).await;
    assert_eq!(removed.json()["removed"], true);
    assert!(!runner.folder(&id).path().exists());
}

#[tokio::test]
async fn removed_session_is_restored_with_its_log() {
    let runner = TestRunner::start().await;
    let id = runner.shell("echo last line; exit 5").await;
    Reader::of(&runner, &id).await.exit().await;
    let path = format!("/api/sessions/{id}");
    let restore = format!("{path}/restore");
    let remove = format!("{path}?remove=true");
    assert_eq!(runner.request("DELETE", &remove, None).await.status, 200);
    assert_eq!(runner.request("GET", &path, None).await.status, 404);
    let restored = runner.request("POST", &restore, None).await;
    assert_eq!(restored.status, 200, "{}", restored.text());
    assert_eq!(restored.json()["exit"]["code"], 5);
    let log = runner.request("GET", &format!("{path}/log"), None).await;
    assert_eq!((log.status, log.text().as_str()), (200, "last line\r\n"));
    // A repeated request changes nothing.
    assert_eq!(runner.request("POST", &restore, None).await.status, 200);
    // As clients of earlier versions state it.
    for (keep, status) in [(true, 200), (false, 404)] {
        let delete = format!("{path}?keep={keep}");
        assert_eq!(runner.request("DELETE", &delete, None).await.status, 200);
        assert_eq!(runner.request("GET", &path, None).await.status, status);
    }
    let unknown = format!("/api/sessions/{}/restore", uuid::Uuid::new_v4());
    let unknown = runner.request("POST", &unknown, None).await;
    assert_eq!(
        (unknown.status, unknown.code().as_str()),
        (404, "NOT_IN_TRASH")
    );
}

#[tokio::test]
async fn failed_start_is_reported_and_leaves_nothing() {
    let runner = TestRunner::start().await;
    let nowhere = json!({"kind": "terminal", "program": "/bin/sh", "cwd": "/no/such/folder"});
    let nothing = json!({"kind": "terminal", "program": "/no/such/program"});
    for (spec, status, code) in [
        (nothing, 422, "PROGRAM_NOT_FOUND"),
        (nowhere, 422, "DIRECTORY_NOT_FOUND"),
        (json!({"kind": "terminal"}), 422, "INVALID_BODY"),
        (
            json!({"kind": "other", "program": "sh"}),
            422,
            "INVALID_BODY",
        ),
        (json!([]), 422, "INVALID_BODY"),
    ] {
        let response = runner.request("POST", "/api/sessions", Some(&spec)).await;
        let problem = response.json();
        assert_eq!(
            (response.status, &problem["code"]),
            (status, &json!(code)),
            "{problem}"
        );
        assert!(!problem["next"].as_str().unwrap().is_empty());
    }
    let list = runner.request("GET", "/api/sessions", None).await.json();
    assert_eq!(list["sessions"], json!([]));
    let id = runner.shell("read x").await;
    let twice = json!({"id": id, "kind": "terminal", "program": "/bin/sh"});
    let response = runner.request("POST", "/api/sessions", Some(&twice)).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (409, "SESSION_EXISTS")
    );
}

#[tokio::test]
async fn session_limit_holds_for_concurrent_requests() {
    let runner = TestRunner::with(|limits| limits.sessions = 3).await;
    let spec = json!({"kind": "terminal", "program": "/bin/cat", "stdio": {"type": "pty"}});
    let requests = (0..8).map(|_| runner.request("POST", "/api/sessions", Some(&spec)));
    let responses = join_all(requests).await;
    let created = responses
        .iter()
        .filter(|response| response.status == 201)
        .count();
    assert_eq!(created, 3);
    for refused in responses.iter().filter(|response| response.status != 201) {
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (503, "MAX_SESSIONS")
        );
    }
    // The slot of a deleted session is free again.
    let list = runner.request("GET", "/api/sessions", None).await.json();
    let id = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    runner
        .request("DELETE", &format!("/api/sessions/{id}?force=true"), None)
        .await;
    assert_eq!(
        runner
            .request("POST", "/api/sessions", Some(&spec))
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn log_is_read_in_ranges() {
    let runner = TestRunner::start().await;
    let id = runner.shell("printf 0123456789; read x").await;
    Reader::of(&runner, &id).await;
    let path = format!("/api/sessions/{id}/log");
    // Until the whole output is logged.
    let mut whole = runner.request("GET", &path, None).await;
    while whole.body.len() < 10 {
        whole = runner.request("GET", &path, None).await;
    }
    assert_eq!(whole.text(), "0123456789");
    assert_eq!(whole.header("bowline-end"), Some("10"));
    let part = runner
        .request("GET", &format!("{path}?stream=tty&from=3&max=4"), None)
        .await;
    assert_eq!(part.text(), "3456");
    assert_eq!(
        (part.header("bowline-from"), part.header("bowline-next")),
        (Some("3"), Some("7"))
    );
    let end = runner
        .request("GET", &format!("{path}?from=10"), None)
        .await;
    assert_eq!((end.status, end.text().as_str()), (200, ""));
    for (query, status, code) in [
        ("from=11", 416, "OUT_OF_RANGE"),
        ("stream=stdout", 404, "NO_STREAM"),
        ("stream=other", 400, "BAD_REQUEST"),
        ("from=-1", 400, "BAD_REQUEST"),
    ] {
        let response = runner
            .request("GET", &format!("{path}?{query}"), None)
            .await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (status, code),
            "{query}"
        );
    }
}

#[tokio::test]
async fn log_reports_gap() {
    let runner = TestRunner::start().await;
    let script = "head -c 500000 /dev/zero | tr '\\0' x; echo; echo end; read x";
    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", script],
        "stdio": {"type": "pty"}, "ring_bytes": 256, "journal": {"on": false}});
    let id = runner.create(&spec).await;
    let path = format!("/api/sessions/{id}/log");
    let log = loop {
        let log = runner.request("GET", &path, None).await;
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
async fn terminal_accepts_prompt_and_interrupt() {
    let runner = TestRunner::start().await;
    let script = "trap 'echo interrupted' INT; stty -echo; echo ready; \
                  while :; do read x && echo \"got $x\"; done";
    let id = runner.shell(script).await;
    let mut reader = Reader::of(&runner, &id).await;
    let prompt = json!({"text": "hello", "id": "p1"});
    let path = format!("/api/sessions/{id}/prompt");
    for _ in 0..2 {
        // A repeated id is written once.
        let response = runner.request("POST", &path, Some(&prompt)).await;
        assert_eq!(response.status, 202, "{}", response.text());
    }
    reader.wait_for_output("got hello").await;
    let path = format!("/api/sessions/{id}/interrupt");
    let response = runner.request("POST", &path, Some(&json!({}))).await;
    assert_eq!(response.status, 202, "{}", response.text());
    reader.wait_for_output("interrupted").await;
    let transcript = runner
        .request("GET", &format!("/api/sessions/{id}/transcript"), None)
        .await;
    assert_eq!(
        (transcript.status, transcript.code().as_str()),
        (409, "NOT_A_DIALOGUE")
    );
    let log = runner
        .request("GET", &format!("/api/sessions/{id}/log"), None)
        .await;
    assert_eq!(log.text().matches("got hello").count(), 1);
}

#[tokio::test]
async fn body_type_and_size_are_checked() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let bearer = format!("Bearer {}", runner.token());
    let headers = [("Authorization", bearer.as_str()), ("Content-Length", "0")];
    let path = format!("/api/sessions/{id}/prompt");
    let response = crate::support::request(runner.address(), "POST", &path, &headers, None).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (415, "NOT_JSON")
    );
    let long = json!({"text": "x".repeat(20 << 20)});
    let response = runner.request("POST", &path, Some(&long)).await;
    assert_eq!(
        (response.status, response.code().as_str()),
        (413, "BODY_TOO_LARGE")
    );
}

#[tokio::test]
async fn killed_shim_is_reported_as_lost() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let info = runner.folder(&id).info().unwrap().unwrap();
    let pid = rustix::process::Pid::from_raw(info.shim_pid.cast_signed()).unwrap();
    let mut reader = Reader::of(&runner, &id).await;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    reader.wait_for_disconnect().await;
    // The kernel closes the listening socket a moment later.
    while runner.session(&id).await["state"] != "lost" {}
    let removed = runner
        .request("DELETE", &format!("/api/sessions/{id}"), None)
        .await;
    assert_eq!(removed.status, 200, "{}", removed.text());
}

#[tokio::test]
async fn second_runner_of_a_state_folder_is_refused() {
    let runner = TestRunner::with(|limits| limits.detach_window = Duration::ZERO).await;
    let id = runner.shell("echo here; read x").await;
    let mut terminal = crate::support::WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("here").await;
    let refused = runner.start_another().await.unwrap_err().to_string();
    let folder = runner.socket().parent().unwrap().display().to_string();
    let pid = std::process::id().to_string();
    for part in [folder.as_str(), pid.as_str(), "--state-dir"] {
        assert!(refused.contains(part), "{part:?} in {refused:?}");
    }
    assert_eq!(runner.session(&id).await["state"], "running");
}

#[tokio::test]
async fn concurrent_restarts_start_one_session() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let path = format!("/api/sessions/{id}/restart");
    let restarts = join_all((0..3).map(|_| runner.request("POST", &path, None))).await;
    let (started, refused): (Vec<_>, Vec<_>) = restarts.iter().partition(|it| it.status == 201);
    assert_eq!((started.len(), refused.len()), (1, 2));
    for one in refused {
        assert_eq!((one.status, one.code().as_str()), (409, "RESTARTED"));
    }
    let list = runner.request("GET", "/api/sessions", None).await.json();
    let sessions = list["sessions"].as_array().unwrap();
    let running = sessions.iter().filter(|it| it["state"] == "running");
    assert_eq!(running.count(), 1, "{list}");
}

#[tokio::test]
async fn stopped_shim_is_ended_by_force() {
    let runner = TestRunner::start().await;
    let id = runner.shell("read x").await;
    let info = runner.folder(&id).info().unwrap().unwrap();
    let shim = rustix::process::Pid::from_raw(info.shim_pid.cast_signed()).unwrap();
    rustix::process::kill_process(shim, rustix::process::Signal::STOP).unwrap();
    let path = format!("/api/sessions/{id}?force=true&remove=true");
    let ended = runner.request("DELETE", &path, None).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    let ended = ended.json();
    let killed = json!([info.shim_pid, info.pid]);
    assert_eq!(
        (&ended["killed"], &ended["survivors"]),
        (&killed, &json!([]))
    );
    assert!(!runner.folder(&id).path().exists());
}

#[tokio::test]
async fn reused_request_id_is_refused() {
    let runner = TestRunner::start().await;
    let spec = json!({"kind": "dialogue", "program": "/bin/cat"});
    let id = runner.create(&spec).await;
    let at = format!("/api/sessions/{id}");
    let (prompt, interrupt) = (format!("{at}/prompt"), format!("{at}/interrupt"));
    let one = json!({"id": "one", "text": "hello"});
    for _ in 0..2 {
        let sent = runner.request("POST", &prompt, Some(&one)).await;
        assert_eq!(sent.status, 202, "{}", sent.text());
        assert_eq!(sent.json()["state"], "written");
    }
    let other = json!({"id": "one", "text": "goodbye"});
    for (path, body) in [(&prompt, other), (&interrupt, json!({"id": "one"}))] {
        let reused = runner.request("POST", path, Some(&body)).await;
        assert_eq!((reused.status, reused.code().as_str()), (409, "ID_REUSED"));
    }
}

/// Each request folds what was added since the one before.
#[tokio::test]
async fn transcript_grows_with_the_output() {
    let runner = TestRunner::start().await;
    let message = r#"{"type":"assistant","uuid":"u%d","session_id":"s","message":{"id":"m%d","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"answer %d"}]}}"#;
    let script = format!("n=1; while read x; do printf '{message}\\n' $n $n $n; n=$((n+1)); done");
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", script]});
    let id = runner.create(&spec).await;
    let at = format!("/api/sessions/{id}");
    let (prompt, transcript) = (format!("{at}/prompt"), format!("{at}/transcript"));
    let go = json!({"text": "go"});
    let answers = |text: &str| text.matches("answer ").count();
    for count in 1..=3 {
        let sent = runner.request("POST", &prompt, Some(&go)).await;
        assert_eq!(sent.status, 202, "{}", sent.text());
        loop {
            let requests = (0..4).map(|_| runner.request("GET", &transcript, None));
            let transcripts = join_all(requests).await;
            let found: Vec<_> = transcripts.iter().map(|it| answers(&it.text())).collect();
            assert!(
                found
                    .iter()
                    .all(|found| (count - 1..=count).contains(found)),
                "{found:?}"
            );
            if found.iter().all(|found| *found == count) {
                break;
            }
        }
    }
    assert_eq!(runner.request("DELETE", &at, None).await.status, 200);
    let ended = runner.request("GET", &transcript, None).await;
    assert_eq!(answers(&ended.text()), 3, "{}", ended.text());
    assert_eq!(ended.json()["status"]["phase"], "ended", "{}", ended.text());
}

#[tokio::test]
async fn restarted_runner_restores_detach_timer() {
    let runner = TestRunner::with(|limits| limits.detach_window = Duration::from_secs(60)).await;
    let id = runner.shell("echo here; read x").await;
    let mut terminal = crate::support::WebTerminal::attach(&runner, &id).await;
    terminal.wait_for_screen("here").await;
    let runner = runner
        .restart(|limits| limits.detach_window = Duration::from_millis(1))
        .await;
    let list = runner.request("GET", "/api/sessions", None).await.json();
    assert_eq!(list["sessions"][0]["id"], json!(id));
    loop {
        // The web terminal does not reconnect in time.
        if runner.session(&id).await["state"] == "exited" {
            break;
        }
    }
}

#[tokio::test]
async fn restarted_runner_ends_only_detached_terminals() {
    let runner = TestRunner::start().await;
    let terminal = crate::support::WebTerminal::attach;
    let detached = runner.shell("echo here; read x").await;
    let reattached = runner.shell("echo here; read x").await;
    let taken_over = runner.shell("echo here; read x").await;
    for id in [&detached, &reattached, &taken_over] {
        terminal(&runner, id).await.wait_for_screen("here").await;
    }
    let (host, _) = Frames::attach(&runner, &taken_over, Lease::Write).await;
    drop(host);
    let runner = runner
        .restart(|limits| limits.detach_window = Duration::from_secs(10))
        .await;
    let _terminal = terminal(&runner, &reattached).await;
    while runner.session(&detached).await["state"] != "exited" {}
    for id in [&reattached, &taken_over] {
        assert_eq!(runner.session(id).await["state"], "running");
    }
}

#[tokio::test]
async fn restart_completes_after_client_disconnects() {
    let runner = TestRunner::start().await;
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let (mark, ready) = (folder.path().join("signalled"), folder.path().join("ready"));
    // Ignores signals, so that its termination takes all steps.
    let script = "trap 'touch \"$0\"' TERM HUP INT; touch \"$1\"; while :; do read x; done";
    let id = runner
        .create(&json!({"kind": "terminal", "program": "/bin/sh",
            "args": ["-c", script, mark, ready], "stdio": {"type": "pty"}}))
        .await;
    while !ready.exists() {
        assert_eq!(runner.session(&id).await["state"], "running");
    }
    let head = format!(
        "POST /api/sessions/{id}/restart HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
        runner.address(),
        runner.token()
    );
    let mut client = TcpStream::connect(runner.address()).await.unwrap();
    client.write_all(head.as_bytes()).await.unwrap();
    while !mark.exists() {
        assert_eq!(runner.session(&id).await["state"], "running");
    }
    drop(client);
    loop {
        let list = runner.request("GET", "/api/sessions", None).await.json();
        let sessions = list["sessions"].as_array().unwrap();
        let is_new = |it: &Value| it["id"] != json!(id) && it["state"] == "running";
        if sessions.iter().any(is_new) {
            break;
        }
    }
}

#[tokio::test]
async fn name_labels_and_metadata_are_changed_and_kept() {
    let runner = TestRunner::start().await;
    let id = runner.shell("echo done; exit 3").await;
    let path = format!("/api/sessions/{id}");
    let change = json!({"name": "mine", "labels": {"team": "blue"}, "metadata": "a draft"});
    let changed = runner.request("PATCH", &path, Some(&change)).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    Reader::of(&runner, &id).await.exit().await;
    // The record of the exit does not undo it, and neither does another daemon.
    let runner = runner.restart(|_| {}).await;
    let one = runner.session(&id).await;
    for (key, value) in [
        ("name", json!("mine")),
        ("labels", json!({"team": "blue"})),
        ("metadata", json!("a draft")),
        ("exit", json!({"code": 3, "signal": null, "oom": false})),
    ] {
        assert_eq!(one[key], value, "{key} of {one}");
    }
    let list = runner.request("GET", "/api/sessions", None).await.json();
    assert_eq!(list["sessions"][0]["name"], "mine");
    assert_eq!(list["sessions"][0]["metadata"], Value::Null, "{list}");
    let removed = json!({"name": null, "labels": {"team": null}, "metadata": null});
    let removed = runner.request("PATCH", &path, Some(&removed)).await.json();
    assert_eq!(
        (&removed["name"], &removed["labels"], &removed["metadata"]),
        (&Value::Null, &json!({}), &Value::Null)
    );
    for (refused, status, code) in [
        (
            json!({"metadata": "m".repeat((64 << 10) + 1)}),
            422,
            "METADATA_TOO_LARGE",
        ),
        (
            json!({"labels": {"l": "m".repeat(64 << 10)}}),
            422,
            "LABELS_TOO_LARGE",
        ),
        (
            json!({"labels": {"bowline.driver": "daemon"}}),
            422,
            "LABEL_RESERVED",
        ),
        (json!({"title": "x"}), 422, "INVALID_BODY"),
    ] {
        let answer = runner.request("PATCH", &path, Some(&refused)).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
    }
    let unknown = "/api/sessions/00000000-0000-4000-8000-0000000000aa";
    let answer = runner.request("PATCH", unknown, Some(&json!({}))).await;
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (404, "SESSION_NOT_FOUND")
    );
}
