//! The lines that streams are made of, read by their usual spelling.
//!
//! Nine of ten lines of a streaming turn are deltas, and the agent spells them in one key order.
//! What stands around the text and the uuid is the same from line to line, so it is compared with
//! the last line as a whole instead of being read. Any other spelling is no error but the business
//! of the walk in [`line`](super::line), which gives the same event.

use crate::event::{ApiEvent, Body, Delta, Event, StreamEvent};
use crate::grammar::{Read as _, byte, quoted, string_at, uuid_at};
use crate::raw::RawJson;
use crate::text::Str;

/// How the last stream event was spelt: around the text of a delta, between its text and its uuid,
/// and behind its uuid.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spelling {
    head: Run<64>,
    delta: DeltaKind,
    index: u32,
    middle: Run<64>,
    tail: Run<32>,
}

/// Bytes that one line shares with the next, and where the string in them stands.
///
/// There are `HALF` bytes or up to twice as many: the first so many of them and the last ones, which
/// may overlap, are compared as a whole, so that no byte is compared by itself.
#[derive(Clone, Debug)]
struct Run<const HALF: usize> {
    first: Half<HALF>,
    last: Half<HALF>,
    length: usize,
    /// Where the opening quote of the string stands, and how many bytes are between the quotes.
    value: (usize, usize),
}

#[derive(Clone, Debug)]
#[repr(align(32))]
struct Half<const HALF: usize>([u8; HALF]);

#[derive(Clone, Copy, Debug, Default)]
enum DeltaKind {
    #[default]
    Text,
    InputJson,
    Thinking,
}

/// The parts of a delta that no other line has. It is spelt like the last one else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelt<'a> {
    text: Str<'a>,
    tail: Tail<'a>,
}

impl Spelt<'_> {
    /// Index behind the line.
    #[inline(always)]
    pub(crate) const fn end(&self) -> usize {
        self.tail.end
    }
}

/// What stands behind an event.
#[derive(Clone, Copy, Debug)]
struct Tail<'a> {
    /// Index behind the event.
    middle: usize,
    uuid: Str<'a>,
    /// Index behind the uuid.
    tail: usize,
    /// Index behind the line.
    end: usize,
}

const HEAD: &str = r#"{"type":"stream_event","event":"#;
const DELTA: &str = r#"{"type":"content_block_delta","index":"#;

const BLOCK_STOP: &str = r#"{"type":"content_block_stop","index":"#;
const MESSAGE_STOP: &str = r#"{"type":"message_stop"}"#;

/// Its line has members that no other has, and would be read twice.
const START: &str = r#"{"type":"message_start""#;

