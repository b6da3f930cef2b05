//! How the process ends.

use rustix::process::{Signal, getpid, kill_process};

/// How the process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exit {
    /// With this code.
    Code(u8),
    /// By this signal.
    Signal(FatalSignal),
}

/// A signal that ends the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FatalSignal(Signal);

impl FatalSignal {
    /// Returns the signal with this name, with or without `SIG`; SIGKILL for an unknown name.
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

    /// Sends the signal to this process. Returns only if the kernel refuses it.
    pub(crate) fn raise(self) {
        // Replaces a handler of this process by the default action, and raises the signal.
        let _ = signal_hook::low_level::emulate_default_handler(self.0.as_raw());
        let _ = kill_process(getpid(), self.0);
    }
}
