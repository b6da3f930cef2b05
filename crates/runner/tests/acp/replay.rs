//! Recordings as an editor shows them: loaded, followed, and both.

use std::collections::BTreeMap;

use bowline_reducer::{Cursor, Transcript};
use serde_json::{Value, json};

use crate::editor::{Editor, Row, Shown};
use crate::recorded::{self, Recorded};

const SESSION: &str = "s";

fn plain() -> Value {
    json!({})
}

fn with_children() -> Value {
    json!({"subagents": {}, "session": {"notices": {}, "configOptions": {"boolean": {}}}})
}

/// What a transcript has, read from its JSON.
pub(crate) fn expected(transcript: &Transcript, has_children: bool) -> BTreeMap<String, Vec<Row>> {
    let json = serde_json::to_value(transcript).expect("JSON");
    let mut rows = BTreeMap::new();
    thread(&json, SESSION, has_children, &mut rows);
    for (name, value) in json["threads"].as_object().into_iter().flatten() {
        if value["call"].is_null() {
            let session = format!("{SESSION}:{name}");
            thread(value, &session, has_children, &mut rows);
        }
    }
    rows.retain(|_, rows| !rows.is_empty());
    rows
}

fn thread(json: &Value, session: &str, has_children: bool, all: &mut BTreeMap<String, Vec<Row>>) {
    let is_main = session == SESSION;
    let mut push = |kind: &str, text: &Value| {
        let text = text.as_str().unwrap_or_default();
        let is_shown = is_main || has_children || kind == "call";
        if !text.is_empty() && is_shown {
            let session = if has_children { session } else { SESSION };
            let rows = all.entry(session.to_owned()).or_default();
            rows.push((kind.to_owned(), text.to_owned()));
        }
    };
    for entry in json["entries"].as_array().into_iter().flatten() {
        if entry["kind"] == "user" && (!is_main || entry["synthetic"] == false) {
            push("user", &entry["text"]);
        }
        for block in entry["blocks"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text") => push("text", &block["text"]),
                Some("thinking") => push("thought", &block["text"]),
                Some("tool_call") => push("call", &block["id"]),
                _ => {}
            }
        }
    }
    for (id, call) in json["tool_calls"].as_object().into_iter().flatten() {
        if call["subagent"].is_object() {
            let session = format!("{SESSION}:{id}");
            thread(&call["subagent"], &session, has_children, all);
        }
    }
}

/// The rows of each session. Calls of sub-agents are where they came, not in the order of their threads.
fn compared(
    mut rows: BTreeMap<String, Vec<Row>>,
    has_children: bool,
) -> BTreeMap<String, Vec<Row>> {
    if !has_children {
        let main = rows.entry(SESSION.to_owned()).or_default();
        let (mut calls, others): (Vec<_>, Vec<_>) =
            main.drain(..).partition(|(kind, _)| kind == "call");
        calls.sort();
        *main = [others, calls].concat();
    }
    rows.retain(|_, rows| !rows.is_empty());
    rows
}

/// Rows without the halves of a surrogate pair that came in two parts: the agent took the first one back.
fn settled(mut rows: BTreeMap<String, Vec<Row>>) -> BTreeMap<String, Vec<Row>> {
    for (_, text) in rows.values_mut().flatten() {
        text.retain(|it| !matches!(it, '\u{fffd}' | '😀'));
    }
    rows
}

fn loaded(recorded: &mut Recorded, capabilities: &Value) -> Shown {
    let mut editor = Editor::new(capabilities);
    editor.load(SESSION, recorded.changes(&mut Cursor::default()));
    editor.shown
}

#[test]
fn loaded_conversation_is_shown_once_in_order() {
    for mut recorded in recorded::all() {
        recorded.finish();
        for (capabilities, has_children) in [(plain(), false), (with_children(), true)] {
            let shown = loaded(&mut recorded, &capabilities);
            let expected = expected(&recorded.transcript, has_children);
            assert_eq!(
                compared(shown.rows, has_children),
                compared(expected, has_children),
                "{}",
                recorded.name
            );
        }
    }
}

#[test]
fn conversation_loaded_in_pieces_is_shown_as_one_loaded_at_once() {
    for mut recorded in recorded::all() {
        recorded.finish();
        for capabilities in [plain(), with_children()] {
            let whole = loaded(&mut recorded, &capabilities);
            let changes = recorded.changes(&mut Cursor::default());
            let mut editor = Editor::new(&capabilities);
            editor.load_in_pieces(SESSION, &changes, 3);
            assert_eq!(editor.shown, whole, "{}", recorded.name);
        }
    }
}

#[test]
fn followed_session_shows_what_a_loaded_one_does() {
    for mut recorded in recorded::all() {
        let mut cursor = Cursor::default();
        let mut editor = Editor::new(&with_children());
        let attachment = editor.load(SESSION, recorded.changes(&mut cursor));
        while recorded.step() {
            editor.changes(attachment, recorded.changes(&mut cursor));
        }
        let mut loaded = loaded(&mut recorded, &with_children());
        let (rows, whole) = (editor.shown.rows, settled(loaded.rows.clone()));
        assert_eq!(settled(rows), whole, "{}", recorded.name);
        for call in loaded
            .calls
            .values_mut()
            .chain(editor.shown.calls.values_mut())
        {
            call["sessionUpdate"] = Value::Null;
            // A call whose input or name came later was announced with the defaults of the protocol.
            for (key, default) in [
                ("status", json!("pending")),
                ("kind", json!("other")),
                ("content", json!([])),
                ("locations", json!([])),
            ] {
                if call[key].is_null() {
                    call[key] = default;
                }
            }
        }
        assert_eq!(editor.shown.calls, loaded.calls, "{}", recorded.name);
        assert_eq!(editor.shown.plan, loaded.plan, "{}", recorded.name);
    }
}

