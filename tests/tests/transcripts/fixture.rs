//! The recorded streams, and functions that fold them.

use std::io::Read as _;
use std::path::Path;

use bowline_jsonl::{DEFAULT_MAX_LINE, Framer};
use bowline_reducer::{End, Meta, Transcript};
use bytes::Bytes;
use serde_json::Value;

pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// Every recorded stream, by name.
pub(crate) fn fixtures() -> Vec<Fixture> {
    let fixtures = fixtures_in("fixtures");
    assert!(fixtures.len() > 60, "the recordings are there");
    fixtures
}

/// Recorded streams of older versions of the agent, by name.
pub(crate) fn older_fixtures() -> Vec<Fixture> {
    let fixtures = fixtures_in("fixtures/versions");
    assert_eq!(fixtures.len(), 19, "the recordings are there");
    fixtures
}

fn fixtures_in(folder: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path());
    let mut fixtures: Vec<_> = files.filter_map(|path| read(&path)).collect();
    fixtures.sort_by(|a, b| a.name.cmp(&b.name));
    fixtures
}

fn read(path: &Path) -> Option<Fixture> {
    let file = path.file_name()?.to_str()?;
    let (name, is_packed) = match file.strip_suffix(".jsonl.gz") {
        Some(name) => (name, true),
        None => (file.strip_suffix(".jsonl")?, false),
    };
    let mut bytes = std::fs::read(path).unwrap();
    if is_packed {
        let mut out = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut out)
            .unwrap();
        bytes = out;
    }
    Some(Fixture {
        name: name.to_owned(),
        bytes: bytes.into(),
    })
}

/// Applies the complete lines of the framer. The offset serves as the time, so that it is the same
/// in every run.
pub(crate) fn drain(framer: &mut Framer, transcript: &mut Transcript) {
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            let at_ms = item.at.offset;
            transcript.apply(&item, Meta { at_ms });
        }
    }
}

/// Folds the chunks of one stream, up to the end of the recording.
pub(crate) fn fold_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Transcript {
    let (mut framer, mut transcript) = (Framer::default(), Transcript::new());
    for chunk in chunks {
        framer.push(Bytes::copy_from_slice(chunk));
        drain(&mut framer, &mut transcript);
    }
    finish(framer, &mut transcript);
    transcript
}

pub(crate) fn finish(mut framer: Framer, transcript: &mut Transcript) {
    framer.finish();
    drain(&mut framer, transcript);
    transcript.end(End::Recording, Meta { at_ms: 0 });
}

pub(crate) fn fold(bytes: &[u8]) -> Transcript {
    fold_chunks([bytes])
}

/// A framer that starts at the beginning of one of a stream's lines.
pub(crate) fn framer_at(bytes: &[u8], offset: usize) -> Framer {
    let line = bytes[..offset]
        .iter()
        .filter(|&&byte| byte == b'\n')
        .count();
    Framer::at(DEFAULT_MAX_LINE, offset as u64, line as u64 + 1)
}

pub(crate) fn to_value(transcript: &Transcript) -> Value {
    serde_json::to_value(transcript).unwrap()
}

/// Offsets of the lines of a stream, its end included.
pub(crate) fn line_starts(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut starts: Vec<_> = std::iter::once(0)
        .chain(ends.map(|(at, _)| at + 1))
        .collect();
    starts.push(bytes.len());
    starts.dedup();
    starts
}

/// FNV-1a, 64 bits, to detect changes of a long text.
pub(crate) fn sum(text: &str) -> u64 {
    let step = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A small deterministic random generator (xorshift, 64 bits).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}
