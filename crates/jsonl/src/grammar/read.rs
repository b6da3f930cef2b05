//! Members of a known type, read leniently: a value of another type is stepped over, not an error.

use crate::grammar::number::number;
use crate::grammar::{Parsed, object, raw, skip, string};
use crate::raw::RawJson;
use crate::text::Str;

/// A type that can be read at the place of a value. What does not fit gives the type's "nothing":
/// the real agent uses one key for values of several types (`message` is a string on
/// `system/permission_denied`).
pub(crate) trait Read<'a>: Sized {
    fn read(input: &'a str) -> Parsed<'a, Self>;
}

/// A type that is filled member by member, in any order; the last of two equal keys wins.
pub(crate) trait Record<'a>: Default {
    /// Reads the value of `key`, or steps over it.
    fn member(&mut self, key: &str, input: &'a str) -> Parsed<'a, ()>;

    /// Reads one object; a value of another type is stepped over.
    fn record(input: &'a str) -> Parsed<'a, Option<Self>> {
        if !input.starts_with('{') {
            return skip(input).map(|(rest, ())| (rest, None));
        }
        let mut record = Self::default();
        let (rest, ()) = object(input, |key, value| record.member(key, value))?;
        Ok((rest, Some(record)))
    }
}

/// Reads a value into its place.
#[inline]
pub(crate) fn read_into<'a, T: Read<'a>>(place: &mut T, input: &'a str) -> Parsed<'a, ()> {
    let (rest, value) = T::read(input)?;
    *place = value;
    Ok((rest, ()))
}

impl<'a> Read<'a> for Option<Str<'a>> {
    #[inline]
    fn read(input: &'a str) -> Parsed<'a, Self> {
        if input.starts_with('"') {
            string(input).map(|(rest, value)| (rest, Some(value)))
        } else {
            skip(input).map(|(rest, ())| (rest, None))
        }
    }
}

/// `null` is no value.
impl<'a> Read<'a> for Option<RawJson<'a>> {
    fn read(input: &'a str) -> Parsed<'a, Self> {
        let (rest, value) = raw(input)?;
        Ok((rest, (!value.is_null()).then_some(value)))
    }
}

impl<'a> Read<'a> for Option<bool> {
    fn read(input: &'a str) -> Parsed<'a, Self> {
        let (rest, value) = raw(input)?;
        Ok((rest, value.as_bool()))
    }
}

impl<'a> Read<'a> for bool {
    fn read(input: &'a str) -> Parsed<'a, Self> {
        Option::<Self>::read(input).map(|(rest, value)| (rest, value.unwrap_or_default()))
    }
}

macro_rules! read_number {
    ($($type:ty)*) => { $(
        impl<'a> Read<'a> for Option<$type> {
            #[inline]
            fn read(input: &'a str) -> Parsed<'a, Self> {
                if matches!(input.as_bytes().first(), Some(b'-' | b'0'..=b'9')) {
                    number(input).map(|(rest, text)| (rest, text.parse().ok()))
                } else {
                    skip(input).map(|(rest, ())| (rest, None))
                }
            }
        }
    )* };
}

read_number!(u32 u64 i64 f64);

impl<'a, R: Record<'a>> Read<'a> for Option<Box<R>> {
    fn read(input: &'a str) -> Parsed<'a, Self> {
        R::record(input).map(|(rest, record)| (rest, record.map(Box::new)))
    }
}

/// Declares a struct whose fields are members of one JSON object, and how each is read.
///
/// `field: Type = "key"`; keys that are not named are stepped over and stay in the line.
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis $name:ident $(<$life:lifetime>)? {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $key:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        $vis struct $name $(<$life>)? {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl<'a> $crate::grammar::Record<'a> for $name $(<$life>)? {
            fn member(&mut self, key: &str, input: &'a str) -> $crate::grammar::Parsed<'a, ()> {
                match key {
                    $($key => $crate::grammar::read_into(&mut self.$field, input),)*
                    _ => $crate::grammar::skip(input),
                }
            }
        }

        impl<'a> $crate::grammar::Read<'a> for $name $(<$life>)? {
            fn read(input: &'a str) -> $crate::grammar::Parsed<'a, Self> {
                use $crate::grammar::Record as _;
                Self::record(input).map(|(rest, record)| (rest, record.unwrap_or_default()))
            }
        }
    };
}

pub(crate) use record;
