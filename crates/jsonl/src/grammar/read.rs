//! Members of a known type, read leniently: a value of another type is stepped over, not an error.

use crate::error::Stop;
use crate::grammar::number::{integer_at, number_end};
use crate::grammar::object::{Next, any_member, first_member, next_member};
use crate::grammar::{Index, byte, raw_at, skip, string_at};
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
    /// Reads members from the key at `at` on for as long as they are spelt and ordered as usual:
    /// no key is searched for its end or looked up. Gives what stands behind them, which is `at`
    /// when nothing is as usual there.
    fn usual(&mut self, text: &'a str, at: usize) -> Result<Next, Stop>;

    /// Reads the value of `key` at `at`, or steps over it.
    fn member(&mut self, key: &str, text: &'a str, at: usize) -> Index;

    /// Reads the object at `at`.
    #[inline(always)]
    fn members(&mut self, text: &'a str, at: usize) -> Index {
        let mut next = first_member(text.as_bytes(), at)?;
        loop {
            if let Next::More(at) = next {
                next = self.usual(text, at)?;
            }
            let at = match next {
                Next::More(at) => at,
                Next::End(end) => return Ok(end),
            };
            let behind = any_member(text, at, |key, text, at| self.member(key, text, at))?;
            next = next_member(text.as_bytes(), behind)?;
        }
    }
}

impl<'a> Read<'a> for Option<Str<'a>> {
    #[inline(always)]
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        if byte(text.as_bytes(), at) != b'"' {
            *self = None;
            return nothing(text.as_bytes(), at);
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
    #[inline]
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        let end = skip(text.as_bytes(), at)?;
        *self = match byte(text.as_bytes(), at) {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        };
        Ok(end)
    }
}

impl<'a> Read<'a> for bool {
    #[inline]
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        *self = byte(text.as_bytes(), at) == b't';
        skip(text.as_bytes(), at)
    }
}

macro_rules! read_integer {
    ($($type:ty)*) => { $(
        impl<'a> Read<'a> for Option<$type> {
            #[inline]
            fn read(&mut self, text: &'a str, at: usize) -> Index {
                // Nearly every integer is one of few digits.
                if let Some((end, value)) = integer_at(text.as_bytes(), at) {
                    *self = <$type>::try_from(value).ok();
                    return Ok(end);
                }
                read_number(self, text, at)
            }
        }
    )* };
}

read_integer!(u32 u64 i64);

impl<'a> Read<'a> for Option<f64> {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        read_number(self, text, at)
    }
}

#[inline(never)]
fn read_number<T: std::str::FromStr>(place: &mut Option<T>, text: &str, at: usize) -> Index {
    *place = None;
    if !matches!(byte(text.as_bytes(), at), b'-' | b'0'..=b'9') {
        return nothing(text.as_bytes(), at);
    }
    let end = number_end(text.as_bytes(), at)?;
    *place = text.get(at..end).and_then(|number| number.parse().ok());
    Ok(end)
}

/// Steps over a value of another type, which is `null` as a rule.
#[inline(always)]
pub(crate) fn nothing(bytes: &[u8], at: usize) -> Index {
    if bytes
        .get(at..)
        .is_some_and(|rest| rest.starts_with(b"null"))
    {
        return Ok(at + 4);
    }
    skip(bytes, at)
}

impl<'a, R: Read<'a> + Record<'a>> Read<'a> for Option<Box<R>> {
    #[inline]
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        *self = None;
        if byte(text.as_bytes(), at) != b'{' {
            return nothing(text.as_bytes(), at);
        }
        self.insert(Box::default()).read(text, at)
    }
}

/// Declares a struct whose fields are members of one JSON object, and how each is read.
///
/// `field: Type = "key"`, in the order in which the agent writes them as a rule; `then "key"` names
/// a member behind it that nobody reads. Keys that are not named are stepped over as well; all of
/// them stay in the line. `spelt(record, text, at) { "spelling" => index, }` behind the fields says
/// in their place how the agent writes the members, and reads the value at `at` behind each spelling.
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis $name:ident $(<$life:lifetime>)? {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $key:literal $(then $unread:literal)*,)*
    }) => {
        $crate::grammar::record! {
            $(#[$meta])* $vis $name $(<$life>)? {
                $($(#[$field_meta])* $field: $type = $key,)*
            }
            spelt(record, text, at) {
                $(
                    concat!("\"", $key, "\":") =>
                        $crate::grammar::Read::read(&mut record.$field, text, at),
                    $(concat!("\"", $unread, "\":") => $crate::grammar::skip(text.as_bytes(), at),)*
                )*
            }
        }
    };
    (
        $(#[$meta:meta])* $vis:vis $name:ident $(<$life:lifetime>)? {
            $($(#[$field_meta:meta])* $field:ident: $type:ty = $key:literal,)*
        }
        spelt($record:ident, $text:ident, $value:ident) {
            $($spelling:expr => $read:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        $vis struct $name $(<$life>)? {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl<'a> $crate::grammar::Record<'a> for $name $(<$life>)? {
            #[inline(always)]
            fn usual(
                &mut self,
                $text: &'a str,
                at: usize,
            ) -> Result<$crate::grammar::Next, $crate::error::Stop> {
                let $record = self;
                $crate::grammar::usual!($text, at; $($spelling => |$value| $read,)*)
            }

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
                *self = Self::default();
                if $crate::grammar::byte(text.as_bytes(), at) != b'{' {
                    return $crate::grammar::nothing(text.as_bytes(), at);
                }
                $crate::grammar::Record::members(self, text, at)
            }
        }
    };
}

/// Tries each spelling once, in order, and reads the value behind it. What is left of the text is cut
/// off once for all the spellings that do not stand there.
macro_rules! usual {
    ($text:ident, $at:ident; $($spelling:expr => |$value:ident| $read:expr,)*) => {{
        let bytes = $text.as_bytes();
        let mut rest = bytes.get($at..).unwrap_or_default();
        $(
            if rest.starts_with($spelling.as_bytes()) {
                let at = bytes.len() - rest.len();
                let $value = $crate::grammar::space(bytes, at + $spelling.len());
                match $crate::grammar::next_member(bytes, $read?)? {
                    $crate::grammar::Next::More(next) => {
                        rest = bytes.get(next..).unwrap_or_default();
                    }
                    end => return Ok(end),
                }
            }
        )*
        Ok($crate::grammar::Next::More(bytes.len() - rest.len()))
    }};
}

pub(crate) use {record, usual};
