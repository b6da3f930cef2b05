//! The Unix socket: only its owner can open it, and it is gone when the daemon is.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// A socket's file, removed on drop unless somebody else's is in its place by then.
#[derive(Debug)]
pub(in crate::serve) struct Bound {
    path: PathBuf,
    inode: u64,
}

impl Bound {
    pub(in crate::serve) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let is_ours = fs::metadata(&self.path).is_ok_and(|it| it.ino() == self.inode);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on a Unix socket. What a daemon that was killed left behind is replaced.
pub(in crate::serve) fn bind(path: &Path) -> io::Result<(UnixListener, Bound)> {
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        check(folder)?;
    }
    make_way(path)?;
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let inode = fs::metadata(path)?.ino();
    let path = path.to_owned();
    Ok((listener, Bound { path, inode }))
}

/// Removes a socket that nobody listens on any more, and nothing else.
fn make_way(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is a file that is no socket, choose another path",
        ));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Ok(_) => Err(taken()),
        Err(error) => Err(error),
    }
}

/// Where others may write, they could put a socket of their own in our place.
fn check(folder: &Path) -> io::Result<()> {
    let mode = fs::metadata(folder)?.mode();
    let is_shared = mode & 0o022 != 0 && mode & 0o1000 == 0;
    if is_shared {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others can write its folder, choose one of mode 0700",
        ));
    }
    Ok(())
}

fn taken() -> io::Error {
    io::Error::new(
        io::ErrorKind::AddrInUse,
        "another runner listens there, use it or choose another --socket",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_private_and_goes_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/runner.sock");
        let (listener, bound) = bind(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        let error = bind(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        drop(bound);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn what_a_killed_daemon_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runner.sock");
        drop(UnixListener::bind(&path).unwrap());
        let (_listener, old) = bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let (_other, new) = bind(&path).unwrap();
        drop(old);
        assert!(path.exists(), "the newer one's file stays");
        drop(new);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        fs::write(&path, "mine").unwrap();
        let error = bind(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[tokio::test]
    async fn a_folder_that_others_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let error = bind(&folder.path().join("runner.sock")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
