//! A session of minimal lines, for tests. Each read is mirrored, so that every test also checks
//! that the changes lead to the transcript.

use std::collections::BTreeMap;

use bowline_jsonl::Framer;
use bytes::Bytes;
use serde_json::Value;

use crate::host::{End, HostDecision, HostEvent, Meta};
use crate::json::CallSummary;
use crate::log::Cursor;
use crate::mirror::Mirror;
use crate::page::{Evicted, Page};
use crate::record::{CallId, EntryId};
use crate::schema::Schema;
use crate::segment::Window;
use crate::transcript::Transcript;

/// The JSON of each entry (false) and call (true) by number; `None` if it was removed.
type JsonById = BTreeMap<(bool, u32), Option<Value>>;

pub(crate) struct TestSession {
    framer: Framer,
    pub(crate) transcript: Transcript,
    lines: u32,
    mirror: Mirror,
    cursor: Cursor,
    /// Every byte of the stream.
    log: Vec<u8>,
    /// The last JSON of each entry and call.
    json: JsonById,
}

impl TestSession {
    pub(crate) fn new() -> Self {
        Self {
            framer: Framer::default(),
            transcript: Transcript::new(),
            lines: 0,
            mirror: Mirror::new(),
            cursor: Cursor::default(),
            log: Vec::new(),
            json: BTreeMap::new(),
        }
    }

    /// A session whose transcript has a window.
    pub(crate) fn with_window(window: Window) -> Self {
        Self {
            transcript: Transcript::with_window(window),
            ..Self::new()
        }
    }

    /// Every byte of the stream so far.
    pub(crate) fn log(&self) -> &[u8] {
        &self.log
    }

    /// Appends bytes to the stream.
    pub(crate) fn raw(&mut self, bytes: &str) -> &mut Self {
        self.log.extend(bytes.as_bytes());
        self.framer.push(Bytes::copy_from_slice(bytes.as_bytes()));
        self.drain();
        self
    }

    /// Appends a line of session `s` with these members; its uuid is `u1`, `u2`, …
    pub(crate) fn line(&mut self, members: &str) -> &mut Self {
        self.lines += 1;
        let line = self.lines;
        self.raw(&format!(
            "{{\"uuid\":\"u{line}\",\"session_id\":\"s\",{members}}}\n"
        ))
    }

    /// Appends a finished block of a message on the main thread.
    pub(crate) fn assistant_block(&mut self, message: &str, block: &str) -> &mut Self {
        self.assistant_block_in("null", message, block)
    }

    /// Appends a finished block of a message of a sub-agent; `parent` is JSON.
    pub(crate) fn assistant_block_in(
        &mut self,
        parent: &str,
        message: &str,
        block: &str,
    ) -> &mut Self {
        self.line(&format!(
            r#""type":"assistant","message":{{"id":"{message}","model":"m","content":[{block}]}},"parent_tool_use_id":{parent}"#
        ))
    }

    /// Appends a tool use in a message of its own; `parent` is JSON.
    pub(crate) fn tool_use(&mut self, parent: &str, id: &str, name: &str) -> &mut Self {
        self.assistant_block_in(parent, &format!("m-{id}"), &tool(id, name))
    }

    /// Appends a tool result; `more` are further members of the line.
    pub(crate) fn tool_result(
        &mut self,
        id: &str,
        text: &str,
        is_error: bool,
        more: &str,
    ) -> &mut Self {
        self.line(&format!(
            r#""type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{text}","is_error":{is_error}}}]}}{more}"#
        ))
    }

    /// Appends a stream event of a message.
    pub(crate) fn stream_event(&mut self, message: &str, event: &str) -> &mut Self {
        self.line(&format!(
            r#""type":"stream_event","event":{event},"parent_tool_use_id":null,"api_message_id":"{message}""#
        ))
    }

