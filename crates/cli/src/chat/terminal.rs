//! Keys of this terminal, read one at a time.

use std::io;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::failure::Failure;
use crate::stdio::print;

/// Enables bracketed paste, which delivers pasted text as one event.
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

/// The keys of this terminal, without echo, line editing and signals. Dropping it restores the terminal.
pub(super) struct Keys {
    before: Termios,
    events: EventStream,
}

impl Keys {
    /// Changes the mode of the terminal. Its output is processed as before.
    ///
    /// # Errors
    /// If standard input is no terminal.
    pub(super) fn open() -> Result<Self, Failure> {
        let failed = |error| Failure::failed(format!("cannot set up the terminal: {error}"));
        let before = tcgetattr(io::stdin()).map_err(failed)?;
        let mut mode = before.clone();
        mode.input_modes -= InputModes::ICRNL | InputModes::INLCR | InputModes::IXON;
        mode.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        tcsetattr(io::stdin(), OptionalActions::Drain, &mode).map_err(failed)?;
        print(PASTE_ON)?;
        Ok(Self {
            before,
            events: EventStream::new(),
        })
    }

    /// Waits for the next key, paste or change of size. `None` if the terminal is gone. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.next().await?.ok()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = print(PASTE_OFF);
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.before);
    }
}
