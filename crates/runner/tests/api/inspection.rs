//! The inspection of a session: its past, its lines, what lasts in it, and search.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bowline_jsonl::{Framer, RawJson};
use bowline_reducer::dialect::recognize;
use bowline_reducer::{Meta, Mirror, Schema, Transcript};
use bowline_runner::wire::StreamId;
use bowline_runner::{RecordingDetails, RecordingImport, StateDir};
use bowline_transport::Piece;
use bowline_transport::journal::{Arrival, Arrived};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::support::TestRunner;

/// A small generator of numbers that repeats itself (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    folder.join(name).canonicalize().unwrap()
}

/// Recordings of several agents, plain ones.
fn recordings() -> Vec<PathBuf> {
    let names = [
        "sub_nest_fg.jsonl",
        "sub_par_fg_partial.jsonl",
        "permission_in_subagents.jsonl",
        "multi_turn_replay.jsonl",
        "parallel_partial.jsonl",
        "tool_bash_partial.jsonl",
        "thinking_partial.jsonl",
        "unicode_partial.jsonl",
        "interrupt_during_tool.jsonl",
        "queue_midturn.jsonl",
        "err429_partial.jsonl",
        "ask_question.jsonl",
        "perm_denied.jsonl",
        "bgbash.jsonl",
        "stop_task.jsonl",
        "slash_commands.jsonl",
        "same_uuid_twice.jsonl",
        "tool_error.jsonl",
        "max_turns.jsonl",
        "refusal.jsonl",
    ];
    names.map(fixture).to_vec()
}

/// A session that wrote a file and has ended.
pub(crate) async fn recorded(runner: &TestRunner, path: &Path) -> String {
    let spec =
        json!({"kind": "dialogue", "program": "cat", "args": [path], "journal": {"on": true}});
    let id = runner.create(&spec).await;
    loop {
        let session = runner.session(&id).await;
        if session["state"] == "exited" {
            return id;
        }
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn get(runner: &TestRunner, path: &str) -> Value {
    let response = runner.request("GET", path, None).await;
    assert_eq!(response.status, 200, "{path}: {}", response.text());
    response.json()
}

/// Where the parts of the output begin that arrived together, and when they arrived.
async fn arrivals(runner: &TestRunner, id: &str) -> BTreeMap<u64, u64> {
    let (mut all, mut from) = (BTreeMap::new(), 0);
    loop {
        let page = get(runner, &format!("/api/sessions/{id}/arrivals?from={from}")).await;
        for it in page["arrivals"].as_array().unwrap() {
            let at_ms = it["at_ms"].as_u64().unwrap();
            all.insert(it["offset"].as_u64().unwrap(), at_ms);
        }
        let next = page["next"].as_u64().unwrap();
        if next == from {
            return all;
        }
        from = next;
    }
}

/// The fold of the first bytes of an output.
fn fold_of_prefix(output: &[u8], arrivals: &BTreeMap<u64, u64>, end: usize) -> Value {
    let (mut transcript, mut framer) = (Transcript::new(), Framer::default());
    let mut has_dialect = false;
    let starts: Vec<_> = arrivals.iter().collect();
    for (place, (from, at_ms)) in starts.iter().enumerate() {
        let to = starts
            .get(place + 1)
            .map_or(output.len(), |(to, _)| **to as usize);
        let (from, to) = ((**from as usize).min(end), to.min(end));
        framer.push(Bytes::copy_from_slice(&output[from..to]));
        let at = Meta { at_ms: **at_ms };
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                let line = item.event.as_ref().ok().map(|event| event.raw);
                recognize_once(&mut transcript, &mut has_dialect, line);
                transcript.apply(&item, at);
            }
        }
    }
    serde_json::from_str(&transcript.json(Schema::default()).to_string()).unwrap()
}

