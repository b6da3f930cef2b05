//! An independent reading of a stream, which shares no code with the reducer, and determines what
//! its transcript must contain.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fixture::Fixture;

/// Content of one thread, in order.
#[derive(Debug, Default, PartialEq)]
struct Thread {
    rows: Vec<Row>,
    calls: BTreeMap<String, Call>,
}

#[derive(Debug, PartialEq)]
enum Row {
    User(String),
    /// `message.id`, and its blocks as `type` and content.
    Message(String, Vec<(String, String)>),
    Result(String),
}

#[derive(Debug, Default, PartialEq)]
struct Call {
    name: String,
    input: Value,
    result: Option<(bool, String)>,
}

type Threads = BTreeMap<String, Thread>;

pub(crate) fn compare(fixture: &Fixture, transcript: &Value) {
    let expected = read_stream(&fixture.bytes);
    let mut found = Threads::new();
    read_thread("", transcript.as_object().unwrap(), &mut found);
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>(),
        "threads of {}",
        fixture.name
    );
    for (name, thread) in &expected {
        assert_eq!(found[name].rows, thread.rows, "{} in {name}", fixture.name);
        assert_eq!(
            found[name].calls, thread.calls,
            "{} in {name}",
            fixture.name
        );
    }
}

// The transcript.

fn read_thread(name: &str, thread: &Map<String, Value>, out: &mut Threads) {
    let mut read = Thread::default();
    for entry in thread["entries"].as_array().unwrap() {
        match entry["kind"].as_str().unwrap() {
            "user" => read.rows.push(Row::User(string(&entry["text"]))),
            "assistant" => {
                let blocks = entry["blocks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(block)
                    .collect();
                read.rows
                    .push(Row::Message(string(&entry["message_id"]), blocks));
            }
            "result" => read.rows.push(Row::Result(string(&entry["text"]))),
            "notice" | "error" => {}
            kind => panic!("an entry of kind {kind}"),
        }
    }
    for (id, call) in thread["tool_calls"].as_object().unwrap() {
        assert_eq!(call["id"], id.as_str());
        let result = &call["result"];
        let result = (!result.is_null()).then(|| {
            (
                result["is_error"].as_bool().unwrap(),
                string(&result["text"]),
            )
        });
        let read_call = Call {
            name: string(&call["name"]),
            input: call["input"].clone(),
            result,
        };
        read.calls.insert(id.clone(), read_call);
        if let Some(subagent) = call["subagent"].as_object() {
            read_thread(id, subagent, out);
        }
    }
    assert!(
        out.insert(name.to_owned(), read).is_none(),
        "{name} stands twice"
    );
}

fn block(block: &Value) -> (String, String) {
    match block["type"].as_str().unwrap() {
        kind @ ("text" | "thinking") => (kind.to_owned(), string(&block["text"])),
        kind @ "redacted_thinking" => (kind.to_owned(), String::new()),
        "tool_call" => ("tool_use".to_owned(), string(&block["id"])),
        kind => (kind.to_owned(), block["raw"].to_string()),
    }
}

// The stream.

fn read_stream(bytes: &[u8]) -> Threads {
    let mut threads = Threads::new();
    threads.insert(String::new(), Thread::default());
    let mut echoes = BTreeMap::new();
    let mut open = BTreeMap::new();
    let lines = bytes.split(|&byte| byte == b'\n');
    let lines: Vec<Value> = lines.filter_map(parse).collect();
    let finished: Vec<_> = lines
        .iter()
        .filter(|line| line["type"] == "assistant")
        .collect();
    let is_finished = |id: &Value| finished.iter().any(|line| line["message"]["id"] == *id);
    for line in &lines {
        let parent = line["parent_tool_use_id"].as_str().unwrap_or_default();
        match line["type"].as_str().unwrap_or_default() {
            "assistant" => assistant(threads.entry(parent.to_owned()).or_default(), line),
            "user" => user(
                threads.entry(parent.to_owned()).or_default(),
                line,
                &mut echoes,
            ),
            "stream_event" => {
                let started = &line["event"]["message"]["id"];
                if !started.is_null() {
                    open.insert(parent.to_owned(), started.clone());
                }
                // Older agents name the message in its first event only.
                let named = &line["api_message_id"];
                let open = open.get(parent).unwrap_or(named);
                let id = if named.is_null() { open } else { named };
                let thread = threads.entry(parent.to_owned()).or_default();
                draft(thread, line, id, is_finished(id));
            }
            // A sub-agent without messages still counts.
            "system" if line["subtype"] == "task_started" && line["task_type"] == "local_agent" => {
                threads.entry(string(&line["tool_use_id"])).or_default();
            }
            "result" => {
                let errors = line["errors"]
                    .as_array()
                    .map(|errors| errors.iter().map(string).collect::<Vec<_>>().join("\n"));
                let text = line["result"].as_str().map(str::to_owned).or(errors);
                let main = threads.get_mut("").unwrap();
                main.rows.push(Row::Result(text.unwrap_or_default()));
            }
            _ => {}
        }
    }
    for thread in threads.values_mut() {
        thread
            .rows
            .retain(|rows| !matches!(rows, Row::Message(_, blocks) if blocks.is_empty()));
    }
    threads
}

fn message<'t>(thread: &'t mut Thread, id: &Value) -> &'t mut Vec<(String, String)> {
    let id = string(id);
    let is_it = |rows: &Row| matches!(rows, Row::Message(known, _) if *known == id);
    let place = thread.rows.iter().position(is_it).unwrap_or_else(|| {
        thread.rows.push(Row::Message(id.clone(), Vec::new()));
        thread.rows.len() - 1
    });
    match &mut thread.rows[place] {
        Row::Message(_, blocks) => blocks,
        _ => unreachable!("a message stands here"),
    }
}

