//! The one line that streams are made of, read by its usual spelling.
//!
//! Nine of ten lines of a streaming turn are deltas, and the agent spells them in one key order. A
//! line that is spelt like that is read by comparing whole runs of bytes; any other spelling is no
//! error but the business of the walk in [`line`](super::line), which gives the same event.

use crate::event::{ApiEvent, Body, Delta, Event, StreamEvent};
use crate::grammar::string;
use crate::raw::RawJson;

/// A delta of text, thinking or tool input; none when the line is spelt in another way.
#[inline]
pub(crate) fn delta(input: &str) -> Option<(&str, Event<'_>)> {
    let rest = input
        .strip_prefix(r#"{"type":"stream_event","event":{"type":"content_block_delta","index":"#)?;
    let (rest, index) = index(rest)?;
    let rest = rest.strip_prefix(r#","delta":{"type":""#)?;
    let (rest, delta) = kind(rest)?;
    let rest = rest.strip_prefix(r#"}},"session_id":"#)?;
    let (rest, session_id) = string(rest).ok()?;
    let rest = rest.strip_prefix(r#","parent_tool_use_id":null,"uuid":"#)?;
    let (rest, uuid) = string(rest).ok()?;
    let rest = rest.strip_prefix(r#","api_message_id":"#)?;
    let (rest, api_message_id) = string(rest).ok()?;
    let rest = rest.strip_prefix('}')?;
    let raw = RawJson::validated(input.get(..input.len() - rest.len())?);
    let stream = StreamEvent {
        api_message_id: Some(api_message_id),
        event: ApiEvent::BlockDelta { index, delta },
        abandoned: None,
    };
    let event = Event {
        uuid: Some(uuid),
        session_id: Some(session_id),
        parent_tool_use_id: None,
        body: Body::Stream(stream),
        raw,
    };
    Some((rest, event))
}

/// The index of a block: one digit or two, as messages have.
#[inline]
fn index(input: &str) -> Option<(&str, u32)> {
    let digits = input.bytes().take(3).take_while(u8::is_ascii_digit).count();
    let (text, rest) = input.split_at_checked(digits)?;
    // A leading zero is no number, and three digits are left to the walk.
    let plain = digits == 1 || digits == 2 && !text.starts_with('0');
    Some((rest, text.parse().ok().filter(|_| plain)?))
}

#[inline]
fn kind(input: &str) -> Option<(&str, Delta<'_>)> {
    if let Some(text) = input.strip_prefix(r#"text_delta","text":"#) {
        let (rest, text) = string(text).ok()?;
        return Some((rest, Delta::Text(text)));
    }
    if let Some(json) = input.strip_prefix(r#"input_json_delta","partial_json":"#) {
        let (rest, json) = string(json).ok()?;
        return Some((rest, Delta::InputJson(json)));
    }
    let (rest, text) = string(input.strip_prefix(r#"thinking_delta","thinking":"#)?).ok()?;
    Some((rest, Delta::Thinking(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::line::walk;

    const LINE: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\ud83d"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","api_message_id":"m"}"#;

    fn same(line: &str) -> bool {
        let walked = walk(line)
            .ok()
            .map(|(rest, event)| format!("{rest}{event:?}"));
        match delta(line) {
            Some((rest, event)) => {
                assert_eq!(Some(format!("{rest}{event:?}")), walked, "{line}");
                true
            }
            None => false,
        }
    }

    #[test]
    fn the_usual_spelling_gives_what_the_walk_gives() {
        assert!(same(LINE));
        assert!(same(
            &LINE.replace("text_delta\",\"text", "thinking_delta\",\"thinking")
        ));
        assert!(same(&LINE.replace(
            "text_delta\",\"text",
            "input_json_delta\",\"partial_json"
        )));
        assert!(same(&LINE.replace("\"index\":0", "\"index\":42")));
        assert!(same(&format!("{LINE}\r\n")));
    }

    #[test]
    fn any_other_spelling_is_left_to_the_walk() {
        for (from, to) in [
            ("\"index\":0", "\"index\":01"),
            ("\"index\":0", "\"index\":007"),
            ("\"index\":0", "\"index\":1.5"),
            ("null", "\"toolu_1\""),
            ("\"uuid\":\"u\"", "\"uuid\":7"),
            ("}},", "},\"x\":1},"),
            ("\"m\"}", "\"m\",\"x\":1}"),
            ("a\\n", "a\\q"),
        ] {
            assert!(!same(&LINE.replace(from, to)), "{from} to {to}");
        }
        for end in 0..LINE.len() {
            assert!(!same(LINE.get(..end).expect("the line is ASCII")));
        }
    }
}
