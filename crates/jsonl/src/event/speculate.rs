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
    text: Quoted,
    uuid: Quoted,
    /// Index behind the line.
    pub(crate) end: usize,
}

/// Where a string stands.
#[derive(Clone, Copy, Debug)]
struct Quoted {
    /// Index of the opening quote.
    at: usize,
    end: StringEnd,
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
            Some(at) => Quoted::find(bytes, at)?,
            None => Quoted::find(bytes, self.learn_head(line)?)?,
        };
        let at = literal(line, text.behind(), "}}")?;
        let (uuid, end) = self.find_tail(line, at)?;
        Some(Spelt { text, uuid, end })
    }

    /// The delta that was found.
    #[inline(always)]
    pub(crate) fn event<'a>(&self, line: &'a str, spelt: Spelt) -> Event<'a> {
        let text = spelt.text.value(line);
        let delta = match self.delta {
            DeltaKind::Text => Delta::Text(text),
            DeltaKind::InputJson => Delta::InputJson(text),
            DeltaKind::Thinking => Delta::Thinking(text),
        };
        let index = self.index;
        let event = ApiEvent::BlockDelta { index, delta };
        self.envelope(line, event, spelt.uuid, spelt.end)
    }

    /// A stream event of any kind that stands in the usual envelope, and the index behind its line.
    #[inline(never)]
    pub(crate) fn read<'a>(&mut self, line: &'a str) -> Option<(usize, Event<'a>)> {
        let start = literal(line, 0, HEAD)?;
        if literal(line, start, START).is_some() {
            return None;
        }
        let mut event = ApiEvent::default();
        let at = event.read(line, start).ok()?;
        let (uuid, end) = self.find_tail(line, at)?;
        Some((end, self.envelope(line, event, uuid, end)))
    }

    /// What stands behind the event at `at`: the uuid, and the index behind the line.
    #[inline(always)]
    fn find_tail(&mut self, line: &str, at: usize) -> Option<(Quoted, usize)> {
        let bytes = line.as_bytes();
        let uuid = match self.middle.behind(bytes, at) {
            Some(at) => Quoted::find(bytes, at)?,
            None => Quoted::find(bytes, self.learn_middle(line, at)?)?,
        };
        let end = match self.tail.behind(bytes, uuid.behind()) {
            Some(end) => end,
            None => self.learn_tail(line, uuid.behind())?,
        };
        Some((uuid, end))
    }

    /// The line around an event.
    #[inline(always)]
    fn envelope<'a>(
        &self,
        line: &'a str,
        event: ApiEvent<'a>,
        uuid: Quoted,
        end: usize,
    ) -> Event<'a> {
        let stream = StreamEvent {
            api_message_id: Some(self.tail.value(line, uuid.behind())),
            event,
            abandoned: None,
        };
        Event {
            uuid: Some(uuid.value(line)),
            session_id: Some(self.middle.value(line, uuid.at - self.middle.length)),
            parent_tool_use_id: None,
            body: Body::Stream(stream),
            raw: RawJson::validated(line.get(..end).unwrap_or_default()),
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
        let value = Quoted::find(line.as_bytes(), quote)?;
        let end = literal(line, value.behind(), after)?;
        let is_plain = !value.end.has_escapes();
        let value = (quote + 1 - at, value.end.quote() - at);
        is_plain.then(|| self.remember(line.get(at..end)?, value))??;
        Some(end)
    }
}

impl Quoted {
    /// The string whose opening quote stands at `at`.
    #[inline(always)]
    fn find(bytes: &[u8], at: usize) -> Option<Self> {
        if byte(bytes, at) != b'"' {
            return None;
        }
        let end = string_end(bytes, at + 1).ok()?;
        Some(Self { at, end })
    }

    /// Index behind the closing quote.
    #[inline(always)]
    const fn behind(self) -> usize {
        self.end.quote() + 1
    }

    #[inline(always)]
    fn value(self, line: &str) -> Str<'_> {
        string_between(line, self.at, self.end)
    }
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
