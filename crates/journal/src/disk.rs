//! Storage of segments. The only module of this crate that makes system calls.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_process::{ignore_write_signals, reserve_space, sync_file};
use parking_lot::{Mutex, MutexGuard};

/// The storage operations of a journal. Each is one system call, so that a test can make any of them
/// fail.
pub trait Disk: Debug {
    /// An open segment.
    type File: Debug;

    /// Returns the numbers of the existing segments in ascending order.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    fn segments(&self) -> io::Result<Vec<u32>>;

    /// Creates a segment with access for its owner only. Its name is durable after its first sync.
    ///
    /// # Errors
    ///
    /// Errors of the system; an existing segment is an error and is not overwritten.
    fn create(&self, segment: u32) -> io::Result<Self::File>;

    /// Opens a segment for reading.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    fn open(&self, segment: u32) -> io::Result<Self::File>;

    /// Removes a segment.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    fn remove(&self, segment: u32) -> io::Result<()>;

    /// Appends some of the bytes, and returns how many.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    fn write(&self, file: &Self::File, bytes: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Reserves space for the bytes of a file from one position to another, which are past its end; the
    /// length of the file stays the same (fallocate(2)). Reserves nothing where the system cannot.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    fn reserve(&self, _file: &Self::File, _from: u64, _to: u64) -> io::Result<()> {
        Ok(())
    }

    /// Frees what is reserved past the end of a file of `length` bytes.
    fn release(&self, _file: &Self::File, _length: u64) {}

    /// Reads at a position, and returns the number of bytes; 0 at the current end of the file.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    fn read(&self, file: &Self::File, position: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Waits until everything written survives a power failure under its name (fsync(2)).
    ///
    /// # Errors
    ///
    /// Errors of the system. After one, unsynced bytes of the file may be lost even if a later sync
    /// succeeds.
    fn sync(&self, file: &Self::File) -> io::Result<()>;
}

/// A folder whose files are the segments of one journal: `00000000.bjl` and so on.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether the folder has names that are not durable. Locked while they are synced, so that no sync
    /// completes before its names are durable.
    has_new_names: Arc<Mutex<bool>>,
}

impl Folder {
    /// Creates the folder with mode 0700 if it does not exist.
    ///
    /// # Errors
    ///
    /// Errors of mkdir(2).
    pub fn make(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(Self::at(path)),
        }
    }

    /// Returns an existing folder, for reading.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            has_new_names: Arc::default(),
        }
    }

    fn file(&self, segment: u32) -> PathBuf {
        self.path.join(format!("{segment:08}.bjl"))
    }

    /// Syncs the folder: the name of a file is durable when its folder is (fsync(2)).
    fn keep_names(&self) -> io::Result<()> {
        let mut has_new_names = self.has_new_names();
        if *has_new_names {
            sync_file(&File::open(&self.path)?)?;
            *has_new_names = false;
        }
        Ok(())
    }

    fn has_new_names(&self) -> MutexGuard<'_, bool> {
        self.has_new_names.lock()
    }
}

impl Disk for Folder {
    type File = File;

    fn segments(&self) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".bjl"));
            numbers.extend(stem.and_then(|stem| stem.parse::<u32>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn create(&self, segment: u32) -> io::Result<File> {
        let file = create(&self.file(segment))?;
        *self.has_new_names() = true;
        Ok(file)
    }

    fn open(&self, segment: u32) -> io::Result<File> {
        File::open(self.file(segment))
    }

    fn remove(&self, segment: u32) -> io::Result<()> {
        fs::remove_file(self.file(segment))
    }

    fn write(&self, mut file: &File, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        file.write_vectored(bytes)
    }

    fn reserve(&self, file: &File, from: u64, to: u64) -> io::Result<()> {
        reserve_space(file, from, to)
    }

    fn release(&self, file: &File, length: u64) {
        release(file, length);
    }

    fn read(&self, file: &File, position: u64, into: &mut [u8]) -> io::Result<usize> {
        file.read_at(into, position)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        sync_file(file)?;
        self.keep_names()
    }
}

/// A journal in one file: a recording. It has one segment, and no second one after a failure.
#[derive(Clone, Debug)]
pub struct OneFile {
    path: PathBuf,
}

impl OneFile {
    /// Returns the file at `path`, which may not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { path }
    }
}

impl Disk for OneFile {
    type File = File;

    fn segments(&self) -> io::Result<Vec<u32>> {
        Ok(if self.path.try_exists()? {
            vec![0]
        } else {
            Vec::new()
        })
    }

    fn create(&self, _segment: u32) -> io::Result<File> {
        create(&self.path)
    }

    fn open(&self, _segment: u32) -> io::Result<File> {
        File::open(&self.path)
    }

    fn remove(&self, _segment: u32) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    fn write(&self, mut file: &File, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        file.write_vectored(bytes)
    }

    fn reserve(&self, file: &File, from: u64, to: u64) -> io::Result<()> {
        reserve_space(file, from, to)
    }

    fn release(&self, file: &File, length: u64) {
        release(file, length);
    }

    fn read(&self, file: &File, position: u64, into: &mut [u8]) -> io::Result<usize> {
        file.read_at(into, position)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        sync_file(file)
    }
}

/// Creates a new file with access for its owner only. The standard library adds `O_CLOEXEC`.
fn create(path: &Path) -> io::Result<File> {
    // The file size limit is an error of a write, and does not end the process.
    ignore_write_signals();
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Truncation to the present length frees blocks past it. Failing only leaves them reserved.
fn release(file: &File, length: u64) {
    if file
        .metadata()
        .is_ok_and(|metadata| metadata.len() == length)
    {
        let _ = file.set_len(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_durable_after_the_first_sync() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::make(scratch.path().join("journal")).unwrap();
        let file = folder.create(0).unwrap();
        assert!(*folder.has_new_names());
        folder.sync(&file).unwrap();
        assert!(!*folder.has_new_names());
        // A folder that cannot be synced is an error on each attempt.
        let next = folder.create(1).unwrap();
        fs::remove_dir_all(scratch.path()).unwrap();
        assert!(folder.sync(&next).is_err() && folder.sync(&next).is_err());
    }
}
