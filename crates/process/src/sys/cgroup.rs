//! Control groups of our own, under the one that this process is in.
//!
//! All sessions of one process share a *nest*: `bowline-<pid>-<random>`, with one group for each
//! session inside. A guard needs to know the nest alone to end every session at once.

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

/// How often an emptied directory is tried, and with what pauses: the kernel may hold the dead in it
/// until somebody has reaped them.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// What the names of nests begin with.
const NAME: &str = "bowline-";

/// How old an empty nest must be to be taken for forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Nests that a process looks at before it makes its own.
const LOOKS: usize = 32;

/// Set when a process was once born into a nest.
static ENTERED: OnceLock<()> = OnceLock::new();

/// The directory of this process.
#[derive(Debug)]
pub(crate) struct Nest {
    folder: Folder,
}

impl Nest {
    /// Makes the directory, and sees to it that a process can be born into it.
    pub(crate) fn make() -> io::Result<Self> {
        let name = format!("{NAME}{}-{}", std::process::id(), Uuid::new_v4().simple());
        let home = folder::own()?;
        if ENTERED.get().is_none() {
            tidy(&home);
        }
        let nest = Self {
            folder: Folder::make(&home.join(name))?,
        };
        if ENTERED.get().is_none() {
            launch::try_fork(nest.folder.open()?.as_fd())?;
            // Whoever was first: it is the same news.
            let _ = ENTERED.set(());
        }
        Ok(nest)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            if self.folder.remove().is_ok() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        tracing::debug!("the nest of control groups stays");
    }
}

/// Removes what hosts without a guard left when they were killed: nests of processes that are gone,
/// with nobody in them. Looks at a few, others each time: there may be a thousand.
fn tidy(home: &Path) {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    let nests: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| owner(path).is_some())
        .collect();
    let first = Uuid::new_v4().as_u128() as usize % nests.len().max(1);
    let (before, after) = nests.split_at(first);
    for nest in after.iter().chain(before).take(LOOKS) {
        let is_gone = owner(nest).is_some_and(|pid| !Path::new("/proc").join(pid).exists());
        if is_gone && is_forgotten(nest) {
            // Somebody else may be tidying too.
            let _ = Folder::at(nest).remove();
        }
    }
}

/// The process that a nest was made by.
fn owner(nest: &Path) -> Option<&str> {
    let name = nest.file_name()?.to_str()?;
    name.strip_prefix(NAME)?.split('-').next()
}

fn is_forgotten(nest: &Path) -> bool {
    let made = nest.metadata().and_then(|data| data.modified());
    let age = made.ok().and_then(|made| made.elapsed().ok());
    age.is_some_and(|age| age > FORGOTTEN) && !Folder::at(nest).is_populated()
}

/// The group of one session.
#[derive(Debug)]
pub(crate) struct Group {
    folder: Folder,
}

impl Group {
    pub(crate) fn make(nest: &Nest, name: &str) -> io::Result<Self> {
        Ok(Self {
            folder: Folder::make(&nest.path().join(name))?,
        })
    }

    /// For clone3(2).
    pub(crate) fn directory(&self) -> io::Result<OwnedFd> {
        self.folder.open()
    }

    /// Every process in the group and in those below it, dead or dying ones left out.
    pub(crate) fn members(&self) -> Vec<i32> {
        self.folder.members()
    }

    /// Sends SIGKILL to every process in the group and in those below, those included that are
    /// being forked meanwhile.
    pub(crate) fn kill(&self) -> io::Result<()> {
        self.folder.kill()
    }

    /// Whether a live process is in the group or below.
    pub(crate) fn is_populated(&self) -> bool {
        self.folder.is_populated()
    }

    /// Removes the directory; `false` while the kernel still holds something in it.
    pub(crate) fn remove(&self) -> bool {
        self.folder.remove().is_ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Kills all that lives in a nest whose process is gone, and removes it.
pub(crate) fn clear(nest: &Path) -> io::Result<()> {
    let folder = Folder::at(nest);
    if folder.is_populated() {
        folder.kill()?;
    }
    folder.remove()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Somebody who forks on and on, born outside and moved in.
    fn crowd(group: &Group) -> std::process::Child {
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
        let Ok(nest) = Nest::make() else {
            return eprintln!("skipped: this process may not make control groups");
        };
        let group = Group::make(&nest, &Uuid::new_v4().to_string()).unwrap();
        let mut child = crowd(&group);
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
    fn a_group_is_killed_as_one() {
        ends_by(|group| group.kill().unwrap());
    }

    #[test]
    fn groups_inside_a_group_go_with_it() {
        let Ok(nest) = Nest::make() else {
            return eprintln!("skipped: this process may not make control groups");
        };
        let outer = Group::make(&nest, "outer").unwrap();
        let inner = Group {
            folder: Folder::make(&outer.folder.path().join("inner")).unwrap(),
        };
        let mut child = crowd(&inner);
        assert_eq!(outer.members(), inner.members());
        assert!(outer.is_populated() && !outer.remove());
        // As a guard does it, whose host is gone.
        let started = std::time::Instant::now();
        while clear(nest.path()).is_err() {
            assert!(started.elapsed().as_secs() < 20);
        }
        child.wait().unwrap();
        assert!(!nest.path().exists());
    }

    #[test]
    fn a_kernel_without_cgroup_kill_is_no_way_out() {
        ends_by(|group| group.folder.kill_one_by_one().unwrap());
    }
}