impl Spelling {
    /// A delta; none when the line is spelt in another way.
    #[inline(always)]
    pub(crate) fn find<'a>(&mut self, line: &'a str) -> Option<Spelt<'a>> {
        let at = match self.head.behind(line.as_bytes(), 0) {
            Some(at) => at,
            None => self.learn_head(line)?,
        };
        let (behind, text) = string(line, at)?;
        let tail = self.find_tail(line, literal(line, behind, "}}")?)?;
        Some(Spelt { text, tail })
    }

    /// The delta that was found.
    #[inline(always)]
    pub(crate) fn event<'a>(&self, line: &'a str, spelt: Spelt<'a>) -> Event<'a> {
        let text = spelt.text;
        let delta = match self.delta {
            DeltaKind::Text => Delta::Text(text),
            DeltaKind::InputJson => Delta::InputJson(text),
            DeltaKind::Thinking => Delta::Thinking(text),
        };
        let index = self.index;
        self.envelope(line, ApiEvent::BlockDelta { index, delta }, spelt.tail)
    }

    /// A stream event of any kind that stands in the usual envelope, and the index behind its line.
    #[inline(never)]
    pub(crate) fn read<'a>(&mut self, line: &'a str) -> Option<(usize, Event<'a>)> {
        let start = literal(line, 0, HEAD)?;
        if literal(line, start, START).is_some() {
            return None;
        }
        let (at, event) = match stop(line, start) {
            Some(stop) => stop,
            None => any(line, start)?,
        };
        let tail = self.find_tail(line, at)?;
        Some((tail.end, self.envelope(line, event, tail)))
    }

    /// What stands behind the event at `middle`.
    #[inline(always)]
    fn find_tail<'a>(&mut self, line: &'a str, middle: usize) -> Option<Tail<'a>> {
        let at = match self.middle.behind(line.as_bytes(), middle) {
            Some(at) => at,
            None => self.learn_middle(line, middle)?,
        };
        let (tail, uuid) = match uuid_at(line, at) {
            Some(uuid) => uuid,
            None => string(line, at)?,
        };
        let end = match self.tail.behind(line.as_bytes(), tail) {
            Some(end) => end,
            None => self.learn_tail(line, tail)?,
        };
        Some(Tail {
            middle,
            uuid,
            tail,
            end,
        })
    }

    /// The line around an event.
    #[inline(always)]
    fn envelope<'a>(&self, line: &'a str, event: ApiEvent<'a>, tail: Tail<'a>) -> Event<'a> {
        let stream = StreamEvent {
            api_message_id: self.tail.value(line, tail.tail),
            event,
            abandoned: None,
        };
        Event {
            uuid: Some(tail.uuid),
            session_id: self.middle.value(line, tail.middle),
            parent_tool_use_id: None,
            body: Body::Stream(stream),
            raw: RawJson::validated(line.get(..tail.end).unwrap_or_default()),
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

/// Words whose bits that differ are gathered at once.
const WORDS: usize = 2;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

impl<const HALF: usize> Half<HALF> {
    /// The bits of all words that differ, and those of `before`.
    // Words and not bytes: compilers put sixteen bytes together one by one to compare them with 0.
    #[inline(always)]
    fn changes(&self, found: &[u8; HALF], mut changes: [u64; WORDS]) -> [u64; WORDS] {
        let (known, _) = self.0.as_chunks::<WORD>();
        let (found, _) = found.as_chunks::<WORD>();
        for (at, (known, found)) in known.iter().zip(found).enumerate() {
            changes[at % WORDS] |= u64::from_ne_bytes(*known) ^ u64::from_ne_bytes(*found);
        }
        changes
    }
}

impl<const HALF: usize> Default for Run<HALF> {
    fn default() -> Self {
        Self {
            first: Half([0; HALF]),
            last: Half([0; HALF]),
            length: 0,
            value: (0, 0),
        }
    }
}

impl<const HALF: usize> Run<HALF> {
    /// Index behind the run, when it stands at `at`.
    #[inline(always)]
    fn behind(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let end = at + self.length;
        let found = bytes.get(at..end)?;
        let (first, last) = (found.first_chunk()?, found.last_chunk()?);
        let [one, other] = (self.first).changes(first, self.last.changes(last, [0; WORDS]));
        (one | other == 0).then_some(end)
    }

    /// The string in the run that stands at `at`.
    #[inline(always)]
    fn value<'a>(&self, line: &'a str, at: usize) -> Option<Str<'a>> {
        let (open, length) = self.value;
        quoted(line, at + open, length).map(Str::plain)
    }

    fn remember(&mut self, run: &str, value: (usize, usize)) -> Option<()> {
        let run = run.as_bytes();
        if run.len() > 2 * HALF {
            return None;
        }
        self.first.0 = *run.first_chunk()?;
        self.last.0 = *run.last_chunk()?;
        self.length = run.len();
        self.value = value;
        Some(())
    }

    /// Reads `before`, a string and `after` at `at` and remembers them; the index behind.
    fn learn(&mut self, line: &str, at: usize, before: &str, after: &str) -> Option<usize> {
        let quote = literal(line, at, before)?;
        let (behind, value) = string(line, quote)?;
        let end = literal(line, behind, after)?;
        let place = (quote - at, value.raw().len());
        (!value.has_escapes()).then(|| self.remember(line.get(at..end)?, place))??;
        Some(end)
    }
}

/// The string whose opening quote stands at `at`, and the index behind it.
#[inline(always)]
fn string(line: &str, at: usize) -> Option<(usize, Str<'_>)> {
    if byte(line.as_bytes(), at) != b'"' {
        return None;
    }
    string_at(line, at).ok()
}

/// Index behind `literal`, when it stands at `at`.
#[inline(always)]
fn literal(text: &str, at: usize, literal: &str) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    rest.starts_with(literal.as_bytes())
        .then_some(at + literal.len())
}

/// The end of a block or of a message at `at`, which have as good as no members.
fn stop<'a>(line: &str, at: usize) -> Option<(usize, ApiEvent<'a>)> {
    if let Some(at) = literal(line, at, BLOCK_STOP) {
        let (at, index) = index(line, at)?;
        return Some((literal(line, at, "}")?, ApiEvent::BlockStop { index }));
    }
    Some((literal(line, at, MESSAGE_STOP)?, ApiEvent::MessageStop))
}

/// Any stream event at `at`.
fn any(line: &str, at: usize) -> Option<(usize, ApiEvent<'_>)> {
    let mut event = ApiEvent::default();
    Some((event.read(line, at).ok()?, event))
}

/// The index of a block at `at`: one digit or two, as messages have.
fn index(text: &str, at: usize) -> Option<(usize, u32)> {
    let digit = |at| char::from(byte(text.as_bytes(), at)).to_digit(10);
    let first = digit(at)?;
    match digit(at + 1) {
        None => Some((at + 1, first)),
        // A leading zero is no number, and three digits are left to the walk.
        Some(second) if first > 0 && digit(at + 2).is_none() => Some((at + 2, first * 10 + second)),
        Some(_) => None,
    }
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

    const LINE: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\ud83d"}},"session_id":"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9","parent_tool_use_id":null,"uuid":"u","api_message_id":"msg_0123456789abcdef"}"#;

    fn read(spelling: &mut Spelling, line: &str) -> Option<String> {
        let (end, event) = match spelling.find(line) {
            Some(spelt) => (spelt.end(), spelling.event(line, spelt)),
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
            .replace("0a1b2c3d", "0a1b2c3e")
            .replace("89abcdef", "89abcdefg");
        let escaped = LINE.replace("0a1b", "\\u0030a1b");
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
