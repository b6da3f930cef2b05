//! Members of a known type, read leniently: a value of another type is stepped over, not an error.

use crate::grammar::number::number_end;
use crate::grammar::{Index, byte, object, raw_at, skip, string_at};
use crate::raw::RawJson;
use crate::text::Str;

/// A type that can be read at the place of a value. What does not fit gives the type's "nothing":
/// the real agent uses one key for values of several types (`message` is a string on
/// `system/permission_denied`).
pub(crate) trait Read<'a> {
    /// Reads the value at `at` into `self`; gives the index behind it.
    fn read(&mut self, text: &'a str, at: usize) -> Index;
}

/// A type that is filled member by member, in any order; the last of two equal keys wins.
pub(crate) trait Record<'a>: Default {
    /// Reads the value of `key` at `at`, or steps over it.
    fn member(&mut self, key: &str, text: &'a str, at: usize) -> Index;

    /// Reads the object at `at`, or steps over a value of another type.
    fn record(place: &mut Option<Self>, text: &'a str, at: usize) -> Index {
        *place = None;
        if byte(text.as_bytes(), at) != b'{' {
            return skip(text.as_bytes(), at);
        }
        let record = place.insert(Self::default());
        object(text, at, |key, text, at| record.member(key, text, at))
    }
}

impl<'a> Read<'a> for Option<Str<'a>> {
    #[inline(always)]
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        if byte(text.as_bytes(), at) != b'"' {
            *self = None;
            return skip(text.as_bytes(), at);
        }
        let (end, value) = string_at(text, at)?;
        *self = Some(value);
        Ok(end)
    }
}

/// `null` is no value.
impl<'a> Read<'a> for Option<RawJson<'a>> {
    #[inline]
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        let (end, value) = raw_at(text, at)?;
        *self = (!value.is_null()).then_some(value);
        Ok(end)
    }
}

impl<'a> Read<'a> for Option<bool> {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        let (end, value) = raw_at(text, at)?;
        *self = value.as_bool();
        Ok(end)
    }
}

impl<'a> Read<'a> for bool {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        let (end, value) = raw_at(text, at)?;
        *self = value.as_bool().unwrap_or_default();
        Ok(end)
    }
}

macro_rules! read_number {
    ($($type:ty)*) => { $(
        impl<'a> Read<'a> for Option<$type> {
            #[inline]
            fn read(&mut self, text: &'a str, at: usize) -> Index {
                *self = None;
                if !matches!(byte(text.as_bytes(), at), b'-' | b'0'..=b'9') {
                    return skip(text.as_bytes(), at);
                }
                let end = number_end(text.as_bytes(), at)?;
                *self = text.get(at..end).and_then(|number| number.parse().ok());
                Ok(end)
            }
        }
    )* };
}

read_number!(u32 u64 i64 f64);

impl<'a, R: Record<'a>> Read<'a> for Option<Box<R>> {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        let mut record = None;
        let end = R::record(&mut record, text, at)?;
        *self = record.map(Box::new);
        Ok(end)
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
            #[inline]
            fn member(&mut self, key: &str, text: &'a str, at: usize) -> $crate::grammar::Index {
                match key {
                    $($key => $crate::grammar::Read::read(&mut self.$field, text, at),)*
                    _ => $crate::grammar::skip(text.as_bytes(), at),
                }
            }
        }

        impl<'a> $crate::grammar::Read<'a> for $name $(<$life>)? {
            fn read(&mut self, text: &'a str, at: usize) -> $crate::grammar::Index {
                use $crate::grammar::Record as _;
                let mut record = None;
                let end = Self::record(&mut record, text, at)?;
                *self = record.unwrap_or_default();
                Ok(end)
            }
        }
    };
}

pub(crate) use record;
