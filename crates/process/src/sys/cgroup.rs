//! Control groups below the one that this process is in (cgroups(7), version 2).
//!
//! All sessions of a process share a parent group, the *nest*: `bowline-<pid>-<random>`, with one
//! group per session in it. The host's death ends every session by the nest alone.

mod folder;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use uuid::Uuid;

use super::launch;
use folder::Folder;
pub(super) use folder::mounted;

/// Number of attempts to remove an empty directory, and the pause between them: the kernel may keep
/// zombies in it until they are reaped.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// Prefix of the names of nests.
const NAME: &str = "bowline-";

/// Age after which an empty nest counts as abandoned.
const ABANDONED_AGE: Duration = Duration::from_secs(60);

/// Maximum number of existing nests that are checked when a nest is created.
const MAX_CHECKED: usize = 32;

/// Set once a process was created in a nest successfully.
static ENTERED: OnceLock<()> = OnceLock::new();

/// Parent group of the sessions of this process.
#[derive(Debug)]
pub(crate) struct Nest {
    folder: Folder,
}

impl Nest {
    /// Creates the directory, and verifies that a process can be created in it.
    pub(crate) fn make() -> io::Result<Self> {
        let name = format!("{NAME}{}-{}", std::process::id(), Uuid::new_v4().simple());
        let home = folder::own()?;
        if ENTERED.get().is_none() {
            remove_abandoned(&home);
        }
        let nest = Self {
            folder: Folder::make(&home.join(name))?,
        };
        if ENTERED.get().is_none() {
            launch::try_fork(nest.folder.open()?.as_fd())?;
            // A concurrent caller set the same value.
            let _ = ENTERED.set(());
        }
        Ok(nest)
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            // All sessions have ended; a process that is left has moved itself out of its group.
            if self.folder.is_populated() {
                let _ = self.folder.kill();
            }
            if self.folder.remove().is_ok() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        tracing::debug!("cannot remove the parent control group");
    }
}

/// Removes empty nests of processes that are gone, which remain after a host without a guard was
/// killed. Checks a limited number, beginning at a random one, since there may be a thousand.
fn remove_abandoned(home: &Path) {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    let nests: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| owner(path).is_some())
        .collect();
    let first = Uuid::new_v4().as_u128() as usize % nests.len().max(1);
    let (before, after) = nests.split_at(first);
    for nest in after.iter().chain(before).take(MAX_CHECKED) {
        let is_gone = owner(nest).is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        if is_gone && is_abandoned(nest) {
            // Another process may be removing it as well.
            let _ = Folder::at(nest).remove();
        }
    }
}

/// Returns the pid of the process that created a nest.
fn owner(nest: &Path) -> Option<&str> {
    let name = nest.file_name()?.to_str()?;
    name.strip_prefix(NAME)?.split('-').next()
}

fn is_abandoned(nest: &Path) -> bool {
    let made = nest.metadata().and_then(|data| data.modified());
    let age = made.ok().and_then(|made| made.elapsed().ok());
    age.is_some_and(|age| age > ABANDONED_AGE) && !Folder::at(nest).is_populated()
}

/// Control group of one session.
#[derive(Debug)]
pub(crate) struct Group {
    folder: Folder,
}

impl Group {
    pub(crate) fn make(nest: &Nest, name: &str) -> io::Result<Self> {
        Ok(Self {
            folder: Folder::make(&nest.folder.path().join(name))?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the descriptor for clone3(2).
    pub(crate) fn directory(&self) -> io::Result<OwnedFd> {
        self.folder.open()
    }

    /// Returns the processes in the group and its subgroups, without zombies.
    pub(crate) fn members(&self) -> Vec<i32> {
        self.folder.members()
    }

    /// Sends SIGKILL to every process in the group and its subgroups, including those that are
    /// being forked.
    pub(crate) fn kill(&self) -> io::Result<()> {
        self.folder.kill()
    }

    /// Returns whether a live process is in the group or a subgroup.
    pub(crate) fn is_populated(&self) -> bool {
        self.folder.is_populated()
    }

    /// Removes the directory; returns `false` while the kernel still keeps processes in it.
    pub(crate) fn remove(&self) -> bool {
        self.folder.remove().is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Kills every process in a group or a nest, and removes it.
pub(crate) fn clear(path: &Path) -> io::Result<()> {
    let folder = Folder::at(path);
    if folder.is_populated() {
        folder.kill()?;
    }
    folder.remove()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Starts a process that forks continuously, outside of the group, and moves it into the group.
    fn spawn_forking_child(group: &Group) -> std::process::Child {
        let script = "echo $$ > \"$0/cgroup.procs\"; while :; do sleep 1000 & sleep 1000 & \
                      echo; sleep 0.01; done";
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).arg(group.folder.path());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut byte = [0];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut byte).unwrap();
        child
    }

    fn ends_by(kill: impl Fn(&Group)) {
        let nest = Nest::make().unwrap();
        let group = Group::make(&nest, &Uuid::new_v4().to_string()).unwrap();
        let mut child = spawn_forking_child(&group);
        assert!(group.is_populated() && group.members().len() > 1);
        let path = group.folder.path().to_owned();
        let started = std::time::Instant::now();
        while group.is_populated() {
            kill(&group);
            assert!(started.elapsed().as_secs() < 20, "{:?}", group.members());
        }
        child.wait().unwrap();
        assert_eq!(group.members(), [0_i32; 0]);
        while !group.remove() {
            assert!(started.elapsed().as_secs() < 20);
        }
        assert!(!path.exists());
    }

    #[test]
    #[ignore = "needs control groups; run by `control_groups_end_their_members`"]
    fn kill_ends_forking_group() {
        ends_by(|group| group.kill().unwrap());
    }

    #[test]
    #[ignore = "needs control groups; run by `control_groups_end_their_members`"]
    fn clear_removes_subgroups() {
        let nest = Nest::make().unwrap();
        let outer = Group::make(&nest, "outer").unwrap();
        let inner = Group {
            folder: Folder::make(&outer.folder.path().join("inner")).unwrap(),
        };
        let mut child = spawn_forking_child(&inner);
        assert_eq!(outer.members(), inner.members());
        assert!(outer.is_populated() && !outer.remove());
        // As a guard does after its host has died.
        let started = std::time::Instant::now();
        while clear(nest.folder.path()).is_err() {
            assert!(started.elapsed().as_secs() < 20);
        }
        child.wait().unwrap();
        assert!(!nest.folder.path().exists());
    }

    #[test]
    #[ignore = "needs control groups; run by `control_groups_end_their_members`"]
    fn kill_one_by_one_ends_forking_group() {
        ends_by(|group| group.folder.kill_one_by_one().unwrap());
    }

    /// Runs the ignored tests on a machine that permits them.
    #[test]
    fn control_groups_end_their_members() {
        if Nest::make().is_err() {
            return;
        }
        let mut tests = Command::new(std::env::current_exe().unwrap());
        let output = tests.args([module_path!().split_once("::").unwrap().1, "--ignored"]);
        let output = output.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("3 passed") && output.status.success(),
            "{text}"
        );
    }
}