fn recognize_once(transcript: &mut Transcript, is_known: &mut bool, line: Option<RawJson<'_>>) {
    if !*is_known && let Some(dialect) = line.and_then(|line| recognize([line])) {
        transcript.set_dialect(dialect);
        *is_known = true;
    }
}

/// The transcript that the changes of a part make up.
fn mirrored(part: &Value) -> Value {
    let mut mirror = Mirror::new();
    let changes = part["changes"].as_array().unwrap();
    changes.iter().for_each(|change| mirror.apply(change));
    mirror.transcript()
}

#[tokio::test]
async fn transcript_at_offset_is_fold_of_prefix() {
    let runner = TestRunner::start().await;
    let mut random = Random(20);
    for path in recordings() {
        let output = std::fs::read(&path).unwrap();
        let id = recorded(&runner, &path).await;
        let arrivals = arrivals(&runner, &id).await;
        for _ in 0..50 {
            let at = random.below(output.len() as u64);
            let expected = fold_of_prefix(&output, &arrivals, at as usize);
            let base = format!("/api/sessions/{id}");
            let whole = get(&runner, &format!("{base}/transcript?at={at}")).await;
            assert_eq!(whole, expected, "{} at {at}", path.display());
            let part = get(&runner, &format!("{base}/changes?at={at}&max=1000")).await;
            assert_eq!((&part["at"], &part["from"]), (&json!(at), &json!(0)));
            assert_eq!(mirrored(&part), expected, "{} at {at}", path.display());
        }
    }
}

/// Writes messages of a recording that is longer than the distance of checkpoints. Returns the bytes.
fn write_long(path: &Path, length: usize) -> Vec<u8> {
    let text = "word ".repeat(400);
    let mut output = Vec::new();
    for number in 0.. {
        let block = json!({"type": "text", "text": format!("message {number} {text}")});
        let message = json!({"id": format!("m{number}"), "role": "assistant", "model": "m", "content": [block]});
        let line = json!({"type": "assistant", "uuid": format!("u{number}"), "session_id": "s", "message": message});
        output.extend_from_slice(format!("{line}\n").as_bytes());
        if output.len() >= length {
            break;
        }
    }
    std::fs::write(path, &output).unwrap();
    output
}

#[tokio::test]
async fn moment_after_a_checkpoint_is_fold_of_prefix() {
    let runner = TestRunner::start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.jsonl");
    let output = write_long(&path, 10 << 20);
    let id = recorded(&runner, &path).await;
    let arrivals = arrivals(&runner, &id).await;
    let timeline = get(&runner, &format!("/api/sessions/{id}/timeline")).await;
    assert_eq!(timeline["end"], output.len() as u64);
    // Back and forth over the checkpoints, within lines and between them.
    for at in [9 << 20, 5 << 20, (9 << 20) + 1, 4 << 20, 100, 8 << 20] {
        let expected = fold_of_prefix(&output, &arrivals, at);
        let whole = get(&runner, &format!("/api/sessions/{id}/transcript?at={at}")).await;
        assert_eq!(whole["stats"], expected["stats"], "at {at}");
        assert!(whole == expected, "at {at}");
    }
}

#[tokio::test]
async fn moment_of_the_end_is_the_present() {
    let runner = TestRunner::start().await;
    let path = fixture("sub_nest_fg.jsonl");
    let length = std::fs::metadata(&path).unwrap().len();
    let id = recorded(&runner, &path).await;
    let base = format!("/api/sessions/{id}");
    let present = get(&runner, &format!("{base}/transcript")).await;
    assert_eq!(present["status"]["phase"], "ended");
    for at in [length, length + 1] {
        let past = get(&runner, &format!("{base}/transcript?at={at}")).await;
        assert_eq!(past, present, "{at}");
    }
    let timeline = get(&runner, &format!("{base}/timeline")).await;
    let to_ms = timeline["to_ms"].as_u64().unwrap();
    let past = get(&runner, &format!("{base}/transcript?at_ms={to_ms}")).await;
    assert_eq!(past, present);
    let before = get(&runner, &format!("{base}/transcript?at_ms=1")).await;
    assert_eq!(
        (&before["entries"], &before["stats"]["lines"]),
        (&json!([]), &json!(0))
    );
}

