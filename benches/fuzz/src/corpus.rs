//! The recorded lines that are mutated.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use flate2::read::GzDecoder;

use crate::random::Random;

/// Folder of the recordings in the repository.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");

/// Longest line, in bytes: longer ones take more time and find nothing else.
const LONGEST: usize = 8 << 10;

/// Maximum number of consecutive lines in a stream: the parser remembers the spelling of the
/// previous one.
const LINES: usize = 5;

/// The lines of the recordings of the real agent, in order.
#[derive(Clone, Debug)]
pub struct Corpus {
    lines: Vec<Vec<u8>>,
}

impl Corpus {
    /// Reads the recordings.
    ///
    /// # Errors
    ///
    /// Fails if the recordings are missing.
    pub fn load() -> io::Result<Self> {
        let mut files = fs::read_dir(RECORDINGS)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        files.sort();
        let mut lines = Vec::new();
        for file in files {
            let stream = read(&file)?;
            let its = stream.split(|&byte| byte == b'\n');
            let short = its.filter(|line| !line.is_empty() && line.len() < LONGEST);
            lines.extend(short.map(<[u8]>::to_vec));
        }
        if lines.len() < LINES {
            return Err(io::Error::other("the recordings are empty"));
        }
        Ok(Self { lines })
    }

    /// Returns every line.
    #[cfg(feature = "targets")]
    pub(crate) fn lines(&self) -> &[Vec<u8>] {
        &self.lines
    }

    /// Returns some consecutive lines.
    pub(crate) fn some(&self, random: &mut Random) -> &[Vec<u8>] {
        let from = random.below(self.lines.len() - LINES);
        let count = 1 + random.below(LINES);
        self.lines.get(from..from + count).unwrap_or_default()
    }

    /// Returns a random line.
    pub(crate) fn any(&self, random: &mut Random) -> &[u8] {
        self.lines
            .get(random.below(self.lines.len()))
            .map_or(&[], Vec::as_slice)
    }
}

/// Reads a recorded stream and decompresses it; returns nothing for other files.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let name = file.to_string_lossy();
    if name.ends_with(".jsonl") {
        return fs::read(file);
    }
    let mut stream = Vec::new();
    if name.ends_with(".jsonl.gz") {
        GzDecoder::new(fs::File::open(file)?).read_to_end(&mut stream)?;
    }
    Ok(stream)
}
