//! Comparison with `serde_json`.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use bowline_jsonl::{Expected, Item, JsonKind, ParseErrorKind, RawJson};
use serde_json::Value;

use crate::cut::whole;
use crate::shipped::each;

/// A byte order mark, which is permitted before the first line.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the number of accepted and of refused lines, or the first line on which `serde_json`
/// differs.
pub(crate) fn judge(stream: &[u8]) -> Result<[u64; 2], String> {
    let mut counts = [0; 2];
    let mut wrong = None;
    let mut next = 0;
    let seen = each(&whole(stream), |item| {
        counts[usize::from(item.event.is_err())] += 1;
        let range = item.at.offset as usize..item.at.end as usize;
        let line = stream.get(range.clone()).unwrap_or_default();
        let is_skipped = is_blank(stream, next..range.start);
        next = range.end;
        if !is_skipped {
            wrong = Some("bytes before it are in no line".to_owned());
        }
        match differs(&item, line) {
            None if wrong.is_none() => return Ok(()),
            None => {}
            Some(difference) => wrong = Some(difference),
        }
        wrong = wrong
            .take()
            .map(|difference| format!("{difference}: {}", line.escape_ascii()));
        Err(fmt::Error)
    });
    match (seen, wrong) {
        (Err(_), Some(wrong)) => Err(wrong),
        _ if is_blank(stream, next..stream.len()) => Ok(counts),
        _ => Err("bytes at the end are in no line".to_owned()),
    }
}

/// Returns whether a part of the stream contains no line.
fn is_blank(stream: &[u8], part: Range<usize>) -> bool {
    let mark = if part.start == 0 { MARK } else { &[] };
    let bytes = stream.get(part).unwrap_or_default();
    let bytes = bytes.strip_prefix(mark).unwrap_or(bytes);
    bytes.iter().all(|byte| b" \t\r\n".contains(byte))
}

/// Returns the difference.
fn differs(item: &Item<'_>, line: &[u8]) -> Option<String> {
    let theirs = parse_line(line);
    match (&item.event, theirs) {
        (Ok(_), Err(error)) if error.starts_with(RECURSION) => None,
        (Ok(event), Ok(value)) if is_same(event.raw, &value) => None,
        (Ok(_), Ok(_)) => Some("serde_json reads other values".to_owned()),
        (Ok(_), Err(error)) => Some(format!("serde_json refuses: {error}")),
        (Err(error), Ok(_)) if error.kind() != TOO_DEEP => {
            Some(format!("serde_json takes: {error}"))
        }
        (Err(_), _) => None,
    }
}

/// Both limit nesting, at different depths.
const TOO_DEEP: ParseErrorKind = ParseErrorKind::Syntax(Expected::LessNesting);

/// Error of `serde_json` for a deep value, which this parser may skip.
const RECURSION: &str = "recursion limit exceeded";

/// Parses the object of a line: all of it, or an object with a `type` after other text.
fn parse_line(line: &[u8]) -> Result<Value, String> {
    let object = object(line);
    let value = parse(object)?;
    if object.len() == line.len() || value.get("type").is_some_and(Value::is_string) {
        Ok(value)
    } else {
        Err("an object without a type after other text".to_owned())
    }
}

/// Returns the part of a line from its object on.
pub(crate) fn object(line: &[u8]) -> &[u8] {
    let first = line.iter().find(|byte| !b" \t\r\n".contains(byte));
    let start = match first {
        Some(b'{') => None,
        _ => line.windows(2).position(|bytes| bytes == b"{\""),
    };
    start.and_then(|start| line.get(start..)).unwrap_or(line)
}

/// Parses an object with lone surrogates replaced.
fn parse(line: &[u8]) -> Result<Value, String> {
    let text = str::from_utf8(line).map_err(|error| error.to_string())?;
    match serde_json::from_str(&whole_pairs(text)) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("not an object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the line with every lone surrogate replaced by a replacement character. A backslash
/// outside of a string is an error in any case.
fn whole_pairs(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, escape)) = rest.split_once('\\') {
        out += before;
        let low = escape
            .get(5..)
            .and_then(|rest| unit(rest.strip_prefix('\\')?));
        let taken = match (unit(escape), low) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 11,
            (Some(0xd800..0xe000), _) => {
                out += "\\ufffd";
                rest = escape.get(5..).unwrap_or_default();
                continue;
            }
            _ => escape.chars().next().map_or(0, char::len_utf8),
        };
        let (taken, after) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        out.push('\\');
        out += taken;
        rest = after;
    }
    out + rest
}

/// Returns the UTF-16 unit of an escape after its backslash.
fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

fn is_same(ours: RawJson<'_>, theirs: &Value) -> bool {
    match (ours.kind(), theirs) {
        (JsonKind::Object, Value::Object(members)) => {
            let ours = ours
                .members()
                .map(|(key, value)| (key.decode().into_owned(), value));
            // The last of several members with the same name is used.
            let ours: HashMap<_, _> = ours.collect();
            let same = |(key, value): (&String, _)| {
                ours.get(key).is_some_and(|&ours| is_same(ours, value))
            };
            ours.len() == members.len() && members.iter().all(same)
        }
        (JsonKind::Array, Value::Array(elements)) => {
            let ours: Vec<_> = ours.elements().collect();
            let both = ours.iter().zip(elements);
            ours.len() == elements.len() && both.into_iter().all(|(&a, b)| is_same(a, b))
        }
        (JsonKind::String, Value::String(text)) => ours
            .as_str()
            .is_some_and(|ours| ours.decode() == text.as_str()),
        (JsonKind::Number, Value::Number(number)) => {
            let [ours, theirs] = [ours.as_f64(), number.as_f64()].map(|it| it.map(f64::to_bits));
            ours == theirs
        }
        (JsonKind::Bool, Value::Bool(theirs)) => ours.as_bool() == Some(*theirs),
        (JsonKind::Null, Value::Null) => true,
        _ => false,
    }
}
