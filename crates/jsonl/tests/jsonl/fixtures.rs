use std::collections::BTreeMap;

use bowline_jsonl::{ApiEvent, Body, Delta, ParseErrorKind, SystemBody};

use crate::support::{fixtures, for_each};

/// Number of lines of the recordings that are not JSON.
const NOISE: [(&str, usize); 8] = [
    // An error message of the agent in colour, and the sequence that shows the cursor.
    ("pty_all_cat_5k.jsonl", 2),
    ("pty_all_raw_cat_5k.jsonl", 2),
    ("pty_all_cat_small.jsonl", 1),
    ("pty_out_default.jsonl", 1),
    ("pty_out_partial.jsonl", 1),
    ("pty_out_raw.jsonl", 1),
    // The line that was cut when the agent was killed.
    ("sigkill_in_1mb_line.jsonl", 1),
    ("sigkill_slow_reader.jsonl", 1),
];

#[test]
fn every_recorded_line_is_known() {
    for fixture in fixtures() {
        let mut errors = 0;
        for_each([fixture.bytes.clone()], |item| match item.event {
            Ok(event) => {
                assert!(event.is_known(), "{}: {}", fixture.name, event.name());
            }
            Err(error) => {
                errors += 1;
                let cut = fixture.name.starts_with("sigkill");
                assert_eq!(
                    error.kind() == ParseErrorKind::Truncated,
                    cut,
                    "{}: {error}",
                    fixture.name
                );
            }
        });
        let expected = NOISE
            .iter()
            .find(|(name, _)| *name == fixture.name)
            .map_or(0, |it| it.1);
        assert_eq!(errors, expected, "{}", fixture.name);
    }
}

/// Compares members with those that `serde_json` parses, line by line.
#[test]
fn typed_members_agree_with_serde_json() {
    let mut compared = BTreeMap::<String, usize>::new();
    for fixture in fixtures() {
        for_each([fixture.bytes.clone()], |item| {
            let Ok(event) = item.event else { return };
            // The agent writes lone surrogates, which `serde_json` refuses.
            let mut lossy = String::new();
            event.raw.write_lossy(&mut lossy);
            let line: serde_json::Value = serde_json::from_str(&lossy).expect("a JSON line");
            let same = |ours: Option<bowline_jsonl::Str<'_>>, key: &str| {
                assert_eq!(
                    ours.map(|it| it.decode().into_owned()).as_deref(),
                    line[key].as_str()
                );
            };
            same(event.uuid, "uuid");
            same(event.session_id, "session_id");
            same(event.parent_tool_use_id, "parent_tool_use_id");
            let name = compare_body(&event.body, &line);
            *compared.entry(name.to_owned()).or_default() += 1;
        });
    }
    for family in [
        "assistant",
        "user",
        "result",
        "text_delta",
        "can_use_tool",
        "task_started",
    ] {
        assert!(
            compared.contains_key(family),
            "{family} was never compared: {compared:?}"
        );
    }
}

fn compare_body(body: &Body<'_>, line: &serde_json::Value) -> &'static str {
    match body {
        Body::Assistant(assistant) => {
            compare_message(&assistant.message, &line["message"]);
            "assistant"
        }
        Body::User(user) => {
            compare_message(&user.message, &line["message"]);
            assert_eq!(user.is_replay, line["isReplay"] == true);
            assert_eq!(user.is_synthetic, line["isSynthetic"] == true);
            "user"
        }
        Body::Result(result) => {
            assert_eq!(result.total_cost_usd, line["total_cost_usd"].as_f64());
            assert_eq!(
                result.result.map(|it| it.decode().into_owned()).as_deref(),
                line["result"].as_str()
            );
            assert_eq!(result.is_error, line["is_error"] == true);
            assert_eq!(
                result.models().count(),
                line["modelUsage"].as_object().map_or(0, |it| it.len())
            );
            "result"
        }
        Body::Stream(stream) => {
            if let ApiEvent::BlockDelta {
                index,
                delta: Delta::Text(text),
            } = stream.event
            {
                assert_eq!(line["event"]["index"], index);
                assert_eq!(
                    text,
                    line["event"]["delta"]["text"].as_str().expect("a text")
                );
                return "text_delta";
            }
            "stream"
        }
        Body::ControlRequest(request) => {
            if let bowline_jsonl::RequestBody::CanUseTool(request) = request.body() {
                assert_eq!(
                    request.tool_name.expect("a tool"),
                    line["request"]["tool_name"].as_str().expect("a tool")
                );
                let input = request.input.expect("an input").text();
                assert_eq!(
                    serde_json::from_str::<serde_json::Value>(input)
                        .ok()
                        .as_ref(),
                    Some(&line["request"]["input"])
                );
                return "can_use_tool";
            }
            "control_request"
        }
        Body::System(system) => {
            if let SystemBody::TaskStarted(task) = &system.body {
                assert_eq!(
                    task.task_id.expect("an id"),
                    line["task_id"].as_str().expect("an id")
                );
                assert_eq!(task.is_backgrounded, line["is_backgrounded"].as_bool());
                return "task_started";
            }
            "system"
        }
        _ => "other",
    }
}

fn compare_message(message: &bowline_jsonl::Message<'_>, line: &serde_json::Value) {
    let blocks = line["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    assert_eq!(message.blocks().len(), blocks.len());
    for (ours, theirs) in message.blocks().iter().zip(blocks) {
        let mut lossy = String::new();
        ours.raw.write_lossy(&mut lossy);
        let raw: serde_json::Value = serde_json::from_str(&lossy).expect("a raw block");
        assert_eq!(&raw, theirs);
        if let Some(text) = theirs["text"].as_str() {
            assert_eq!(ours.text(), text);
        }
    }
}
