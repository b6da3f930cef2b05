//! The source of a stream: a corpus or a file.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use super::Corpus;

/// The source of a stream.
#[derive(Clone, Debug)]
pub enum Source {
    /// A built-in corpus of about this many bytes.
    Corpus(Corpus, usize),
    /// A `.jsonl` or `.jsonl.gz` file.
    File(PathBuf),
}

/// Why a source could not be read.
#[derive(Debug)]
pub enum SourceError {
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// The file contains no line.
    Empty(PathBuf),
}

impl Source {
    /// Returns the name in results: that of the corpus, or of the file without its folder.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Corpus(corpus, _) => corpus.name().into(),
            Self::File(path) => path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned(),
        }
    }

    /// Returns the stream, ended by LF.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or contains no line.
    pub fn load(&self) -> Result<Bytes, SourceError> {
        match self {
            Self::Corpus(corpus, size) => corpus.generate(*size),
            Self::File(path) => {
                let mut bytes = read(path)?;
                if bytes.trim_ascii().is_empty() {
                    return Err(SourceError::Empty(path.clone()));
                }
                if !bytes.ends_with(b"\n") {
                    bytes.push(b'\n');
                }
                Ok(Bytes::from(bytes))
            }
        }
    }
}

/// Reads a file, and decompresses it if its name ends in `.gz`.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    let failed = |error| SourceError::Read(path.into(), error);
    let bytes = fs::read(path).map_err(failed)?;
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(&bytes[..])
        .read_to_end(&mut unpacked)
        .map_err(failed)?;
    Ok(unpacked)
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => {
                let path = path.display();
                write!(f, "read {path}: {error}; give a .jsonl or .jsonl.gz file")
            }
            Self::Empty(path) => {
                let path = path.display();
                write!(f, "find a line in {path}; give a file of JSON lines")
            }
        }
    }
}

impl std::error::Error for SourceError {}
