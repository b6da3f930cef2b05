//! Line templates: the fast path for stream events, which most lines of a streaming turn are.
//!
//! The agent writes every delta in one key order. The bytes around its text and its uuid are the same
//! from line to line, so that they are compared with those of the last line instead of being parsed. A
//! line that does not match is left to the grammar ([`line`](super::line)), which gives the same
//! event.

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::char as character;
use nom::combinator::value;
use nom::sequence::{preceded, terminated};

use crate::error::Expected;
use crate::event::body::{Body, Event};
use crate::event::stream::{ApiEvent, Delta, StreamEvent};
use crate::grammar::{Cursor, Field as _, Parsed, ParsedAt, index, quoted, string, uuid};
use crate::raw::RawJson;
use crate::text::Str;

/// The constant bytes of the last stream event: before the text of a delta, between its event and its
/// uuid, and after its uuid.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineTemplate {
    head: Segment<64>,
    delta: DeltaKind,
    index: u32,
    middle: Segment<64>,
    tail: Segment<32>,
}

/// Bytes that one line shares with the next, and the place of a string in them.
///
/// A segment has `HALF` to twice as many bytes. Its first and its last `HALF` bytes, which may overlap,
/// are compared as a whole.
#[derive(Clone, Debug)]
struct Segment<const HALF: usize> {
    first: AlignedBytes<HALF>,
    last: AlignedBytes<HALF>,
    length: usize,
    /// Index of the opening quote of the string, and the number of bytes between the quotes.
    string: (usize, usize),
}

#[derive(Clone, Debug)]
#[repr(align(32))]
struct AlignedBytes<const LENGTH: usize>([u8; LENGTH]);

#[derive(Clone, Copy, Debug, Default)]
enum DeltaKind {
    #[default]
    Text,
    InputJson,
    Thinking,
}

/// The variable parts of a line that matched the template.
#[derive(Debug)]
pub(crate) struct TemplateMatch<'a> {
    event: ApiEvent<'a>,
    trailer: Trailer<'a>,
}

/// The part of a stream event line after its `event` member.
#[derive(Clone, Copy, Debug)]
struct Trailer<'a> {
    /// Index of its first byte.
    middle: usize,
    uuid: Str<'a>,
    /// Index of the first byte after the uuid.
    tail: usize,
}

const HEAD: &str = r#"{"type":"stream_event","event":"#;

