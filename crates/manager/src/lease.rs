//! Locks that a process holds through a file (flock(2)); they are released when it exits.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bowline_lifecycle::{ResumeError, check_conversation_id};
use bowline_shell::ManagedId;

use crate::error::ManagerError;

/// Attempts to lock a file that its holder is removing.
const MAX_ATTEMPTS: usize = 64;

/// A locked file. Dropping it removes the file and releases the lock.
#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    _file: File,
}

/// Another process holds the lock; with the description in the file.
#[derive(Debug)]
pub(super) struct LeaseHeld(pub(super) String);

impl Lease {
    /// Locks a file, and writes the holder to it.
    pub(super) fn take(path: &Path, holder: &str) -> io::Result<Result<Self, LeaseHeld>> {
        for _ in 0..MAX_ATTEMPTS {
            let mut file = open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(LeaseHeld(read(&mut file)))),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The last holder may have removed the file between the two steps.
            let is_current = std::fs::metadata(path).is_ok_and(|current| {
                file.metadata()
                    .is_ok_and(|ours| (ours.dev(), ours.ino()) == (current.dev(), current.ino()))
            });
            if is_current {
                write(&mut file, holder)?;
                let path = path.to_path_buf();
                return Ok(Ok(Self { path, _file: file }));
            }
        }
        Err(io::Error::other("the file is removed again and again"))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // While the lock is held, so that the file of another holder is not removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600);
    options.open(path)
}

fn write(file: &mut File, holder: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(holder.as_bytes())
}

fn read(file: &mut File) -> String {
    let (mut holder, mut bytes) = (String::new(), file.take(200));
    match bytes.read_to_string(&mut holder) {
        Ok(1..) => holder,
        _ => "an unknown process".to_owned(),
    }
}

/// Creates a directory with its parents, all with mode 0700.
pub(super) fn create_directory(directory: &Path) -> Result<(), ManagerError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(directory)
        .map_err(ManagerError::state("create the directory", directory))
}

/// The exclusive right to use a conversation, among all holders on this machine that use the same
/// directory. Released on drop, or with the process that holds it.
#[derive(Debug)]
pub struct ConversationLease(#[expect(dead_code, reason = "held, not read")] Lease);

impl ConversationLease {
    /// Takes the lease of a conversation. Creates the directory if it does not exist. The errors of
    /// other takers name `holder`.
    ///
    /// # Errors
    ///
    /// [`ResumeError::Leased`] if it is in use; also if the id is invalid or the directory cannot be used.
    pub fn take(directory: &Path, conversation: &str, holder: &str) -> Result<Self, ManagerError> {
        check_conversation_id(conversation)?;
        create_directory(directory)?;
        let path = directory.join(format!("{conversation}.lock"));
        match Lease::take(&path, holder).map_err(ManagerError::state("take the lease", &path))? {
            Ok(lease) => Ok(Self(lease)),
            Err(LeaseHeld(holder)) => Err(ResumeError::Leased {
                conversation: conversation.to_owned(),
                holder,
            }
            .into()),
        }
    }
}

/// Takes leases in one directory.
#[derive(Clone, Debug)]
pub(super) struct Leases {
    directory: PathBuf,
}

impl Leases {
    pub(super) fn in_directory(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Takes a conversation for a session.
    pub(super) fn take(
        &self,
        conversation: &str,
        session: ManagedId,
    ) -> Result<ConversationLease, ManagerError> {
        let holder = format!("session {session} of process {}", std::process::id());
        ConversationLease::take(&self.directory, conversation, &holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_is_exclusive_until_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let leases = Leases::in_directory(folder.path().join("leases"));
        let (one, two) = (ManagedId::random(), ManagedId::random());
        let lease = leases.take("c1", one).unwrap();
        let refused = leases.take("c1", two).unwrap_err();
        assert_eq!(refused.code(), "CONVERSATION_IN_USE");
        assert!(refused.to_string().contains(&one.to_string()), "{refused}");
        let other = leases.take("c2", two).unwrap();
        drop(lease);
        let again = leases.take("c1", two).unwrap();
        drop((again, other));
        assert_eq!(
            std::fs::read_dir(folder.path().join("leases"))
                .unwrap()
                .count(),
            0
        );
    }

    #[test]
    fn concurrent_takers_never_share_a_lease() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let (held, taken) = (
            std::sync::atomic::AtomicU32::new(0),
            std::sync::atomic::AtomicU32::new(0),
        );
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        if let Ok(Ok(lease)) = Lease::take(&path, "me") {
                            assert_eq!(held.fetch_add(1, order), 0);
                            taken.fetch_add(1, order);
                            held.fetch_sub(1, order);
                            drop(lease);
                        }
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
