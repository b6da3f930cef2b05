//! Where segments lie. The only place of the journal that calls the system.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the journal asks of a disk: one call of the system each, so that a test can let any of them
/// fail.
pub trait Disk: Debug {
    /// An open segment.
    type File: Debug;

    /// The numbers of the segments that are there, in rising order.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn segments(&self) -> io::Result<Vec<u32>>;

    /// Makes a segment that is not there yet, for its owner alone. Its name lasts from its first sync
    /// on.
    ///
    /// # Errors
    ///
    /// Those of the system; one that is there is never written over.
    fn create(&self, segment: u32) -> io::Result<Self::File>;

    /// Opens a segment for reading.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn open(&self, segment: u32) -> io::Result<Self::File>;

    /// Removes a segment.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn remove(&self, segment: u32) -> io::Result<()>;

    /// Appends some of the bytes; answers how many.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn write(&self, file: &Self::File, bytes: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Reads from a position; answers how many bytes, 0 at the end of the file so far.
    ///
    /// # Errors
    ///
    /// Those of the system.
    fn read(&self, file: &Self::File, position: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Waits until everything that was written would survive a power failure, under its name.
    ///
    /// # Errors
    ///
    /// Those of the system. After one, the file's unsynced bytes may be gone whatever a later call
    /// says.
    fn sync(&self, file: &Self::File) -> io::Result<()>;
}

/// A folder whose files are the segments of one journal: `00000000.bjl` and so on.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether it has names that a power failure would take. Held while that is mended: nobody is told
    /// that a name lasts before it does.
    is_fresh: Arc<Mutex<bool>>,
}

impl Folder {
    /// Makes the folder, for its owner alone (0700), if it is not there.
    ///
    /// # Errors
    ///
    /// Those of mkdir(2).
    pub fn make(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(Self::at(path)),
        }
    }

    /// A folder that is there, for reading.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            is_fresh: Arc::default(),
        }
    }

    fn file(&self, segment: u32) -> PathBuf {
        self.path.join(format!("{segment:08}.bjl"))
    }

    /// A name lasts only when the folder that holds it does.
    fn keep_names(&self) -> io::Result<()> {
        let mut is_fresh = self.is_fresh();
        if *is_fresh {
            File::open(&self.path)?.sync_all()?;
            *is_fresh = false;
        }
        Ok(())
    }

    fn is_fresh(&self) -> MutexGuard<'_, bool> {
        self.is_fresh.lock().unwrap_or_else(PoisonError::into_inner)
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
        *self.is_fresh() = true;
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

    fn read(&self, file: &File, position: u64, into: &mut [u8]) -> io::Result<usize> {
        file.read_at(into, position)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()?;
        self.keep_names()
    }
}

/// A file that is all of a journal: a recording. It has one segment, and when that fails there is no
/// second.
#[derive(Clone, Debug)]
pub struct OneFile {
    path: PathBuf,
}

impl OneFile {
    /// A file that is there or will be.
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

    fn read(&self, file: &File, position: u64, into: &mut [u8]) -> io::Result<usize> {
        file.read_at(into, position)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }
}

/// Makes a file that is not there yet, for its owner alone. The standard library adds O_CLOEXEC.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_lasts_from_the_first_sync_on() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::make(scratch.path().join("journal")).unwrap();
        let file = folder.create(0).unwrap();
        assert!(*folder.is_fresh());
        folder.sync(&file).unwrap();
        assert!(!*folder.is_fresh());
        // One that cannot be made to last is told as that, each time.
        let next = folder.create(1).unwrap();
        fs::remove_dir_all(scratch.path()).unwrap();
        assert!(folder.sync(&next).is_err() && folder.sync(&next).is_err());
    }
}