impl LineTemplate {
    /// Matches a delta; an error when the line is spelled in another way.
    #[inline(always)]
    pub(crate) fn delta<'a>(&mut self, line: Cursor<'a>) -> Parsed<'a, TemplateMatch<'a>> {
        let (input, ()) = match self.head.matches(line) {
            Ok(matched) => matched,
            Err(_) => {
                let (event, _) = tag(HEAD).parse(line)?;
                event.call(|text, at| self.learn_head(text, at))?
            }
        };
        let (middle, text) = terminated(quoted_string, tag("}}")).parse(input)?;
        let (end, trailer) = self.trailer(middle)?;
        let event = self.block_delta(text);
        Ok((end, TemplateMatch { event, trailer }))
    }

    #[inline(always)]
    fn block_delta<'a>(&self, text: Str<'a>) -> ApiEvent<'a> {
        let delta = match self.delta {
            DeltaKind::Text => Delta::Text(text),
            DeltaKind::InputJson => Delta::InputJson(text),
            DeltaKind::Thinking => Delta::Thinking(text),
        };
        let index = self.index;
        ApiEvent::BlockDelta { index, delta }
    }

    /// Matches a stream event of any kind in the common envelope.
    #[inline(always)]
    pub(crate) fn stream_event<'a>(&mut self, line: Cursor<'a>) -> Parsed<'a, TemplateMatch<'a>> {
        let (event, _) = tag(HEAD).parse(line)?;
        self.other_event(event)
    }

    #[inline(never)]
    fn other_event<'a>(&mut self, input: Cursor<'a>) -> Parsed<'a, TemplateMatch<'a>> {
        // The line of a message's start has members that no other line has, and would be parsed twice.
        if input.rest().starts_with(br#"{"type":"message_start""#) {
            return input.error(Expected::Value);
        }
        let (input, event) = alt((stop, any_event)).parse(input)?;
        let (end, trailer) = self.trailer(input)?;
        Ok((end, TemplateMatch { event, trailer }))
    }

    #[inline(always)]
    fn trailer<'a>(&mut self, middle: Cursor<'a>) -> Parsed<'a, Trailer<'a>> {
        let (input, ()) = match self.middle.matches(middle) {
            Ok(matched) => matched,
            Err(_) => middle.call(|text, at| self.learn_middle(text, at))?,
        };
        let (tail, uuid) = match uuid(input) {
            Ok(uuid) => uuid,
            Err(_) => quoted_string(input)?,
        };
        let (end, ()) = match self.tail.matches(tail) {
            Ok(matched) => matched,
            Err(_) => tail.call(|text, at| self.learn_tail(text, at))?,
        };
        Ok((
            end,
            Trailer {
                middle: middle.at(),
                uuid,
                tail: tail.at(),
            },
        ))
    }

    /// The event of a line that matched and ends at `end`.
    #[inline(always)]
    pub(crate) fn event<'a>(
        &self,
        line: Cursor<'a>,
        end: Cursor<'a>,
        TemplateMatch { event, trailer }: TemplateMatch<'a>,
    ) -> Event<'a> {
        let stream = StreamEvent {
            api_message_id: self.tail.string(line.with(trailer.tail)),
            event,
            abandoned: None,
        };
        Event {
            uuid: Some(trailer.uuid),
            session_id: self.middle.string(line.with(trailer.middle)),
            parent_tool_use_id: None,
            body: Body::Stream(stream),
            raw: RawJson::validated(line.until(end)),
        }
    }

    #[inline(never)]
    fn learn_head(&mut self, text: &str, at: usize) -> ParsedAt {
        let index = preceded(
            tag(r#"{"type":"content_block_delta","index":"#),
            block_index,
        );
        let delta = preceded(tag(r#","delta":{"type":""#), delta_kind);
        let event = Cursor::at_index(text, at);
        let (end, (index, delta)) = (index, delta).parse(event)?;
        self.head.learn(Cursor::new(text), end, (0, 0))?;
        (self.index, self.delta) = (index, delta);
        Ok((end.at(), ()))
    }

    #[inline(never)]
    fn learn_middle(&mut self, text: &str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        let parent = r#","parent_tool_use_id":null,"uuid":"#;
        index(self.middle.learn_string(input, r#","session_id":"#, parent))
    }

    #[inline(never)]
    fn learn_tail(&mut self, text: &str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        index(self.tail.learn_string(input, r#","api_message_id":"#, "}"))
    }
}

/// Words whose differing bits are gathered at once.
const WORDS: usize = 2;

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

impl<const LENGTH: usize> AlignedBytes<LENGTH> {
    /// The bits of all words that differ, and those of `before`.
    // Words instead of bytes: compilers assemble sixteen bytes one by one to compare them with 0.
    #[inline(always)]
    fn differences(&self, found: &[u8; LENGTH], before: [u64; WORDS]) -> [u64; WORDS] {
        let mut bits = before;
        let (known, _) = self.0.as_chunks::<WORD>();
        let (found, _) = found.as_chunks::<WORD>();
        for (at, (known, found)) in known.iter().zip(found).enumerate() {
            bits[at % WORDS] |= u64::from_ne_bytes(*known) ^ u64::from_ne_bytes(*found);
        }
        bits
    }
}

impl<const HALF: usize> Default for Segment<HALF> {
    fn default() -> Self {
        Self {
            first: AlignedBytes([0; HALF]),
            last: AlignedBytes([0; HALF]),
            length: 0,
            string: (0, 0),
        }
    }
}

impl<const HALF: usize> Segment<HALF> {
    /// Consumes the segment when the input begins with it.
    #[inline(always)]
    fn matches<'a>(&self, input: Cursor<'a>) -> Parsed<'a> {
        if self.is_prefix(input) == Some(true) {
            Ok((input.advance(self.length), ()))
        } else {
            input.error(Expected::Value)
        }
    }

    #[inline(always)]
    fn is_prefix(&self, input: Cursor<'_>) -> Option<bool> {
        let found = (input.text().as_bytes()).get(input.at()..input.at() + self.length)?;
        let (first, last) = (found.first_chunk()?, found.last_chunk()?);
        let bits = self.last.differences(last, [0; WORDS]);
        let [one, other] = self.first.differences(first, bits);
        Some(one | other == 0)
    }

    /// The string in the segment that begins at `input`.
    #[inline(always)]
    fn string<'a>(&self, input: Cursor<'a>) -> Option<Str<'a>> {
        let (open, length) = self.string;
        quoted(input.text(), input.at() + open, length).map(Str::plain)
    }

    /// Stores the bytes between two cursors; an error when there are too few or too many.
    fn learn<'a>(
        &mut self,
        start: Cursor<'a>,
        end: Cursor<'a>,
        string: (usize, usize),
    ) -> Parsed<'a> {
        let bytes = start.until(end).as_bytes();
        let halves = bytes.first_chunk().zip(bytes.last_chunk());
        let Some((first, last)) = halves.filter(|_| bytes.len() <= 2 * HALF) else {
            return start.error(Expected::Value);
        };
        (self.first.0, self.last.0) = (*first, *last);
        (self.length, self.string) = (bytes.len(), string);
        Ok((end, ()))
    }

    /// Parses `before`, a string without escapes and `after`, and stores them.
    fn learn_string<'a>(
        &mut self,
        start: Cursor<'a>,
        before: &'static str,
        after: &'static str,
    ) -> Parsed<'a> {
        let (end, string) = (tag(before), quoted_string, tag(after))
            .map(|(_, string, _)| string)
            .parse(start)?;
        if string.has_escapes() {
            return start.error(Expected::Quote);
        }
        self.learn(start, end, (before.len(), string.raw().len()))
    }
}

