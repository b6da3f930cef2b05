//! The signals that ask for an end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// SIGINT, ^C: stop what runs.
    Interrupt,
    /// SIGTERM, or SIGHUP when the terminal goes: end everything.
    Terminate,
}

/// Listens for signals. From then on they do not end the program.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            let listener = signal(kind);
            listener.map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::Interrupt,
            _ = self.terminate.recv() => Wish::Terminate,
            _ = self.hang_up.recv() => Wish::Terminate,
        }
    }
}
