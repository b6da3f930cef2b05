//! Finds a guard program for hosts that name none.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

/// The variable that names the guard program. Empty for none.
const VARIABLE: &str = "BOWLINE_GUARD";

/// The program that is looked for, beside the host's executable and in `PATH`.
const PROGRAM: &str = "bowline";

/// What the program prints with `--version`: the protocol between host and guard has no version of its
/// own, so both must be of one release.
const VERSION_LINE: &str = concat!("bowline ", env!("CARGO_PKG_VERSION"));

/// How long one program, and all of them together, may take to print their versions, and the pause
/// between two checks.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);
const SEARCH_TIMEOUT: Duration = Duration::from_secs(4);
const VERSION_PAUSE: Duration = Duration::from_millis(1);

/// Returns the guard program for sessions whose configuration names none.
///
/// This is the program that the variable `BOWLINE_GUARD` names; otherwise a `bowline` of the same version
/// beside the host's executable or in `PATH`. The result is determined once per process, on a thread for
/// blocking work and within 4 s. Without a guard, agents keep running when the host is killed; a warning
/// about that is logged once, or written to standard error if the process has no log. An empty
/// `BOWLINE_GUARD` disables both the search and the warning.
///
/// Cancel safe: a later call searches again.
///
/// # Panics
///
/// Panics outside a tokio runtime.
pub async fn default_guard() -> Option<&'static Path> {
    static FOUND: OnceCell<Option<PathBuf>> = OnceCell::const_new();
    // An error means that the runtime is shutting down; another one may search again.
    let found = FOUND.get_or_try_init(|| spawn_blocking(find)).await;
    found.ok()?.as_deref()
}

fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return (!named.is_empty()).then(|| named.into());
    }
    let host = std::env::current_exe().ok();
    let beside = host.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = beside.into_iter().chain(std::env::split_paths(&path));
    let found = find_in(directories, Instant::now() + SEARCH_TIMEOUT);
    if found.is_none() {
        warn();
    }
    found
}

/// Logs that there is no guard; on standard error if the host collects no logs.
fn warn() {
    let text = format!(
        "no guard found: agents keep running if this process is killed; install {VERSION_LINE} in PATH, \
         set {VARIABLE} to its path, or set it to nothing to accept this"
    );
    if tracing::dispatcher::has_been_set() {
        tracing::warn!("{text}");
    } else {
        // If this fails there is no way to report it.
        let _ = writeln!(std::io::stderr().lock(), "bowline: {text}");
    }
}

fn find_in(directories: impl Iterator<Item = PathBuf>, deadline: Instant) -> Option<PathBuf> {
    // A relative directory would name another program after a change of the working directory.
    let directories = directories.filter(|it| it.is_absolute());
    let mut programs = directories.map(|it| it.join(PROGRAM));
    programs.find(|it| it.is_file() && is_of_this_version(it, deadline))
}

fn is_of_this_version(program: &Path, deadline: Instant) -> bool {
    let deadline = deadline.min(Instant::now() + VERSION_TIMEOUT);
    if deadline <= Instant::now() {
        return false;
    }
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    let is_success = exits_in_time(&mut child, deadline);
    let mut line = [0; VERSION_LINE.len() + 1];
    let output = child.stdout.take();
    // The program has exited, but a child of its own could hold the pipe open: read what is needed only.
    let is_read = is_success && output.is_some_and(|mut it| it.read_exact(&mut line).is_ok());
    is_read && line.strip_suffix(b"\n") == Some(VERSION_LINE.as_bytes())
}

/// Waits for the successful exit of a program, and kills it at the deadline.
fn exits_in_time(child: &mut Child, deadline: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(VERSION_PAUSE),
            _ => break,
        }
    }
    // Both fail only if the program has exited meanwhile.
    let _ = child.kill();
    let _ = child.wait();
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Returns a directory with a `bowline` that prints `version`.
    fn installed(version: &str) -> tempfile::TempDir {
        script(&format!("echo '{version}'"))
    }

    /// Returns a directory with a `bowline` that is a shell script.
    fn script(line: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        // Written by another process: a child that another thread forks meanwhile would inherit the open
        // file, and execve(2) would fail with ETXTBSY.
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh", line]);
        let written = shell.arg(directory.path().join(PROGRAM)).status();
        assert!(written.expect("a shell").success());
        directory
    }

    #[test]
    fn guard_of_another_version_is_skipped() {
        let (older, current) = (installed("bowline 0.0.1"), installed(VERSION_LINE));
        let longer = installed(&format!("{VERSION_LINE}.9"));
        let empty = tempfile::tempdir().expect("a directory");
        let directories = [&older, &longer, &empty, &current].map(|it| it.path().to_owned());
        let found = find_in(directories.into_iter(), in_a_minute());
        assert_eq!(found, Some(current.path().join(PROGRAM)));
        let relative = [PathBuf::from("."), PathBuf::new()];
        assert_eq!(find_in(relative.into_iter(), in_a_minute()), None);
    }

    fn in_a_minute() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// A program that hangs, and one that would be the guard, after the time for all of them.
    #[test]
    fn search_has_one_deadline_for_all_programs() {
        let log = tempfile::tempdir().expect("a directory");
        let log = log.path().join("started");
        let log_line = format!("echo >> '{}'", log.display());
        let hanging = script(&format!("{log_line}; exec sleep 600"));
        let late = script(&format!("{log_line}; echo '{VERSION_LINE}'"));
        let directories = [&hanging, &hanging, &late].map(|it| it.path().to_owned());
        let deadline = Instant::now() + Duration::from_millis(500);
        assert_eq!(find_in(directories.into_iter(), deadline), None);
        let started = std::fs::read_to_string(&log).unwrap_or_default();
        assert!(started.lines().count() <= 1, "{started:?}");
    }
}
