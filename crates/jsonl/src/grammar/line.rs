//! `line = ws object ws LF`: the envelope that every line has, and its end.

use nom::Parser as _;
use nom::branch::alt;
use nom::character::complete::char;
use nom::combinator::{eof, value};
use nom::sequence::{delimited, preceded};

use crate::grammar::cursor::{Cursor, Parsed, ParsedAt, index};
use crate::grammar::known::{Known, KnownMembers};
use crate::grammar::record::{Field as _, Record, any_member, common_members, spelled};
use crate::grammar::string::{string, uuid};
use crate::grammar::value::{Next, next_member, skip, space};
use crate::text::Str;

/// One line of the window: an object in `space`, and the end of the line.
#[inline(always)]
pub(crate) fn line<'a, T>(
    input: Cursor<'a>,
    object: impl FnMut(Cursor<'a>) -> Parsed<'a, T>,
) -> Parsed<'a, T> {
    delimited(space, object, line_end).parse(input)
}

/// After an object: space, then LF or the end of the input.
#[inline(always)]
fn line_end(input: Cursor<'_>) -> Parsed<'_> {
    // As the agent writes it.
    if input.first() == b'\n' {
        return Ok((input.advance(1), ()));
    }
    let end = alt((value((), char('\n')), value((), eof)));
    preceded(space, end).parse(input)
}

/// The members that lines of every type have.
#[derive(Debug, Default)]
pub(crate) struct Envelope<'a> {
    pub(crate) kind: Option<Str<'a>>,
    pub(crate) uuid: Option<Str<'a>>,
    pub(crate) session_id: Option<Str<'a>>,
    pub(crate) parent_tool_use_id: Option<Str<'a>>,
}

impl<'a> Record<'a> for Envelope<'a> {
    #[inline(always)]
    fn common_members(&mut self, input: Cursor<'a>) -> Parsed<'a, Next> {
        input.call(|text, at| self.common_members_at(text, at))
    }

    fn member(&mut self, key: &str, value: Cursor<'a>) -> Parsed<'a> {
        match key {
            "type" => self.kind.parse(value),
            "uuid" => self.uuid.parse(value),
            "session_id" => self.session_id.parse(value),
            "parent_tool_use_id" => self.parent_tool_use_id.parse(value),
            _ => skip(value),
        }
    }

    fn known_members() -> KnownMembers {
        ["type", "uuid", "session_id", "parent_tool_use_id"]
            .map(|name| (name, Known::Value))
            .to_vec()
    }
}

impl<'a> Envelope<'a> {
    #[inline(never)]
    fn common_members_at(&mut self, text: &'a str, at: usize) -> ParsedAt<Next> {
        index(self.spelled_members(Cursor::at_index(text, at)))
    }

    #[inline(always)]
    fn spelled_members(&mut self, input: Cursor<'a>) -> Parsed<'a, Next> {
        common_members!(input;
            r#""parent_tool_use_id":null,"session_id":"# => |value| {
                self.parent_tool_use_id = None;
                id(&mut self.session_id, value)
            },
            r#""session_id":"# => |value| id(&mut self.session_id, value),
            r#""parent_tool_use_id":"# => |value| self.parent_tool_use_id.parse(value),
            r#""session_id":"# => |value| id(&mut self.session_id, value),
            r#""uuid":"# => |value| id(&mut self.uuid, value),
            r#""session_id":"# => |value| id(&mut self.session_id, value),
            r#""type":"# => |value| self.kind.parse(value),
        )
    }
}

/// A string that is usually a UUID.
#[inline(always)]
fn id<'a>(place: &mut Option<Str<'a>>, input: Cursor<'a>) -> Parsed<'a> {
    let Ok((input, value)) = uuid(input) else {
        return place.parse(input);
    };
    *place = Some(value);
    Ok((input, ()))
}

/// A line of a type that has no members of its own.
impl<'a> Record<'a> for () {
    fn common_members(&mut self, input: Cursor<'a>) -> Parsed<'a, Next> {
        Ok((input, Next::Item))
    }

    fn member(&mut self, _key: &str, value: Cursor<'a>) -> Parsed<'a> {
        skip(value)
    }
}

/// The members of a line from `next` on: the envelope takes its own, `record` the others.
#[inline(always)]
pub(crate) fn line_members<'a>(
    mut input: Cursor<'a>,
    mut next: Next,
    envelope: &mut Envelope<'a>,
    record: &mut impl Record<'a>,
) -> Parsed<'a> {
    while next == Next::Item {
        let start = input.at();
        (input, next) = record.common_members(input)?;
        if next == Next::Item {
            (input, next) = envelope.common_members(input)?;
        }
        if next == Next::Item && input.at() == start {
            (input, ()) = any_member(input, |key, value| match key {
                "type" | "uuid" | "session_id" | "parent_tool_use_id" => {
                    envelope.member(key, value)
                }
                _ => record.member(key, value),
            })?;
            (input, next) = next_member(input)?;
        }
    }
    Ok((input, ()))
}

/// A member with a string value that is spelled like `spelling` (a key in quotes, with its colon), up
/// to the next member; none for every other member.
#[inline(always)]
pub(crate) fn string_member<'a>(
    input: Cursor<'a>,
    spelling: &'static str,
) -> Parsed<'a, Option<(Str<'a>, Next)>> {
    match spelled(input, spelling) {
        Ok((value, ())) if value.first() == b'"' => {
            let (input, string) = string(value)?;
            let (input, next) = next_member(input)?;
            Ok((input, Some((string, next))))
        }
        _ => Ok((input, None)),
    }
}
