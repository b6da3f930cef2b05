//! Objects whose members are known: each member is parsed into the field of a struct.

use std::str::FromStr;

use nom::Parser as _;
use nom::bytes::complete::tag;
use nom::sequence::preceded;

use crate::grammar::cursor::{Cursor, Parsed, ParsedAt, index};
use crate::grammar::known::{Known, KnownMembers};
use crate::grammar::number::{number, short_decimal, short_integer};
use crate::grammar::string::string;
use crate::grammar::value::{Next, first_member, key, next_member, null_or_skip, skip, space};
use crate::text::Str;

/// A value that can be parsed into its place.
///
/// A JSON value of another type resets the place to "nothing" and is skipped: the agent uses one key
/// for values of several types (`message` is a string on `system/permission_denied`).
pub(crate) trait Field<'a> {
    /// Parses the value at index `at` of `text` into `self`.
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt;

    /// Parses the value at `input` into `self`.
    #[inline(always)]
    fn parse(&mut self, input: Cursor<'a>) -> Parsed<'a> {
        // Without a closure, which compilers may not inline.
        let (end, ()) = self.parse_at(input.text(), input.at())?;
        Ok((input.with(end), ()))
    }

    /// Returns what is known of such a value.
    fn known() -> Known {
        Known::Value
    }
}

/// An object whose members are parsed into fields, in any order; the last of two equal keys wins.
pub(crate) trait Record<'a>: Default {
    /// Parses members for as long as they are spelled and ordered as the agent does. Such a member
    /// needs no search for the end of its key and no lookup. Returns what follows them.
    fn common_members(&mut self, input: Cursor<'a>) -> Parsed<'a, Next>;

    /// Parses the value of `key`, or skips it.
    fn member(&mut self, key: &str, value: Cursor<'a>) -> Parsed<'a>;

    /// Returns the members that are read, or skipped by name.
    fn known_members() -> KnownMembers {
        KnownMembers::new()
    }

    /// Parses the object at `input`.
    #[inline(always)]
    fn object(&mut self, input: Cursor<'a>) -> Parsed<'a> {
        let (mut input, mut next) = first_member(input)?;
        loop {
            if next == Next::Item {
                (input, next) = self.common_members(input)?;
            }
            if next == Next::End {
                return Ok((input, ()));
            }
            (input, ()) = any_member(input, |key, value| self.member(key, value))?;
            (input, next) = next_member(input)?;
        }
    }
}

/// Returns what is known of a value of this type.
pub(crate) fn known_of<'a, T: Field<'a>>(_: &T) -> Known {
    T::known()
}

/// Returns the members that are known of a record.
pub(crate) fn members_of<'a, R: Record<'a>>(_: &R) -> KnownMembers {
    R::known_members()
}

/// `member = key value`, with the key decoded.
#[inline(always)]
pub(crate) fn any_member<'a>(
    input: Cursor<'a>,
    parse_value: impl FnOnce(&str, Cursor<'a>) -> Parsed<'a>,
) -> Parsed<'a> {
    let (value, name) = key(input)?;
    if name.has_escapes() {
        return parse_value(&name.decode(), value);
    }
    parse_value(name.raw(), value)
}

/// `spelling ws`: a key in quotes with its colon, or whole members before it, written exactly so.
#[inline(always)]
pub(crate) fn spelled<'a>(input: Cursor<'a>, spelling: &'static str) -> Parsed<'a> {
    preceded(tag(spelling), space).parse(input)
}

/// Whether the bytes begin with `spelling`. Nearly every other spelling costs one comparison: that of
/// the first eight bytes, which stay in a register.
#[inline(always)]
pub(crate) fn begins_with(bytes: &[u8], spelling: &'static str) -> bool {
    let first = |bytes: &[u8]| bytes.first_chunk().map(|&word| u64::from_le_bytes(word));
    let spelling = spelling.as_bytes();
    (spelling.len() < 8 || first(bytes) == first(spelling)) && bytes.starts_with(spelling)
}

impl<'a> Field<'a> for Option<Str<'a>> {
    #[inline(always)]
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        if input.first() != b'"' {
            *self = None;
            return index(null_or_skip(input));
        }
        let (end, value) = string(input)?;
        *self = Some(value);
        Ok((end.at(), ()))
    }
}

impl<'a> Field<'a> for Option<bool> {
    #[inline]
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        for (word, value) in [("false", false), ("true", true)] {
            if input.rest().starts_with(word.as_bytes()) {
                *self = Some(value);
                return Ok((at + word.len(), ()));
            }
        }
        *self = None;
        index(skip(input))
    }
}

impl<'a> Field<'a> for bool {
    #[inline]
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let mut value = None;
        let parsed = value.parse_at(text, at)?;
        *self = value.unwrap_or_default();
        Ok(parsed)
    }
}

macro_rules! integer_fields {
    ($($type:ty)*) => { $(
        impl<'a> Field<'a> for Option<$type> {
            #[inline(always)]
            fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
                // Nearly every integer has few digits.
                if let Ok((end, value)) = short_integer(Cursor::at_index(text, at)) {
                    *self = <$type>::try_from(value).ok();
                    return Ok((end.at(), ()));
                }
                parse_number(self, text, at)
            }
        }
    )* };
}

integer_fields!(u32 u64 i64);

impl<'a> Field<'a> for Option<f64> {
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        if let Ok((end, value)) = short_decimal(Cursor::at_index(text, at)) {
            *self = Some(value);
            return Ok((end.at(), ()));
        }
        parse_number(self, text, at)
    }
}

