//! Steps over a value that nobody reads, with full validation and bounded depth.
//!
//! Most bytes of a message line are members that nobody reads, so this walk counts indexes instead
//! of cutting text.

use crate::error::{Expected, Stop};
use crate::grammar::number::number_end;
use crate::grammar::object::colon;
use crate::grammar::scan::{names_end, string_end};
use crate::grammar::{Index, byte, space};
use crate::raw::RawJson;

/// How deep objects and arrays may nest inside one member that nobody reads.
///
/// Typed members add at most six levels, so that a line this parser accepts stays under the 128
/// levels at which `serde_json` stops.
const MEMBER_DEPTH: u32 = 120;

/// How deep a whole line may nest: one bit of [`Open`] for each level.
pub(crate) const LINE_DEPTH: u32 = 127;

/// The value at `at`, kept as it is written, and the index behind it.
#[inline]
pub(crate) fn raw_at(text: &str, at: usize) -> Result<(usize, RawJson<'_>), Stop> {
    raw_within(text, at, MEMBER_DEPTH)
}

/// The same with a depth of its own.
#[inline]
pub(crate) fn raw_within(text: &str, at: usize, depth: u32) -> Result<(usize, RawJson<'_>), Stop> {
    let end = skip_within(text.as_bytes(), at, depth)?;
    Ok((
        end,
        RawJson::validated(text.get(at..end).unwrap_or_default()),
    ))
}

/// Index behind the value at `at`.
#[inline]
pub(crate) fn skip(bytes: &[u8], at: usize) -> Index {
    skip_within(bytes, at, MEMBER_DEPTH)
}

/// Iterative: the depth of the input never becomes depth of the stack.
fn skip_within(bytes: &[u8], mut at: usize, limit: u32) -> Index {
    let mut open = Open {
        objects: 0,
        depth: 0,
        limit,
    };
    loop {
        at = match byte(bytes, at) {
            b'"' => string_end(bytes, at + 1)?.quote() + 1,
            bracket @ (b'{' | b'[') => {
                let inside = space(bytes, at + 1);
                // The closing brackets stand two behind the opening ones in ASCII.
                if byte(bytes, inside) == bracket + 2 {
                    inside + 1
                } else if let Some(end) = open.names(bytes, bracket, inside) {
                    end
                } else {
                    open.push(bracket, at)?;
                    at = if bracket == b'{' {
                        key(bytes, inside)?
                    } else {
                        inside
                    };
                    continue;
                }
            }
            _ => scalar(bytes, at)?,
        };
        match open.close(bytes, at)? {
            Step::Value(next) => at = next,
            Step::Done(end) => return Ok(end),
        }
    }
}

enum Step {
    /// Index of another value.
    Value(usize),
    /// Index behind the outermost value.
    Done(usize),
}

/// The brackets that are open: one bit each, set for an object.
struct Open {
    objects: u128,
    depth: u32,
    limit: u32,
}

impl Open {
    /// Steps over what may follow a value: closing brackets, then a comma or the end.
    #[inline]
    fn close(&mut self, bytes: &[u8], mut at: usize) -> Result<Step, Stop> {
        while self.depth > 0 {
            at = space(bytes, at);
            let object = self.objects & 1 == 1;
            match byte(bytes, at) {
                b',' => {
                    let next = space(bytes, at + 1);
                    return Ok(Step::Value(if object { key(bytes, next)? } else { next }));
                }
                b'}' if object => self.pop(),
                b']' if !object => self.pop(),
                _ => return Err(Stop::new(at, Expected::CommaOrEnd)),
            }
            at += 1;
        }
        Ok(Step::Done(at))
    }

    fn push(&mut self, bracket: u8, at: usize) -> Result<(), Stop> {
        if self.depth == self.limit {
            return Err(Stop::new(at, Expected::LessNesting));
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(bracket == b'{');
        Ok(())
    }

    /// Index behind an array of short strings, whose first one stands at `at`.
    #[inline]
    fn names(&self, bytes: &[u8], bracket: u8, at: usize) -> Option<usize> {
        let may_be = bracket == b'[' && byte(bytes, at) == b'"' && self.depth < self.limit;
        if may_be { names_end(bytes, at) } else { None }
    }

    const fn pop(&mut self) {
        self.depth -= 1;
        self.objects >>= 1;
    }
}

/// `string ws ":" ws`; the index of the value.
#[inline(always)]
fn key(bytes: &[u8], at: usize) -> Index {
    if byte(bytes, at) != b'"' {
        return Err(Stop::new(at.min(bytes.len()), Expected::Key));
    }
    colon(bytes, string_end(bytes, at + 1)?.quote() + 1)
}

/// A number, `true`, `false` or `null`.
fn scalar(bytes: &[u8], at: usize) -> Index {
    match byte(bytes, at) {
        b'-' | b'0'..=b'9' => number_end(bytes, at),
        b't' => literal(bytes, at, b"true"),
        b'f' => literal(bytes, at, b"false"),
        b'n' => literal(bytes, at, b"null"),
        _ => Err(Stop::new(at.min(bytes.len()), Expected::Value)),
    }
}

#[inline]
fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Index {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.starts_with(word) {
        return Ok(at + word.len());
    }
    // The fault stands behind what fits, so that a cut literal is seen as cut.
    let fits = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
    Err(Stop::new(at + fits, Expected::Value))
}
