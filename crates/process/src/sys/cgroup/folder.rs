//! A directory of the control group file system (cgroups(7), and the kernel's cgroup-v2.rst).

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// Maximum number of passes of [`Folder::kill_one_by_one`]; each finds the processes forked during
/// the previous one.
const ROUNDS: u32 = 64;

/// Number of pidfds that [`Folder::kill_listed`] opens at once.
const MAX_OPENED: usize = 64;

fn open_process(pid: i32) -> Option<(i32, OwnedFd)> {
    let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty());
    Some((pid, process.ok()?))
}

/// Identified by path, so that an idle session uses no descriptor; names are never reused.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn make(path: &Path) -> io::Result<Self> {
        fs::create_dir(path)?;
        Ok(Self::at(path))
    }

    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.into() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the directory with `O_PATH` (open(2)).
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(open(&self.path, flags, Mode::empty())?)
    }

    pub(super) fn is_populated(&self) -> bool {
        let events = self.read("cgroup.events");
        events.is_ok_and(|events| events.lines().any(|line| line == "populated 1"))
    }

    pub(super) fn members(&self) -> Vec<i32> {
        let mut members = Vec::new();
        self.each(&mut |folder| {
            let listed = folder.read("cgroup.procs").unwrap_or_default();
            members.extend(listed.lines().filter_map(|line| line.parse::<i32>().ok()));
        });
        members
    }

    pub(super) fn kill(&self) -> io::Result<()> {
        match self.write("cgroup.kill", "1") {
            // `cgroup.kill` is missing before Linux 5.14.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.kill_one_by_one(),
            done => {
                self.kill_listed();
                done
            }
        }
    }

    /// Kills each listed process. `cgroup.kill` sends a signal to each main thread, which does not
    /// reach a process whose main thread has ended while others run.
    fn kill_listed(&self) {
        for pids in self.members().chunks(MAX_OPENED) {
            let opened: Vec<_> = pids.iter().filter_map(|pid| open_process(*pid)).collect();
            // A pid cannot be reused while its process is alive, so a descriptor that was opened
            // before this list refers to the listed process, or to one that is gone.
            let listed = self.members();
            for (pid, process) in opened {
                if listed.contains(&pid) {
                    let _ = pidfd_send_signal(process, Signal::KILL);
                }
            }
        }
    }

    /// Freezes the group, so that no process can fork, and kills its members.
    pub(super) fn kill_one_by_one(&self) -> io::Result<()> {
        self.write("cgroup.freeze", "1")?;
        for _ in 0..ROUNDS {
            let members = self.members();
            if members.is_empty() {
                break;
            }
            for pid in members.into_iter().filter_map(Pid::from_raw) {
                // Listed a moment ago; processes enter this group only by fork(2).
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        self.write("cgroup.freeze", "0")
    }

    /// Removes the directory and the subgroups that its processes created.
    pub(super) fn remove(&self) -> io::Result<()> {
        for below in self.below() {
            below.remove()?;
        }
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn each(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        for below in self.below() {
            below.each(visit);
        }
    }

    /// Returns the direct subgroups.
    fn below(&self) -> Vec<Self> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let groups = entries.filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()));
        groups.map(|group| Self::at(&group.path())).collect()
    }

    fn read(&self, name: &str) -> io::Result<String> {
        fs::read_to_string(self.path.join(name))
    }

    fn write(&self, name: &str, value: &str) -> io::Result<()> {
        let mut file = fs::File::options().write(true).open(self.path.join(name))?;
        file.write_all(value.as_bytes())
    }
}

/// Returns the directory of the group that this process is in.
pub(super) fn own() -> io::Result<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    find(&groups, &mounts).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Parses `/proc/PID/cgroup`, where `0::/path` is version 2 (cgroups(7)), and
/// proc_pid_mountinfo(5).
fn find(groups: &str, mounts: &str) -> Option<PathBuf> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounted(own, mounts, |system| system.starts_with("cgroup2 "))
}

/// Returns the path of a group on the first mounted file system that satisfies `is_wanted`, which
/// gets the type, source and options of the mountinfo line.
pub(in crate::sys) fn mounted(
    group: &str,
    mounts: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        if !is_wanted(system) {
            return None;
        }
        let inside = Path::new(group).strip_prefix(root).ok()?;
        Some(Path::new(&plain(point)).join(inside))
    })
}

/// Replaces the four escapes of proc_pid_mountinfo(5).
fn plain(path: &str) -> String {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    escapes
        .into_iter()
        .fold(path.to_owned(), |path, (code, character)| {
            path.replace(code, character)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_group_is_found_in_mounts() {
        let mounts = "25 18 0:22 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
                      40 25 0:35 / /sys/fs/cgroup/my\\040unified rw,relatime shared:3 - cgroup2 cgroup2 rw";
        let groups = "4:memory:/a/b\n0::/user.slice/a.scope\n";
        let found = find(groups, mounts).unwrap();
        assert_eq!(
            found,
            Path::new("/sys/fs/cgroup/my unified/user.slice/a.scope")
        );
        assert_eq!(find("4:memory:/a\n", mounts), None, "no version 2 at all");
        let inner = "40 25 0:35 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        assert_eq!(
            find("0::/box/a", inner).unwrap(),
            Path::new("/sys/fs/cgroup/a")
        );
        assert_eq!(find("0::/elsewhere", inner), None, "mounted, but not ours");
    }
}
