//! Files that only their user can open.

use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use tempfile::TempPath;

/// A file that only this user can open, with a path to give to another process.
///
/// It has mode 0600 and is removed on drop; what a killed host has left is removed by the next process
/// that makes one.
/// The other process must run as the same user, on the same machine and outside of a container.
pub struct PrivateFile {
    path: PathBuf,
    /// Both are held for their drop alone.
    _open: Option<File>,
    _named: Option<TempPath>,
}

impl PrivateFile {
    /// Creates a file without a name, where the system permits: on Linux its path is that of this process's
    /// own descriptor (`/proc/PID/fd/N`, proc_pid_fd(5)), and the kernel frees it with this process however
    /// that dies. A program that resolves the links in a path before it opens it cannot read the file, such
    /// as Claude Code 2.1.197 its settings.
    ///
    /// # Errors
    ///
    /// The folder for temporary files cannot be written, or the disk is full.
    pub fn unnamed(contents: &[u8]) -> io::Result<Self> {
        if cfg!(target_os = "linux") && Path::new("/proc/self/fd").is_dir() {
            Self::of_descriptor(contents)
        } else {
            Self::new(contents)
        }
    }

    /// Where another process finds the file, while this value lives.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(unix)]
    fn of_descriptor(contents: &[u8]) -> io::Result<Self> {
        use std::os::fd::AsRawFd as _;
        use std::os::unix::fs::PermissionsExt as _;
        // Made with O_TMPFILE where the file system has it, else unlinked before a byte is written.
        let mut file = tempfile::tempfile()?;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        file.write_all(contents)?;
        let (process, descriptor) = (std::process::id(), file.as_raw_fd());
        Ok(Self {
            path: format!("/proc/{process}/fd/{descriptor}").into(),
            _open: Some(file),
            _named: None,
        })
    }

    #[cfg(not(unix))]
    fn of_descriptor(contents: &[u8]) -> io::Result<Self> {
        Self::new(contents)
    }

    /// Creates a file with these contents.
    ///
    /// # Errors
    ///
    /// The folder for temporary files cannot be written, or the disk is full.
    pub fn new(contents: &[u8]) -> io::Result<Self> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(&std::env::temp_dir()));
        let mut file = tempfile::Builder::new().prefix(PREFIX).tempfile()?;
        // The lock shows other processes that the file is in use.
        file.as_file().lock()?;
        file.write_all(contents)?;
        let (open, named) = file.into_parts();
        Ok(Self {
            path: named.to_path_buf(),
            _open: Some(open),
            _named: Some(named),
        })
    }
}

/// How files with a name begin.
const PREFIX: &str = "bowline-private-";

/// Younger files may be about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

/// Removes the files of killed processes: those without a lock.
fn sweep(folder: &Path) {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let own = files.filter(|it| it.file_name().to_string_lossy().starts_with(PREFIX));
    for path in own.map(|it| it.path()).filter(|it| is_left(it)) {
        // Another process may sweep at the same time.
        let _ = std::fs::remove_file(path);
    }
}

fn is_left(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let age = file.metadata().and_then(|it| it.modified());
    let is_old = age.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > YOUNG));
    is_old && file.try_lock().is_ok()
}

impl fmt::Debug for PrivateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PrivateFile").field(&self.path).finish()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_private_file_is_read_by_its_path_and_goes_with_its_owner() {
        for file in [PrivateFile::new(b"hush"), PrivateFile::unnamed(b"hush")] {
            let file = file.unwrap();
            let path = file.path().to_owned();
            assert_eq!(std::fs::read(&path).unwrap(), b"hush");
            assert_eq!(
                std::fs::read(&path).unwrap(),
                b"hush",
                "each opening starts at 0"
            );
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            drop(file);
            assert!(std::fs::read(&path).is_err());
        }
    }

    /// Claude Code 2.1.197 does so before it opens its settings.
    #[test]
    fn path_is_kept_when_links_are_resolved() {
        let file = PrivateFile::new(b"hush").unwrap();
        let resolved = std::fs::canonicalize(file.path()).unwrap();
        assert_eq!(std::fs::read(resolved).unwrap(), b"hush");
    }

    #[test]
    fn what_a_killed_process_has_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, seconds: u64| {
            let path = folder.path().join(name);
            let file = File::create(&path).unwrap();
            let made = std::time::SystemTime::now() - Duration::from_secs(seconds);
            file.set_modified(made).unwrap();
            (path, file)
        };
        let (left, _) = file("bowline-private-left", 600);
        let (held, holder) = file("bowline-private-held", 600);
        holder.lock().unwrap();
        let (young, _) = file("bowline-private-young", 0);
        let (other, _) = file("unrelated", 600);
        sweep(folder.path());
        let there = [&left, &held, &young, &other].map(|path| path.exists());
        assert_eq!(there, [false, true, true, true]);
        drop(holder);
        sweep(folder.path());
        assert!(!held.exists(), "its holder is gone");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn unnamed_private_file_has_no_name() {
        let file = PrivateFile::unnamed(b"hush").unwrap();
        let target = std::fs::read_link(file.path()).unwrap();
        assert!(
            target.to_string_lossy().ends_with("(deleted)"),
            "{target:?}"
        );
    }
}
