//! This terminal in raw mode (termios(3)) while it is attached to a session.

use std::io::{self, Write as _};
use std::time::Duration;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::failure::{Failure, INTERRUPTED};
use crate::signals::SignalListener;

/// Undoes what a program may have set: leaves the alternate screen, turns bracketed paste and mouse
/// reports off, shows the cursor, resets softly. Leaving an alternate screen that was not entered
/// may move the cursor anywhere, so it goes to a new line at the bottom.
const RESET: &[u8] =
    b"\x1b[?1049l\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?25h\x1b[!p\x1b[999H\r\n";

/// How long the program may run after a signal. A terminal that takes no output would keep it
/// running for ever.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// Raw mode: no echo, no line editing, no signal keys. Dropping it restores the terminal.
pub(super) struct RawMode {
    before: Termios,
    signalled: oneshot::Receiver<()>,
}

impl RawMode {
    /// Enters raw mode and handles signals, which no longer end the program by default.
    pub(super) fn enter() -> Result<Self, Failure> {
        let failed = |error| Failure::failed(format!("cannot set up the terminal: {error}"));
        let listener = SignalListener::new()?;
        let before = tcgetattr(io::stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw).map_err(failed)?;
        let (sender, signalled) = oneshot::channel();
        tokio::spawn(exit_on_signal(listener, sender, before.clone()));
        Ok(Self { before, signalled })
    }

    /// Waits for a signal. Cancel safe.
    pub(super) async fn signalled(&mut self) {
        if (&mut self.signalled).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(RESET).and_then(|()| out.flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// Reports a signal, and exits if the program does not end by itself within [`EXIT_GRACE`]. This is
/// a separate task because the one that prints may be blocked.
async fn exit_on_signal(
    mut listener: SignalListener,
    signalled: oneshot::Sender<()>,
    before: Termios,
) {
    listener.next().await;
    // Fails if the session was left already.
    let _ = signalled.send(());
    sleep(EXIT_GRACE).await;
    // Does not wait for pending output.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    std::process::exit(INTERRUPTED.into())
}
