//! The Unix socket: private to its user, and removed when the daemon stops.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// The file of a bound socket. Dropping it removes the file, unless another daemon has replaced it.
#[derive(Debug)]
pub(in crate::serve) struct BoundSocket {
    path: PathBuf,
    inode: u64,
}

impl BoundSocket {
    pub(in crate::serve) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        let is_ours = fs::metadata(&self.path).is_ok_and(|it| it.ino() == self.inode);
        if is_ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Binds a Unix socket with mode 0600. Replaces the socket file of a daemon that was killed.
pub(in crate::serve) fn bind(path: &Path) -> io::Result<(UnixListener, BoundSocket)> {
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        check_folder(folder)?;
    }
    remove_stale(path)?;
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    let inode = fs::metadata(path)?.ino();
    let path = path.to_owned();
    Ok((listener, BoundSocket { path, inode }))
}

/// Removes a socket file without a listener, and nothing else.
fn remove_stale(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the file exists and is not a socket; choose another path",
        ));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            "another program listens there; choose another --socket",
        )),
        Err(error) => Err(error),
    }
}

/// Refuses a folder in which other users could replace the socket with their own.
fn check_folder(folder: &Path) -> io::Result<()> {
    let mode = fs::metadata(folder)?.mode();
    let is_shared = mode & 0o022 != 0 && mode & 0o1000 == 0;
    if is_shared {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "other users can write to its folder; choose one with mode 0700",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn socket_is_private_and_removed_on_drop() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/runner.sock");
        let (listener, socket) = bind(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        let error = bind(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn stale_socket_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runner.sock");
        drop(UnixListener::bind(&path).unwrap());
        let (_listener, old) = bind(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let (_other, new) = bind(&path).unwrap();
        drop(old);
        assert!(path.exists(), "the newer socket file stays");
        drop(new);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn other_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.txt");
        fs::write(&path, "mine").unwrap();
        let error = bind(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }

    #[tokio::test]
    async fn folder_writable_by_others_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let error = bind(&folder.path().join("runner.sock")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
