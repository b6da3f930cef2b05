//! Copies of a process that has one thread. What it has loaded and found out, they need not.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::sys::{self, Inherits, Place};

/// Gets this process ready to be copied: finds out what sessions in its copies would have to, and
/// leaves it to the system to reap the copies. To be called before [`start_copy`], in a process that
/// starts nothing else.
pub fn prepare_copies() {
    // What it finds is kept for whoever asks again.
    let _ = crate::probe();
    sys::leave_children_to_the_system();
}

/// Starts a copy of this process that does `work` and ends. It has `input` for its standard input,
/// whatever else this process has open but for `private`, a session of its own, and all signals as at
/// a program's start.
///
/// # Errors
///
/// This process has more than one thread, so that a copy would not be whole; or what the system
/// said. No copy is left then.
pub fn start_copy(input: OwnedFd, private: BorrowedFd<'_>, work: fn()) -> io::Result<()> {
    if !sys::is_alone() {
        let why = "a process with several threads cannot be copied";
        return Err(io::Error::other(why));
    }
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let place = Place {
        stdio: [input, null.try_clone()?.into(), null.into()],
        extra: None,
        cwd: None,
        tty: false,
        dies_with_us: false,
        oom_score: None,
    };
    let launched = sys::launch_copy(place, Inherits::AllBut(private), work);
    launched.map(drop).map_err(|refusal| refusal.error)
}
