//! The grammar of one line in nom: RFC 8259, restricted to one line. The depth of what is read is
//! bounded; what is skipped may nest to any depth.
//!
//! This is the definition of what the crate accepts, without `unsafe`. Every parser takes a
//! [`Cursor`] into text that was checked to be UTF-8 and returns the cursor after what it parsed.
//! A parser writes into the field that its value belongs to ([`Field`]), so that large records are
//! never moved.
//!
//! | file | rules |
//! |---|---|
//! | `cursor` | input and results of the parsers |
//! | `string` | `string`, `char`, `escape` |
//! | `number` | `number`, `int`, `frac`, `exp` |
//! | `value` | `value`, `object`, `member`, `array`, `ws`; skipping with validation |
//! | `record` | objects whose members are known |
//! | `known` | those members, as data |
//! | `line` | the envelope of a line, and its end |
//!
//! Hand-written leaves scan many bytes at once ([`scan`](crate::scan), and [`simd`](crate::simd) where
//! the feature is on). The line templates of [`event`](crate::event) skip the grammar for lines
//! that repeat the bytes of an earlier line. Both are tested and fuzzed against this module.

mod cursor;
mod known;
mod line;
mod number;
mod record;
mod string;
mod value;

pub(crate) use cursor::{Cursor, Parsed, ParsedAt, index};
pub(crate) use known::{Known, KnownMembers, known_by_paths, set_known, spelled_name};
pub(crate) use line::{Envelope, line, line_members, string_member};
pub(crate) use record::{
    Field, Record, begins_with, common_members, known_of, members_of, record, skipped, spelling,
};
pub(crate) use string::{quoted, string, uuid};
pub(crate) use value::{
    Next, array, first_member, member, next_member, null_or_skip, object, skip, space,
};
