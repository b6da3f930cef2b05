//! `bowline inspect`.

use crate::support::{bowline, bowline_reading, fixture, json, recordings};

#[test]
fn lines_are_counted_by_type() {
    let file = fixture("tool_bash.jsonl");
    let counts = json(&bowline(&["inspect", &file, "--json"]).ok());
    let raw = std::fs::read_to_string(&file).unwrap();
    assert_eq!(counts["lines"], raw.lines().count());
    assert_eq!(counts["bytes"], raw.len());
    assert_eq!(counts["types"]["assistant"]["lines"], 3);
    assert_eq!(counts["types"]["result/success"]["lines"], 1);
    assert_eq!(counts["parse_errors"], 0);
    assert_eq!(counts["truncated"], false);
    assert_eq!(counts["turns"][0]["num_turns"], 2);
    let text = bowline(&["inspect", &file]).ok();
    assert!(text.contains("turn 1         success, "), "{text}");
}

#[test]
fn truncated_last_line_is_reported() {
    let counts = json(&bowline(&["inspect", &fixture("sigkill_in_1mb_line.jsonl"), "--json"]).ok());
    assert_eq!(counts["truncated"], true);
    assert_eq!(counts["errors"][0]["line"], 2);
}

#[test]
fn counts_of_every_recording_add_up() {
    for file in recordings() {
        let counts = json(&bowline(&["inspect", &file, "--json"]).ok());
        let types = counts["types"].as_object().unwrap();
        let lines: u64 = types
            .values()
            .map(|count| count["lines"].as_u64().unwrap())
            .sum();
        assert_eq!(counts["lines"], lines, "{file}");
        assert_eq!(counts["unknown"], serde_json::json!({}), "{file}");
    }
}

#[test]
fn names_forge_no_rows_and_hide_nothing() {
    let stream = "{\"type\":\"a\\ntotal 0\\u001b[2J\u{9b}2J\u{202e}\",\"session_id\":\"s\\nforged\"}\n\
        {\"type\":\"result\",\"subtype\":\"b\\nforged\u{202e}\",\"is_error\":true,\"session_id\":\"s\"}\n";
    let text = bowline_reading(&["inspect", "-"], stream.as_bytes()).ok();
    let rows = text.lines().filter(|row| row.starts_with("total"));
    assert_eq!(rows.count(), 1, "{text}");
    assert!(!text.lines().any(|row| row.starts_with("forged")), "{text}");
    let json_text = bowline_reading(&["inspect", "-", "--json"], stream.as_bytes()).ok();
    let is_unsafe = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    for shown in [&text, &json_text] {
        assert!(!shown.contains(is_unsafe), "{shown:?}");
    }
    let types = json(&json_text)["types"].take();
    let name = types.as_object().unwrap().keys().next().unwrap();
    assert!(name.contains('\u{202e}'), "the value is the same: {name:?}");
}