#[test]
fn session_that_is_loaded_mid_turn_goes_on_where_the_replay_ended() {
    for name in [
        "unicode_partial.jsonl",
        "sub_par_fg_partial.jsonl",
        "agents/codex/app-server.sub.trace.jsonl",
        "agents/opencode/acp.edit.trace.jsonl",
    ] {
        let mut whole = recorded::named(name);
        let lines = whole.left();
        whole.finish();
        let whole = settled(loaded(&mut whole, &with_children()).rows);
        for at in 0..lines {
            let mut recorded = recorded::named(name);
            for _ in 0..at {
                recorded.step();
            }
            let mut cursor = Cursor::default();
            let mut editor = Editor::new(&with_children());
            let attachment = editor.load(SESSION, recorded.changes(&mut cursor));
            recorded.finish();
            editor.changes(attachment, recorded.changes(&mut cursor));
            assert_eq!(settled(editor.shown.rows), whole, "{name} at line {at}");
        }
    }
}

#[test]
fn reset_of_a_slow_reader_repeats_nothing() {
    let mut recorded = recorded::named("parallel_partial.jsonl");
    let mut editor = Editor::new(&with_children());
    let attachment = editor.load(SESSION, recorded.changes(&mut Cursor::default()));
    while recorded.step() {
        editor.changes(attachment, recorded.changes(&mut Cursor::default()));
    }
    let loaded = loaded(&mut recorded, &with_children());
    assert_eq!(editor.shown.rows, loaded.rows);
}

#[test]
fn resumed_session_is_not_replayed() {
    let mut recorded = recorded::named("unicode_partial.jsonl");
    let lines = recorded.left();
    for _ in 0..lines / 2 {
        recorded.step();
    }
    let mut cursor = Cursor::default();
    let before = loaded(&mut recorded, &plain()).rows.remove(SESSION);
    let before: usize = before
        .into_iter()
        .flatten()
        .map(|(_, text)| text.len())
        .sum();
    let mut editor = Editor::new(&plain());
    let (id, attachment) = editor.attach("session/resume", SESSION);
    editor.changes(attachment, recorded.changes(&mut cursor));
    assert!(editor.answer(id).expect("an answer")["error"].is_null());
    assert!(editor.shown.rows.is_empty(), "{:?}", editor.shown.rows);
    recorded.finish();
    editor.changes(attachment, recorded.changes(&mut cursor));
    let whole = loaded(&mut recorded, &plain()).rows.remove(SESSION);
    let whole: usize = whole
        .into_iter()
        .flatten()
        .map(|(_, text)| text.len())
        .sum();
    let rest = editor.shown.rows.remove(SESSION).expect("the rest");
    let rest: usize = rest.iter().map(|(_, text)| text.len()).sum();
    assert!(
        before > 0 && before + rest == whole,
        "{before} {rest} {whole}"
    );
}

#[test]
fn subagent_is_announced_before_its_content_and_ends() {
    let mut recorded = recorded::named("sub_nest_fg.jsonl");
    recorded.finish();
    let shown = loaded(&mut recorded, &with_children());
    assert!(shown.children.len() >= 2, "{:?}", shown.children);
    for child in shown.children.values() {
        assert_eq!(child["state"]["state"], "idle", "{child}");
        assert_eq!(child["state"]["stopReason"], "end_turn", "{child}");
    }
    let children = shown.rows.keys().filter(|it| *it != SESSION);
    for child in children {
        assert!(shown.children.contains_key(child), "{child}");
    }
}

#[test]
fn call_of_a_subagent_names_the_call_that_started_it() {
    let mut recorded = recorded::named("sub_nest_fg.jsonl");
    recorded.finish();
    let shown = loaded(&mut recorded, &plain());
    let parents: Vec<_> = shown
        .calls
        .values()
        .filter_map(|call| call["_meta"]["bowline"]["parentToolCallId"].as_str())
        .collect();
    assert!(!parents.is_empty());
    for parent in parents {
        assert!(shown.calls.contains_key(parent), "{parent}");
    }
}

#[test]
fn call_shows_diff_location_and_output() {
    let mut recorded = recorded::named("tool_rwe.jsonl");
    recorded.finish();
    let shown = loaded(&mut recorded, &plain());
    let of_kind = |kind: &str| {
        let mut calls = shown.calls.values();
        calls
            .find(|call| call["kind"] == kind)
            .unwrap_or_else(|| panic!("no {kind}"))
    };
    let edit = of_kind("edit");
    assert_eq!(edit["content"][0]["type"], "diff");
    assert!(edit["content"][0]["newText"].is_string(), "{edit}");
    assert!(edit["locations"][0]["path"].is_string(), "{edit}");
    let read = of_kind("read");
    let text = read["content"][0]["content"]["text"]
        .as_str()
        .expect("text");
    assert!(text.starts_with("```") && text.ends_with("```"), "{text}");
    assert!(read["rawInput"]["file_path"].is_string(), "{read}");
    assert!(read["rawOutput"].is_string(), "{read}");
    assert_eq!(read["status"], "completed");
}

#[test]
fn plan_is_shown() {
    let mut recorded = recorded::named("agents/claude-agent-acp/acp.todo.trace.jsonl");
    recorded.finish();
    let shown = loaded(&mut recorded, &plain());
    assert!(shown.plan[0]["content"].is_string(), "{}", shown.plan);
}
