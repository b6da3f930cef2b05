//! The lines that streams are made of, read by their usual spelling.
//!
//! Nine of ten lines of a streaming turn are deltas, and the agent spells them in one key order.
//! What stands around the text and the uuid is the same from line to line, so it is compared with
//! the last line as a whole instead of being read. Any other spelling is no error but the business
//! of the walk in [`line`](super::line), which gives the same event.

use crate::event::{ApiEvent, Body, Delta, Event, StreamEvent};
use crate::grammar::{Read as _, StringEnd, between, byte, string_between, string_end};
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

/// Runs are compared in blocks of so many bytes; shorter ones are not remembered.
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

/// Where the parts of a delta stand that no other line has. It is spelt like the last one else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelt {
    /// Index of the opening quote of the text.
    text: usize,
    text_end: StringEnd,
    /// Index of the opening quote of the uuid.
    uuid: usize,
    uuid_end: StringEnd,
    /// Index behind the line.
    pub(crate) end: usize,
}

const HEAD: &str = r#"{"type":"stream_event","event":"#;
const DELTA: &str = r#"{"type":"content_block_delta","index":"#;

/// Its line has members that no other has, and would be read twice.
const START: &str = r#"{"type":"message_start""#;

impl Spelling {
    /// A delta; none when the line is spelt in another way.
    #[inline(always)]
    pub(crate) fn find(&mut self, line: &str) -> Option<Spelt> {
        let bytes = line.as_bytes();
        let text = match self.head.behind(bytes, 0) {
            Some(at) => at,
            None => self.learn_head(line)?,
        };
        let text_end = string(bytes, text)?;
        let at = literal(line, text_end.quote() + 1, "}}")?;
        let uuid = match self.middle.behind(bytes, at) {
            Some(at) => at,
            None => self.learn_middle(line, at)?,
        };
        let uuid_end = string(bytes, uuid)?;
        let at = uuid_end.quote() + 1;
        let end = match self.tail.behind(bytes, at) {
            Some(at) => at,
            None => self.learn_tail(line, at)?,
        };
        Some(Spelt {
            text,
            text_end,
            uuid,
            uuid_end,
            end,
        })
    }

