//! The lines that streams are made of, read by their usual spelling.
//!
//! Nine of ten lines of a streaming turn are deltas, and the agent spells them in one key order.
//! What stands around the text and the uuid is the same from line to line, so it is compared with
//! the last line as a whole instead of being read. Any other spelling is no error but the business
//! of the walk in [`line`](super::line), which gives the same event.

use crate::event::{ApiEvent, Body, Delta, Event, StreamEvent};
use crate::grammar::{Read as _, between, byte, string_at};
use crate::raw::RawJson;
use crate::text::Str;

/// How the last stream event was spelt: around the text of a delta, between its text and its uuid,
/// and behind its uuid.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spelling {
    head: Run,
    delta: DeltaKind,
    index: u32,
    middle: Run,
    tail: Run,
}

/// Longer runs are not remembered: a head has about 110 bytes, and so has a middle.
const RUN: usize = 128;

/// Runs are compared in blocks of so many bytes.
const BLOCK: usize = 32;

/// Bytes that one line shares with the next, and where the string in them stands.
#[derive(Clone, Debug)]
struct Run {
    bytes: [u8; RUN],
    length: usize,
    value: (usize, usize),
}

#[derive(Clone, Copy, Debug, Default)]
enum DeltaKind {
    #[default]
    Text,
    InputJson,
    Thinking,
}

const HEAD: &str = r#"{"type":"stream_event","event":"#;
const DELTA: &str = r#"{"type":"content_block_delta","index":"#;

/// Its line has members that no other has, and would be read twice.
const START: &str = r#"{"type":"message_start""#;

impl Spelling {
    /// A stream event and the index behind its line; none when the line is spelt in another way.
    #[inline(always)]
    pub(crate) fn read<'a>(&mut self, text: &'a str) -> Option<(usize, Event<'a>)> {
        match self.head.behind(text.as_bytes(), 0) {
            Some(at) => self.delta(text, at),
            None => self.other(text),
        }
    }

    /// A delta whose text begins at `at`.
    #[inline(always)]
    fn delta<'a>(&mut self, text: &'a str, at: usize) -> Option<(usize, Event<'a>)> {
        let (at, value) = string(text, at)?;
        let at = literal(text, at, "}}")?;
        let delta = match self.delta {
            DeltaKind::Text => Delta::Text(value),
            DeltaKind::InputJson => Delta::InputJson(value),
            DeltaKind::Thinking => Delta::Thinking(value),
        };
        let index = self.index;
        self.envelope(text, at, ApiEvent::BlockDelta { index, delta })
    }

    /// A line that does not begin like the last delta.
    #[inline(never)]
    fn other<'a>(&mut self, text: &'a str) -> Option<(usize, Event<'a>)> {
        let at = literal(text, 0, HEAD)?;
        if let Some(at) = literal(text, at, DELTA) {
            let (at, index) = index(text, at)?;
            let at = literal(text, at, r#","delta":{"type":""#)?;
            let (at, delta) = kind(text, at)?;
            self.head.remember(text.get(..at)?, (0, 0));
            (self.index, self.delta) = (index, delta);
            return self.delta(text, at);
        }
        if literal(text, at, START).is_some() {
            return None;
        }
        let mut event = ApiEvent::default();
        let at = event.read(text, at).ok()?;
        self.envelope(text, at, event)
    }

    /// What stands behind the event of a line.
    #[inline(always)]
    fn envelope<'a>(
        &mut self,
        text: &'a str,
        at: usize,
        event: ApiEvent<'a>,
    ) -> Option<(usize, Event<'a>)> {
        const SESSION: &str = r#","session_id":"#;
        const PARENT: &str = r#","parent_tool_use_id":null,"uuid":"#;
        const MESSAGE: &str = r#","api_message_id":"#;
        let (at, session) = self.middle.read(text, at, SESSION, PARENT)?;
        let (at, uuid) = string(text, at)?;
        let (at, message) = self.tail.read(text, at, MESSAGE, "}")?;
        let stream = StreamEvent {
            api_message_id: Some(message),
            event,
            abandoned: None,
        };
        let event = Event {
            uuid: Some(uuid),
            session_id: Some(session),
            parent_tool_use_id: None,
            body: Body::Stream(stream),
            raw: RawJson::validated(text.get(..at)?),
        };
        Some((at, event))
    }
}

impl Default for Run {
    fn default() -> Self {
        Self {
            bytes: [0; RUN],
            length: 0,
            value: (0, 0),
        }
    }
}

impl Run {
    /// Index behind the run, when it stands at `at`.
    #[inline(always)]
    fn behind(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let end = at + self.length;
        let (run, found) = (self.bytes.get(..self.length)?, bytes.get(at..end)?);
        // The last block laps over the one before it, so that no byte is compared by itself. No
        // run is shorter than a block but the one of nothing.
        let last = run.last_chunk::<BLOCK>()? == found.last_chunk::<BLOCK>()?;
        let (run, found) = (run.as_chunks::<BLOCK>().0, found.as_chunks::<BLOCK>().0);
        (last && run.iter().zip(found).all(|(run, found)| run == found)).then_some(end)
    }

    fn remember(&mut self, run: &str, value: (usize, usize)) {
        if let Some(place) = self.bytes.get_mut(..run.len())
            && run.len() >= BLOCK
        {
            place.copy_from_slice(run.as_bytes());
            self.length = run.len();
            self.value = value;
        }
    }

