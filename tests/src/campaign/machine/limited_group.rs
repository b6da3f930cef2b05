//! A control group with a limit of memory or tasks, of either cgroup version.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Number of attempts to remove an emptied group, and the pause between them.
const MAX_TRIES: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(2);

/// The limited resource.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Parent folder of new groups, with the files of the limit and of its events.
    places: [(&'static str, &'static str, &'static str); 3],
}

const MEMORY: Kind = Kind {
    places: [
        (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.oom_control",
        ),
        ("/sys/fs/cgroup", "memory.max", "memory.events"),
        ("/sys/fs/cgroup/unified", "memory.max", "memory.events"),
    ],
};

const TASKS: Kind = Kind {
    places: [
        ("/sys/fs/cgroup/pids", "pids.max", "pids.current"),
        ("/sys/fs/cgroup", "pids.max", "pids.current"),
        ("/sys/fs/cgroup/unified", "pids.max", "pids.current"),
    ],
};

/// Distinguishes groups of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A control group, removed on drop once it is empty.
#[derive(Debug)]
pub(super) struct LimitedGroup {
    path: PathBuf,
    limit: &'static str,
    state: &'static str,
}

impl LimitedGroup {
    /// Creates a group with a memory limit. Fails if this machine does not permit it.
    pub(super) fn of_memory(bytes: u64) -> io::Result<Self> {
        let made = Self::make(MEMORY, bytes)?;
        made.kills()?;
        Ok(made)
    }

    /// Creates a group with a limit of processes and threads. Fails if this machine does not permit
    /// it.
    pub(super) fn of_tasks(count: u64) -> io::Result<Self> {
        Self::make(TASKS, count)
    }

    fn make(kind: Kind, limit: u64) -> io::Result<Self> {
        let mut last = io::ErrorKind::NotFound.into();
        for (place, file, state) in kind.places {
            match Self::make_in(Path::new(place), file, state, limit) {
                Ok(made) => return Ok(made),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn make_in(
        place: &Path,
        file: &'static str,
        state: &'static str,
        limit: u64,
    ) -> io::Result<Self> {
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = place.join(format!("bowline-campaign-{process}-{number}"));
        fs::create_dir(&path)?;
        let made = Self {
            path,
            limit: file,
            state,
        };
        made.set(limit)?;
        fs::read_to_string(made.path.join(made.state))?;
        Ok(made)
    }

    /// Changes the limit. Existing members stay.
    pub(super) fn set(&self, limit: u64) -> io::Result<()> {
        fs::write(self.path.join(self.limit), limit.to_string())
    }

    /// The file to which a process writes its id to join.
    pub(super) fn members(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// Number of processes killed by the OOM killer.
    pub(super) fn kills(&self) -> io::Result<u64> {
        let text = fs::read_to_string(self.path.join(self.state))?;
        let mut lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("oom_kill "));
        let count = lines.next().and_then(|count| count.trim().parse().ok());
        count.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        for _ in 0..MAX_TRIES {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(PAUSE);
                }
                _ => return,
            }
        }
    }
}
