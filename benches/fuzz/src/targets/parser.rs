//! The parser compared with `serde_json`, and the framer with any chunks.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::de::IgnoredAny;

use super::whole;
use crate::corpus::Corpus;
use crate::cut::{Piece, pieces, whole as in_one};
use crate::dictionary::TOKENS;
use crate::guided::{Check, Target};
use crate::random::Random;
use crate::shipped::jsonl::{Expected, Framer, ParseErrorKind};
use crate::{oracle, run, shipped};

/// One of this many inputs is checked in every way; the others are only compared with `serde_json`.
const THOROUGH: u64 = 256;

/// A stream.
pub(super) static PARSER: Target = Target {
    name: "parser",
    what: "the parser and serde_json accept the same lines with the same values, in any build",
    longest: 400,
    seeds,
    dictionary: &TOKENS,
    repair: whole,
    check: check_lines,
};

/// A stream; its content determines how it is split.
pub(super) static FRAMER: Target = Target {
    name: "framer",
    what: "lines do not depend on chunk sizes, read or pushed",
    longest: 400,
    seeds,
    dictionary: &TOKENS,
    repair: whole,
    check: check_pieces,
};

/// Short lines of recordings, and generated ones.
pub(super) fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let own: [&[u8]; 5] = [
        b"{}\n",
        b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"a\\n\\u00e9\\ud83d\"}}\n",
        b"{\"a\":[1,-2.5e3,true,null,{\"b\":\"\"}]}\r\n\n{\"type\":\"x\"}",
        b"\xef\xbb\xbf{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},\"uuid\":\"u\"}\n",
        b"\x1b[?25h{\"type\":\"stream_event\",\"event\":{\"type\":\"message_stop\"}}\nnoise\n",
    ];
    let corpus = Corpus::load()?;
    let lines = corpus
        .lines()
        .iter()
        .map(|line| [line, &b"\n"[..]].concat());
    Ok(lines.chain(own.map(<[u8]>::to_vec)).collect())
}

fn check_lines() -> Result<Check, String> {
    Ok(Box::new(|stream| {
        let hash = hash(stream);
        if hash.is_multiple_of(THOROUGH) {
            oracle::judge(stream)?;
            let mut random = Random::of(hash, 1);
            let cuts = [pieces(stream, &mut random), pieces(stream, &mut random)];
            return run::compare(stream, &cuts);
        }
        judge(stream)
    }))
}

/// Checks that exactly the lines that `serde_json` accepts are accepted.
fn judge(stream: &[u8]) -> Result<(), String> {
    let mut framer = Framer::default();
    framer.push(stream.to_vec().into());
    framer.finish();
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            let line = stream.get(item.at.offset as usize..item.at.end as usize);
            let line = line.unwrap_or_default();
            let is_taken = match &item.event {
                Ok(_) => true,
                Err(error) if error.kind() == TOO_DEEP => continue,
                Err(_) => false,
            };
            if is_taken != is_object(oracle::object(line)) {
                // A skipped number is not range-checked, and a missing type not seen; only reading is.
                return oracle::judge(stream).map(drop);
            }
        }
    }
    Ok(())
}

/// Both limit nesting, at different depths.
const TOO_DEEP: ParseErrorKind = ParseErrorKind::Syntax(Expected::LessNesting);

/// Returns whether a line is a JSON object. Lone surrogates in skipped strings are accepted.
fn is_object(line: &[u8]) -> bool {
    let first = line.iter().find(|byte| !b" \t\r\n".contains(byte));
    let is_json = || {
        let text = std::str::from_utf8(line);
        text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
    };
    first == Some(&b'{') && is_json()
}

fn check_pieces() -> Result<Check, String> {
    Ok(Box::new(|stream| {
        let expected = places(&in_one(stream));
        let mut random = Random::of(hash(stream), 2);
        for _ in 0..2 {
            let pieces = pieces(stream, &mut random);
            super::same("in pieces", &places(&pieces), &expected)?;
        }
        Ok(())
    }))
}

/// Returns the position of each line, its hash, and whether it is an event.
fn places(stream: &[Piece]) -> Vec<(u64, u64, u64, u64, bool)> {
    let mut places = Vec::new();
    // Writing to a string cannot fail.
    let _ = shipped::each(stream, |item| {
        let at = item.at;
        let text = hash(item.raw);
        places.push((at.offset, at.end, at.line, text, item.event.is_ok()));
        Ok(())
    });
    places
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