    /// The index behind `before`, a string and `after`, and the string.
    #[inline(always)]
    fn read<'a>(
        &mut self,
        text: &'a str,
        at: usize,
        before: &str,
        after: &str,
    ) -> Option<(usize, Str<'a>)> {
        if let Some(end) = self.behind(text.as_bytes(), at) {
            let (from, to) = self.value;
            return Some((end, Str::plain(between(text, at + from, at + to))));
        }
        self.learn(text, at, before, after)
    }

    #[inline(never)]
    fn learn<'a>(
        &mut self,
        text: &'a str,
        at: usize,
        before: &str,
        after: &str,
    ) -> Option<(usize, Str<'a>)> {
        let quote = literal(text, at, before)?;
        let (behind, value) = string(text, quote)?;
        let end = literal(text, behind, after)?;
        if !value.has_escapes() {
            self.remember(text.get(at..end)?, (quote + 1 - at, behind - 1 - at));
        }
        Some((end, value))
    }
}

/// Index behind `literal`, when it stands at `at`.
#[inline(always)]
fn literal(text: &str, at: usize, literal: &str) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    rest.starts_with(literal.as_bytes())
        .then_some(at + literal.len())
}

/// The string at `at`, and the index behind it.
#[inline(always)]
fn string(text: &str, at: usize) -> Option<(usize, Str<'_>)> {
    (byte(text.as_bytes(), at) == b'"')
        .then(|| string_at(text, at))?
        .ok()
}

/// The index of a block at `at`: one digit or two, as messages have.
fn index(text: &str, at: usize) -> Option<(usize, u32)> {
    let rest = text.get(at..)?;
    let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
    let number = rest.get(..digits)?;
    // A leading zero is no number, and three digits are left to the walk.
    let plain = digits == 1 || digits == 2 && !number.starts_with('0');
    Some((at + digits, number.parse().ok().filter(|_| plain)?))
}

fn kind(text: &str, at: usize) -> Option<(usize, DeltaKind)> {
    [
        (r#"text_delta","text":"#, DeltaKind::Text),
        (r#"input_json_delta","partial_json":"#, DeltaKind::InputJson),
        (r#"thinking_delta","thinking":"#, DeltaKind::Thinking),
    ]
    .into_iter()
    .find_map(|(spelling, kind)| Some((literal(text, at, spelling)?, kind)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::line::walk;

    const LINE: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\ud83d"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","api_message_id":"msg_0123456789abcdef"}"#;

    fn read(spelling: &mut Spelling, line: &str) -> Option<String> {
        let (end, event) = spelling.read(line)?;
        Some(format!("{}{event:?}", line.get(end..)?))
    }

    fn walked(line: &str) -> Option<String> {
        let (rest, event) = walk(line).ok()?;
        Some(format!("{rest}{event:?}"))
    }

    /// Whether a line is read by its spelling, and then as the walk reads it.
    fn same(line: &str) -> bool {
        let mut spelling = Spelling::default();
        let first = read(&mut spelling, line);
        // The second time it is known how the line is spelt.
        let second = read(&mut spelling, line);
        assert_eq!(first, second, "{line}");
        // And behind another line.
        let mut spelling = Spelling::default();
        read(&mut spelling, LINE);
        assert_eq!(read(&mut spelling, line), second, "{line}");
        assert!(first.is_none() || first == walked(line), "{line}");
        first.is_some()
    }

    fn event(event: &str) -> String {
        let (head, rest) = LINE.split_once(r#"{"type":"content"#).expect("a delta");
        let (_, tail) = rest.split_once("}}").expect("a delta");
        format!("{head}{event}{tail}")
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
        assert!(same(&event(r#"{"type":"content_block_stop","index":3}"#)));
        assert!(same(&event(r#"{"type":"message_stop"}"#)));
        assert!(same(&event(r#"{"type":"brand_new","x":[{}]}"#)));
    }

    #[test]
    fn another_session_or_message_is_read_anew() {
        let other = LINE
            .replace("\"s\"", "\"t\"")
            .replace("89abcdef", "89abcdefg");
        let escaped = LINE.replace("\"s\"", "\"\\u0073\"");
        let mut spelling = Spelling::default();
        for line in [LINE, &other, LINE, &escaped, LINE] {
            assert_eq!(read(&mut spelling, line), walked(line));
        }
    }

    /// Every byte of a run is compared: a line that differs in one is not taken for the last one.
    #[test]
    fn a_change_of_any_byte_is_seen() {
        for at in 0..LINE.len() {
            let mut bytes = LINE.as_bytes().to_vec();
            for new in [b'x', b'"', b'}', b' '] {
                bytes[at] = new;
                let line = std::str::from_utf8(&bytes).expect("ASCII");
                let mut spelling = Spelling::default();
                read(&mut spelling, LINE);
                let found = read(&mut spelling, line);
                assert!(found.is_none() || found == walked(line), "{line}");
            }
        }
    }

    #[test]
    fn any_other_spelling_is_left_to_the_walk() {
        for (from, to) in [
            ("\"index\":0", "\"index\":01"),
            ("\"index\":0", "\"index\":007"),
            ("null", "\"toolu_1\""),
            ("\"uuid\":\"u\"", "\"uuid\":7"),
            ("\"}},", "\"},\"x\":1},"),
            ("cdef\"}", "cdef\",\"x\":1}"),
            ("a\\n", "a\\q"),
        ] {
            assert!(!same(&LINE.replace(from, to)), "{from} to {to}");
        }
        for end in 0..LINE.len() {
            assert!(!same(LINE.get(..end).expect("the line is ASCII")));
        }
        assert!(!same(&event(
            r#"{"type":"message_start","message":{"id":"m"}}"#
        )));
    }
}