    /// Appends the beginning of a draft.
    pub(crate) fn message_start(&mut self, message: &str) -> &mut Self {
        self.stream_event(
            message,
            &format!(r#"{{"type":"message_start","message":{{"id":"{message}","model":"m"}}}}"#),
        )
    }

    /// Appends the beginning of a text block of a draft, and its first delta.
    pub(crate) fn text_block(&mut self, message: &str, index: u32, text: &str) -> &mut Self {
        self.stream_event(
            message,
            &format!(r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"text","text":""}}}}"#),
        );
        self.text_delta(message, index, text)
    }

    /// Appends a text delta.
    pub(crate) fn text_delta(&mut self, message: &str, index: u32, text: &str) -> &mut Self {
        self.stream_event(
            message,
            &format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}"#),
        )
    }

    /// Appends the end of a block of a draft.
    pub(crate) fn block_stop(&mut self, message: &str, index: u32) -> &mut Self {
        self.stream_event(
            message,
            &format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
        )
    }

    pub(crate) fn host_event(&mut self, event: HostEvent<'_>) -> &mut Self {
        self.transcript.apply_host(event, Meta { at_ms: 0 });
        self
    }

    pub(crate) fn prompt_sent(&mut self, uuid: &str, text: &str) -> &mut Self {
        let uuid = (!uuid.is_empty()).then_some(uuid);
        self.host_event(HostEvent::PromptSent { uuid, text })
    }

    pub(crate) fn permission_answered(
        &mut self,
        request_id: &str,
        decision: HostDecision<'_>,
    ) -> &mut Self {
        self.host_event(HostEvent::PermissionAnswered {
            request_id,
            decision,
        })
    }

    pub(crate) fn end(&mut self) -> &mut Self {
        self.framer.finish();
        self.drain();
        self.transcript.end(End::Recording, Meta { at_ms: 0 });
        self
    }

    fn drain(&mut self) {
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                // What is evicted was present before a line.
                if self.transcript.window.is_some() {
                    remember(&self.transcript, &mut self.json);
                }
                self.transcript.apply(&item, Meta { at_ms: 0 });
            }
        }
    }

    /// Reloads everything that was evicted, and compares; returns the number of segments.
    pub(crate) fn page_back(&mut self) -> usize {
        remember(&self.transcript, &mut self.json);
        let evicted: Vec<_> = self.transcript.evicted().collect();
        for evicted in &evicted {
            let mut page = self.transcript.page(evicted.first).unwrap();
            while let Some((run, lines)) = page.next_range() {
                assert_eq!(run, 0, "one run is in the log");
                let (start, end) = (lines.start as usize, lines.end as usize);
                let mut framer = Framer::at(usize::MAX >> 1, lines.start, 1);
                framer.push(Bytes::copy_from_slice(&self.log[start..end]));
                framer.finish();
                while let Some(frame) = framer.next_frame() {
                    frame
                        .items()
                        .for_each(|item| page.apply(&item, Meta { at_ms: 0 }));
                }
                assert!(
                    page.next_range() != Some((run, lines)),
                    "{evicted:?}: {page:?}"
                );
            }
            self.compare(&page, evicted);
        }
        evicted.len()
    }

    fn compare(&self, page: &Page, evicted: &Evicted) {
        let found = page
            .entries()
            .map(|it| (it.id().number(), serde_json::to_value(it).unwrap()));
        let entries = (false, evicted.first.number())..(false, evicted.end.number());
        let expected = self.json.range(entries);
        let expected = expected.filter_map(|((_, at), json)| Some((*at, json.clone()?)));
        assert_eq!(
            found.collect::<Vec<_>>(),
            expected.collect::<Vec<_>>(),
            "{evicted:?}"
        );
        for call in page.tool_calls() {
            let found = serde_json::to_value(CallSummary(call)).unwrap();
            let expected = self.json.get(&(true, call.call_id().number()));
            assert_eq!(expected, Some(&Some(found)), "{evicted:?}");
        }
    }

    /// The JSON of the transcript, after checking that the changes lead to it.
    pub(crate) fn json(&mut self) -> Value {
        let changes = self.transcript.changes_since(self.cursor);
        for change in changes.iter() {
            self.mirror.apply(&serde_json::to_value(&change).unwrap());
        }
        self.cursor = changes.cursor();
        let json = serde_json::to_value(&self.transcript).unwrap();
        assert_eq!(self.mirror.transcript(), json, "the changes lead elsewhere");
        self.check_counts();
        json
    }

    /// The counters of a message match its blocks.
    fn check_counts(&self) {
        let it = &self.transcript;
        for entry in it.entries.numbers().map(|at| EntryId::new(at as u32)) {
            let live: Vec<_> = it.live_blocks(entry).collect();
            assert_eq!(it.live_block_count(entry) as usize, live.len());
            let drafted = live.into_iter().filter(|id| it.blocks[id].is_drafted());
            assert!(it.draft_blocks_of(entry).eq(drafted));
        }
    }

    /// The entries of the main thread, one line each.
    pub(crate) fn entry_lines(&mut self) -> Vec<String> {
        entry_lines(&self.json())
    }

    pub(crate) fn call_json(&mut self, id: &str) -> Value {
        self.json();
        let call = self.transcript.tool_call(id).expect("the call is there");
        serde_json::to_value(call).unwrap()
    }

    /// The current phase.
    pub(crate) fn phase(&mut self) -> String {
        self.json()["status"]["phase"].as_str().unwrap().to_owned()
    }
}

