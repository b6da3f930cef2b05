//! Pushed events: a reader that loses its connection, or its daemon, has the same transcript in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_reducer::Mirror;
use bowline_tests::session::within;
use serde_json::{Value, json};

use crate::rig::{DIALECTS, Daemon, is_idle, results};
use crate::stream::EventStream;

/// Asserts that two documents are equal, whatever the order of members.
fn same(left: &Value, right: &Value, what: &str) {
    match (left, right) {
        (left, right) if left == right => {}
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one {
                same(value, &other[name], &format!("{what}.{name}"));
            }
            panic!("{what}: {other:?} has more than {one:?}");
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                same(one, other, &format!("{what}[{at}]"));
            }
        }
        _ => panic!("{what}: {left} is not {right}"),
    }
}

/// Reads until the mirror is equal to the transcript that the daemon has, which no longer changes.
async fn catch_up(daemon: &Daemon, id: &str, stream: &mut EventStream, mirror: &mut Mirror) {
    let expected = daemon.transcript(id).await;
    let reading = async {
        while mirror.transcript() != expected {
            mirror.apply(&stream.data().await);
        }
    };
    if tokio::time::timeout(TIMEOUT, reading).await.is_err() {
        same(&mirror.transcript(), &expected, "the mirror");
    }
}

/// How long a reader may take to read what is there.
const TIMEOUT: Duration = Duration::from_secs(60);

fn is_open(transcript: &Value) -> bool {
    transcript["status"]["phase"] == "awaiting_permission"
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_of_a_killed_daemon_folds_to_the_transcript() {
    let mut daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "hello"})).await;
        let mut stream = daemon.events(&format!("/api/sessions/{id}/events"));
        let mut mirror = Mirror::new();
        let first = stream.data().await;
        assert_eq!(first, json!({"change": "reset"}));
        // An agent takes prompts that wait together as one.
        daemon
            .until(&id, |it| results(it) == 1 && is_idle(it))
            .await;
        let asked = json!({"text": "/ask rm"});
        let asked = daemon.post(&id, "prompt", &asked).await;
        assert_eq!(asked.0, 202, "{dialect}: {}", asked.1);
        // In the middle of the stream.
        while !is_open(&mirror.transcript()) {
            mirror.apply(&stream.data().await);
        }
        daemon.kill().await;
        let request = daemon.open_permission(&id).await;
        let answer = json!({"request_id": request["request_id"], "decision": "allow"});
        let answered = daemon.post(&id, "permissions", &answer).await;
        assert_eq!(answered.0, 202, "{dialect}: {}", answered.1);
        daemon
            .until(&id, |it| is_idle(it) && results(it) == 2)
            .await;
        catch_up(&daemon, &id, &mut stream, &mut mirror).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_that_loses_its_connection_anywhere_folds_to_the_transcript() {
    let daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "hello"})).await;
    daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    let mut stream = daemon.events(&format!("/api/sessions/{id}/events"));
    let mut mirror = Mirror::new();
    let mut resets = 1;
    assert_eq!(stream.data().await["change"], "reset");
    // A reader that loses its connection within a reset begins again.
    loop {
        let change = stream.data().await;
        mirror.apply(&change);
        // The last one of a whole transcript.
        if change["change"] == "stats" {
            break;
        }
    }
    for (turn, text) in ["/tool ls", "/lines 40", "/agent look", "/ask rm"]
        .into_iter()
        .enumerate()
    {
        daemon.post(&id, "prompt", &json!({"text": text})).await;
        let reading = async {
            let mut taken = 0;
            loop {
                let change = stream.data().await;
                resets += usize::from(change["change"] == "reset");
                mirror.apply(&change);
                taken += 1;
                let transcript = mirror.transcript();
                let is_over = is_idle(&transcript) && results(&transcript) >= turn + 2;
                if is_open(&transcript) || is_over {
                    return;
                }
                // Each place at which a connection may be lost.
                if taken % 3 == 0 {
                    stream.cut();
                }
            }
        };
        if tokio::time::timeout(TIMEOUT, reading).await.is_err() {
            same(&mirror.transcript(), &daemon.transcript(&id).await, text);
            panic!("{text}: {}", mirror.transcript());
        }
    }
    assert_eq!(
        resets, 1,
        "what was read is not read again from the beginning"
    );
    let request = daemon.open_permission(&id).await;
    let answer = json!({"request_id": request["request_id"], "decision": "deny"});
    daemon.post(&id, "permissions", &answer).await;
    daemon.until(&id, is_idle).await;
    catch_up(&daemon, &id, &mut stream, &mut mirror).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cursor_of_another_epoch_gets_a_reset() {
    let mut daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "hello"})).await;
    daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    let path = format!("/api/sessions/{id}/events");
    let reset = json!({"change": "reset"});
    for cursor in ["s-1-5-0", "s-0-0-0", "unknown"] {
        let mut stream = daemon.events(&format!("{path}?since={cursor}"));
        assert_eq!(stream.data().await, reset, "{cursor}");
    }
    let (mut stream, mut mirror) = (daemon.events(&path), Mirror::new());
    catch_up(&daemon, &id, &mut stream, &mut mirror).await;
    daemon.kill().await;
    stream.cut();
    assert_eq!(stream.data().await, reset, "of the daemon before");
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ends_with_its_session() {
    let daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "hello"})).await;
    daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    let mut stream = daemon.events(&format!("/api/sessions/{id}/events"));
    let mut mirror = Mirror::new();
    assert_eq!(stream.connect().await, 200);
    let path = format!("/api/sessions/{id}");
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    while let Some(event) = stream.next().await {
        event.data.iter().for_each(|it| mirror.apply(it));
    }
    let status = &mirror.transcript()["status"];
    assert_eq!(status["phase"], "ended", "{status}");
    // There is nothing more, and a client need not ask again.
    assert_eq!(stream.connect().await, 204);
    stream.last_id = None;
    assert_eq!(
        stream.connect().await,
        200,
        "a new client reads it from the log"
    );
    let mut again = Mirror::new();
    while let Some(event) = stream.next().await {
        event.data.iter().for_each(|it| again.apply(it));
    }
    let expected = daemon.transcript(&id).await;
    same(&again.transcript(), &expected, "the transcript of the log");
}