#[tokio::test]
async fn moment_is_an_offset_a_line_or_a_time() {
    let runner = TestRunner::start().await;
    let id = recorded(&runner, &fixture("tool_rwe.jsonl")).await;
    let base = format!("/api/sessions/{id}");
    let output = std::fs::read(fixture("tool_rwe.jsonl")).unwrap();
    let end = 1 + memchr::memchr_iter(b'\n', &output).nth(4).unwrap();
    let by_line = get(&runner, &format!("{base}/transcript?line=5")).await;
    let by_offset = get(&runner, &format!("{base}/transcript?at={end}")).await;
    assert_eq!(by_line, by_offset);
    assert_eq!(by_line["stats"]["lines"], 5);
    for query in ["at=1&line=2", "line=100000", "at=x"] {
        let path = format!("{base}/transcript?{query}");
        let response = runner.request("GET", &path, None).await;
        assert_eq!(
            (response.status, response.code().as_str()),
            (400, "BAD_REQUEST"),
            "{query}"
        );
    }
}

/// A line of ACP in which the agent says a word.
fn says(word: &str) -> String {
    let content = json!({"type": "text", "text": word});
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
    let params = json!({"sessionId": "s", "update": update});
    let line = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
    format!("{line}\n")
}

/// Imports a recording with output, then input, then output, and returns its id and the lengths of both.
fn imported(runner: &TestRunner) -> (String, u64, u64) {
    let state = StateDir::at(runner.token_folder().join("s")).unwrap();
    let mut import = RecordingImport::begin(&state).unwrap();
    let prompt = json!([{"type": "text", "text": "why?"}]);
    let params = json!({"sessionId": "s", "prompt": prompt});
    let prompt = json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": params});
    let (first, prompt) = (says("hello"), format!("{prompt}\n"));
    let place = first.len() as u64;
    let streams = [
        (StreamId::STDOUT, 0, first, Arrival::at(1_000)),
        (
            StreamId::INPUT,
            0,
            prompt.clone(),
            Arrival::at(2_000).beside(place),
        ),
        (StreamId::STDOUT, place, says("because"), Arrival::at(3_000)),
    ];
    for (stream, offset, text, arrival) in streams {
        let bytes = Bytes::from(text);
        let piece = Piece::Bytes { offset, bytes };
        import.push(stream, Arrived { arrival, piece }).unwrap();
    }
    let details = RecordingDetails {
        name: "imported".to_owned(),
        labels: BTreeMap::from([("bowline.dialect".to_owned(), "acp".to_owned())]),
        ..RecordingDetails::default()
    };
    let id = import.finish(details).unwrap().to_string();
    (id, place, prompt.len() as u64)
}

#[tokio::test]
async fn input_is_part_of_a_moment_by_its_place() {
    let runner = TestRunner::start().await;
    let (id, place, input) = imported(&runner);
    let base = format!("/api/sessions/{id}");
    let page = get(&runner, &format!("{base}/lines")).await;
    let items = page["items"].as_array().unwrap();
    let streams: Vec<_> = items.iter().map(|it| it["stream"].clone()).collect();
    assert_eq!(streams, ["output", "input", "output"]);
    let became = items[1]["became"].as_array().unwrap();
    assert!(became.iter().any(|it| it["type"] == "entry"), "{became:?}");
    assert_eq!(items[1]["kind"], "session/prompt");
    assert_eq!(items[1]["at_ms"], 2_000);
    assert_eq!(items[1]["bytes"], json!([0, input]));
    for (query, expected) in [
        (format!("at={}", place - 1), 0),
        (format!("at={place}"), 0),
        (format!("at={place}&input={input}"), 1),
        (format!("at={}", place + 1), 1),
        (format!("at={place}"), 0),
        ("at_ms=1999".to_owned(), 0),
        ("at_ms=2000".to_owned(), 1),
    ] {
        let then = get(&runner, &format!("{base}/transcript?{query}")).await;
        let entries = then["entries"].as_array().unwrap();
        let users = entries.iter().filter(|it| it["kind"] == "user").count();
        assert_eq!(users, expected, "{query}");
    }
}

