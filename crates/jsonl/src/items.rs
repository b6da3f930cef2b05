//! The lines of a window, as events.

use memchr::{memchr, memrchr};
use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::combinator::{eof, value};
use nom::sequence::preceded;

use crate::error::{Expected, Fault, ParseError, ParseErrorKind};
use crate::event::{Envelope, Event, Spelling, walk};
use crate::frame::{Frame, Oversize, Window};
use crate::grammar::{Parsed, byte};
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
use crate::simd::utf8::from_utf8;

/// UTF-8's byte order mark, which some writers put before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One line, and what it says.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// Where the line stands in the stream.
    pub at: Position,
    /// The line as it came, without its LF and a CR before it; the head of a line over the limit.
    pub raw: &'a [u8],
    /// The event, or why the line is none.
    pub event: Result<Event<'a>, ParseError>,
}

/// Where a line stands in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Offset of its first byte, from 0.
    pub offset: u64,
    /// Offset behind its LF: where the next line begins.
    pub end: u64,
    /// Number of the line, from 1.
    pub line: u64,
    /// Whether the input ended without an LF behind the line: more of it may come.
    pub is_tail: bool,
}

/// What a framer's frames have in common: the number of the next line, and how lines were spelt.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    line: u64,
    /// How much of the frame was read, in bytes.
    seen: usize,
    spelling: Spelling,
}

impl Reader {
    pub(crate) fn at(line: u64) -> Self {
        Self {
            line,
            seen: 0,
            spelling: Spelling::default(),
        }
    }

    /// Number of the next line, from 1.
    pub(crate) const fn line(&self) -> u64 {
        self.line
    }

    /// How much of the frame was read, in bytes.
    pub(crate) const fn seen(&self) -> usize {
        self.seen
    }

    /// Goes on to the next frame; `unread` lines of this one are passed over.
    pub(crate) const fn end_frame(&mut self, unread: u64) {
        self.line += unread;
        self.seen = 0;
    }

    const fn step(&mut self, length: usize) {
        self.line += 1;
        self.seen += length;
    }
}

/// The lines of one frame, parsed in place as they are asked for. Blank lines are passed over.
#[derive(Debug)]
pub struct Items<'a>(Source<'a>);

