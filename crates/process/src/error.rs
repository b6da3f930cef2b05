//! One error type per operation. Each message is a phrase that completes "cannot ...", followed by
//! a remedy.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Reason why a process could not be started. No process, task or descriptor is left.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program's name is empty.
    #[error("find the program: its name is empty, give a name or a path")]
    NoProgram,
    /// No directory of the child's `PATH` contains the program, or the given path does not exist.
    #[error("find the program {program:?}: {}", what_is_missing(.path.as_deref()))]
    NotFound {
        /// The program as configured.
        program: OsString,
        /// The `PATH` that was searched; `None` if the program was given as a path.
        path: Option<OsString>,
    },
    /// The file is a directory or lacks execute permission for this user.
    #[error("run {path:?}: it is not an executable file, check `ls -l` and `chmod +x`")]
    NotExecutable {
        /// Path of the file.
        path: PathBuf,
    },
    /// macOS refuses the program to an app in the App Sandbox.
    #[error(
        "run {path:?}: this app is in the App Sandbox, which permits only programs of its own bundle; turn \
         the sandbox off for local sessions, or use a runner outside of it"
    )]
    Sandboxed {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file exists, but its loader or the interpreter of its `#!` line does not.
    #[error("run {path:?}: its interpreter is missing, check the first line or the loader")]
    MissingInterpreter {
        /// Path of the file.
        path: PathBuf,
    },
    /// The kernel does not recognize the file's format, as for a binary of another architecture.
    #[error("run {path:?}: the file is not in a format that this machine can run")]
    BadFormat {
        /// Path of the file.
        path: PathBuf,
    },
    /// ETXTBSY: the file is open for writing.
    #[error("run {path:?}: it is being written, try again when that is done")]
    Busy {
        /// Path of the file.
        path: PathBuf,
    },
    /// ELOOP: too many symbolic links or nested interpreters.
    #[error("run {path:?}: too many links or interpreters lead to it, check `ls -l`")]
    TooManyLinks {
        /// Path as searched.
        path: PathBuf,
    },
    /// ENAMETOOLONG: the path or one of its components exceeds the system's limit (Linux: 4,096 and
    /// 255 bytes).
    #[error("run {path:?}: its path is too long for the system, use a shorter one")]
    NameTooLong {
        /// Path as searched.
        path: PathBuf,
    },
    /// ENOMEM: the system has no memory for another process.
    #[error("start a process: no memory is left, end some processes")]
    OutOfMemory,
    /// The guard failed to start. The configured program is not the cause.
    #[error(
        "start the guard {path:?}: {source}, name a `bowline` of this version, or a program that calls \
         `run_guard`"
    )]
    Guard {
        /// [`Configuration::guard`](crate::Configuration::guard).
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
    /// The working directory does not exist. No other directory is used instead.
    #[error("enter the working directory {path:?}: it does not exist, create it first")]
    CwdMissing {
        /// Path as configured.
        path: PathBuf,
    },
    /// The working directory is not a directory.
    #[error("enter the working directory {path:?}: it is not a directory")]
    CwdNotADirectory {
        /// Path as configured.
        path: PathBuf,
    },
    /// This user lacks permission to enter the working directory.
    #[error("enter the working directory {path:?}: permission denied, check its mode")]
    CwdDenied {
        /// Path as configured.
        path: PathBuf,
    },
    /// E2BIG of execve(2): arguments and environment together exceed the kernel's limit, or one
    /// argument does (Linux: 128 KiB).
    #[error("pass the arguments: too long for the kernel, send large input over stdin instead")]
    ArgumentsTooLong,
    /// An argument or variable contains a NUL byte, which execve(2) cannot pass.
    #[error("pass the arguments: one has a NUL byte inside, remove it")]
    NulByte,
    /// EMFILE or ENFILE: no descriptor is available for the pipes.
    #[error("open the session's pipes: too many open descriptors, raise `ulimit -n`")]
    TooManyDescriptors,
    /// EAGAIN of fork(2): the user's process limit is reached.
    #[error("start a process: too many processes, end some or raise `ulimit -u`")]
    TooManyProcesses,
    /// ENOSPC of posix_openpt(3): the system has no terminal left (Linux: `kernel.pty.max`).
    #[error("open a terminal: none is left, end some sessions or raise kernel.pty.max")]
    TooManyTerminals,
    /// The call was made outside a tokio runtime with I/O and time enabled.
    #[error("start a session: call it inside a tokio runtime")]
    NoRuntime,
    /// Any other system error.
    #[error("{doing}: {source}, see the system's log")]
    Io {
        /// The operation that failed, as a phrase.
        doing: &'static str,
        /// The underlying error.
        #[source]
        source: io::Error,
    },
}

impl SpawnError {
    /// Maps an error of opening a terminal.
    pub(crate) fn terminal(error: io::Error) -> Self {
        match error.raw_os_error() {
            // The kernel returns ENOSPC, which rustix maps to the EAGAIN that POSIX specifies.
            Some(libc::ENOSPC | libc::EAGAIN) => Self::TooManyTerminals,
            _ => Self::io("open a terminal", error),
        }
    }