#[inline(never)]
fn parse_number<T: FromStr>(place: &mut Option<T>, text: &str, at: usize) -> ParsedAt {
    *place = None;
    let input = Cursor::at_index(text, at);
    if !matches!(input.first(), b'-' | b'0'..=b'9') {
        return index(null_or_skip(input));
    }
    let (end, ()) = number(input)?;
    *place = input.until(end).parse().ok();
    Ok((end.at(), ()))
}

impl<'a, R: Record<'a>> Field<'a> for R {
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        *self = Self::default();
        let input = Cursor::at_index(text, at);
        index(if input.first() == b'{' {
            self.object(input)
        } else {
            null_or_skip(input)
        })
    }

    fn known() -> Known {
        Known::Object(R::known_members)
    }
}

impl<'a, R: Record<'a>> Field<'a> for Option<Box<R>> {
    #[inline]
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        *self = None;
        let input = Cursor::at_index(text, at);
        if input.first() != b'{' {
            return index(null_or_skip(input));
        }
        self.insert(Box::default()).parse_at(text, at)
    }

    fn known() -> Known {
        Known::Object(R::known_members)
    }
}

/// Declares a struct whose fields are members of one JSON object, and how each is parsed.
///
/// `field: Type = "key"`, in the order in which the agent writes them; `[Element]` after the key names the record
/// that reads the elements of a list that the field keeps as JSON. `then "key"` names a member
/// after it that is skipped, and `often "members"` whole members that are nearly always written so, which
/// one comparison skips. `(copied "key" from field)` names a skipped member whose value is often that of a field
/// before it. Other keys are skipped as well; all of them stay in the raw line.
/// `common(record, value) { "spelling" => parser, }` after the fields replaces the order of the
/// fields by spellings of members (or of several at once), and parses the value after each.
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis $name:ident $(<$life:lifetime>)? {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $key:literal $([$element:ty])?
            $($skipped:ident $members:literal)* $((copied $copy:literal from $original:ident))?,)*
    }) => {
        $crate::grammar::record! {
            $(#[$meta])* $vis $name $(<$life>)? {
                $($(#[$field_meta])* $field: $type = $key $([$element])?,)*
            }
            common(record, value) {
                $(
                    concat!("\"", $key, "\":") =>
                        $crate::grammar::Field::parse(&mut record.$field, value),
                    $($crate::grammar::spelling!($skipped $members) =>
                        $crate::grammar::skipped!($skipped value),)*
                    $(concat!("\"", $copy, "\":") => match record.$original {
                        Some(original) => original.skip_copy(value),
                        None => $crate::grammar::skip(value),
                    },)?
                )*
            }
        }
    };
    (
        $(#[$meta:meta])* $vis:vis $name:ident $(<$life:lifetime>)? {
            $($(#[$field_meta:meta])* $field:ident: $type:ty = $key:literal $([$element:ty])?,)*
        }
        common($record:ident, $value:ident) {
            $($spelling:expr => $parsed:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        $vis struct $name $(<$life>)? {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl<'a> $crate::grammar::Record<'a> for $name $(<$life>)? {
            #[inline(always)]
            fn common_members(
                &mut self,
                input: $crate::grammar::Cursor<'a>,
            ) -> $crate::grammar::Parsed<'a, $crate::grammar::Next> {
                let $record = self;
                $crate::grammar::common_members!(input; $($spelling => |$value| $parsed,)*)
            }

            #[inline]
            fn member(
                &mut self,
                key: &str,
                value: $crate::grammar::Cursor<'a>,
            ) -> $crate::grammar::Parsed<'a> {
                match key {
                    $($key => $crate::grammar::Field::parse(&mut self.$field, value),)*
                    _ => $crate::grammar::skip(value),
                }
            }

            fn known_members() -> $crate::grammar::KnownMembers {
                let spellings: &[&'static str] = &[$($spelling,)*];
                let skipped = |name| (name, $crate::grammar::Known::Value);
                let mut known: $crate::grammar::KnownMembers =
                    vec![$(($key, <$type as $crate::grammar::Field<'a>>::known()),)*];
                // Of two members with one name, the first one counts.
                known.extend(spellings.iter().map(|it| skipped($crate::grammar::spelled_name(it))));
                $($($crate::grammar::set_known(
                    &mut known,
                    $key,
                    $crate::grammar::Known::List(
                        <$element as $crate::grammar::Record<'a>>::known_members,
                    ),
                );)?)*
                known
            }
        }
    };
}

/// What a skipped member or several begin with.
macro_rules! spelling {
    (then $key:literal) => {
        concat!("\"", $key, "\":")
    };
    (often $members:literal) => {
        $members
    };
}

/// Skips what follows the [`spelling`] of skipped members.
macro_rules! skipped {
    (then $value:ident) => {
        $crate::grammar::skip($value)
    };
    (often $value:ident) => {
        Ok(($value, ()))
    };
}

/// `*( [ spelling ws value separator ] )`: tries each spelling once, in order, and parses its value.
macro_rules! common_members {
    ($input:ident; $($spelling:expr => |$value:ident| $parsed:expr,)*) => {{
        let (input, length) = ($input, $input.text().len());
        // Sliced once for all spellings that are missing.
        let mut rest = input.rest();
        $(
            if $crate::grammar::begins_with(rest, $spelling) {
                let start = input.with(length - rest.len() + $spelling.len());
                let ($value, ()) = $crate::grammar::space(start)?;
                let (end, ()) = $parsed?;
                match $crate::grammar::next_member(end)? {
                    (next, $crate::grammar::Next::Item) => rest = next.rest(),
                    end => return Ok(end),
                }
            }
        )*
        Ok((input.with(length - rest.len()), $crate::grammar::Next::Item))
    }};
}

pub(crate) use {common_members, record, skipped, spelling};
