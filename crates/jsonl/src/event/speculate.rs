//! The one line that streams are made of, read by its usual spelling.
//!
//! Nine of ten lines of a streaming turn are deltas, and the agent spells them in one key order. A
//! line that is spelt like that is read by comparing whole runs of bytes; any other spelling is no
//! error but the business of the walk in [`line`](super::line), which gives the same event.

use crate::event::{ApiEvent, Body, Delta, Event, StreamEvent};
use crate::grammar::{byte, string_at};
use crate::raw::RawJson;
use crate::text::Str;

/// Reads deltas, and remembers how the last one was spelt: what stands around the text and the
/// uuid is the same from line to line, so it is compared as a whole instead of being read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deltas<'a> {
    session: Run<'a>,
    message: Run<'a>,
}

/// Bytes that one line shares with the next, and the string in them.
#[derive(Clone, Copy, Debug, Default)]
struct Run<'a> {
    spelling: &'a str,
    value: Str<'a>,
}

const HEAD: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":"#;

/// What is its own about a delta.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelt<'a> {
    index: u32,
    delta: Delta<'a>,
    uuid: Str<'a>,
}

impl<'a> Deltas<'a> {
    /// A delta of text, thinking or tool input, and what is left behind its line; none when the
    /// line is spelt in another way.
    #[inline]
    pub(crate) fn read(&mut self, input: &'a str) -> Option<(&'a str, Spelt<'a>)> {
        let rest = input.strip_prefix(HEAD)?;
        let (rest, index) = index(rest)?;
        let rest = rest.strip_prefix(r#","delta":{"type":""#)?;
        let (rest, delta) = kind(rest)?;
        let rest = self.session.read(
            rest,
            r#"}},"session_id":"#,
            r#","parent_tool_use_id":null,"uuid":"#,
        )?;
        let (rest, uuid) = string(rest)?;
        let rest = self.message.read(rest, r#","api_message_id":"#, "}")?;
        Some((rest, Spelt { index, delta, uuid }))
    }

    /// The event of the line that was read last; `line` is its text.
    #[inline]
    pub(crate) fn event(&self, spelt: Spelt<'a>, line: &'a str) -> Event<'a> {
        let Spelt { index, delta, uuid } = spelt;
        let stream = StreamEvent {
            api_message_id: Some(self.message.value),
            event: ApiEvent::BlockDelta { index, delta },
            abandoned: None,
        };
        Event {
            uuid: Some(uuid),
            session_id: Some(self.session.value),
            parent_tool_use_id: None,
            body: Body::Stream(stream),
            raw: RawJson::validated(line),
        }
    }
}

impl<'a> Run<'a> {
    /// What stands behind the run: `before`, a string, `after`.
    #[inline]
    fn read(&mut self, input: &'a str, before: &str, after: &str) -> Option<&'a str> {
        if !self.spelling.is_empty()
            && let Some(rest) = input.strip_prefix(self.spelling)
        {
            return Some(rest);
        }
        let (rest, value) = string(input.strip_prefix(before)?)?;
        let rest = rest.strip_prefix(after)?;
        *self = Self {
            spelling: input.get(..input.len() - rest.len())?,
            value,
        };
        Some(rest)
    }
}

/// The string that begins the input, and what is left behind it.
#[inline(always)]
fn string(input: &str) -> Option<(&str, Str<'_>)> {
    let is_string = byte(input.as_bytes(), 0) == b'"';
    let (end, value) = is_string.then(|| string_at(input, 0))?.ok()?;
    Some((input.get(end..)?, value))
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
        let (rest, text) = string(text)?;
        return Some((rest, Delta::Text(text)));
    }
    if let Some(json) = input.strip_prefix(r#"input_json_delta","partial_json":"#) {
        let (rest, json) = string(json)?;
        return Some((rest, Delta::InputJson(json)));
    }
    let (rest, text) = string(input.strip_prefix(r#"thinking_delta","thinking":"#)?)?;
    Some((rest, Delta::Thinking(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::line::walk;

    const LINE: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\ud83d"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","api_message_id":"m"}"#;

    fn read<'a>(deltas: &mut Deltas<'a>, input: &'a str) -> Option<String> {
        let (rest, spelt) = deltas.read(input)?;
        let line = input.strip_suffix(rest).expect("the rest is the end");
        Some(format!("{rest}{:?}", deltas.event(spelt, line)))
    }

    fn same(line: &str) -> bool {
        let walked = walk(line)
            .ok()
            .map(|(rest, event)| format!("{rest}{event:?}"));
        let mut deltas = Deltas::default();
        let first = read(&mut deltas, line);
        // The second time it is known how the line is spelt.
        let second = read(&mut deltas, line);
        assert_eq!(first, second, "{line}");
        assert!(first.is_none() || first == walked, "{line}");
        first.is_some()
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
    fn another_session_or_message_is_read_anew() {
        let other = LINE.replace("\"s\"", "\"t\"").replace("\"m\"", "\"mm\"");
        let mut deltas = Deltas::default();
        for line in [LINE, &other, LINE] {
            let read = read(&mut deltas, line);
            assert_eq!(
                read,
                walk(line)
                    .ok()
                    .map(|(rest, event)| format!("{rest}{event:?}"))
            );
        }
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