/// What a client of all sessions knows.
#[derive(Default)]
struct Known {
    mirrors: BTreeMap<String, Mirror>,
    phases: BTreeMap<String, String>,
    open: BTreeSet<String>,
    ended: BTreeSet<String>,
    removed: BTreeSet<String>,
}

impl Known {
    fn apply(&mut self, event: &Value) {
        let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let session = text("session");
        assert!(!session.is_empty(), "{event}");
        match event["type"].as_str().expect("a type") {
            "created" => {
                self.mirrors.entry(session).or_default();
            }
            "change" => self.mirrors.entry(session).or_default().apply(event),
            "phase" => {
                self.phases.insert(session, text("phase"));
            }
            "permission" if event["state"] == "open" => {
                self.open.insert(text("request_id"));
            }
            "permission" => {
                self.open.remove(&text("request_id"));
            }
            "ended" => {
                self.ended.insert(session);
            }
            "removed" => {
                self.removed.insert(session);
            }
            other => panic!("unknown type {other}"),
        }
    }

    async fn until(
        &mut self,
        stream: &mut EventStream,
        what: &str,
        is_there: impl Fn(&Self) -> bool,
    ) {
        let reading = async {
            while !is_there(self) {
                let event = stream.data().await;
                self.apply(&event);
            }
        };
        within(what, reading).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_of_all_sessions_continues_after_a_kill() {
    let mut daemon = Daemon::start().await;
    let one = daemon.agent("claude", json!({"prompt": "hello"})).await;
    let mut stream = daemon.events("/api/events");
    let mut known = Known::default();
    known
        .until(&mut stream, "the first session", |it| {
            it.phases.get(&one).is_some_and(|it| it == "idle")
        })
        .await;
    let other = daemon.agent("acp", json!({"prompt": "/ask rm"})).await;
    let gone = daemon.agent("claude", json!({"prompt": "hello"})).await;
    known
        .until(&mut stream, "the request", |it| it.open.len() == 1)
        .await;
    known
        .until(&mut stream, "the third session", |it| {
            it.mirrors.contains_key(&gone)
        })
        .await;
    stream.cut();
    // Ended while the client was away, and found by it after a restart of the daemon.
    daemon.until(&gone, |it| results(it) == 1).await;
    let path = format!("/api/sessions/{gone}");
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    daemon.kill().await;
    let request = daemon.open_permission(&other).await;
    let answer = json!({"request_id": request["request_id"], "decision": "allow"});
    daemon.post(&other, "permissions", &answer).await;
    daemon
        .until(&other, |it| is_idle(it) && results(it) == 1)
        .await;
    known
        .until(&mut stream, "the end", |it| it.ended.contains(&gone))
        .await;
    known
        .until(&mut stream, "the answer", |it| {
            it.open.is_empty() && it.phases.get(&other).is_some_and(|it| it == "idle")
        })
        .await;
    for id in [&one, &other, &gone] {
        let expected = daemon.transcript(id).await;
        known
            .until(&mut stream, "the transcript", |it| {
                it.mirrors[id.as_str()].transcript() == expected
            })
            .await;
    }
    let path = format!("/api/sessions/{one}?remove=true");
    assert_eq!(daemon.request("DELETE", &path, None).await.0, 200);
    known
        .until(&mut stream, "the removal", |it| it.removed.contains(&one))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn types_of_events_are_chosen() {
    let daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "/ask rm"})).await;
    let asked = daemon.open_permission(&id).await;
    let mut stream = daemon.events("/api/events?types=permission,phase");
    let request = stream.data().await;
    assert_eq!(
        (&request["type"], &request["request_id"]),
        (&json!("permission"), &asked["request_id"]),
        "{request}"
    );
    assert_eq!(request["input"], asked["input"]);
    let phase = stream.data().await;
    assert_eq!(
        (&phase["phase"], &phase["attention"]["reason"]),
        (&json!("awaiting_permission"), &json!("question")),
        "{phase}"
    );
    let answer = json!({"request_id": asked["request_id"], "decision": "deny", "by": "me"});
    daemon.post(&id, "permissions", &answer).await;
    let finished = async {
        loop {
            let event = stream.data().await;
            let kind = event["type"].as_str().expect("a type");
            assert!(["permission", "phase"].contains(&kind), "{event}");
            if kind == "permission" && event["state"] == "denied" {
                assert_eq!(event["decided_by"]["who"], "me", "{event}");
            }
            if event["attention"]["reason"] == "finished" {
                return;
            }
        }
    };
    within("the end of the turn", finished).await;
    let (status, problem) = daemon
        .request("GET", "/api/events?types=phase,news", None)
        .await;
    assert_eq!(status, 400, "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hundred_readers_cost_one_fold() {
    const READERS: usize = 100;
    let daemon = Daemon::start().await;
    let id = daemon.agent("claude", json!({"prompt": "hello"})).await;
    daemon
        .until(&id, |it| results(it) == 1 && is_idle(it))
        .await;
    let before = daemon.metric("bowline_event_reads_total").await;
    let path = format!("/api/sessions/{id}/events");
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let mut stream = daemon.events(&path);
        readers.push(tokio::spawn(async move {
            let (mut mirror, mut places) = (Mirror::new(), BTreeSet::new());
            while results(&mirror.transcript()) < 2 || !is_idle(&mirror.transcript()) {
                mirror.apply(&stream.data().await);
                places.extend(stream.last_id.clone());
            }
            places
        }));
    }
    daemon
        .post(&id, "prompt", &json!({"text": "/lines 200"}))
        .await;
    let (mut places, mut taken) = (BTreeSet::new(), 0);
    for reader in readers {
        let read = within("a reader", reader).await.expect("no panic");
        taken += read.len();
        places.extend(read);
    }
    let reads = daemon.metric("bowline_event_reads_total").await - before;
    // Each place is read once, and once more for what follows it.
    assert!(
        reads <= 2 * places.len() + 2,
        "{reads} reads of {} places",
        places.len()
    );
    assert!(reads * 10 < taken, "{reads} reads for {taken} batches");
}

