//! Lines in any order: what no real agent sends must not break what always holds.

use serde_json::Value;

use crate::host::{HostDecision, HostEvent};
use crate::segment::Window;
use crate::test_util::{TestSession, text, tool};

/// A small generator of numbers, the same in every run (xorshift, 64 bits), and how many names there
/// were before those that are given now.
pub(super) struct RandomSteps(pub(super) u64, pub(super) u64);

impl RandomSteps {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn name(&mut self, kind: &str) -> String {
        let known = if self.1 > 0 && self.below(9) == 0 {
            self.below(self.1)
        } else {
            self.1
        };
        format!("{kind}{}", known + self.below(5))
    }

    /// A parent as JSON: none, or one of the calls.
    fn parent(&mut self) -> String {
        match self.below(3) {
            0 => format!("\"{}\"", self.name("t")),
            _ => "null".to_owned(),
        }
    }
}

pub(super) fn step(session: &mut TestSession, random: &mut RandomSteps) {
    let (message, call, task) = (random.name("m"), random.name("t"), random.name("k"));
    let index = random.below(3) as u32;
    let parent = random.parent();
    match random.below(29) {
        0 => session.message_start(&message),
        1 => session.text_block(&message, index, r"a\ud83d"),
        2..6 => session.text_delta(&message, index, r"\ude00b"),
        6 => session.block_stop(&message, index),
        7 => session.stream_event(&message, r#"{"type":"message_stop"}"#),
        8 => session.line(&format!(
            r#""type":"stream_event","event":{{"type":"message_stop"}},"abandoned_blocks":{{"api_message_id":"{message}","from_block_index":{index}}}"#
        )),
        9 => session.assistant_block(&message, &text("a😀b")),
        10 => session.assistant_block_in(&parent, &message, &text("other")),
        11 => session.assistant_block_in(&parent, &message, &tool(&call, "Agent")),
        12 => session.stream_event(&message, &format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{}}}"#,
            tool(&call, "Bash")
        )),
        13 => session.tool_result(&call, "done", random.below(2) == 0, &format!(r#","parent_tool_use_id":{parent}"#)),
        14 => session.line(r#""type":"system","subtype":"api_retry""#),
        15 => session.line(&format!(r#""type":"assistant","supersedes":["u{}"],"message":{{"id":"{message}"}}"#, 10 * random.1 + random.below(50))),
        16 => session.line(&format!(r#""type":"system","subtype":"task_started","task_id":"{task}","tool_use_id":"{call}","task_type":"local_agent","description":"dig {index}""#)),
        17 => session.line(&format!(r#""type":"system","subtype":"task_notification","task_id":"{task}","status":"completed""#)),
        18 => session.raw(&format!("{{\"type\":\"control_request\",\"request_id\":\"{}\",\"request\":{{\"subtype\":\"can_use_tool\",\"tool_use_id\":\"{call}\"}}}}\n", random.name("r"))),
        19 => session.permission_answered(&random.name("r"), HostDecision::Deny),
        20 => session.line(r#""type":"result","is_error":true,"terminal_reason":"aborted_tools""#),
        21 => session.line(r#""type":"result","is_error":false,"result":"ok""#),
        22 => session.raw("noise\n"),
        23 => session.prompt_sent(&random.name("e"), "go"),
        24 => session.host_event(HostEvent::InterruptRequested),
        25 => session.line(&format!(r#""type":"system","subtype":"init","user_message_uuids":["{}"]"#, random.name("e"))),
        26 => session.line(&format!(r#""type":"result","is_error":true,"terminal_reason":"aborted_tools","user_message_uuid":"{}""#, random.name("e"))),
        27 => session.host_event(HostEvent::PromptDropped { uuid: &random.name("e") }),
        _ => session.line(r#""type":"system","subtype":"background_tasks_changed","tasks":[]"#),
    };
}

/// Every state in a transcript, wherever it stands.
pub(super) fn states(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let state = members.get("state").and_then(Value::as_str);
            out.extend(state.map(str::to_owned));
            members.values().for_each(|value| states(value, out));
        }
        Value::Array(values) => values.iter().for_each(|value| states(value, out)),
        _ => {}
    }
}

#[test]
fn evicted_segments_reload_unchanged() {
    let mut stretches = 0;
    for seed in 1..400 {
        let mut random = RandomSteps(seed * 0x9e37_79b9, 0);
        let mut session = TestSession::with_window(Window::of_entries(1 + seed as usize % 12));
        for _ in 0..random.below(160) {
            step(&mut session, &mut random);
            if random.below(4) == 0 {
                session.json();
            }
        }
        session.json();
        stretches += session.page_back();
        session.end().json();
        session.page_back();
    }
    assert!(stretches > 2_000, "{stretches} stretches were given up");
}

#[test]
fn changes_reproduce_transcript_and_end_closes_all() {
    for seed in 1..400 {
        let mut random = RandomSteps(seed * 0x9e37_79b9, 0);
        let mut session = TestSession::new();
        for _ in 0..random.below(120) {
            step(&mut session, &mut random);
            if random.below(4) == 0 {
                session.json();
            }
        }
        let json = session.end().json();
        let mut found = Vec::new();
        states(&json, &mut found);
        let open = [
            "streaming",
            "pending",
            "awaiting_permission",
            "running",
            "open",
            "paused",
        ];
        let is_open = |state: &String| open.contains(&state.as_str());
        assert!(!found.iter().any(is_open), "seed {seed}: {json:#}");
        assert_eq!(json["status"]["phase"], "ended");
    }
}

/// Old records change now and then, after their page was shared.
#[test]
fn long_transcript_matches_its_changes() {
    for seed in 1..5 {
        let mut random = RandomSteps(seed * 0x9e37_79b9, 0);
        let window = (seed % 2 == 0).then(|| Window::of_entries(400));
        let mut session = window.map_or_else(TestSession::new, TestSession::with_window);
        for number in 0..4_000 {
            random.1 = number / 8;
            step(&mut session, &mut random);
            if random.below(400) == 0 {
                session.json();
            }
        }
        session.json();
        assert!(session.transcript.entries.len() > 700);
        if window.is_some() {
            assert!(session.page_back() > 3);
        }
        session.end().json();
    }
}