    /// Maps the refusal to execute a file, which the sandbox of an app refuses with EPERM (sandbox(7)).
    pub(crate) fn denied(path: PathBuf, errno: i32, is_sandboxed: bool) -> Self {
        match errno {
            libc::EPERM if is_sandboxed => Self::Sandboxed { path },
            _ => Self::NotExecutable { path },
        }
    }

    /// Maps an error that any step can return, by its errno.
    pub(crate) fn io(doing: &'static str, error: impl Into<io::Error>) -> Self {
        let source = error.into();
        match source.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => Self::TooManyDescriptors,
            Some(libc::EAGAIN) => Self::TooManyProcesses,
            Some(libc::ENOMEM) => Self::OutOfMemory,
            Some(libc::E2BIG) => Self::ArgumentsTooLong,
            _ => Self::Io { doing, source },
        }
    }
}

fn what_is_missing(searched: Option<&OsStr>) -> String {
    match searched {
        Some(path) => format!(
            "not found in {}, install it or give its full path",
            searched_folders(path)
        ),
        None => "no such file, check the path".into(),
    }
}

/// Summarizes a search path, which is usually longer than the rest of the message.
fn searched_folders(path: &OsStr) -> String {
    let mut folders = std::env::split_paths(path).filter(|it| !it.as_os_str().is_empty());
    match (folders.next(), folders.count()) {
        (None, _) => "PATH, which is empty".to_owned(),
        (Some(only), 0) => format!("PATH, which is {only:?} alone"),
        (Some(_), more) => format!("the {} folders of PATH", more + 1),
    }
}

/// Reason why bytes were not written to the child's input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The child ended or closed its input before all bytes were written.
    #[error("write to the child: it ended or closed its input, start a new session")]
    Ended,
    /// [`close_input`](crate::LocalProcess::close_input) was called before this write.
    #[error("write to the child: its input was closed before, start a new session")]
    Closed,
    /// A line exceeds the terminal's line buffer; the kernel would truncate it silently
    /// (termios(3), canonical mode).
    #[error(
        "type a line of {length} bytes: this terminal cuts lines at {limit}, use raw mode or pipes"
    )]
    LineTooLong {
        /// Length of the longest line of the write in bytes.
        length: usize,
        /// Maximum length of a line in bytes.
        limit: usize,
    },
    /// [`InputLimits::queue_bytes`](crate::InputLimits::queue_bytes) would be exceeded. Nothing was
    /// written.
    #[error("write to the child: {waiting} bytes already wait, let it read or raise `queue_bytes`")]
    QueueFull {
        /// Bytes queued before this write.
        waiting: usize,
    },
    /// The child accepted no bytes for the whole
    /// [`InputLimits::deadline`](crate::InputLimits::deadline).
    #[error(
        "write to the child: it took {taken} of {length} bytes and no more for {waited:?}, wait or \
         terminate"
    )]
    Stalled {
        /// Bytes of this write that were delivered and cannot be recalled.
        taken: usize,
        /// Length of this write in bytes.
        length: usize,
        /// How long no bytes were accepted.
        waited: Duration,
    },
    /// On pipes: a previous write was only partly delivered, so that later bytes would be read as
    /// its continuation.
    #[error("write to the child: an earlier write was cut in its middle, terminate the session")]
    Torn,
    /// For a session on another machine: the connection was lost, and another host attached before
    /// it was restored. The write may have been delivered.
    #[error("write to the child: delivery is unknown, check whether the child received it")]
    Unconfirmed,
    /// A terminal's input cannot be closed.
    #[error(
        "close the input: a terminal has none to close, write the end-of-file key or terminate"
    )]
    NoEndOfInput,
    /// Any other system error.
    #[error("write to the child: {0}, terminate the session")]
    Io(#[from] io::Error),
}

/// Reason why a signal was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// The child has ended.
    #[error("signal the child: it has ended, there is nothing left to do")]
    Ended,
    /// Any other system error.
    #[error("signal the child: {0}, terminate the session")]
    Io(#[from] io::Error),
}

/// Reason why a terminal was not resized.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// The child runs on pipes.
    #[error("resize: this session has no terminal, make it with `Stdio::Pty`")]
    NotATerminal,
    /// The child has ended and its terminal is closed.
    #[error("resize: the child has ended, there is nothing left to do")]
    Ended,
    /// Any other system error.
    #[error("resize: {0}, terminate the session")]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_of_the_app_sandbox_names_the_remedy() {
        let denied = |errno, is_sandboxed| SpawnError::denied("/bin/a".into(), errno, is_sandboxed);
        let error = denied(libc::EPERM, true);
        assert!(matches!(error, SpawnError::Sandboxed { .. }), "{error}");
        assert!(error.to_string().ends_with("or use a runner outside of it"));
        for (errno, is_sandboxed) in [(libc::EPERM, false), (libc::EACCES, true)] {
            let error = denied(errno, is_sandboxed);
            assert!(matches!(error, SpawnError::NotExecutable { .. }), "{error}");
        }
    }

    #[test]
    fn terminal_exhaustion_is_not_process_limit() {
        for errno in [libc::ENOSPC, libc::EAGAIN] {
            let error = SpawnError::terminal(io::Error::from_raw_os_error(errno));
            assert!(matches!(error, SpawnError::TooManyTerminals), "{error}");
        }
    }
}
