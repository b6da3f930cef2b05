//! Locks that a process holds through a file (flock(2)), and that are released when it exits.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bowline_lifecycle::{ResumeError, check_conversation_id};
use bowline_shell::ManagedId;

use super::ManagerError;

/// Attempts to lock a file that its holder is removing.
const MAX_ATTEMPTS: usize = 64;

/// Holds a name until dropped; the file goes with it.
#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    _file: File,
}

/// Another process holds the lock, as described in the file.
#[derive(Debug)]
pub(super) struct Held(pub(super) String);

impl Lease {
    /// Locks a file, and writes the holder to it.
    pub(super) fn take(path: &Path, holder: &str) -> io::Result<Result<Self, Held>> {
        for _ in 0..MAX_ATTEMPTS {
            let mut file = open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(Held(read(&mut file)))),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Its last holder may have taken the file away between our two steps.
            let is_there = std::fs::metadata(path).is_ok_and(|there| {
                file.metadata()
                    .is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
            });
            if is_there {
                write(&mut file, holder)?;
                let path = path.to_path_buf();
                return Ok(Ok(Self { path, _file: file }));
            }
        }
        Err(io::Error::other("the file keeps going away"))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // While the lock is held, so that no other holder's file is hit.
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

/// Creates a folder for locks and lists, private to the user, with its parents.
pub(super) fn make_folder(folder: &Path) -> Result<(), ManagerError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(folder)
        .map_err(ManagerError::state("make the folder", folder))
}

/// The exclusive right to use a conversation, among all holders on this machine that use the same
/// folder. Released on drop, or with the process that holds it.
#[derive(Debug)]
pub struct ConversationLease(#[expect(dead_code, reason = "held, not read")] Lease);

impl ConversationLease {
    /// Takes the lease of a conversation. Creates the folder if it does not exist. `holder` is named in
    /// the errors of others meanwhile.
    ///
    /// # Errors
    ///
    /// [`ResumeError::Leased`] if it is in use; also if the id is invalid or the folder cannot be used.
    pub fn take(folder: &Path, conversation: &str, holder: &str) -> Result<Self, ManagerError> {
        check_conversation_id(conversation)?;
        make_folder(folder)?;
        let path = folder.join(format!("{conversation}.lock"));
        match Lease::take(&path, holder).map_err(ManagerError::state("take the lease", &path))? {
            Ok(lease) => Ok(Self(lease)),
            Err(Held(holder)) => Err(ResumeError::Leased {
                conversation: conversation.to_owned(),
                holder,
            }
            .into()),
        }
    }
}

/// One lease for each conversation in use.
#[derive(Clone, Debug)]
pub(super) struct Leases {
    folder: PathBuf,
}

impl Leases {
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Takes a conversation for a session.
    pub(super) fn take(
        &self,
        conversation: &str,
        session: ManagedId,
    ) -> Result<ConversationLease, ManagerError> {
        let holder = format!("session {session} of process {}", std::process::id());
        ConversationLease::take(&self.folder, conversation, &holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_is_exclusive_until_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let leases = Leases::in_folder(folder.path().join("leases"));
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
