//! A control group with little memory or few tasks, of either version.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How often an emptied group is tried to be removed, and with what pauses.
const TRIES: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(2);

/// What there may be little of.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Where groups may be made, with the files of the limit and of what has become of it.
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

/// Tells groups of one process apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Removed when it is dropped, should everybody have left it.
#[derive(Debug)]
pub(super) struct LimitedGroup {
    path: PathBuf,
    limit: &'static str,
    state: &'static str,
}

impl LimitedGroup {
    /// A group with so much memory; an error if this machine does not let us make one.
    pub(super) fn of_memory(bytes: u64) -> io::Result<Self> {
        let made = Self::make(MEMORY, bytes)?;
        made.kills()?;
        Ok(made)
    }

    /// A group with so many processes and threads; an error if this machine does not let us make
    /// one.
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

    /// Sets another limit. Whoever is there stays there.
    pub(super) fn set(&self, limit: u64) -> io::Result<()> {
        fs::write(self.path.join(self.limit), limit.to_string())
    }

    /// The file that a process writes itself into to be in it.
    pub(super) fn members(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// How many processes were killed for want of memory.
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
        for _ in 0..TRIES {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(PAUSE);
                }
                _ => return,
            }
        }
    }
}
