//! Resolution of the program and the working directory before a process is started, so that each
//! failure has its own error.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::error::SpawnError;
use crate::sys;

/// Search path of execvp(3) without `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Opens the working directory, so that the child enters the directory that was checked.
pub(crate) fn open_directory(path: &Path) -> Result<OwnedFd, SpawnError> {
    let path_buf = || path.to_path_buf();
    let directory = sys::open_directory(path).map_err(|errno| match errno {
        Errno::NOENT => SpawnError::CwdMissing { path: path_buf() },
        Errno::NOTDIR => SpawnError::CwdNotADirectory { path: path_buf() },
        Errno::ACCESS => SpawnError::CwdDenied { path: path_buf() },
        other => SpawnError::io("enter the working directory", other),
    })?;
    match access(path, Access::EXEC_OK) {
        Err(Errno::ACCESS) => Err(SpawnError::CwdDenied { path: path_buf() }),
        _ => Ok(directory),
    }
}

/// Resolves the file to run by the rules of execvp(3), relative to the child's working directory.
/// The result is absolute, since the child's directory differs from that of this process.
pub(crate) fn find(
    program: &OsStr,
    search: Option<&OsString>,
    cwd: Option<&Path>,
) -> Result<PathBuf, SpawnError> {
    if program.is_empty() {
        return Err(SpawnError::NoProgram);
    }
    if program.as_bytes().contains(&0) {
        return Err(SpawnError::NulByte);
    }
    let base = cwd.unwrap_or_else(|| Path::new(""));
    let found = if program.as_bytes().contains(&b'/') {
        at_path(program, base)
    } else {
        in_search(program, search, base)
    };
    std::path::absolute(found?).map_err(|error| SpawnError::io("find the current directory", error))
}

fn at_path(program: &OsStr, base: &Path) -> Result<PathBuf, SpawnError> {
    check(base.join(program))?.ok_or_else(|| SpawnError::NotFound {
        program: program.into(),
        path: None,
    })
}

fn in_search(
    program: &OsStr,
    search: Option<&OsString>,
    base: &Path,
) -> Result<PathBuf, SpawnError> {
    let search = search.cloned().unwrap_or_else(|| DEFAULT_PATH.into());
    let mut refused = None;
    for directory in std::env::split_paths(&search) {
        match check(base.join(directory).join(program)) {
            Ok(Some(found)) => return Ok(found),
            Err(error) => refused = refused.or(Some(error)),
            Ok(None) => {}
        }
    }
    Err(refused.unwrap_or_else(|| SpawnError::NotFound {
        program: program.into(),
        path: Some(search),
    }))
}

/// Returns `None` if the file does not exist.
fn check(path: PathBuf) -> Result<Option<PathBuf>, SpawnError> {
    match std::fs::metadata(&path) {
        Err(error) => match error.raw_os_error() {
            Some(libc::ELOOP) => Err(SpawnError::TooManyLinks { path }),
            Some(libc::ENAMETOOLONG) => Err(SpawnError::NameTooLong { path }),
            Some(libc::EACCES) => Err(SpawnError::NotExecutable { path }),
            _ => Ok(None),
        },
        Ok(data) if data.is_file() && access(&path, Access::EXEC_OK).is_ok() => Ok(Some(path)),
        Ok(_) => Err(SpawnError::NotExecutable { path }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_search_skips_non_executable_files() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("sh"), "").unwrap();
        let search = std::env::join_paths([directory.path(), Path::new("/bin")]).unwrap();
        assert_eq!(
            find("sh".as_ref(), Some(&search), None).unwrap(),
            Path::new("/bin/sh")
        );
        let only = directory.path().as_os_str().to_owned();
        let refused = find("sh".as_ref(), Some(&only), None);
        assert!(matches!(refused, Err(SpawnError::NotExecutable { .. })));
    }

    #[test]
    fn relative_path_resolves_against_cwd() {
        let found = find("./sh".as_ref(), None, Some(Path::new("/bin"))).unwrap();
        assert_eq!(found, Path::new("/bin/./sh"));
    }

    #[test]
    fn empty_name_and_directory_are_rejected() {
        let found = find("".as_ref(), None, Some(Path::new("/bin")));
        assert!(matches!(found, Err(SpawnError::NoProgram)));
        let found = find("/bin/".as_ref(), None, None);
        assert!(matches!(found, Err(SpawnError::NotExecutable { .. })));
    }
}
