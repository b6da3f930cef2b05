//! The OOM killer: the score of a child, and detection of a kill.
//!
//! The kernel counts its kills in the memory control group of the killed process (cgroup-v2.rst,
//! `memory.events`; version 1: `memory.oom_control`), and all of them in proc_vmstat(5).

use std::fs;
use std::path::{Path, PathBuf};

use super::cgroup::mounted;

/// Amount added to a child's `oom_score_adj` relative to its parent, in thousandths of all memory
/// (proc_pid_oom_score_adj(5)).
const NEARER: i32 = 300;

/// Maximum of `oom_score_adj`.
const NEAREST: i32 = 1_000;

/// Returns the value for a child's `oom_score_adj`. Its descendants inherit it.
pub(crate) fn score_of_child() -> Option<Vec<u8>> {
    let own = fs::read_to_string("/proc/self/oom_score_adj").ok()?;
    let own: i32 = own.trim().parse().ok()?;
    Some((own + NEARER).min(NEAREST).to_string().into_bytes())
}

/// The kernel's counter of OOM kills that applies to a process.
#[derive(Debug)]
pub(crate) struct OomCount {
    file: PathBuf,
    before: u64,
}

impl OomCount {
    /// Selects the counter of a process. Must be called while the process is in its initial control
    /// group.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let file = counter(&groups, &mounts).unwrap_or_else(|| "/proc/vmstat".into());
        let before = read(&file)?;
        Some(Self { file, before })
    }

    /// Returns whether the counter has grown since.
    pub(crate) fn has_grown(&self) -> bool {
        read(&self.file).is_some_and(|now| now > self.before)
    }
}

fn read(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let mut counts = text.lines().filter_map(|line| line.split_once(' '));
    let (_, count) = counts.find(|(name, _)| *name == "oom_kill")?;
    count.trim().parse().ok()
}

/// Returns the file with the counter of the closest group that has one.
fn counter(groups: &str, mounts: &str) -> Option<PathBuf> {
    let of_version_1 = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers
            .split(',')
            .any(|it| it == "memory")
            .then_some(path)
    });
    if let Some(path) = of_version_1 {
        let place = mounted(path, mounts, |system| {
            let options = system.rsplit(' ').next().unwrap_or_default();
            system.starts_with("cgroup ") && options.split(',').any(|it| it == "memory")
        })?;
        return Some(place.join("memory.oom_control")).filter(|file| read(file).is_some());
    }
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let place = mounted(path, mounts, |system| system.starts_with("cgroup2 "))?;
    let files = place.ancestors().map(|place| place.join("memory.events"));
    files
        .take_while(|file| file.starts_with("/sys"))
        .find(|file| read(file).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_score_exceeds_own() {
        let own = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
        let own: i32 = own.trim().parse().unwrap();
        let text = String::from_utf8(score_of_child().unwrap()).unwrap();
        assert!(text.parse::<i32>().unwrap() > own || own == NEAREST);
    }

    #[test]
    fn counter_is_unchanged_without_kill() {
        let child = std::process::Command::new("/bin/true").spawn();
        let mut child = child.unwrap();
        let count = OomCount::of(child.id().cast_signed()).unwrap();
        child.wait().unwrap();
        assert!(!count.has_grown());
    }
}
