//! One error type per operation. Each message reads after "failed to" and says what to do next.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a session could not be made. Nothing is left behind: no process, task or descriptor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program's name is the empty string.
    #[error("find the program: its name is empty, give a name or a path")]
    NoProgram,
    /// No directory of `PATH` (the child's) has the program, or the path given does not exist.
    #[error("find the program {program:?}: {}", what_is_missing(.path.as_deref()))]
    NotFound {
        /// The program as it was asked for.
        program: OsString,
        /// The `PATH` that was searched; `None` if the program was given as a path.
        path: Option<OsString>,
    },
    /// The file is there, but it is a directory or has no execute permission for this user.
    #[error("run {path:?}: it is not an executable file, check `ls -l` and `chmod +x`")]
    NotExecutable {
        /// The file that was found.
        path: PathBuf,
    },
    /// The file is there, but the interpreter of its `#!` line, or its loader, is not.
    #[error("run {path:?}: its interpreter is missing, check the first line or the loader")]
    MissingInterpreter {
        /// The file that was found.
        path: PathBuf,
    },
    /// The kernel does not know the file's format, for example a binary of another machine.
    #[error("run {path:?}: the file is not in a format that this machine can run")]
    BadFormat {
        /// The file that was found.
        path: PathBuf,
    },
    /// ETXTBSY: somebody has the file open for writing.
    #[error("run {path:?}: it is being written, try again when that is done")]
    Busy {
        /// The file that was found.
        path: PathBuf,
    },
    /// ELOOP: too many symbolic links, or interpreters that need interpreters.
    #[error("run {path:?}: too many links or interpreters lead to it, check `ls -l`")]
    TooManyLinks {
        /// The file as it was looked for.
        path: PathBuf,
    },
    /// ENAMETOOLONG: the path or a part of it is over the system's limit (Linux: 4,096 and 255
    /// bytes).
    #[error("run {path:?}: its path is too long for the system, use a shorter one")]
    NameTooLong {
        /// The file as it was looked for.
        path: PathBuf,
    },
    /// ENOMEM: the system has no memory for another process.
    #[error("start a process: no memory is left, end some processes")]
    OutOfMemory,
    /// The guard did not do its part. It is not the program asked for that is wrong.
    #[error("start the guard {path:?}: {source}, name a program that calls `run_guard`")]
    Guard {
        /// [`Configuration::guard`](crate::Configuration::guard).
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The working directory does not exist. No other directory is used in its place.
    #[error("enter the working directory {path:?}: it does not exist, create it first")]
    CwdMissing {
        /// The directory as it was asked for.
        path: PathBuf,
    },
    /// The working directory is a file.
    #[error("enter the working directory {path:?}: it is not a directory")]
    CwdNotADirectory {
        /// The directory as it was asked for.
        path: PathBuf,
    },
    /// The working directory may not be entered by this user.
    #[error("enter the working directory {path:?}: permission denied, check its mode")]
    CwdDenied {
        /// The directory as it was asked for.
        path: PathBuf,
    },
    /// E2BIG of execve(2): arguments and environment together are over the kernel's limit
    /// (Linux: 128 KiB for one argument).
    #[error("pass the arguments: too long for the kernel, send large input over stdin instead")]
    ArgumentsTooLong,
    /// An argument or a variable has a NUL byte inside, which execve(2) cannot carry.
    #[error("pass the arguments: one has a NUL byte inside, remove it")]
    NulByte,
    /// EMFILE or ENFILE: no descriptor is left for the session's pipes.
    #[error("open the session's pipes: too many open descriptors, raise `ulimit -n`")]
    TooManyDescriptors,
    /// EAGAIN of fork(2): the user's process limit is reached.
    #[error("start a process: too many processes, end some or raise `ulimit -u`")]
    TooManyProcesses,
    /// ENOSPC of posix_openpt(3): the system has no terminal left (Linux: `kernel.pty.max`).
    #[error("open a terminal: none is left, end some sessions or raise kernel.pty.max")]
    TooManyTerminals,
    /// A session needs a tokio runtime with I/O and time enabled around the call.
    #[error("start a session: call it inside a tokio runtime")]
    NoRuntime,
    /// Any other failure of the system.
    #[error("{doing}: {source}, see the system's log")]
    Io {
        /// What was tried, as a phrase.
        doing: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl SpawnError {
    /// Sorts a failure to open a terminal.
    pub(crate) fn terminal(error: io::Error) -> Self {
        match error.raw_os_error() {
            // The kernel says the first, rustix makes the second of it, as POSIX has it.
            Some(libc::ENOSPC | libc::EAGAIN) => Self::TooManyTerminals,
            _ => Self::io("open a terminal", error),
        }
    }

    /// Sorts a failure that can strike any step by its errno.
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

/// A search path in few words: a real one is longer than the error.
fn searched_folders(path: &OsStr) -> String {
    let mut folders = std::env::split_paths(path).filter(|it| !it.as_os_str().is_empty());
    match (folders.next(), folders.count()) {
        (None, _) => "PATH, which is empty".to_owned(),
        (Some(only), 0) => format!("PATH, which is {only:?} alone"),
        (Some(_), more) => format!("the {} folders of PATH", more + 1),
    }
}

/// Why bytes did not reach the child's input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The child ended, or closed its input, before every byte was taken.
    #[error("write to the child: it ended or closed its input, start a new session")]
    Ended,
    /// [`close_input`](crate::TerminalSession::close_input) came before this write.
    #[error("write to the child: its input was closed before, start a new session")]
    Closed,
    /// A line is longer than the terminal's line buffer: the kernel would cut it silently.
    #[error(
        "type a line of {length} bytes: this terminal cuts lines at {limit}, use raw mode or pipes"
    )]
    LineTooLong {
        /// Length of the longest line in the write, in bytes.
        length: usize,
        /// The longest line that arrives whole, in bytes.
        limit: usize,
    },
    /// [`InputLimits::queue_bytes`](crate::InputLimits::queue_bytes) would be exceeded. Nothing of
    /// this write was sent.
    #[error("write to the child: {waiting} bytes already wait, let it read or raise `queue_bytes`")]
    QueueFull {
        /// Bytes that wait before this write.
        waiting: usize,
    },
    /// The child took nothing for the whole
    /// [`InputLimits::deadline`](crate::InputLimits::deadline).
    #[error(
        "write to the child: it took {taken} of {length} bytes and no more for {waited:?}, wait or \
         terminate"
    )]
    Stalled {
        /// Bytes of this write that were taken. They cannot be taken back.
        taken: usize,
        /// Length of this write in bytes.
        length: usize,
        /// How long nothing was taken.
        waited: Duration,
    },
    /// On pipes: an earlier write stalled in its middle, so that what follows it would be read as
    /// its rest.
    #[error("write to the child: an earlier write was cut in its middle, terminate the session")]
    Torn,
    /// On another machine: the link broke, and another host had the session before it was made
    /// again. What was written may have arrived.
    #[error("write to the child: nobody knows whether it arrived, look at what the child did")]
    Unconfirmed,
    /// A terminal's input has no end that can be closed.
    #[error(
        "close the input: a terminal has none to close, write the end-of-file key or terminate"
    )]
    NoEndOfInput,
    /// Any other failure of the system.
    #[error("write to the child: {0}, terminate the session")]
    Io(#[from] io::Error),
}

/// Why a signal was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignalError {
    /// The child ended before.
    #[error("signal the child: it has ended, there is nothing left to do")]
    Ended,
    /// Any other failure of the system.
    #[error("signal the child: {0}, terminate the session")]
    Io(#[from] io::Error),
}

/// Why a terminal's size was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// The session is on pipes.
    #[error("resize: this session has no terminal, make it with `Stdio::Pty`")]
    NotATerminal,
    /// The child ended and its terminal is closed.
    #[error("resize: the child has ended, there is nothing left to do")]
    Ended,
    /// Any other failure of the system.
    #[error("resize: {0}, terminate the session")]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_that_run_out_are_not_taken_for_processes() {
        for errno in [libc::ENOSPC, libc::EAGAIN] {
            let error = SpawnError::terminal(io::Error::from_raw_os_error(errno));
            assert!(matches!(error, SpawnError::TooManyTerminals), "{error}");
        }
    }
}
