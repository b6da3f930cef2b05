//! Files that are read whole.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;

/// Returns the metadata of a regular file.
///
/// # Errors
///
/// It is none: a pipe would never end, and a device might not.
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    let data = fs::metadata(path)?;
    if data.is_file() {
        Ok(data)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Reads a regular file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    metadata(path)?;
    fs::read(path)
}
