//! The lines of a frame, parsed to events.

use memchr::{memchr, memmem, memrchr};

use crate::cut;
use crate::error::{ParseError, ParseErrorKind, SyntaxError};
use crate::event::{self, Body, Event};
use crate::frame::{Frame, Oversize, Window};
use crate::grammar::Cursor;
use crate::reader::LineReader;
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
use crate::simd::utf8::from_utf8;

/// The byte order mark in UTF-8, which some writers put before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One line and its event.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// Position in the stream.
    pub at: Position,
    /// The object of an event, without what precedes or follows it on its line. For an error, the line as
    /// it was received, without its LF and one CR before it; the first bytes of a line over the limit.
    pub raw: &'a [u8],
    /// The event, or why the line is not one.
    pub event: Result<Event<'a>, ParseError>,
}

/// The position of a line in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Offset of its first byte, from 0.
    pub offset: u64,
    /// Offset after its LF: the beginning of the next line.
    pub end: u64,
    /// Number of the line, from 1.
    pub line: u64,
    /// Whether the input ended without an LF after the line, so that more of it may follow.
    pub is_tail: bool,
}

/// Iterator over the lines of one frame, which are parsed in place. Blank lines are skipped. A line
/// that was cut short and continues with a whole one gives two items.
#[derive(Debug)]
pub struct Items<'a>(FrameItems<'a>);

#[derive(Debug)]
enum FrameItems<'a> {
    Lines(Lines<'a>),
    Oversize(Option<Oversize<'a>>),
}

impl<'a> Frame<'a> {
    /// Returns the lines of the frame, which are parsed one by one. Lines that are not consumed are
    /// skipped.
    #[must_use]
    pub fn items(self) -> Items<'a> {
        Items(match self {
            Self::Lines(window) => FrameItems::Lines(Lines::new(window)),
            Self::Oversize(over) => FrameItems::Oversize(Some(over)),
        })
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Item<'a>> {
        match &mut self.0 {
            // A delta is matched inline, without a call, and so is the end.
            FrameItems::Lines(lines) if lines.text.is_empty() => {
                let is_read = lines.reader.read() == lines.window.len();
                if is_read { None } else { lines.next() }
            }
            FrameItems::Lines(lines) => match lines.delta() {
                Some(item) => Some(item),
                None => lines.next(),
            },
            FrameItems::Oversize(over) => over.take().map(oversize),
        }
    }
}

