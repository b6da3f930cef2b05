use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use bowline_jsonl::{Framer, Item};
use bytes::Bytes;

/// A recorded stream.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// Every recorded stream, decompressed.
pub(crate) fn fixtures() -> Vec<Fixture> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the fixtures are part of the repository")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.is_file() && path.to_string_lossy().contains(".jsonl"))
        .collect();
    paths.sort();
    paths.iter().map(fixture).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the crate does no I/O; its tests read recordings"
)]
fn fixture(path: &PathBuf) -> Fixture {
    let name = path
        .file_name()
        .expect("a file")
        .to_string_lossy()
        .into_owned();
    let packed = fs::read(path).expect("a readable file");
    let mut bytes = Vec::new();
    if name.ends_with(".gz") {
        flate2::read::GzDecoder::new(&packed[..])
            .read_to_end(&mut bytes)
            .expect("a gzip file");
    } else {
        bytes = packed;
    }
    Fixture {
        name,
        bytes: bytes.into(),
    }
}

/// Calls `each` for every line of pushed chunks.
pub(crate) fn for_each(chunks: impl IntoIterator<Item = Bytes>, mut each: impl FnMut(Item<'_>)) {
    let mut framer = Framer::default();
    for chunk in chunks {
        framer.push(chunk);
        drain(&mut framer, &mut each);
    }
    framer.finish();
    drain(&mut framer, &mut each);
}

fn drain(framer: &mut Framer, each: &mut impl FnMut(Item<'_>)) {
    while let Some(frame) = framer.next_frame() {
        frame.items().for_each(&mut *each);
    }
}

/// Calls `each` for every line of chunks that are read into the framer.
pub(crate) fn for_each_read(
    chunks: impl IntoIterator<Item = Bytes>,
    mut each: impl FnMut(Item<'_>),
) {
    let mut framer = Framer::default();
    for chunk in chunks {
        let room = framer.room(chunk.len()).expect("all frames were taken");
        room[..chunk.len()].copy_from_slice(&chunk);
        framer.filled(chunk.len());
        drain(&mut framer, &mut each);
    }
    framer.finish();
    drain(&mut framer, &mut each);
}

/// The observable result of each line: its position, text, and event or error.
pub(crate) fn observed(chunks: impl IntoIterator<Item = Bytes>) -> Vec<String> {
    let mut out = Vec::new();
    for_each(chunks, |item| out.push(observe(&item)));
    out
}

/// [`observed`] for chunks that are read into the framer.
pub(crate) fn observed_read(chunks: impl IntoIterator<Item = Bytes>) -> Vec<String> {
    let mut out = Vec::new();
    for_each_read(chunks, |item| out.push(observe(&item)));
    out
}

fn observe(item: &Item<'_>) -> String {
    let event = match &item.event {
        Ok(event) => format!("{:?}", event.body),
        Err(error) => error.to_string(),
    };
    format!("{:?} {} {event}", item.at, item.raw.len())
}

/// Reproducible random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}