#[tokio::test]
async fn imported_recording_is_a_session_that_has_ended() {
    let runner = TestRunner::start().await;
    let (id, ..) = imported(&runner);
    let session = runner.session(&id).await;
    assert_eq!(
        (&session["name"], &session["state"]),
        (&json!("imported"), &json!("exited"))
    );
    assert_eq!(session["labels"]["bowline.recording"], "imported");
    let transcript = get(&runner, &format!("/api/sessions/{id}/transcript")).await;
    assert_eq!(transcript["status"]["phase"], "ended");
    assert_eq!(
        transcript["entries"].as_array().unwrap().len(),
        3,
        "{transcript}"
    );
    assert_eq!(transcript["entries"][0]["at_ms"], 1_000);
}

#[tokio::test]
async fn parts_of_a_transcript_make_up_the_whole() {
    let runner = TestRunner::start().await;
    let id = recorded(&runner, &fixture("sub_par_fg_partial.jsonl")).await;
    let base = format!("/api/sessions/{id}");
    let whole = get(&runner, &format!("{base}/transcript")).await;
    let entries = whole["entries"].as_array().unwrap();
    let (mut seen, mut calls) = (Vec::new(), BTreeMap::new());
    while seen.len() < entries.len() {
        let path = format!("{base}/changes?from={}&max=2", seen.len());
        let part = get(&runner, &path).await;
        assert_eq!(part["entries"], entries.len());
        let transcript = mirrored(&part);
        seen.extend(transcript["entries"].as_array().unwrap().clone());
        calls.extend(transcript["tool_calls"].as_object().unwrap().clone());
    }
    assert_eq!(&seen, entries);
    assert_eq!(json!(calls), whole["tool_calls"]);
}

#[tokio::test]
async fn lines_lead_to_what_they_became_and_back() {
    let runner = TestRunner::start().await;
    let path = fixture("tool_bash_partial.jsonl");
    let output = std::fs::read(&path).unwrap();
    let id = recorded(&runner, &path).await;
    let base = format!("/api/sessions/{id}");
    let page = get(&runner, &format!("{base}/lines?fold=false&max=2000")).await;
    let items = page["items"].as_array().unwrap();
    let ends: Vec<_> = memchr::memchr_iter(b'\n', &output)
        .map(|it| it as u64 + 1)
        .collect();
    let found: Vec<_> = items
        .iter()
        .map(|it| it["bytes"][1].as_u64().unwrap())
        .collect();
    assert_eq!(found, ends);
    assert!(items.iter().all(|it| it["at_ms"].as_u64().is_some()));
    let rows = get(&runner, &format!("{base}/lines?max=2000")).await;
    let folded = rows["items"].as_array().unwrap();
    let lines: u64 = folded.iter().map(|it| it["lines"].as_u64().unwrap()).sum();
    assert_eq!(lines, ends.len() as u64);
    assert!(folded.len() < items.len() && rows["rows"] == folded.len());
    assert_eq!(items[0]["kind"], "system/init");
    assert_eq!(items[0]["became"][0]["type"], "session", "{}", items[0]);
    let deltas = folded
        .iter()
        .find(|it| it["lines"].as_u64() > Some(1))
        .unwrap();
    assert_eq!(deltas["kind"], "stream_event/content_block_delta");

    let part = get(&runner, &format!("{base}/changes")).await;
    let changes = part["changes"].as_array().unwrap();
    let is_assistant = |it: &&Value| it["change"] == "entry" && it["value"]["kind"] == "assistant";
    let entry = changes.iter().find(is_assistant).unwrap()["entry"]
        .as_u64()
        .unwrap();
    let page = get(&runner, &format!("{base}/lines?entry={entry}")).await;
    let at = page["at"].as_u64().unwrap() - page["from"].as_u64().unwrap();
    let became = &page["items"][at as usize]["became"];
    assert!(
        became
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["main_entry"] == entry),
        "{became}"
    );
    let offset = page["items"][at as usize]["bytes"][0].as_u64().unwrap();
    let again = get(&runner, &format!("{base}/lines?offset={offset}")).await;
    assert_eq!(again["at"], page["at"]);
}

