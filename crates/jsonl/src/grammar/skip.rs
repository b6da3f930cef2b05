//! Steps over a value that nobody reads, with full validation and bounded depth.

use crate::error::{Expected, Fault};
use crate::grammar::number::number;
use crate::grammar::object::key;
use crate::grammar::{Parsed, space, string};
use crate::raw::RawJson;

/// How deep objects and arrays may nest inside one member that is kept raw.
///
/// Typed members add at most six levels, so that a line this parser accepts stays under the 128
/// levels at which `serde_json` stops.
const MAX_DEPTH: u32 = 120;

/// One value, kept as it is written.
#[inline]
pub(crate) fn raw(input: &str) -> Parsed<'_, RawJson<'_>> {
    let (rest, ()) = skip(input)?;
    let text = input.get(..input.len() - rest.len()).unwrap_or_default();
    Ok((rest, RawJson::validated(text)))
}

/// Steps over one value. Iterative: the depth of the input never becomes depth of the stack.
pub(crate) fn skip(input: &str) -> Parsed<'_, ()> {
    let mut open = Open::default();
    let mut rest = input;
    loop {
        rest = open.value(rest)?;
        rest = match open.close(rest)? {
            Step::Value(rest) => rest,
            Step::Done(rest) => return Ok((rest, ())),
        };
    }
}

enum Step<'a> {
    /// The input stands at another value.
    Value(&'a str),
    /// The outermost value ended.
    Done(&'a str),
}

/// The brackets that are open: one bit each, set for an object.
#[derive(Default)]
struct Open {
    objects: u128,
    depth: u32,
}

type Rest<'a> = Result<&'a str, nom::Err<Fault>>;

impl Open {
    /// Steps over one scalar, or into brackets as far as the first scalar (or an empty pair).
    #[inline]
    fn value<'a>(&mut self, mut input: &'a str) -> Rest<'a> {
        loop {
            let (close, object) = match input.as_bytes().first() {
                Some(b'"') => return string(input).map(|(rest, _)| rest),
                Some(b'{') => ('}', true),
                Some(b'[') => (']', false),
                _ => return scalar(input),
            };
            let inside = space(input.get(1..).unwrap_or_default());
            if let Some(rest) = inside.strip_prefix(close) {
                return Ok(rest);
            }
            self.push(object, input)?;
            input = if object { key(inside)?.0 } else { inside };
        }
    }

    /// Steps over what may follow a value: closing brackets, then a comma or the end.
    #[inline]
    fn close<'a>(&mut self, mut input: &'a str) -> Result<Step<'a>, nom::Err<Fault>> {
        loop {
            if self.depth == 0 {
                return Ok(Step::Done(input));
            }
            input = space(input);
            let object = self.objects & 1 == 1;
            match (input.as_bytes().first(), object) {
                (Some(b','), _) => {
                    let rest = space(input.get(1..).unwrap_or_default());
                    return Ok(Step::Value(if object { key(rest)?.0 } else { rest }));
                }
                (Some(b'}'), true) | (Some(b']'), false) => self.pop(),
                _ => return Err(Fault::at(input, Expected::CommaOrEnd)),
            }
            input = input.get(1..).unwrap_or_default();
        }
    }

    fn push(&mut self, object: bool, input: &str) -> Result<(), nom::Err<Fault>> {
        if self.depth == MAX_DEPTH {
            return Err(Fault::at(input, Expected::LessNesting));
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(object);
        Ok(())
    }

    const fn pop(&mut self) {
        self.depth -= 1;
        self.objects >>= 1;
    }
}

/// A number, `true`, `false` or `null`.
fn scalar(input: &str) -> Rest<'_> {
    match input.as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => number(input).map(|(rest, _)| rest),
        Some(b't') => literal(input, "true"),
        Some(b'f') => literal(input, "false"),
        Some(b'n') => literal(input, "null"),
        _ => Err(Fault::at(input, Expected::Value)),
    }
}

fn literal<'a>(input: &'a str, word: &str) -> Rest<'a> {
    input.strip_prefix(word).ok_or_else(|| {
        // The fault stands behind what fits, so that a cut literal is seen as cut.
        let fits = input
            .bytes()
            .zip(word.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        nom::Err::Error(Fault {
            left: input.len() - fits,
            expected: Expected::Value,
        })
    })
}
