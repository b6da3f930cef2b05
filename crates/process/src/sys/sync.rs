//! Durable writes.

use std::fs::File;
use std::io;

use rustix::fs::fsync;

/// Writes the contents of a file, or the names in a folder, to the disk: fdatasync(2), and on macOS
/// `F_FULLFSYNC` of fcntl(2), which also empties the cache of the disk. File systems without the latter,
/// such as network shares, get fsync(2).
///
/// # Errors
///
/// The error of the system, such as a full disk.
pub fn sync_file(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if is_unsupported(&error) => Ok(fsync(file)?),
        synced => synced,
    }
}

/// Returns whether an error says that the file system has no such sync (fcntl(2) of macOS).
fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOTSUP | libc::ENOTTY | libc::EINVAL | libc::ENODEV)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_are_synced() {
        let folder = tempfile::tempdir().unwrap();
        sync_file(&File::create(folder.path().join("a")).unwrap()).unwrap();
        sync_file(&File::open(folder.path()).unwrap()).unwrap();
    }

    #[test]
    fn lacking_full_sync_is_distinguished_from_failure() {
        let error = io::Error::from_raw_os_error;
        assert!(
            [libc::ENOTSUP, libc::ENOTTY]
                .map(error)
                .iter()
                .all(is_unsupported)
        );
        assert!(
            ![libc::EIO, libc::ENOSPC, libc::EBADF]
                .map(error)
                .iter()
                .any(is_unsupported)
        );
    }
}