#[tokio::test(flavor = "multi_thread")]
async fn later_answer_learns_who_answered_first() {
    let daemon = Daemon::start().await;
    for dialect in DIALECTS {
        let id = daemon.agent(dialect, json!({"prompt": "/ask rm"})).await;
        let request = daemon.open_permission(&id).await;
        let answer = |decision: &str, by: &str| json!({"request_id": request["request_id"], "decision": decision, "by": by});
        let (allow, deny) = (answer("allow", "one"), answer("deny", "other"));
        let both = tokio::join!(
            daemon.post(&id, "permissions", &allow),
            daemon.post(&id, "permissions", &deny),
        );
        let ((won, lost), who, how) = match both {
            (one, other) if one.0 == 202 => ((one, other), "one", "allow"),
            (one, other) => ((other, one), "other", "deny"),
        };
        assert_eq!((won.0, lost.0), (202, 409), "{dialect}: {}", lost.1);
        let decided = &lost.1["decided_by"];
        assert_eq!(lost.1["code"], "PERMISSION_CLOSED");
        assert_eq!(decided["who"], who, "{dialect}: {}", lost.1);
        assert!(
            decided["at_ms"].as_u64().is_some_and(|it| it > 0),
            "{decided}"
        );
        if dialect == "claude" {
            assert_eq!(decided["how"], how, "{decided}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_of_all_sessions_are_polled() {
    let daemon = Daemon::start().await;
    let list = async |query: String| {
        let path = format!("/api/permissions{query}");
        let (status, list) = daemon.request("GET", &path, None).await;
        assert_eq!(status, 200, "{list}");
        list
    };
    let empty = list(String::new()).await;
    assert_eq!(empty["permissions"], json!([]));
    let since = |list: &Value| list["cursor"].as_str().expect("a cursor").to_owned();
    let wait = |cursor: &str| format!("?wait=60&since={cursor}");
    let (polled, id) = tokio::join!(list(wait(&since(&empty))), async {
        daemon
            .agent("claude", json!({"prompt": "/ask rm", "label": "deploy"}))
            .await
    });
    let open = &polled["permissions"][0];
    assert_eq!(
        (&open["session"], &open["label"], &open["state"]),
        (&json!(id), &json!("deploy"), &json!("open")),
        "{polled}"
    );
    assert!(
        open["agent"].as_str().is_some_and(|it| !it.is_empty()),
        "{open}"
    );
    // Nothing changes, so a poll that does not wait returns the same.
    let same = list(format!("?since={}", since(&polled))).await;
    assert_eq!(same, polled);
    let unknown = list("?wait=60&since=a-1-2-3".to_owned()).await;
    assert_eq!(unknown, polled, "a cursor of another run waits for nothing");
    let answer = json!({"request_id": open["request_id"], "decision": "allow"});
    let (closed, answered) = tokio::join!(
        list(wait(&since(&polled))),
        daemon.post(&id, "permissions", &answer),
    );
    assert_eq!(answered.0, 202);
    assert_eq!(closed["permissions"], json!([]));
}

/// The page of the API.
const PAGE: &str = include_str!("../../../crates/runner/REST.md");

#[tokio::test(flavor = "multi_thread")]
async fn example_of_the_page_runs() {
    let daemon = Daemon::start().await;
    let example = PAGE.split("```sh\n").nth(1).expect("an example");
    let example = example.split("```").next().expect("its end");
    let mut shell = tokio::process::Command::new("bash");
    shell
        .args(["-euc", example])
        .env("SOCKET", daemon.socket())
        .env("AGENT", env!("CARGO_BIN_EXE_stand-in"))
        .env("PROMPT", "/ask ls")
        .current_dir(daemon.folder());
    let done = within("the end of the example", shell.output()).await;
    let done = done.expect("it runs");
    let text = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
    assert_eq!(
        text(&done.stdout).trim(),
        "completed",
        "{}",
        text(&done.stderr)
    );
    let (_, list) = daemon.request("GET", "/api/sessions", None).await;
    let id = list["sessions"][0]["id"].as_str().expect("an id");
    let transcript = daemon.transcript(id).await;
    let decided = &transcript["permissions"][0]["decided_by"];
    assert_eq!(
        (&decided["who"], &decided["how"]),
        (&json!("curl"), &json!("allow"))
    );
}
