//! The ends of the process.

use rustix::process::{Signal, getpid, kill_process};

/// How the process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exit {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(Death),
}

/// A signal to die by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death(Signal);

impl Death {
    /// The signal of that name, with or without `SIG`; SIGKILL if there is none.
    pub(crate) fn named(name: &str) -> Self {
        Self(match name.strip_prefix("SIG").unwrap_or(name) {
            "HUP" => Signal::HUP,
            "INT" => Signal::INT,
            "QUIT" => Signal::QUIT,
            "ABRT" => Signal::ABORT,
            "BUS" => Signal::BUS,
            "FPE" => Signal::FPE,
            "USR1" => Signal::USR1,
            "SEGV" => Signal::SEGV,
            "PIPE" => Signal::PIPE,
            "TERM" => Signal::TERM,
            _ => Signal::KILL,
        })
    }

    /// Dies. Returns only if the system refuses.
    pub(crate) fn die(self) {
        // Our own handlers must go first; for signals without one this raises the signal too.
        let _ = signal_hook::low_level::emulate_default_handler(self.0.as_raw());
        let _ = kill_process(getpid(), self.0);
    }
}
