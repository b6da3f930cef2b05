//! Our terminal, while it is a session's.

use std::io::{self, Write as _};
use std::time::Duration;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::failure::{Failure, INTERRUPTED};
use crate::live::Listener;

/// What makes a terminal plain again when a program's screen is left: out of the alternate screen,
/// no bracketed paste, no mouse, the cursor seen, soft reset. Leaving a screen that was not entered
/// puts the cursor anywhere, so that it goes to a new line at the bottom.
const PLAIN: &[u8] =
    b"\x1b[?1049l\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?25h\x1b[!p\x1b[999H\r\n";

/// How long leaving may take once a signal asks for it. A terminal that takes no output holds it up.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Our terminal without echo, lines and signals. Dropped, it is as it was.
pub(super) struct Raw {
    before: Termios,
    asked: oneshot::Receiver<()>,
}

impl Raw {
    /// From now on signals do not end the program by themselves.
    pub(super) fn new() -> Result<Self, Failure> {
        let failed = |error| Failure::failed(format!("cannot set the terminal up: {error}"));
        let listener = Listener::new()?;
        let before = tcgetattr(io::stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw).map_err(failed)?;
        let (ask, asked) = oneshot::channel();
        tokio::spawn(end(listener, ask, before.clone()));
        Ok(Self { before, asked })
    }

    /// Waits until a signal asks for an end.
    pub(super) async fn asked(&mut self) {
        if (&mut self.asked).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(PLAIN).and_then(|()| out.flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// Ends the program after a signal, when it does not end by itself. A task of its own listens:
/// whoever prints may be held up.
async fn end(mut listener: Listener, ask: oneshot::Sender<()>, before: Termios) {
    listener.next().await;
    // Nobody is asked any more when the session was left already.
    let _ = ask.send(());
    sleep(LAST_WORDS).await;
    // What is written and not shown is not waited for.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    std::process::exit(INTERRUPTED.into())
}
