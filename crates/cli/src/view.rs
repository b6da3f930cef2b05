//! Turns a transcript's changes into text.
//!
//! The text is append-only: what was printed stays, and what the agent takes back is said to be
//! taken back. The same renderer serves a recording and a session that runs.

mod ask;
mod beside;
mod call;
mod clean;
mod entry;
mod message;
mod page;
mod renderer;
mod style;
mod summary;

use std::io::{self, Write as _};

pub(crate) use ask::{Question, allowances, arguments, plan};
pub(crate) use clean::{clean, columns, cut, one_line};
pub(crate) use renderer::Renderer;
pub(crate) use style::{Paint, Style};
pub(crate) use summary::summary;

use crate::failure::Failure;

/// Writes a text to standard output. When its reader is gone the program ends, in peace.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::unread()),
        Err(error) => Err(Failure::failed(format!(
            "cannot write to standard output: {error}, check where it goes"
        ))),
    }
}

/// Writes a text to standard error.
pub(crate) fn tell(text: &str) {
    let mut out = io::stderr().lock();
    // Nobody is left to tell when standard error is closed.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