#[derive(Debug)]
enum Source<'a> {
    Lines(Lines<'a>),
    Oversize(Option<Oversize<'a>>),
}

impl<'a> Items<'a> {
    pub(crate) fn new(frame: Frame<'a>) -> Self {
        Self(match frame {
            Frame::Lines(window) => Source::Lines(Lines::new(window)),
            Frame::Oversize(over) => Source::Oversize(Some(over)),
        })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Item<'a>> {
        match &mut self.0 {
            // The usual line is read in place, without a call, and so is the end.
            Source::Lines(lines) if lines.text.is_empty() => {
                let is_read = lines.reader.seen == lines.window.len();
                if is_read { None } else { lines.next() }
            }
            Source::Lines(lines) => match lines.usual() {
                Some(item) => Some(item),
                None => lines.next(),
            },
            Source::Oversize(over) => over.take().map(oversize),
        }
    }
}

fn oversize(over: Oversize<'_>) -> Item<'_> {
    over.reader.step(1);
    let kind = ParseErrorKind::TooLong {
        length: over.length,
        limit: over.limit,
    };
    Item {
        at: Position {
            offset: over.offset,
            end: over.offset + over.length + u64::from(!over.is_tail),
            line: over.line,
            is_tail: over.is_tail,
        },
        raw: over.head,
        event: Err(ParseError::new(kind, over.offset, over.line)),
    }
}

/// Walks a window.
#[derive(Debug)]
struct Lines<'a> {
    window: &'a [u8],
    offset: u64,
    is_tail: bool,
    /// The checked text behind what was read, as far as it was checked: whole lines.
    text: &'a str,
    /// Whether bytes that are not UTF-8 were met: more are likely.
    is_dirty: bool,
    reader: &'a mut Reader,
}

impl<'a> Lines<'a> {
    fn new(window: Window<'a>) -> Self {
        let mark = window.offset == 0 && window.bytes.starts_with(BYTE_ORDER_MARK);
        let start = if mark { BYTE_ORDER_MARK.len() } else { 0 };
        window.reader.seen = start;
        let bytes = window.bytes.get(start..).unwrap_or_default();
        let is_object = bytes.first() == Some(&b'{');
        Self {
            window: window.bytes,
            offset: window.offset,
            is_tail: window.is_tail,
            text: if is_object { fast_check(bytes) } else { "" },
            is_dirty: false,
            reader: window.reader,
        }
    }

    /// The usual line, read by its spelling.
    #[inline(always)]
    fn usual(&mut self) -> Option<Item<'a>> {
        let spelt = self.reader.spelling.find(self.text)?;
        let end = spelt.end();
        if byte(self.text.as_bytes(), end) != b'\n' {
            return None;
        }
        let event = self.reader.spelling.event(self.text, spelt);
        Some(Item {
            raw: event.raw.text().as_bytes(),
            event: Ok(event),
            at: self.step(end + 1),
        })
    }

    /// A stream event that is no delta.
    fn streamed(&mut self) -> Option<Item<'a>> {
        let (end, event) = self.reader.spelling.read(self.text)?;
        if byte(self.text.as_bytes(), end) != b'\n' {
            return None;
        }
        Some(Item {
            raw: event.raw.text().as_bytes(),
            event: Ok(event),
            at: self.step(end + 1),
        })
    }

    #[inline(never)]
    fn next(&mut self) -> Option<Item<'a>> {
        loop {
            let rest = self.window.get(self.reader.seen..)?;
            let first = rest.first()?;
            if *first == b'{' || trim(line(rest)).first() == Some(&b'{') {
                return Some(self.object(rest));
            }
            if let Some(item) = self.no_object(rest) {
                return Some(item);
            }
        }
    }

    /// A line that does not begin like an object; none when it is blank.
    #[inline(never)]
    fn no_object(&mut self, rest: &'a [u8]) -> Option<Item<'a>> {
        if self.is_cut_mark(rest) {
            return Some(self.refuse(rest, 0, ParseErrorKind::Truncated));
        }
        let line = line(rest);
        if trim(line).is_empty() {
            self.step(line.len());
            return None;
        }
        Some(self.refuse(line, 0, ParseErrorKind::NotAnObject))
    }

    /// Whether the input ended inside a byte order mark.
    fn is_cut_mark(&self, rest: &[u8]) -> bool {
        self.is_tail && self.offset == 0 && BYTE_ORDER_MARK.starts_with(rest)
    }

    /// A line that begins like an object.
    #[inline(always)]
    fn object(&mut self, rest: &'a [u8]) -> Item<'a> {
        if self.text.is_empty() {
            match check(rest, self.is_dirty) {
                Ok(text) => self.text = text,
                Err(bad) => return self.not_utf8(line(rest), bad),
            }
            if let Some(item) = self.usual() {
                return item;
            }
        }
        if let Some(item) = self.streamed() {
            return item;
        }
        let mut envelope = Envelope::default();
        match event_line(self.text, &mut envelope) {
            Ok((behind, ())) => Item {
                raw: envelope.event.raw.text().as_bytes(),
                event: Ok(envelope.event),
                at: self.step(self.text.len() - behind.len()),
            },
            Err(nom::Err::Error(fault) | nom::Err::Failure(fault)) => self.fault(rest, fault),
            Err(nom::Err::Incomplete(_)) => self.fault(
                rest,
                Fault {
                    left: 0,
                    expected: Expected::Value,
                },
            ),
        }
    }

    fn fault(&mut self, rest: &'a [u8], fault: Fault) -> Item<'a> {
        let place = self.text.len() - fault.left;
        // No part of a valid object holds an LF, so the fault stands at the first one or before it.
        let end = rest.get(place..).and_then(|rest| memchr(b'\n', rest));
        let line = rest
            .get(..end.map_or(rest.len(), |end| place + end + 1))
            .unwrap_or(rest);
        let kind = if self.is_tail && fault.left == 0 {
            ParseErrorKind::Truncated
        } else {
            ParseErrorKind::Syntax(fault.expected)
        };
        self.refuse(line, place, kind)
    }

    fn not_utf8(&mut self, line: &'a [u8], bad: NotUtf8) -> Item<'a> {
        self.is_dirty = true;
        let kind = if self.is_tail && bad.cut {
            ParseErrorKind::Truncated
        } else {
            ParseErrorKind::NotUtf8
        };
        self.refuse(line, bad.at, kind)
    }

    /// Refuses `line`, the next one, for what stands `place` bytes behind its beginning.
    fn refuse(&mut self, line: &'a [u8], place: usize, kind: ParseErrorKind) -> Item<'a> {
        let offset = self.offset + (self.reader.seen + place) as u64;
        let error = ParseError::new(kind, offset, self.reader.line);
        Item {
            raw: trim_end(line),
            event: Err(error),
            at: self.step(line.len()),
        }
    }

    /// Moves behind the next line, of `length` bytes.
    #[inline(always)]
    fn step(&mut self, length: usize) -> Position {
        let offset = self.offset + self.reader.seen as u64;
        let at = Position {
            offset,
            end: offset + length as u64,
            line: self.reader.line,
            is_tail: self.is_tail,
        };
        self.reader.step(length);
        self.text = self.text.get(length..).unwrap_or_default();
        at
    }
}

/// The first line of `rest`, with its LF.
fn line(rest: &[u8]) -> &[u8] {
    memchr(b'\n', rest)
        .and_then(|end| rest.get(..=end))
        .unwrap_or(rest)
}

/// `*ws event *ws LF`
#[inline(always)]
fn event_line<'a>(input: &'a str, envelope: &mut Envelope<'a>) -> Parsed<'a, ()> {
    if input.starts_with('{') {
        let (input, ()) = walk(input, envelope)?;
        return end_of_line(input);
    }
    let (input, ()) = blank(input)?;
    let (input, ()) = walk(input, envelope)?;
    end_of_line(input)
}

/// Behind an event: space, then LF or the end of a tail.
#[inline(always)]
fn end_of_line(input: &str) -> Parsed<'_, ()> {
    match input.strip_prefix('\n') {
        Some(rest) => Ok((rest, ())),
        None => value((), preceded(blank, alt((tag("\n"), eof)))).parse(input),
    }
}

/// `ws`
fn blank(input: &str) -> Parsed<'_, ()> {
    value((), take_while(|c| matches!(c, ' ' | '\t' | '\r'))).parse(input)
}

fn trim(line: &[u8]) -> &[u8] {
    let start = line
        .iter()
        .position(|byte| !b" \t\r\n".contains(byte))
        .unwrap_or(line.len());
    trim_end(line.get(start..).unwrap_or_default())
}

/// Without the LF, and without one CR before it.
fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Where a line stops being UTF-8.
struct NotUtf8 {
    at: usize,
    /// The bytes end inside a character that could still become one.
    cut: bool,
}

/// The lines as text when all of them are UTF-8, and nothing otherwise.
fn fast_check(rest: &[u8]) -> &str {
    from_utf8(rest).unwrap_or_default()
}

/// The bytes as text, when they are UTF-8.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
fn from_utf8(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// Checks the next lines to be UTF-8: as many as stand before the first bad one, at least one.
///
/// The fast check reads everything to its end. Among bad lines that would be the same bytes again
/// and again, so there the standard one is used, which stops where it fails.
fn check(rest: &[u8], is_dirty: bool) -> Result<&str, NotUtf8> {
    if !is_dirty && let Some(text) = from_utf8(rest) {
        return Ok(text);
    }
    let error = match std::str::from_utf8(rest) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let valid = rest.get(..error.valid_up_to()).unwrap_or_default();
    let lines = memrchr(b'\n', valid)
        .and_then(|end| valid.get(..=end))
        .unwrap_or_default();
    match from_utf8(lines) {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(NotUtf8 {
            at: error.valid_up_to(),
            cut: error.error_len().is_none(),
        }),
    }
}
