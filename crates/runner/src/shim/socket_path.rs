//! Where the sockets of sessions are. The path of a socket is short on every system, and a state directory
//! may be deep: the default one of macOS leaves too little room for the name of a session.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Maximal bytes of a socket's path with its final NUL (`sun_path` of unix(7) and of <sys/un.h>): 108 on
/// Linux, 104 on macOS and the BSDs.
pub(super) const MAX_BYTES: usize = if cfg!(target_os = "linux") { 108 } else { 104 };

/// Length of a session's id as text.
const ID_BYTES: usize = 36;

/// Returns whether a socket can have this path.
pub(super) fn fits(path: &Path, max_bytes: usize) -> bool {
    path.as_os_str().len() < max_bytes
}

/// Returns the first folder in which sockets that are named by session fit.
pub(super) fn first_fit(
    folders: impl IntoIterator<Item = PathBuf>,
    max_bytes: usize,
) -> Option<PathBuf> {
    let socket_bytes = |folder: &Path| folder.as_os_str().len() + 1 + ID_BYTES;
    let mut folders = folders.into_iter();
    folders.find(|folder| folder.is_absolute() && socket_bytes(folder) < max_bytes)
}

/// Returns the private folders that may hold sockets of this user: in `XDG_RUNTIME_DIR`, else in the home
/// directory. The system's temporary directory is none of them, since macOS cleans it.
pub(super) fn folders(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let runtime =
        variable("XDG_RUNTIME_DIR").map(|path| PathBuf::from(path).join("bowline/sockets"));
    let home = variable("HOME").map(|path| PathBuf::from(path).join(".bowline/sockets"));
    runtime.into_iter().chain(home).collect()
}

/// Returns the state directory of a user that names none: `bowline` in `XDG_RUNTIME_DIR`; on macOS, whose
/// temporary directory is cleaned, `Bowline` in the user's Application Support; else `bowline-<uid>` in the
/// temporary directory.
pub(super) fn default_state(
    variable: impl Fn(&str) -> Option<OsString>,
    is_macos: bool,
    temporary: &Path,
    user: u32,
) -> PathBuf {
    let home = || variable("HOME").map(PathBuf::from).filter(|_| is_macos);
    if let Some(runtime) = variable("XDG_RUNTIME_DIR") {
        PathBuf::from(runtime).join("bowline")
    } else if let Some(home) = home() {
        home.join("Library/Application Support/Bowline")
    } else {
        temporary.join(format!("bowline-{user}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACOS_MAX_BYTES: usize = 104;

    fn variables(set: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        |name| {
            let found = set.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| value.into())
        }
    }

    #[test]
    fn sockets_of_a_default_mac_fit() {
        let mac = variables(&[("HOME", "/Users/firstname.lastname")]);
        let temporary = Path::new("/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/");
        let state = default_state(&mac, true, temporary, 501);
        let home = "/Users/firstname.lastname";
        assert_eq!(
            state,
            Path::new(home).join("Library/Application Support/Bowline")
        );
        assert!(fits(&state.join("runner.sock"), MACOS_MAX_BYTES));
        let session = state
            .join("sessions")
            .join("x".repeat(ID_BYTES))
            .join("sock");
        assert!(!fits(&session, MACOS_MAX_BYTES));
        let short = first_fit(folders(&mac), MACOS_MAX_BYTES).unwrap();
        assert_eq!(short, Path::new(home).join(".bowline/sockets"));
        assert!(fits(&short.join("x".repeat(ID_BYTES)), MACOS_MAX_BYTES));
    }

    #[test]
    fn state_is_in_runtime_folder_or_temporary_folder_elsewhere() {
        let temporary = Path::new("/tmp");
        let linux = variables(&[("XDG_RUNTIME_DIR", "/run/user/7"), ("HOME", "/home/a")]);
        for is_macos in [true, false] {
            let state = default_state(&linux, is_macos, temporary, 7);
            assert_eq!(state, Path::new("/run/user/7/bowline"));
        }
        assert_eq!(folders(&linux)[0], Path::new("/run/user/7/bowline/sockets"));
        let bare = variables(&[("HOME", "/home/a")]);
        let state = default_state(&bare, false, temporary, 7);
        assert_eq!(state, Path::new("/tmp/bowline-7"));
    }

    #[test]
    fn long_and_relative_folders_are_passed_over() {
        let long = PathBuf::from(format!("/{}", "d".repeat(80)));
        let folders = [long, "relative".into(), "/short".into()];
        let found = first_fit(folders.clone(), MACOS_MAX_BYTES);
        assert_eq!(found, Some("/short".into()));
        assert_eq!(first_fit(folders[..2].to_vec(), MACOS_MAX_BYTES), None);
        let exact = PathBuf::from(format!("/{}", "d".repeat(MACOS_MAX_BYTES - ID_BYTES - 3)));
        assert_eq!(first_fit([exact.clone()], MACOS_MAX_BYTES), Some(exact));
    }
}
