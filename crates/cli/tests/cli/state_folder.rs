//! A runner's state folder on a file system that is full, read-only or gone.

use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::{BOWLINE, bowline, finish};
use crate::test_runner::{TestRunner, serve_with};

/// A file size limit of 0 fails each write as a full disk does.
#[test]
fn full_state_folder_is_one_line_and_usable_again() {
    let folder = TempDir::new_in("/tmp").unwrap();
    let state = folder.path().join("s").display().to_string();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", BOWLINE]);
    limited.args(["serve", "--state-dir", &state]);
    let pipe = Stdio::piped;
    limited.stdout(pipe()).stderr(pipe());
    let line = finish(limited.spawn().unwrap()).failed(1);
    assert!(line.contains("cannot use the token file"), "{line}");
    let (mut runner, _) = serve_with(&folder, &[]);
    runner.kill().unwrap();
    runner.wait().unwrap();
}

#[test]
fn state_folder_that_cannot_be_made_is_named_once() {
    let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let state = file.path().join("s").display().to_string();
    let line = bowline(&["serve", "--state-dir", &state]).failed(1);
    assert!(line.starts_with("bowline: cannot use"), "{line}");
    assert!(line.contains("check the directory"), "{line}");
    assert_eq!(line.matches("os error").count(), 1, "{line}");
}

/// Mounts need rights that not every machine gives; the folder is then that of another test.
#[test]
#[cfg(target_os = "linux")]
fn read_only_state_folder_is_one_line() {
    let folder = TempDir::new_in("/tmp").unwrap();
    let mount = "mount -t tmpfs -o ro none \"$0\" && exec \"$@\"";
    let path = folder.path().display().to_string();
    let state = folder.path().join("s").display().to_string();
    let in_own_mounts = |command: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare
            .args(["-rm", "sh", "-c", mount, &path])
            .args(command);
        unshare.stdout(Stdio::piped()).stderr(Stdio::piped());
        unshare.spawn().map(finish)
    };
    if !in_own_mounts(&["true"]).is_ok_and(|done| done.code == Some(0)) {
        return;
    }
    let served = in_own_mounts(&[BOWLINE, "serve", "--state-dir", &state]);
    let line = served.unwrap().failed(1);
    assert!(line.contains("Read-only file system"), "{line}");
    assert!(line.contains("check the directory"), "{line}");
}

#[test]
fn removed_state_folder_is_one_line() {
    let served = TestRunner::start();
    std::fs::remove_dir_all(served.state()).unwrap();
    let line = served.bowline(&["ps"]).failed(1);
    assert!(line.contains("cannot reach the runner"), "{line}");
    assert!(line.contains("bowline serve"), "{line}");
}