fn oversize(over: Oversize<'_>) -> Item<'_> {
    over.reader.advance(1);
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

/// The lines of a window.
#[derive(Debug)]
struct Lines<'a> {
    window: &'a [u8],
    offset: u64,
    is_tail: bool,
    /// Whole lines after what was read, as far as they were checked to be UTF-8.
    text: &'a str,
    /// Whether bytes that are not UTF-8 were found: more are likely.
    is_dirty: bool,
    reader: &'a mut LineReader,
}

impl<'a> Lines<'a> {
    fn new(window: Window<'a>) -> Self {
        let mark = window.offset == 0 && window.bytes.starts_with(BYTE_ORDER_MARK);
        let start = if mark { BYTE_ORDER_MARK.len() } else { 0 };
        window.reader.skip(start);
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

    /// The next line when it is a delta that matches the template.
    #[inline(always)]
    fn delta(&mut self) -> Option<Item<'a>> {
        let line = Cursor::new(self.text);
        let (end, matched) = self.reader.template.delta(line).ok()?;
        if end.first() != b'\n' {
            return None;
        }
        let event = self.reader.template.event(line, end, matched);
        Some(self.item(event, end.at() + 1))
    }

    /// The next line when it is a stream event in the common envelope.
    fn stream_event(&mut self) -> Option<Item<'a>> {
        let line = Cursor::new(self.text);
        let (end, matched) = self.reader.template.stream_event(line).ok()?;
        if end.first() != b'\n' {
            return None;
        }
        let event = self.reader.template.event(line, end, matched);
        Some(self.item(event, end.at() + 1))
    }

    /// The event of the next line, which has `length` bytes with its LF.
    #[inline(always)]
    fn item(&mut self, event: Event<'a>, length: usize) -> Item<'a> {
        Item {
            raw: event.raw.text().as_bytes(),
            event: Ok(event),
            at: self.advance(length),
        }
    }

    #[inline(never)]
    fn next(&mut self) -> Option<Item<'a>> {
        loop {
            let rest = self.window.get(self.reader.read()..)?;
            let first = rest.first()?;
            if *first == b'{' || trim(line(rest)).first() == Some(&b'{') {
                return Some(self.object(rest));
            }
            if let Some(item) = self.no_object(rest) {
                return Some(item);
            }
        }
    }

    /// A line that does not begin with `{`; none when it is blank.
    #[inline(never)]
    fn no_object(&mut self, rest: &'a [u8]) -> Option<Item<'a>> {
        if self.is_cut_mark(rest) {
            return Some(self.refuse(rest, 0, ParseErrorKind::Truncated));
        }
        let line = line(rest);
        if trim(line).is_empty() {
            self.advance(line.len());
            return None;
        }
        let after_noise = self.object_after_noise(line);
        Some(after_noise.unwrap_or_else(|| self.refuse(line, 0, ParseErrorKind::NotAnObject)))
    }

    /// A line whose object follows what a terminal or another program wrote before it, such as an
    /// escape sequence. The object must have a `type`, so that no other JSON text is taken for it.
    fn object_after_noise(&mut self, line: &'a [u8]) -> Option<Item<'a>> {
        let start = memmem::find(line, b"{\"")?;
        let text = from_utf8(line.get(start..)?)?;
        match event::event(Cursor::new(text)) {
            Ok((_, event)) => {
                let has_type = !matches!(event.body, Body::Unknown { kind: None });
                has_type.then(|| self.item(event, line.len()))
            }
            Err(nom::Err::Error(error)) if self.is_tail && error.at() == text.len() => {
                Some(self.refuse(line, line.len(), ParseErrorKind::Truncated))
            }
            Err(nom::Err::Error(error)) => {
                let next = cut::next_line(line, start + error.at())?;
                Some(self.cut_line(line, next, ParseErrorKind::NotAnObject))
            }
            Err(_) => None,
        }
    }

    /// Whether the input ends inside a byte order mark.
    fn is_cut_mark(&self, rest: &[u8]) -> bool {
        self.is_tail && self.offset == 0 && BYTE_ORDER_MARK.starts_with(rest)
    }

    /// A line that begins with `{`.
    #[inline(always)]
    fn object(&mut self, rest: &'a [u8]) -> Item<'a> {
        if self.text.is_empty() {
            match check(rest, self.is_dirty) {
                Ok(text) => self.text = text,
                Err(bad) => return self.not_utf8(line(rest), bad),
            }
            if let Some(item) = self.delta() {
                return item;
            }
        }
        if let Some(item) = self.stream_event() {
            return item;
        }
        match event::event(Cursor::new(self.text)) {
            Ok((end, event)) => self.item(event, end.at()),
            Err(error) => self.syntax_error(rest, error),
        }
    }

    fn syntax_error(&mut self, rest: &'a [u8], error: nom::Err<SyntaxError>) -> Item<'a> {
        let (nom::Err::Error(error) | nom::Err::Failure(error)) = error else {
            // Parsers of complete input never ask for more.
            return self.refuse(rest, 0, ParseErrorKind::Truncated);
        };
        let place = error.at();
        // No part of a valid object holds an LF, so that the error is at the first one or before it.
        let end = rest.get(place..).and_then(|rest| memchr(b'\n', rest));
        let line = rest
            .get(..end.map_or(rest.len(), |end| place + end + 1))
            .unwrap_or(rest);
        if self.is_tail && place == self.text.len() {
            return self.refuse(line, place, ParseErrorKind::Truncated);
        }
        let kind = ParseErrorKind::Syntax(error.expected());
        match cut::next_line(line, place) {
            Some(start) => self.cut_line(line, start, kind),
            None => self.refuse(line, place, kind),
        }
    }

    /// The part of `line` before `start`, where another line begins. It is an event if it lacks nothing
    /// but its LF.
    fn cut_line(&mut self, line: &'a [u8], start: usize, kind: ParseErrorKind) -> Item<'a> {
        let raw = line.get(..start).unwrap_or_default();
        let offset = self.offset + self.reader.read() as u64;
        let at = Position {
            offset,
            end: offset + start as u64,
            line: self.reader.line(),
            is_tail: false,
        };
        self.reader.skip(start);
        let text = std::str::from_utf8(raw).ok();
        self.text = self.text.get(start..).unwrap_or_default();
        let event = text.and_then(|text| event::event(Cursor::new(text)).ok());
        Item {
            at,
            raw: trim_end(raw),
            event: match event {
                Some((_, event)) => Ok(event),
                None => Err(ParseError::new(kind, at.end, at.line)),
            },
        }
    }

    fn not_utf8(&mut self, line: &'a [u8], bad: NotUtf8) -> Item<'a> {
        self.is_dirty = true;
        let kind = if self.is_tail && bad.cut {
            ParseErrorKind::Truncated
        } else {
            ParseErrorKind::NotUtf8
        };
        match cut::next_line(line, bad.at) {
            Some(start) => self.cut_line(line, start, ParseErrorKind::NotUtf8),
            None => self.refuse(line, bad.at, kind),
        }
    }

    /// Refuses `line`, the next one, for the byte at index `place` in it.
    fn refuse(&mut self, line: &'a [u8], place: usize, kind: ParseErrorKind) -> Item<'a> {
        let offset = self.offset + (self.reader.read() + place) as u64;
        let error = ParseError::new(kind, offset, self.reader.line());
        Item {
            raw: trim_end(line),
            event: Err(error),
            at: self.advance(line.len()),
        }
    }

    /// Consumes the next line, which has `length` bytes.
    #[inline(always)]
    fn advance(&mut self, length: usize) -> Position {
        let offset = self.offset + self.reader.read() as u64;
        let at = Position {
            offset,
            end: offset + length as u64,
            line: self.reader.line(),
            is_tail: self.is_tail,
        };
        self.reader.advance(length);
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

fn trim(line: &[u8]) -> &[u8] {
    let start = line
        .iter()
        .position(|byte| !b" \t\r\n".contains(byte))
        .unwrap_or(line.len());
    trim_end(line.get(start..).unwrap_or_default())
}

/// The line without the LF, and without one CR before it.
fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The place where a line stops being UTF-8.
struct NotUtf8 {
    at: usize,
    /// Whether the bytes end inside a character that may be completed.
    cut: bool,
}

/// The lines as text when all of them are UTF-8; an empty text otherwise.
fn fast_check(rest: &[u8]) -> &str {
    from_utf8(rest).unwrap_or_default()
}

/// The bytes as text when they are UTF-8.
#[cfg(not(all(feature = "simd", target_arch = "x86_64")))]
fn from_utf8(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// Returns the lines before the first one that is not UTF-8, or where the first line stops being it.
///
/// The fast check reads everything to its end. Among bad lines it would read the same bytes again and
/// again, so that the standard one is used there, which stops at the first bad byte.
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
