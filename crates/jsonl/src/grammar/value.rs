//! `value = object / array / string / number / "true" / "false" / "null"`
//!
//! Most bytes of a line are members that no record names. They are skipped with full validation.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::char;
use nom::combinator::{opt, value as constant};
use nom::sequence::{preceded, terminated};
use nom::{IResult, Parser};

use crate::error::{Expected, SyntaxError};
use crate::grammar::cursor::{Cursor, Parsed, ParsedAt, index};
use crate::grammar::number::{number, short_integer};
use crate::grammar::string::{compact_end, names_end, skip_string, string};
use crate::text::Str;

/// Levels that objects and arrays may nest inside a member that is kept as text.
///
/// Typed members add at most six levels, so that what is read of a line stays under the 128 levels at
/// which `serde_json` stops.
const MEMBER_DEPTH: u32 = 120;

/// `ws = *( %x20 / %x09 / %x0D )`: without LF, which ends the line.
#[inline(always)]
pub(crate) fn space(input: Cursor<'_>) -> Parsed<'_> {
    if input.first() > b' ' {
        return Ok((input, ()));
    }
    input.call(long_space)
}

#[inline(never)]
fn long_space(text: &str, at: usize) -> ParsedAt {
    let space = take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    index(constant((), space).parse(Cursor::at_index(text, at)))
}

/// Skips a value that nests at most [`MEMBER_DEPTH`] levels.
#[inline(always)]
pub(crate) fn member(input: Cursor<'_>) -> Parsed<'_> {
    input.call(member_at)
}

/// Objects and arrays are skipped at once where the machine can, and value by value otherwise, so that no
/// byte is read more than twice.
#[inline(never)]
fn member_at(text: &str, at: usize) -> ParsedAt {
    let input = Cursor::at_index(text, at);
    if let [open @ (b'{' | b'['), second, ..] = input.rest() {
        // Each closing bracket is two after its opening one.
        if *second == open + 2 {
            return Ok((at + 2, ()));
        }
        let end = names(input).ok().map(|(end, ())| end.at());
        if let Some(end) = end.or_else(|| compact(input)) {
            return Ok((end, ()));
        }
    }
    value_at(text, at, MEMBER_DEPTH)
}

/// Index after the object or array at `input`, if it is written without whitespace and the machine can
/// read it at once.
#[inline(always)]
fn compact(input: Cursor<'_>) -> Option<usize> {
    let scalar_end = |at| Some(scalar(input.with(at)).ok()?.0.at());
    compact_end(
        input.text().as_bytes(),
        input.at(),
        MEMBER_DEPTH,
        scalar_end,
    )
}

/// Skips a value of any depth.
#[inline]
pub(crate) fn skip(input: Cursor<'_>) -> Parsed<'_> {
    match member(input) {
        Err(nom::Err::Error(error)) if error.expected() == Expected::LessNesting => {
            input.call(deep_value_at)
        }
        parsed => parsed,
    }
}

/// [`value`] of any depth, without recursion.
#[cold]
fn deep_value_at(text: &str, at: usize) -> ParsedAt {
    let mut input = Cursor::at_index(text, at);
    // The brackets that close the objects and arrays around `input`, the next one last.
    let mut open = Vec::new();
    loop {
        let brackets = match input.first() {
            b'{' => Some(('{', '}')),
            b'[' => Some(('[', ']')),
            _ => None,
        };
        let mut next = Next::End;
        if let Some((start, close)) = brackets {
            (input, next) = first_item(input, start, close)?;
            if next == Next::Item {
                open.push(close);
            }
        } else {
            (input, ()) = value(input, 0)?;
        }
        while next == Next::End {
            let Some(&close) = open.last() else {
                return Ok((input.at(), ()));
            };
            (input, next) = next_item(input, close)?;
            if next == Next::End {
                open.pop();
            }
        }
        if open.last() == Some(&'}') {
            (input, ()) = member_key(skip_string)(input)?;
        }
    }
}

/// Skips a value that nests at most `depth` levels.
#[inline(always)]
fn value(input: Cursor<'_>, depth: u32) -> Parsed<'_> {
    input.call(|text, at| value_at(text, at, depth))
}

/// The recursion is as deep as the value.
fn value_at(text: &str, at: usize, depth: u32) -> ParsedAt {
    let input = Cursor::at_index(text, at);
    let (end, ()) = match input.first() {
        b'"' => skip_string(input)?,
        b'{' => {
            let depth = inner_depth(input, '}', depth)?;
            list(input, '{', '}', |input| {
                nested(member_key(skip_string)(input)?.0, depth)
            })?
        }
        b'[' => {
            let depth = inner_depth(input, ']', depth)?;
            match names(input) {
                Ok(end) => end,
                Err(_) => list(input, '[', ']', |input| nested(input, depth))?,
            }
        }
        b'0'..=b'9' if let Ok((end, _)) = short_integer(input) => (end, ()),
        _ => input.call(|text, at| index(scalar(Cursor::at_index(text, at))))?,
    };
    Ok((end.at(), ()))
}

/// Skips a number or a literal.
#[inline(always)]
fn scalar(input: Cursor<'_>) -> Parsed<'_> {
    match input.first() {
        b'-' | b'0'..=b'9' => number(input),
        b't' => literal(input, "true"),
        b'f' => literal(input, "false"),
        b'n' => literal(input, "null"),
        _ => input.error(Expected::Value),
    }
}

/// [`value`] inside another one: strings need no call.
#[inline(always)]
fn nested(input: Cursor<'_>, depth: u32) -> Parsed<'_> {
    if input.first() == b'"' {
        skip_string(input)
    } else {
        value(input, depth)
    }
}

/// Skips an array of short strings, where the machine can scan it at once.
#[inline(always)]
fn names(input: Cursor<'_>) -> Parsed<'_> {
    let end = if input.rest().starts_with(b"[\"") {
        names_end(input.text().as_bytes(), input.at() + 1)
    } else {
        None
    };
    match end {
        Some(end) => Ok((input.with(end), ())),
        None => input.error(Expected::Value),
    }
}

/// Levels that are left inside the container at `input`; an empty one needs none.
#[inline(always)]
fn inner_depth(input: Cursor<'_>, close: char, depth: u32) -> Result<u32, nom::Err<SyntaxError>> {
    match depth.checked_sub(1) {
        Some(depth) => Ok(depth),
        None => empty_depth(input.text(), input.at(), close),
    }
}

#[cold]
fn empty_depth(text: &str, at: usize, close: char) -> Result<u32, nom::Err<SyntaxError>> {
    let input = Cursor::at_index(text, at);
    let (inside, ()) = space(input.advance(1))?;
    if char::from(inside.first()) == close {
        return Ok(0);
    }
    Err(nom::Err::Error(SyntaxError::new(at, Expected::LessNesting)))
}

#[inline]
fn literal<'a>(input: Cursor<'a>, word: &'static str) -> Parsed<'a> {
    constant((), tag::<_, _, SyntaxError>(word))
        .parse(input)
        .or_else(|_| {
            // The error is after the part that fits, so that a cut literal is seen as cut.
            let fits = input
                .rest()
                .iter()
                .zip(word.as_bytes())
                .take_while(|(a, b)| a == b);
            input.advance(fits.count()).error(Expected::Value)
        })
}

/// Skips the value of a member whose type is another than the expected one, usually `null`.
#[inline(always)]
pub(crate) fn null_or_skip(input: Cursor<'_>) -> Parsed<'_> {
    let null: IResult<_, _, SyntaxError> = tag("null").parse(input);
    match null {
        Ok((end, _)) => Ok((end, ())),
        Err(_) => skip(input),
    }
}

/// What follows an opening bracket or an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another item, at the returned cursor.
    Item,
    /// Nothing: the closing bracket was consumed.
    End,
}

/// `open [ item *( "," item ) ] close`
#[inline(always)]
fn list<'a>(
    input: Cursor<'a>,
    open: char,
    close: char,
    mut item: impl FnMut(Cursor<'a>) -> Parsed<'a>,
) -> Parsed<'a> {
    let (mut input, mut next) = first_item(input, open, close)?;
    while next == Next::Item {
        (input, ()) = item(input)?;
        (input, next) = next_item(input, close)?;
    }
    Ok((input, ()))
}

/// `object = "{" [ member *( "," member ) ] "}"`, in any order of members.
#[inline(always)]
pub(crate) fn object<'a>(
    input: Cursor<'a>,
    mut parse_value: impl FnMut(Str<'a>, Cursor<'a>) -> Parsed<'a>,
) -> Parsed<'a> {
    list(input, '{', '}', |input| {
        let (value, name) = key(input)?;
        parse_value(name, value)
    })
}

/// `array = "[" [ value *( "," value ) ] "]"`
#[inline(always)]
pub(crate) fn array<'a>(
    input: Cursor<'a>,
    parse_value: impl FnMut(Cursor<'a>) -> Parsed<'a>,
) -> Parsed<'a> {
    list(input, '[', ']', parse_value)
}

/// The opening bracket of an object, up to its first member or its end.
#[inline(always)]
pub(crate) fn first_member(input: Cursor<'_>) -> Parsed<'_, Next> {
    first_item(input, '{', '}')
}

/// The comma after a member, or the end of the object.
#[inline(always)]
pub(crate) fn next_member(input: Cursor<'_>) -> Parsed<'_, Next> {
    // As the agent writes it.
    if input.rest().first_chunk() == Some(b",\"") {
        return Ok((input.advance(1), Next::Item));
    }
    next_item(input, '}')
}

/// `open ws`, and the closing bracket when nothing is inside.
#[inline(always)]
fn first_item(input: Cursor<'_>, open: char, close: char) -> Parsed<'_, Next> {
    let (input, _) = terminated(char(open), space).parse(input)?;
    let (input, end) = opt(char(close)).parse(input)?;
    Ok((input, if end.is_some() { Next::End } else { Next::Item }))
}

/// `ws "," ws`, or `ws` and the closing bracket.
#[inline(always)]
fn next_item(input: Cursor<'_>, close: char) -> Parsed<'_, Next> {
    let comma = constant(Next::Item, terminated(char(','), space));
    let end = constant(Next::End, char(close));
    preceded(space, alt((comma, end))).parse(input)
}

/// `string ws ":" ws`: the key of a member, up to its value.
#[inline(always)]
pub(crate) fn key(input: Cursor<'_>) -> Parsed<'_, Str<'_>> {
    member_key(string)(input)
}

/// [`key`] with a parser for the string.
#[inline(always)]
fn member_key<'a, T>(
    mut string: impl FnMut(Cursor<'a>) -> Parsed<'a, T>,
) -> impl FnMut(Cursor<'a>) -> Parsed<'a, T> {
    move |input| {
        if input.first() != b'"' {
            return input.error(Expected::Key);
        }
        let (input, name) = string(input)?;
        let (input, _) = (space, char(':'), space).parse(input)?;
        Ok((input, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the value is skipped at once; it must end where it ends value by value then.
    fn is_compact(text: &str) -> bool {
        let end = compact(Cursor::new(text));
        if end.is_some() {
            let by_value = value_at(text, 0, MEMBER_DEPTH).ok();
            assert_eq!(by_value.map(|(end, ())| end), end, "{text}");
        }
        end.is_some()
    }

    fn samples() -> [String; 4] {
        let deep = format!("{}{}", r#"[{"a":"#.repeat(28), "}]".repeat(28)).replace(":}", ":[]}");
        let long = format!(
            r#"{{"stdout":"{}","lines":[{}],"":"{}\\"}}"#,
            r#"a\"b\\n\u00e9 →{"#.repeat(30),
            "7,".repeat(90) + "12345678901234567890",
            "x".repeat(200),
        );
        [
            r#"{"claude":{"in":40648,"out":0,"cost":0.163692,"e":-1.5E+3,"list":[],"no":{},"n":null},"x":[true,false,"a",[0,10,{"b":[[1],"c"]}]],"y":""}"#.into(),
            r#"[{"type":"text","text":"two\nlines, \"quoted\": {[]}"},{"type":"x","é":"€"},-0,[1e5]]"#.into(),
            deep,
            long,
        ]
    }

    #[test]
    fn containers_without_whitespace_are_skipped_at_once() {
        // The machine may lack the vector instructions.
        let is_accelerated = is_compact(r#"{"a":1}"#);
        for sample in samples() {
            for length in 0..70 {
                let shifted = format!(r#"{{"{}":{sample}}},"b":1}}"#, "k".repeat(length));
                assert_eq!(is_compact(&shifted), is_accelerated, "{shifted}");
            }
        }
    }

    /// Every sample with one byte after its bracket that is missing, replaced or inserted.
    #[test]
    fn broken_containers_are_left_to_the_grammar() {
        for sample in samples() {
            for place in 1..sample.len() {
                for byte in [
                    "", "\"", "\\", ",", ":", "]", "}", "[", "{", " ", "\n", "\u{1}", "a", "0",
                    "1", "-", ".", "é", "\",\"", "\":",
                ] {
                    for kept in [place, place + 1] {
                        // None inside a character.
                        if let (Some(before), Some(after)) =
                            (sample.get(..place), sample.get(kept..))
                        {
                            is_compact(before);
                            is_compact(&[before, byte, after, "},1]}"].concat());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn nesting_and_numbers_keep_their_bounds() {
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(!is_compact(&nested(61)));
        assert_eq!(is_compact(&nested(60)), is_compact("[1]"));
        for number in ["1e999", "01", "-", "1.", "nul", "truee", "+1", "--1", "0x1"] {
            for padding in 0..70 {
                let array = format!(r#"["{}",{number}]"#, "p".repeat(padding));
                assert!(!is_compact(&array), "{array}");
            }
        }
        let infinite = format!("[{}]", "9".repeat(400));
        assert!(!is_compact(&infinite));
    }
}
