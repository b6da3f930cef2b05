//! The parsers that are compared.

/// The parser as it ships.
mod bowline {
    use bowline_jsonl as jsonl;
    include!("contenders/bowline.rs");
}

/// The parser without `unsafe`.
mod bowline_safe {
    use bowline_jsonl_safe as jsonl;
    include!("contenders/bowline.rs");
}

mod event;
mod jiter;
mod serde_json;
mod simd_json;
mod sonic_rs;
mod tagged;
pub(crate) mod typed;
mod value;

use std::fmt;
use std::hint::black_box;

use bytes::Bytes;
use clap::ValueEnum;
use memchr::memchr_iter;

use crate::job::{Digest, Folded};

/// The parsers that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Contender {
    /// Bowline's parser with lazy strings: validated, decoded when read.
    Bowline,
    /// The same without `unsafe`.
    BowlineSafe,
    /// Bowline's parser, with every string of the job decoded.
    BowlineDecoded,
    /// `serde_json` into borrowed structs: the base of the ratios.
    SerdeJson,
    /// `serde_json` into borrowed structs with the members that an event of Bowline has.
    SerdeJsonEvent,
    /// `serde_json` into owned enums with `#[serde(tag = "type")]`, the usual way to write it.
    SerdeJsonTagged,
    /// `serde_json::Value`.
    SerdeJsonValue,
    /// `sonic-rs` into the borrowed structs.
    SonicRs,
    /// `simd-json` into the borrowed structs.
    SimdJson,
    /// `jiter`, called member by member.
    Jiter,
}

/// Whole lines, and a buffer for the contender that overwrites its input.
#[derive(Clone, Debug)]
pub struct Slice {
    bytes: Bytes,
    scratch: Vec<u8>,
}

/// A line that a contender refused.
#[derive(Debug)]
pub struct Refused {
    /// Number of the line in the slice, from 1.
    pub line: usize,
    /// The contender's error message.
    pub reason: String,
}

impl Contender {
    /// All contenders in the order of the results.
    pub const ALL: [Self; 10] = [
        Self::Bowline,
        Self::BowlineSafe,
        Self::BowlineDecoded,
        Self::SerdeJson,
        Self::SerdeJsonEvent,
        Self::SerdeJsonTagged,
        Self::SerdeJsonValue,
        Self::SonicRs,
        Self::SimdJson,
        Self::Jiter,
    ];

    /// Returns the name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bowline => "bowline",
            Self::BowlineSafe => "bowline_safe",
            Self::BowlineDecoded => "bowline_decoded",
            Self::SerdeJson => "serde_json",
            Self::SerdeJsonEvent => "serde_json_event",
            Self::SerdeJsonTagged => "serde_json_tagged",
            Self::SerdeJsonValue => "serde_json_value",
            Self::SonicRs => "sonic_rs",
            Self::SimdJson => "simd_json",
            Self::Jiter => "jiter",
        }
    }

    /// Returns whether strings are returned undecoded, so that the timed hash is that of raw
    /// strings.
    #[must_use]
    pub const fn is_lazy(self) -> bool {
        matches!(self, Self::Bowline | Self::BowlineSafe)
    }

    /// Returns whether the contender supports raw values, which the job uses for tool inputs.
    #[must_use]
    pub const fn has_raws(self) -> bool {
        !matches!(
            self,
            Self::SerdeJsonTagged | Self::SerdeJsonValue | Self::SimdJson
        )
    }

    /// Copies the input for the contender that overwrites it. Not timed: a host that reads into its
    /// own buffer needs no copy.
    pub fn prepare(self, slice: &mut Slice) {
        if self == Self::SimdJson {
            slice.scratch.clear();
            slice.scratch.extend_from_slice(&slice.bytes);
        }
    }

    /// Does the job once. [`Contender::prepare`] must be called before.
    ///
    /// # Errors
    ///
    /// Returns the first line that the contender refuses.
    pub fn run<D: Digest>(self, slice: &mut Slice) -> Result<Folded, Refused> {
        match self {
            Self::Bowline => bowline::lazy::<D>(&slice.bytes),
            Self::BowlineSafe => bowline_safe::lazy::<D>(&slice.bytes),
            Self::BowlineDecoded => bowline::decoded::<D>(&slice.bytes),
            Self::SerdeJson => serde_json::run::<D>(&slice.bytes),
            Self::SerdeJsonEvent => event::run::<D>(&slice.bytes),
            Self::SerdeJsonTagged => tagged::run::<D>(&slice.bytes),
            Self::SerdeJsonValue => value::run::<D>(&slice.bytes),
            Self::SonicRs => sonic_rs::run::<D>(&slice.bytes),
            Self::SimdJson => simd_json::run::<D>(&mut slice.scratch),
            Self::Jiter => jiter::run::<D>(&slice.bytes),
        }
    }

    /// Does the job once with every string decoded, for lazy contenders too.
    ///
    /// # Errors
    ///
    /// Returns the first line that the contender refuses.
    pub fn run_decoded<D: Digest>(self, slice: &mut Slice) -> Result<Folded, Refused> {
        match self {
            Self::Bowline => bowline::decoded::<D>(&slice.bytes),
            Self::BowlineSafe => bowline_safe::decoded::<D>(&slice.bytes),
            _ => self.run::<D>(slice),
        }
    }
}

impl Slice {
    /// Creates a slice of whole lines.
    #[must_use]
    pub const fn new(bytes: Bytes) -> Self {
        Self {
            bytes,
            scratch: Vec::new(),
        }
    }

    /// Brings the lines into the cache, so that the order of the contenders has no effect.
    pub fn warm(&self) {
        black_box(memchr_iter(b'\n', &self.bytes).count());
    }

    /// Returns the number of lines.
    #[must_use]
    pub fn lines(&self) -> usize {
        memchr_iter(b'\n', &self.bytes).count()
    }

    /// Returns the lines.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// Returns whether both `serde_json` contenders accept the line; the comparison requires their
/// results.
#[must_use]
pub fn is_fit(line: &[u8]) -> bool {
    serde_json::takes(line) && tagged::takes(line)
}

/// Iterates over the lines without their LF, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = 0;
    let lines = memchr_iter(b'\n', bytes).map(move |end| {
        let line = bytes.get(start..end).unwrap_or_default();
        start = end + 1;
        line
    });
    (1..).zip(lines)
}

fn refused(line: usize, reason: impl ToString) -> Refused {
    Refused {
        line,
        reason: reason.to_string(),
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for Refused {}