    /// The delta that was found.
    #[inline(always)]
    pub(crate) fn event<'a>(&self, line: &'a str, spelt: Spelt) -> Event<'a> {
        let text = string_between(line, spelt.text, spelt.text_end);
        let delta = match self.delta {
            DeltaKind::Text => Delta::Text(text),
            DeltaKind::InputJson => Delta::InputJson(text),
            DeltaKind::Thinking => Delta::Thinking(text),
        };
        let index = self.index;
        self.envelope(line, spelt, ApiEvent::BlockDelta { index, delta })
    }

    /// A stream event of any kind that stands in the usual envelope, and the index behind its line.
    #[inline(never)]
    pub(crate) fn read<'a>(&mut self, line: &'a str) -> Option<(usize, Event<'a>)> {
        let bytes = line.as_bytes();
        let start = literal(line, 0, HEAD)?;
        if literal(line, start, START).is_some() {
            return None;
        }
        let mut event = ApiEvent::default();
        let at = event.read(line, start).ok()?;
        let uuid = match self.middle.behind(bytes, at) {
            Some(at) => at,
            None => self.learn_middle(line, at)?,
        };
        let uuid_end = string(bytes, uuid)?;
        let at = uuid_end.quote() + 1;
        let end = match self.tail.behind(bytes, at) {
            Some(at) => at,
            None => self.learn_tail(line, at)?,
        };
        let spelt = Spelt {
            text: uuid,
            text_end: uuid_end,
            uuid,
            uuid_end,
            end,
        };
        Some((end, self.envelope(line, spelt, event)))
    }

    /// The line around an event.
    #[inline(always)]
    fn envelope<'a>(&self, line: &'a str, spelt: Spelt, event: ApiEvent<'a>) -> Event<'a> {
        let stream = StreamEvent {
            api_message_id: Some(self.tail.value(line, spelt.uuid_end.quote() + 1)),
            event,
            abandoned: None,
        };
        Event {
            uuid: Some(string_between(line, spelt.uuid, spelt.uuid_end)),
            session_id: Some(self.middle.value(line, spelt.uuid - self.middle.length)),
            parent_tool_use_id: None,
            body: Body::Stream(stream),
            raw: RawJson::validated(line.get(..spelt.end).unwrap_or_default()),
        }
    }

    #[inline(never)]
    fn learn_head(&mut self, line: &str) -> Option<usize> {
        let at = literal(line, literal(line, 0, HEAD)?, DELTA)?;
        let (at, index) = index(line, at)?;
        let at = literal(line, at, r#","delta":{"type":""#)?;
        let (at, delta) = kind(line, at)?;
        self.head.remember(line.get(..at)?, (0, 0))?;
        (self.index, self.delta) = (index, delta);
        Some(at)
    }

    #[inline(never)]
    fn learn_middle(&mut self, line: &str, at: usize) -> Option<usize> {
        const SESSION: &str = r#","session_id":"#;
        const PARENT: &str = r#","parent_tool_use_id":null,"uuid":"#;
        self.middle.learn(line, at, SESSION, PARENT)
    }

    #[inline(never)]
    fn learn_tail(&mut self, line: &str, at: usize) -> Option<usize> {
        self.tail.learn(line, at, r#","api_message_id":"#, "}")
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
        // The last block laps over the one before it, so that no byte is compared by itself.
        if run.last_chunk::<BLOCK>()? != found.last_chunk::<BLOCK>()? {
            return None;
        }
        let blocks = run.as_chunks::<BLOCK>().0.iter();
        for (run, found) in blocks.zip(found.as_chunks::<BLOCK>().0) {
            if run != found {
                return None;
            }
        }
        Some(end)
    }

    /// The string in the run that stands at `at`.
    #[inline(always)]
    fn value<'a>(&self, line: &'a str, at: usize) -> Str<'a> {
        let (from, to) = self.value;
        Str::plain(between(line, at + from, at + to))
    }

    fn remember(&mut self, run: &str, value: (usize, usize)) -> Option<()> {
        let place = self.bytes.get_mut(..run.len())?;
        if run.len() < BLOCK {
            return None;
        }
        place.copy_from_slice(run.as_bytes());
        self.length = run.len();
        self.value = value;
        Some(())
    }

    /// Reads `before`, a string and `after` at `at` and remembers them; the index behind.
    fn learn(&mut self, line: &str, at: usize, before: &str, after: &str) -> Option<usize> {
        let quote = literal(line, at, before)?;
        let close = string(line.as_bytes(), quote)?;
        let end = literal(line, close.quote() + 1, after)?;
        let value = (quote + 1 - at, close.quote() - at);
        let is_plain = !close.has_escapes();
        is_plain.then(|| self.remember(line.get(at..end)?, value))??;
        Some(end)
    }
}

/// The end of the string whose opening quote stands at `at`.
#[inline(always)]
fn string(bytes: &[u8], at: usize) -> Option<StringEnd> {
    (byte(bytes, at) == b'"')
        .then(|| string_end(bytes, at + 1))?
        .ok()
}

/// Index behind `literal`, when it stands at `at`.
#[inline(always)]
fn literal(text: &str, at: usize, literal: &str) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    rest.starts_with(literal.as_bytes())
        .then_some(at + literal.len())
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
    use crate::event::line::{Envelope, walk};

    const LINE: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\ud83d"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","api_message_id":"msg_0123456789abcdef"}"#;

    fn read(spelling: &mut Spelling, line: &str) -> Option<String> {
        let (end, event) = match spelling.find(line) {
            Some(spelt) => (spelt.end, spelling.event(line, spelt)),
            None => spelling.read(line)?,
        };
        Some(format!("{}{event:?}", line.get(end..)?))
    }

    fn walked(line: &str) -> Option<String> {
        let mut envelope = Envelope::default();
        let (rest, ()) = walk(line, &mut envelope).ok()?;
        Some(format!("{rest}{:?}", envelope.event))
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
        assert!(same(&LINE.replace("}},", "},\"x\":1},")));
        assert!(same(&LINE.replace("\"index\":0", "\"index\":7654321")));
        assert!(same(&event(r#"{"type":"brand_new","x":[{}]}"#)));
    }

    #[test]
    fn another_session_or_message_is_read_anew() {
        let other = LINE
            .replace("\"s\"", "\"t\"")
            .replace("89abcdef", "89abcdefg");
        let escaped = LINE.replace("\"s\"", "\"\\u0073\"");
        let mut spelling = Spelling::default();
        for line in [LINE, &other, LINE] {
            assert_eq!(read(&mut spelling, line), walked(line));
        }
        assert_eq!(read(&mut spelling, &escaped), None, "left to the walk");
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
