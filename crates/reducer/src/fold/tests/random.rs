//! Lines in any order: what no real agent sends must not break what always holds.

use serde_json::Value;

use crate::feed::{Feed, text, tool};
use crate::host::{HostDecision, HostEvent};
use crate::window::Window;

/// A small generator of numbers, the same in every run (xorshift, 64 bits), and how many names there
/// were before those that are given now.
pub(super) struct Dice(pub(super) u64, pub(super) u64);

impl Dice {
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

pub(super) fn step(feed: &mut Feed, dice: &mut Dice) {
    let (message, call, task) = (dice.name("m"), dice.name("t"), dice.name("k"));
    let index = dice.below(3) as u32;
    let parent = dice.parent();
    match dice.below(29) {
        0 => feed.drafts(&message),
        1 => feed.writes(&message, index, r"a\ud83d"),
        2..6 => feed.adds(&message, index, r"\ude00b"),
        6 => feed.stops(&message, index),
        7 => feed.streams(&message, r#"{"type":"message_stop"}"#),
        8 => feed.line(&format!(
            r#""type":"stream_event","event":{{"type":"message_stop"}},"abandoned_blocks":{{"api_message_id":"{message}","from_block_index":{index}}}"#
        )),
        9 => feed.says(&message, &text("a😀b")),
        10 => feed.says_in(&parent, &message, &text("other")),
        11 => feed.says_in(&parent, &message, &tool(&call, "Agent")),
        12 => feed.streams(&message, &format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{}}}"#,
            tool(&call, "Bash")
        )),
        13 => feed.gives(&call, "done", dice.below(2) == 0, &format!(r#","parent_tool_use_id":{parent}"#)),
        14 => feed.line(r#""type":"system","subtype":"api_retry""#),
        15 => feed.line(&format!(r#""type":"assistant","supersedes":["u{}"],"message":{{"id":"{message}"}}"#, 10 * dice.1 + dice.below(50))),
        16 => feed.line(&format!(r#""type":"system","subtype":"task_started","task_id":"{task}","tool_use_id":"{call}","task_type":"local_agent","description":"dig {index}""#)),
        17 => feed.line(&format!(r#""type":"system","subtype":"task_notification","task_id":"{task}","status":"completed""#)),
        18 => feed.raw(&format!("{{\"type\":\"control_request\",\"request_id\":\"{}\",\"request\":{{\"subtype\":\"can_use_tool\",\"tool_use_id\":\"{call}\"}}}}\n", dice.name("r"))),
        19 => feed.answers(&dice.name("r"), HostDecision::Deny),
        20 => feed.line(r#""type":"result","is_error":true,"terminal_reason":"aborted_tools""#),
        21 => feed.line(r#""type":"result","is_error":false,"result":"ok""#),
        22 => feed.raw("noise\n"),
        23 => feed.sends(&dice.name("e"), "go"),
        24 => feed.host(HostEvent::InterruptRequested),
        25 => feed.line(&format!(r#""type":"system","subtype":"init","user_message_uuids":["{}"]"#, dice.name("e"))),
        26 => feed.line(&format!(r#""type":"result","is_error":true,"terminal_reason":"aborted_tools","user_message_uuid":"{}""#, dice.name("e"))),
        27 => feed.host(HostEvent::PromptDropped { uuid: &dice.name("e") }),
        _ => feed.line(r#""type":"system","subtype":"background_tasks_changed","tasks":[]"#),
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
fn what_a_window_gives_up_comes_back_as_it_was() {
    let mut stretches = 0;
    for seed in 1..400 {
        let mut dice = Dice(seed * 0x9e37_79b9, 0);
        let mut feed = Feed::with_window(Window::of_entries(1 + seed as usize % 12));
        for _ in 0..dice.below(160) {
            step(&mut feed, &mut dice);
            if dice.below(4) == 0 {
                feed.json();
            }
        }
        feed.json();
        stretches += feed.page_back();
        feed.ends().json();
        feed.page_back();
    }
    assert!(stretches > 2_000, "{stretches} stretches were given up");
}

#[test]
fn changes_lead_to_the_transcript_and_nothing_stays_open() {
    for seed in 1..400 {
        let mut dice = Dice(seed * 0x9e37_79b9, 0);
        let mut feed = Feed::new();
        for _ in 0..dice.below(120) {
            step(&mut feed, &mut dice);
            if dice.below(4) == 0 {
                feed.json();
            }
        }
        let json = feed.ends().json();
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

/// Sheets of records are packed behind the newest, and what is old changes now and then.
#[test]
fn a_long_transcript_of_packed_records_is_as_its_changes_say() {
    for seed in 1..5 {
        let mut dice = Dice(seed * 0x9e37_79b9, 0);
        let window = (seed % 2 == 0).then(|| Window::of_entries(400));
        let mut feed = window.map_or_else(Feed::new, Feed::with_window);
        for number in 0..4_000 {
            dice.1 = number / 8;
            step(&mut feed, &mut dice);
            if dice.below(400) == 0 {
                feed.json();
            }
        }
        feed.json();
        assert!(feed.transcript.entries.len() > 700);
        if window.is_some() {
            assert!(feed.page_back() > 3);
        }
        feed.ends().json();
    }
}
