//! Journals that are damaged, cut or of another version, as the REST API reports them.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{TestResponse, TestRunner};

const LINE: &str = r#"{"type":"assistant","uuid":"u","session_id":"s","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}]}}"#;

/// A session that has ended, and whose shim is gone.
struct Ended {
    runner: TestRunner,
    id: String,
}

impl Ended {
    async fn start() -> Self {
        let runner = TestRunner::start().await;
        let script = format!("echo '{LINE}'; read x");
        let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", script]});
        let id = runner.create(&spec).await;
        let ended = Self { runner, id };
        while ended.get("log").await.body.len() <= LINE.len() {}
        let path = format!("/api/sessions/{}", ended.id);
        let kept = ended.runner.request("DELETE", &path, None).await;
        assert_eq!(kept.status, 200, "{}", kept.text());
        ended
    }

    async fn get(&self, what: &str) -> TestResponse {
        let path = format!("/api/sessions/{}/{what}", self.id);
        self.runner.request("GET", &path, None).await
    }

    fn segment(&self) -> PathBuf {
        let journal = self.runner.folder(&self.id).journal();
        journal.join("00000000.bjl")
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.segment()).unwrap();
        change(&mut bytes);
        std::fs::write(self.segment(), bytes).unwrap();
    }
}

/// Returns the position of the first record's contents in a segment.
fn position(segment: &[u8]) -> usize {
    let found = segment.windows(9).position(|it| it == b"assistant");
    found.unwrap()
}

#[tokio::test]
async fn damage_is_in_session_transcript_and_log() {
    let ended = Ended::start().await;
    let intact = ended.runner.session(&ended.id).await;
    assert_eq!(intact["damage"], Value::Null);
    assert_eq!(ended.get("log").await.header("bowline-damage"), None);
    ended.change(|bytes| {
        let at = position(bytes);
        bytes[at] ^= 1;
    });
    let session = ended.runner.session(&ended.id).await;
    let damage = &session["damage"];
    assert_eq!(damage["segment"], 0, "{session}");
    let offset = damage["offset"].as_u64().unwrap();
    let expected = format!("segment 0 is corrupt at byte {offset}");
    assert_eq!(damage["reason"], expected);

    let log = ended.get("log").await;
    assert_eq!(log.header("bowline-damage"), Some(expected.as_str()));
    let lost = format!("0-{}", LINE.len() + 1);
    assert_eq!(log.header("bowline-gap"), Some(lost.as_str()));

    let transcript = ended.get("transcript").await.json();
    assert_eq!(transcript["stats"]["damaged"], true, "{transcript}");
    assert_eq!(transcript["stats"]["missing"], LINE.len() + 1);
    let entries = transcript["entries"].to_string();
    assert!(entries.contains(&expected), "{entries}");
}

#[tokio::test]
async fn cut_journal_is_reported_without_an_exit() {
    let ended = Ended::start().await;
    ended.change(|bytes| {
        let at = position(bytes);
        bytes.truncate(at);
    });
    // As after a crash of the machine.
    let info = ended.runner.folder(&ended.id).path().join("info.json");
    let mut record: Value = serde_json::from_slice(&std::fs::read(&info).unwrap()).unwrap();
    (record["exit"], record["phase"]) = (Value::Null, json!("running"));
    std::fs::write(&info, record.to_string()).unwrap();
    let session = ended.runner.session(&ended.id).await;
    assert_eq!(session["state"], "lost");
    let reason = session["damage"]["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("segment 0 is cut at byte "), "{session}");
    let log = ended.get("log").await;
    assert_eq!(log.header("bowline-damage"), Some(reason));
    let transcript = ended.get("transcript").await.json();
    assert_eq!(transcript["stats"]["damaged"], true, "{transcript}");
    assert_eq!(transcript["status"]["phase"], "ended", "{transcript}");
}

#[tokio::test]
async fn newer_journal_is_refused_with_its_version() {
    let ended = Ended::start().await;
    ended.change(|bytes| bytes[8] = 3);
    let session = ended.runner.session(&ended.id).await;
    let reason = "the journal has format version 3, and only versions up to 2 can be read";
    assert_eq!(session["damage"]["reason"], reason, "{session}");
    for what in ["log", "transcript"] {
        let refused = ended.get(what).await;
        let code = (refused.status, refused.code());
        assert_eq!(code, (409, "JOURNAL_VERSION".to_owned()));
        assert_eq!(refused.json()["detail"], reason);
    }
}

#[tokio::test]
async fn output_that_never_reached_the_disk_is_a_gap() {
    let ended = Ended::start().await;
    std::fs::remove_file(ended.segment()).unwrap();
    let log = ended.get("log").await;
    let lost = format!("0-{}", LINE.len() + 1);
    assert_eq!(log.header("bowline-gap"), Some(lost.as_str()));
    let transcript = ended.get("transcript").await.json();
    assert_eq!(transcript["stats"]["missing"], LINE.len() + 1);
}

/// The journal takes a part of the output, and the ring of the shim only the end of it.
#[tokio::test]
async fn output_past_a_file_size_limit_is_a_gap() {
    const OUTPUT: u64 = 1_000_000;
    let runner = TestRunner::with_file_size_limit(128).await;
    let script = format!("head -c {OUTPUT} /dev/zero | tr '\\0' x; read x");
    let spec = json!({"kind": "terminal", "program": "/bin/sh", "args": ["-c", script],
        "stdio": {"type": "pty"}, "ring_bytes": 4096});
    let id = runner.create(&spec).await;
    let at = format!("/api/sessions/{id}");
    while runner.session(&id).await["streams"]["tty"]["end"] != OUTPUT {}
    let ended = runner.request("DELETE", &at, None).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    let session = runner.session(&id).await;
    assert_eq!(session["state"], "exited", "the shim outlives its limit");

    let (mut next, mut missing) = (0, 0);
    while next < OUTPUT {
        let path = format!("{at}/log?from={next}");
        let log = runner.request("GET", &path, None).await;
        assert_eq!(log.header("bowline-end"), Some("1000000"));
        let gap = log
            .header("bowline-gap")
            .and_then(|gap| gap.split_once('-'));
        if let Some((from, to)) = gap {
            missing += to.parse::<u64>().unwrap() - from.parse::<u64>().unwrap();
        }
        let after = log.header("bowline-next").unwrap().parse().unwrap();
        assert!(after > next, "{log:?}");
        next = after;
    }
    assert!((1..OUTPUT).contains(&missing), "{missing}");
}
