//! A control group with little memory, of either version.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often an emptied group is tried to be removed, and with what pauses.
const TRIES: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(2);

/// Where groups may be made, with the files of the limit and of the count.
const PLACES: [(&str, &str, &str); 3] = [
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.oom_control",
    ),
    ("/sys/fs/cgroup", "memory.max", "memory.events"),
    ("/sys/fs/cgroup/unified", "memory.max", "memory.events"),
];

/// Removed when it is dropped, should everybody have left it.
#[derive(Debug)]
pub(super) struct MemoryGroup {
    path: PathBuf,
    count: &'static str,
}

impl MemoryGroup {
    /// Makes one; an error if this machine does not let us.
    pub(super) fn make(bytes: u64) -> io::Result<Self> {
        let mut last = io::ErrorKind::NotFound.into();
        for (place, limit, count) in PLACES {
            match Self::make_in(Path::new(place), limit, count, bytes) {
                Ok(made) => return Ok(made),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn make_in(place: &Path, limit: &str, count: &'static str, bytes: u64) -> io::Result<Self> {
        let path = place.join(format!("bowline-campaign-{}", std::process::id()));
        fs::create_dir(&path)?;
        let made = Self { path, count };
        fs::write(made.path.join(limit), bytes.to_string())?;
        made.kills()?;
        Ok(made)
    }

    /// The file that a process writes itself into to be in it.
    pub(super) fn members(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }

    /// How many processes were killed for want of memory.
    pub(super) fn kills(&self) -> io::Result<u64> {
        let text = fs::read_to_string(self.path.join(self.count))?;
        let mut lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("oom_kill "));
        let count = lines.next().and_then(|count| count.trim().parse().ok());
        count.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for MemoryGroup {
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