#[tokio::test]
async fn lines_say_why_they_became_nothing() {
    let runner = TestRunner::start().await;
    let lines = [
        r#"{"type":"system","subtype":"informational","content":"a","uuid":"1"}"#,
        r#"{"type":"system","subtype":"informational","content":"a","uuid":"1"}"#,
        r#"{"type":"novelty","uuid":"2"}"#,
        "{not json",
        r#"{"type":"keep_alive"}"#,
    ];
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let path = folder.path().join("lines");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let script = format!("echo trouble >&2; cat {}", path.display());
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", script], "journal": {"on": true}});
    let id = runner.create(&spec).await;
    while runner.session(&id).await["state"] != "exited" {}
    let page = get(&runner, &format!("/api/sessions/{id}/lines")).await;
    let items = page["items"].as_array().unwrap();
    let output = |it: &&Value| it["stream"] == "output";
    let notes: Vec<_> = items
        .iter()
        .filter(output)
        .map(|it| it["note"].clone())
        .collect();
    assert_eq!(
        notes,
        [
            json!(null),
            json!("duplicate"),
            json!("unknown"),
            json!("invalid"),
            json!(null)
        ]
    );
    let invalid = items.iter().find(|it| it["note"] == "invalid").unwrap();
    assert!(
        invalid["error"].is_string() && invalid["became"][0]["type"] == "entry",
        "{invalid}"
    );
    let stderr = items.iter().find(|it| it["stream"] == "stderr").unwrap();
    assert_eq!(
        (&stderr["about"], &stderr["bytes"]),
        (&json!("trouble"), &json!([0, 8]))
    );
}

