//! Scripts that tests and campaigns start as agents.

use std::io;
use std::path::Path;
use std::process::Command;

/// Writes an executable script. Another process writes it: a child that another thread forks meanwhile would
/// inherit the open file, and execve(2) would fail with ETXTBSY.
///
/// # Errors
///
/// The shell that writes cannot be started, or fails.
pub fn write_script(path: &Path, text: &str) -> io::Result<()> {
    let write = r#"printf %s "$1" > "$2" && chmod 755 "$2""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", write, "sh", text]).arg(path);
    let status = shell.status()?;
    let failed = || io::Error::other(format!("write {}: {status}", path.display()));
    status.success().then_some(()).ok_or_else(failed)
}
