//! Hosts that are killed while they keep prompts in files.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use bowline_lifecycle::PrivateFile;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;

use super::program::KEEP;
use crate::campaign::support::own;
use crate::campaign::{Job, Random, Report};

/// Number of prompts that a host keeps at a time.
const KEPT: usize = 3;

/// Permission bits that a file of mode 0600 must not have.
const OTHERS: u32 = 0o077;

pub(crate) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let mut random = Random::new(job.seed);
    let (mut seen, mut named) = (0, 0);
    for number in 0..job.count {
        let outcome = one(&mut random).map(|counts| {
            seen += counts.0;
            named += counts.1;
        });
        report.one(outcome.map_err(|why| format!("{number}: {why}")));
    }
    report.note(format!(
        "{seen} files were looked into while their hosts lived, all 0600; {named} ever had a name"
    ));
    report
}

/// Returns how many files were seen through descriptors, and how many by name.
fn one(random: &mut Random) -> Result<(u64, u64), String> {
    let text = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(text)?;
    let watcher = Watcher::start(folder.path())?;
    let mut host = Command::new(own());
    host.arg(KEEP).env("TMPDIR", folder.path());
    let mut host = host.stdout(Stdio::piped()).spawn().map_err(text)?;
    let stdout = host.stdout.take().ok_or("no output of a host")?;
    let mut seen = 0;
    let mut lines = BufReader::new(stdout).lines();
    for _ in 0..1 + random.below(8) {
        let path = lines.next().ok_or("the host is gone")?.map_err(text)?;
        // The host may have finished with this file.
        if let Ok(found) = fs::metadata(&path) {
            // The mode is irrelevant while the file is empty.
            if found.len() > 0 && found.permissions().mode() & OTHERS != 0 {
                return Err(format!("others may read {path}"));
            }
            seen += u64::from(found.len() > 0);
        }
    }
    std::thread::sleep(Duration::from_micros(random.below(3_000)));
    host.kill().map_err(text)?;
    host.wait().map_err(text)?;
    let named = watcher.stop()?;
    let left = fs::read_dir(folder.path()).map_err(text)?.count();
    if left > 0 {
        return Err(format!("{left} files are left"));
    }
    Ok((seen, named))
}

/// Inspects each name in a folder as soon as it appears.
struct Watcher {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<u64, String>>,
}

impl Watcher {
    fn start(folder: &Path) -> Result<Self, String> {
        let flags = inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC;
        let watch = inotify::init(flags).map_err(|error| error.to_string())?;
        let added = inotify::add_watch(&watch, folder, inotify::WatchFlags::CREATE);
        added.map_err(|error| error.to_string())?;
        let (stop, folder) = (Arc::new(AtomicBool::new(false)), folder.to_owned());
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || look(&watch, &folder, &stopped));
        Ok(Self { stop, thread })
    }

    /// Returns how many names appeared.
    fn stop(self) -> Result<u64, String> {
        self.stop.store(true, Ordering::Relaxed);
        let looked = self.thread.join();
        looked.map_err(|_| "the watcher fell".to_owned())?
    }
}

fn look(watch: &std::os::fd::OwnedFd, folder: &Path, stop: &AtomicBool) -> Result<u64, String> {
    let mut names = 0;
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(watch, &mut buffer);
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    loop {
        // Names that appeared before the stop are inspected as well.
        let is_last = stop.load(Ordering::Relaxed);
        while let Ok(event) = events.next() {
            let Some(name) = event.file_name().and_then(|name| name.to_str().ok()) else {
                continue;
            };
            names += 1;
            if let Ok(found) = fs::metadata(folder.join(name))
                && found.permissions().mode() & OTHERS != 0
            {
                return Err(format!("others may read {name}"));
            }
        }
        if is_last {
            return Ok(names);
        }
        let mut fds = [PollFd::new(watch, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&pause));
    }
}

/// The host: creates one prompt after the other and prints its progress.
pub(super) fn keep() -> ExitCode {
    let mut kept = std::collections::VecDeque::new();
    for number in 0_u64.. {
        let prompt = format!("prompt {number}: {}", "hush ".repeat(200));
        let Ok(file) = PrivateFile::unnamed(prompt.as_bytes()) else {
            return ExitCode::from(2);
        };
        if writeln!(std::io::stdout(), "{}", file.path().display()).is_err() {
            return ExitCode::from(3);
        }
        kept.push_back(file);
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }
    ExitCode::FAILURE
}