#[tokio::test]
async fn timeline_has_spans_with_tokens() {
    let runner = TestRunner::start().await;
    let id = recorded(&runner, &fixture("sub_nest_fg.jsonl")).await;
    let base = format!("/api/sessions/{id}");
    let timeline = get(&runner, &format!("{base}/timeline")).await;
    let whole = get(&runner, &format!("{base}/transcript")).await;
    let tools = timeline["tools"].as_array().unwrap();
    let nested = tools.iter().filter(|it| !it["thread"].is_null()).count();
    assert!(
        nested > 0 && tools.iter().any(|it| it["subagent"] == true),
        "{timeline}"
    );
    let models = timeline["model_calls"].as_array().unwrap();
    // The scripted agent writes no partial messages, so that the tokens of its answers are not final.
    assert!(
        models
            .iter()
            .all(|it| it["usage"]["output_tokens"].is_null()),
        "{timeline}"
    );
    assert!(
        models.iter().all(|it| it["usage"]["input_tokens"].is_u64()),
        "{timeline}"
    );
    let turns = timeline["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0]["outcome"], "completed");
    assert_eq!(turns[0]["cost_usd"], whole["usage"]["cost_usd"]);
    assert!(!timeline["context"].as_array().unwrap().is_empty());
    let spans = [tools, models, turns].into_iter().flatten();
    for span in spans {
        assert!(span["from_ms"].as_u64() <= span["to_ms"].as_u64(), "{span}");
        assert!(
            span["bytes"][0].as_u64() < span["bytes"][1].as_u64(),
            "{span}"
        );
    }
}

#[tokio::test]
async fn timeline_of_joined_recordings_is_not_ordered_by_time() {
    let runner = TestRunner::start().await;
    let state = StateDir::at(runner.token_folder().join("s")).unwrap();
    let timeline = async |times: &[u64]| {
        let mut import = RecordingImport::begin(&state).unwrap();
        for at_ms in times {
            let offset = import.end(StreamId::STDOUT);
            let bytes = Bytes::from(says("word"));
            let (piece, arrival) = (Piece::Bytes { offset, bytes }, Arrival::at(*at_ms));
            let piece = Arrived { arrival, piece };
            import.push(StreamId::STDOUT, piece).unwrap();
        }
        let details = RecordingDetails {
            labels: BTreeMap::from([("bowline.dialect".to_owned(), "acp".to_owned())]),
            ..RecordingDetails::default()
        };
        let id = import.finish(details).unwrap();
        get(&runner, &format!("/api/sessions/{id}/timeline")).await
    };
    let ordered = timeline(&[1_000, 2_000, 1_999, 3_000, 4_000]).await;
    assert_eq!(ordered["is_ordered"], true, "a line that is a little late");
    let joined = timeline(&[1_000, 4_000, 1_000, 4_000, 1_000, 4_000]).await;
    assert_eq!(joined["is_ordered"], false);
}

#[tokio::test]
async fn search_finds_texts_tools_and_bytes() {
    let runner = TestRunner::start().await;
    let path = fixture("tool_bash_partial.jsonl");
    let output = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
    let id = recorded(&runner, &path).await;
    let base = format!("/api/sessions/{id}/search");
    let tools = get(&runner, &format!("{base}?q=bASH&in=tools")).await;
    let hit = &tools["hits"][0];
    assert_eq!(
        (&hit["in"], &hit["found"]),
        (&json!("tools"), &json!("Bash"))
    );
    assert!(
        hit["tool_call"].is_string() && hit["entry"].is_u64(),
        "{hit}"
    );
    // Page by page, every line with the text is found once.
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = get(
            &runner,
            &format!("{base}?q=session_id&in=bytes&max=3{after}"),
        )
        .await;
        for hit in page["hits"].as_array().unwrap() {
            found.push(hit["bytes"][0].as_u64().unwrap());
        }
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    let (mut expected, mut offset) = (Vec::new(), 0);
    for line in output.split_inclusive('\n') {
        expected.extend(line.find("session_id").map(|at| (offset + at) as u64));
        offset += line.len();
    }
    assert_eq!(found, expected);
    let nothing = get(&runner, &format!("{base}?q=xyzzy&in=text,tools,bytes")).await;
    assert_eq!(nothing, json!({"hits": [], "next": null}));
    for query in ["q=", "q=a&in=pictures", "q=a&after=x"] {
        let response = runner
            .request("GET", &format!("{base}?{query}"), None)
            .await;
        assert_eq!(response.status, 400, "{query}");
    }
}

#[tokio::test]
async fn log_honours_a_range() {
    let runner = TestRunner::start().await;
    let path = fixture("tool_rwe.jsonl");
    let output = std::fs::read(&path).unwrap();
    let id = recorded(&runner, &path).await;
    let total = output.len();
    for (range, from, to) in [
        ("bytes=10-19".to_owned(), 10, 20),
        (format!("bytes={}-", total - 5), total - 5, total),
        ("bytes=-7".to_owned(), total - 7, total),
    ] {
        let bearer = format!("Bearer {}", runner.token());
        let headers = [("Authorization", bearer.as_str()), ("Range", &range)];
        let path = format!("/api/sessions/{id}/log");
        let response =
            crate::support::request(runner.address(), "GET", &path, &headers, None).await;
        assert_eq!(response.status, 206, "{range}");
        let expected = format!("bytes {from}-{}/{total}", to - 1);
        assert_eq!(response.header("Content-Range"), Some(expected.as_str()));
        assert_eq!(response.body, &output[from..to]);
    }
}
