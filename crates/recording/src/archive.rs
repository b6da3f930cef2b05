//! The entries of a diagnostics bundle.

use std::io::{self, Cursor, Read};

/// The name of the first entry, which tells a bundle from other files.
pub(crate) const MANIFEST: &str = "bowline-bundle.json";

/// The beginning of the name of the entry with the streams.
pub(crate) const SESSION: &str = "session.";

/// Reads the streams of a bundle, and whether they are a journal.
pub(crate) fn session_of(raw: impl Read) -> io::Result<(Cursor<Vec<u8>>, bool)> {
    let mut archive = tar::Archive::new(raw);
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        if let Some(form) = name.strip_prefix(SESSION) {
            let is_journal = form == "bjl";
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            return Ok((Cursor::new(bytes), is_journal));
        }
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        "the bundle has no session: it is cut, or of a newer version",
    ))
}
