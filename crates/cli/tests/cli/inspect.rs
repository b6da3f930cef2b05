//! `bowline inspect`.

use crate::support::{bowline, fixture, json, recordings};

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