/// Stores the JSON of everything that is present.
fn remember(it: &Transcript, json: &mut JsonById) {
    for at in it.entries.numbers() {
        let entry = it.entry_by_id(EntryId::new(at as u32));
        let entry = entry.map(|entry| serde_json::to_value(entry).unwrap());
        json.insert((false, at as u32), entry);
    }
    for at in it.calls.numbers() {
        let call = it.tool_call_by_id(CallId::new(at as u32)).map(CallSummary);
        let call = call.map(|call| serde_json::to_value(call).unwrap());
        json.insert((true, at as u32), call);
    }
}

/// The JSON of a session's transcript in schema 1.
pub(crate) fn first_json(session: &TestSession) -> Value {
    serde_json::to_value(session.transcript.json(Schema::One)).unwrap()
}

/// JSON without where in the stream its parts are.
pub(crate) fn without_bytes(mut json: Value) -> Value {
    match &mut json {
        Value::Object(members) => {
            if members.get("bytes").is_some_and(Value::is_array) {
                members.remove("bytes");
            }
            let values = members.values_mut();
            values.for_each(|value| *value = without_bytes(value.take()));
        }
        Value::Array(values) => {
            let values = values.iter_mut();
            values.for_each(|value| *value = without_bytes(value.take()));
        }
        _ => {}
    }
    json
}

/// A text block.
pub(crate) fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

/// A tool use.
pub(crate) fn tool(id: &str, name: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{"n":1}}}}"#)
}

/// The entries of a thread in short: `user: text`, `m1 complete: block | block`, …
pub(crate) fn entry_lines(thread: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let block = |block: &Value| match block["type"].as_str().unwrap() {
        "text" => text(&block["text"]),
        "thinking" => format!("({})", text(&block["text"])),
        "tool_call" => format!("@{}", text(&block["id"])),
        "other" => block["raw"].to_string(),
        kind => kind.to_owned(),
    };
    let line = |entry: &Value| match entry["kind"].as_str().unwrap() {
        "assistant" => {
            let blocks = entry["blocks"].as_array().unwrap();
            let blocks: Vec<_> = blocks.iter().map(block).collect();
            let (id, state) = (text(&entry["message_id"]), text(&entry["state"]));
            format!("{id} {state}: {}", blocks.join(" | "))
        }
        "result" => format!(
            "result {}: {}",
            text(&entry["outcome"]),
            text(&entry["text"])
        ),
        "notice" => format!(
            "notice {}: {}",
            text(&entry["notice"]),
            text(&entry["text"])
        ),
        "error" => format!("error {}: {}", text(&entry["error"]), text(&entry["text"])),
        kind => format!("{kind}: {}", text(&entry["text"])),
    };
    thread["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(line)
        .collect()
}
