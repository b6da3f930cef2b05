//! This terminal in raw mode (termios(3)) while it is attached to a session.

use std::future::poll_fn;
use std::io::{self, Write as _};
use std::task::Poll;
use std::time::Duration;

use rustix::process::Signal as Number;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::failure::{Failure, INTERRUPTED};
use crate::signals::listen;

/// Undoes what a program may have set: leaves the alternate screen, turns bracketed paste and mouse
/// reports off, shows the cursor, resets softly. Leaving an alternate screen that was not entered
/// may move the cursor anywhere, so it goes to a new line at the bottom.
const RESET: &[u8] =
    b"\x1b[?1049l\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?25h\x1b[!p\x1b[999H\r\n";

/// Signals that end a program by default and that another process, the terminal or this program may send
/// (signal(7)). The terminal would stay in raw mode.
const ENDING_SIGNALS: [i32; 12] = [
    Number::HUP.as_raw(),
    Number::INT.as_raw(),
    Number::QUIT.as_raw(),
    Number::ABORT.as_raw(),
    Number::USR1.as_raw(),
    Number::USR2.as_raw(),
    Number::ALARM.as_raw(),
    Number::TERM.as_raw(),
    Number::XCPU.as_raw(),
    Number::XFSZ.as_raw(),
    Number::VTALARM.as_raw(),
    Number::PROF.as_raw(),
];

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
        let signals = ENDING_SIGNALS.map(|number| listen(SignalKind::from_raw(number)));
        let signals = signals.into_iter().collect::<Result<Vec<_>, _>>()?;
        let before = tcgetattr(io::stdin()).map_err(failed)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw).map_err(failed)?;
        let (sender, signalled) = oneshot::channel();
        tokio::spawn(exit_on_signal(signals, sender, before.clone()));
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
async fn exit_on_signal(mut signals: Vec<Signal>, signalled: oneshot::Sender<()>, before: Termios) {
    poll_fn(|cx| {
        let received = |signal: &mut Signal| signal.poll_recv(cx).is_ready();
        if signals.iter_mut().any(received) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    // Fails if the session was left already.
    let _ = signalled.send(());
    sleep(EXIT_GRACE).await;
    // Does not wait for pending output.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    std::process::exit(INTERRUPTED.into())
}