fn assistant(thread: &mut Thread, line: &Value) {
    for block in line["message"]["content"].as_array().unwrap() {
        let kind = string(&block["type"]);
        let content = match kind.as_str() {
            "text" => string(&block["text"]),
            "thinking" => string(&block["thinking"]),
            "redacted_thinking" => String::new(),
            "tool_use" => {
                let call = Call {
                    name: string(&block["name"]),
                    input: block["input"].clone(),
                    result: None,
                };
                thread.calls.insert(string(&block["id"]), call);
                string(&block["id"])
            }
            _ => block.to_string(),
        };
        message(thread, &line["message"]["id"]).push((kind, content));
    }
}

/// A draft only reserves its message's place, unless no line of the message ever arrives.
fn draft(thread: &mut Thread, line: &Value, id: &Value, is_finished: bool) {
    let event = &line["event"];
    let blocks = message(thread, id);
    if is_finished || event["type"] != "content_block_delta" {
        return;
    }
    let index = event["index"].as_u64().unwrap() as usize;
    let delta = &event["delta"];
    let kind = if delta["type"] == "thinking_delta" {
        "thinking"
    } else {
        "text"
    };
    while blocks.len() <= index {
        blocks.push((kind.to_owned(), String::new()));
    }
    blocks[index]
        .1
        .push_str(delta[kind].as_str().unwrap_or_default());
}

fn user(thread: &mut Thread, line: &Value, echoes: &mut BTreeMap<String, String>) {
    if line["session_id"].is_null() {
        // Echoed by the terminal.
        return;
    }
    let content = &line["message"]["content"];
    let parts: Vec<&Value> = content.as_array().into_iter().flatten().collect();
    for part in parts.iter().filter(|part| part["type"] == "tool_result") {
        let is_error = part["is_error"].as_bool().unwrap_or(false);
        let call = thread
            .calls
            .get_mut(part["tool_use_id"].as_str().unwrap())
            .unwrap();
        call.result = Some((is_error, join_value(&part["content"])));
    }
    // A merged echo repeats the prompts that were echoed separately before it.
    let is_known = |part: &Value| match (part["text"].as_str(), thread.rows.last()) {
        (Some(text), Some(Row::User(last))) => text.trim_end_matches('\n') == last,
        _ => false,
    };
    let rows: Vec<_> = parts
        .into_iter()
        .filter(|part| part["type"] != "tool_result")
        .skip_while(|part| line["isReplay"] == true && is_known(part))
        .collect();
    let text = match content.as_str() {
        Some(text) => text.to_owned(),
        None if rows.is_empty() => return,
        None => join(&rows),
    };
    let uuid = string(&line["uuid"]);
    if echoes.insert(uuid, text.clone()).as_ref() != Some(&text) {
        thread.rows.push(Row::User(text));
    }
}

fn join_value(content: &Value) -> String {
    match content {
        Value::Array(parts) => join(&parts.iter().collect::<Vec<_>>()),
        Value::String(text) => text.clone(),
        _ => String::new(),
    }
}

fn join(parts: &[&Value]) -> String {
    let mut out = String::new();
    for part in parts {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        if part["type"] == "text" {
            out.push_str(part["text"].as_str().unwrap());
            continue;
        }
        assert_eq!(
            part["source"]["type"], "base64",
            "no other part is recorded"
        );
        let data = part["source"]["data"].as_str().unwrap();
        let size = data.trim_end_matches('=').len() * 3 / 4;
        let (kind, media) = (string(&part["type"]), string(&part["source"]["media_type"]));
        out.push_str(&format!("[{kind} {media} {size} bytes]"));
    }
    out
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Parses a line as JSON. Lone surrogates are legal, but `serde_json` refuses them.
fn parse(line: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?.trim();
    if !text.starts_with('{') {
        return None;
    }
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&mend(text)))
        .ok()
}

fn mend(text: &str) -> String {
    let units: Vec<char> = text.chars().collect();
    let unit = |at: usize| -> Option<u32> {
        let hex: String = units.get(at..at + 6)?.iter().collect();
        u32::from_str_radix(hex.strip_prefix("\\u")?, 16).ok()
    };
    let mut out = String::new();
    let mut at = 0;
    while at < units.len() {
        let is_high = |it: Option<u32>| it.is_some_and(|it| (0xd800..0xdc00).contains(&it));
        let is_low = |it: Option<u32>| it.is_some_and(|it| (0xdc00..0xe000).contains(&it));
        let (step, lossy) = if units[at] != '\\' {
            (1, false)
        } else if is_high(unit(at)) && is_low(unit(at + 6)) {
            (12, false)
        } else if is_high(unit(at)) || is_low(unit(at)) {
            (6, true)
        } else {
            (2, false)
        };
        if lossy {
            out.push_str("\\ufffd");
        } else {
            out.extend(&units[at..(at + step).min(units.len())]);
        }
        at += step;
    }
    out
}
