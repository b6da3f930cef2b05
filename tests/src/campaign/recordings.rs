//! The recorded streams of the agent.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use bytes::Bytes;
use flate2::read::GzDecoder;

/// A recorded stream.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) name: String,
    pub(super) bytes: Bytes,
}

/// Reads every recording, in the order of their names.
pub(super) fn recordings() -> io::Result<Vec<Recording>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut recordings = Vec::new();
    for file in fs::read_dir(folder)? {
        recordings.extend(read(&file?.path())?);
    }
    recordings.sort_by(|one: &Recording, other| one.name.cmp(&other.name));
    Ok(recordings)
}

/// Reads a recording, `None` if the file is none.
fn read(path: &Path) -> io::Result<Option<Recording>> {
    let file = path.file_name().and_then(|name| name.to_str());
    let Some(file) = file.filter(|_| path.is_file()) else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let name = if let Some(name) = file.strip_suffix(".jsonl.gz") {
        GzDecoder::new(File::open(path)?).read_to_end(&mut bytes)?;
        name
    } else if let Some(name) = file.strip_suffix(".jsonl") {
        bytes = fs::read(path)?;
        name
    } else {
        return Ok(None);
    };
    Ok(Some(Recording {
        name: name.to_owned(),
        bytes: bytes.into(),
    }))
}