/// A string, or an error for any other value.
#[inline(always)]
fn quoted_string(input: Cursor<'_>) -> Parsed<'_, Str<'_>> {
    if input.first() != b'"' {
        return input.error(Expected::Quote);
    }
    string(input)
}

/// The end of a block or of a message, which have hardly any members.
#[inline(always)]
fn stop(input: Cursor<'_>) -> Parsed<'_, ApiEvent<'_>> {
    let block = preceded(
        tag(r#"{"type":"content_block_stop","index":"#),
        terminated(block_index, character('}')),
    );
    let message = value((), tag(r#"{"type":"message_stop"}"#));
    alt((
        block.map(|index| ApiEvent::BlockStop { index }),
        message.map(|()| ApiEvent::MessageStop),
    ))
    .parse(input)
}

#[inline(always)]
fn any_event(input: Cursor<'_>) -> Parsed<'_, ApiEvent<'_>> {
    let mut event = ApiEvent::default();
    let (end, ()) = event.parse(input)?;
    Ok((end, event))
}

/// The index of a block: one or two digits, which is as many as messages have.
#[inline(always)]
fn block_index(input: Cursor<'_>) -> Parsed<'_, u32> {
    let digit = |at: usize| {
        let byte = input.rest().get(at).copied().unwrap_or_default();
        char::from(byte).to_digit(10)
    };
    match (digit(0), digit(1), digit(2)) {
        (Some(one), None, _) => Ok((input.advance(1), one)),
        // A leading zero is no number, and three digits are left to the grammar.
        (Some(ten @ 1..), Some(one), None) => Ok((input.advance(2), ten * 10 + one)),
        _ => input.error(Expected::Digit),
    }
}

/// The `type` of a delta, up to the value of its text.
#[inline(always)]
fn delta_kind(input: Cursor<'_>) -> Parsed<'_, DeltaKind> {
    alt((
        value(DeltaKind::Text, tag(r#"text_delta","text":"#)),
        value(
            DeltaKind::InputJson,
            tag(r#"input_json_delta","partial_json":"#),
        ),
        value(DeltaKind::Thinking, tag(r#"thinking_delta","thinking":"#)),
    ))
    .parse(input)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::line;

    const LINE: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\ud83d"}},"session_id":"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9","parent_tool_use_id":null,"uuid":"u","api_message_id":"msg_0123456789abcdef"}"#;

    fn by_template(template: &mut LineTemplate, line: &str) -> Option<String> {
        let input = Cursor::new(line);
        let matched = template.delta(input);
        let (end, matched) = matched.or_else(|_| template.stream_event(input)).ok()?;
        let event = template.event(input, end, matched);
        assert_eq!(line.get(end.at()..)?.trim_end(), "", "{line}");
        Some(format!("{event:?}"))
    }

    fn by_grammar(line: &str) -> Option<String> {
        let input = Cursor::new(line);
        let (_, event) = line::event(input).ok()?;
        Some(format!("{event:?}"))
    }

    /// Whether the template takes a line; its event is that of the grammar then.
    fn is_taken(line: &str) -> bool {
        let mut template = LineTemplate::default();
        let first = by_template(&mut template, line);
        // The second time the template knows the line.
        let second = by_template(&mut template, line);
        assert_eq!(first, second, "{line}");
        // And after another line.
        let mut template = LineTemplate::default();
        by_template(&mut template, LINE);
        assert_eq!(by_template(&mut template, line), second, "{line}");
        assert!(first.is_none() || first == by_grammar(line), "{line}");
        first.is_some()
    }

    fn event(event: &str) -> String {
        let (head, rest) = LINE.split_once(r#"{"type":"content"#).expect("a delta");
        let (_, tail) = rest.split_once("}}").expect("a delta");
        format!("{head}{event}{tail}")
    }

    #[test]
    fn common_spelling_gives_event_of_grammar() {
        assert!(is_taken(LINE));
        assert!(is_taken(
            &LINE.replace("text_delta\",\"text", "thinking_delta\",\"thinking")
        ));
        assert!(is_taken(&LINE.replace(
            "text_delta\",\"text",
            "input_json_delta\",\"partial_json"
        )));
        assert!(is_taken(&LINE.replace("\"index\":0", "\"index\":42")));
        assert!(is_taken(&format!("{LINE}\r\n")));
        assert!(is_taken(&event(
            r#"{"type":"content_block_stop","index":3}"#
        )));
        assert!(is_taken(&event(r#"{"type":"message_stop"}"#)));
        assert!(is_taken(&LINE.replace("}},", "},\"x\":1},")));
        assert!(is_taken(&LINE.replace("\"index\":0", "\"index\":7654321")));
        assert!(is_taken(&event(r#"{"type":"brand_new","x":[{}]}"#)));
    }

    #[test]
    fn template_follows_session_and_message() {
        let other = LINE
            .replace("0a1b2c3d", "0a1b2c3e")
            .replace("89abcdef", "89abcdefg");
        let escaped = LINE.replace("0a1b", "\\u0030a1b");
        let mut template = LineTemplate::default();
        for line in [LINE, &other, LINE] {
            assert_eq!(by_template(&mut template, line), by_grammar(line));
        }
        assert_eq!(
            by_template(&mut template, &escaped),
            None,
            "left to the grammar"
        );
    }

    #[test]
    fn change_of_any_byte_is_noticed() {
        for at in 0..LINE.len() {
            let mut bytes = LINE.as_bytes().to_vec();
            for new in [b'x', b'"', b'}', b' '] {
                bytes[at] = new;
                let line = std::str::from_utf8(&bytes).expect("ASCII");
                let mut template = LineTemplate::default();
                by_template(&mut template, LINE);
                let found = by_template(&mut template, line);
                assert!(found.is_none() || found == by_grammar(line), "{line}");
            }
        }
    }

    #[test]
    fn other_spellings_are_left_to_the_grammar() {
        for (from, to) in [
            ("\"index\":0", "\"index\":01"),
            ("\"index\":0", "\"index\":007"),
            ("null", "\"toolu_1\""),
            ("\"uuid\":\"u\"", "\"uuid\":7"),
            ("cdef\"}", "cdef\",\"x\":1}"),
            ("a\\n", "a\\q"),
        ] {
            assert!(!is_taken(&LINE.replace(from, to)), "{from} to {to}");
        }
        for end in 0..LINE.len() {
            assert!(!is_taken(LINE.get(..end).expect("the line is ASCII")));
        }
        assert!(!is_taken(&event(
            r#"{"type":"message_start","message":{"id":"m"}}"#
        )));
    }
}
