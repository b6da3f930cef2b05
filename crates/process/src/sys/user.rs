//! The user database.

use std::ffi::{CStr, OsStr};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

/// Sizes of the buffer for an entry's strings: usual entries fit into the first one, none exceeds the last.
const BUFFER_BYTES: [usize; 3] = [1 << 10, 1 << 14, 1 << 20];

/// Returns the shell of this user's entry in the user database (getpwuid_r(3)). It is not only
/// `/etc/passwd`, which on macOS lacks the users that log in. `None` without an entry or a shell.
pub(crate) fn login_shell() -> Option<PathBuf> {
    BUFFER_BYTES.into_iter().find_map(shell_within)
}

/// Returns the shell if the entry fits into a buffer.
#[expect(unsafe_code, reason = "getpwuid_r(3) has no safe form")]
fn shell_within(bytes: usize) -> Option<PathBuf> {
    let mut buffer = vec![0; bytes];
    let mut entry = MaybeUninit::<libc::passwd>::uninit();
    let mut found = std::ptr::null_mut();
    let user = rustix::process::getuid().as_raw();
    // SAFETY: the buffer has `bytes` bytes, and the entry is initialised if `found` points to it. Its
    // strings are in the buffer, which lives until the end of this function.
    let shell = unsafe {
        let into = buffer.as_mut_ptr();
        let failed = libc::getpwuid_r(user, entry.as_mut_ptr(), into, bytes, &raw mut found);
        if failed != 0 || found.is_null() || (*found).pw_shell.is_null() {
            return None;
        }
        CStr::from_ptr((*found).pw_shell)
    };
    Some(OsStr::from_bytes(shell.to_bytes()).into()).filter(|shell: &PathBuf| shell.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `id -un` and the entry of that name in what getent(1) or dscl(1) print.
    #[test]
    fn shell_is_that_of_the_user_database() {
        let script = "getent passwd $(id -u) 2>/dev/null | cut -d: -f7 || \
                      dscl . -read /Users/$(id -un) UserShell | cut -d' ' -f2";
        let printed = std::process::Command::new("sh")
            .args(["-c", script])
            .output();
        let printed = String::from_utf8(printed.unwrap().stdout).unwrap();
        let expected = Some(printed.trim()).filter(|shell| shell.starts_with('/'));
        if cfg!(target_os = "linux") {
            assert_eq!(login_shell(), expected.map(PathBuf::from));
        } else {
            assert!(login_shell().is_some());
        }
        assert_eq!(shell_within(1), None, "the entry does not fit");
    }
}
