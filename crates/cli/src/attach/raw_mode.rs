//! This terminal in raw mode (termios(3)) while it is attached to a session.

use std::future::poll_fn;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::task::Poll;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::Signal as Number;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::net::unix::pipe::Receiver;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::display::Display;
use super::keyboard::Keys;
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

/// How long a terminal may take for [`RESET`].
const RESET_TIMEOUT: Duration = Duration::from_secs(1);

/// Raw mode: no echo, no line editing, no signal keys, and no call that blocks. Dropping it restores the
/// terminal.
pub(super) struct RawMode {
    before: TerminalSettings,
    /// Whether what a program may have set is undone.
    is_reset: bool,
    signalled: oneshot::Receiver<()>,
}

impl RawMode {
    /// Enters raw mode and handles signals on another runtime, so that they are handled while this thread is
    /// blocked; they no longer end the program by default. Returns the keys of the terminal.
    pub(super) fn enter(signal_runtime: &Handle) -> Result<(Self, Keys), Failure> {
        let failed = |error| Failure::failed(format!("cannot set up the terminal: {error}"));
        let signals = ENDING_SIGNALS.map(|number| listen(SignalKind::from_raw(number)));
        let signals = signals.into_iter().collect::<Result<Vec<_>, _>>()?;
        let before = TerminalSettings::get().map_err(failed)?;
        before.set_raw().map_err(failed)?;
        let (sender, signalled) = oneshot::channel();
        signal_runtime.spawn(exit_on_signal(signals, sender, before.clone()));
        let mode = Self {
            before,
            is_reset: false,
            signalled,
        };
        let terminal = io::stdin().as_fd().try_clone_to_owned();
        let keys = match terminal.and_then(Receiver::from_owned_fd_unchecked) {
            Ok(terminal) => {
                mode.before.set_nonblocking().map_err(failed)?;
                Keys::Terminal(terminal)
            }
            Err(_) => Keys::on_thread(),
        };
        Ok((mode, keys))
    }

    /// Waits for a signal. Cancel safe.
    pub(super) async fn signalled(&mut self) {
        if (&mut self.signalled).await.is_err() {
            std::future::pending().await
        }
    }
}

impl RawMode {
    /// Undoes what a program may have set, unless the terminal takes no output, and restores the terminal.
    pub(super) async fn leave(mut self, mut display: Display) {
        self.is_reset = true;
        // A terminal that is closed needs none.
        if display.replace(RESET).is_ok() {
            let _ = timeout(RESET_TIMEOUT, display.drained()).await;
        }
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        self.before.restore_flags();
        if !self.is_reset {
            let mut out = io::stdout().lock();
            let _ = out.write_all(RESET).and_then(|()| out.flush());
        }
        self.before.restore_modes(OptionalActions::Flush);
    }
}

/// What raw mode changes of this terminal.
#[derive(Clone)]
struct TerminalSettings {
    modes: Termios,
    /// The flags of the open file descriptions of standard input and output, which may be one and may be
    /// those of other programs too (fcntl(2)).
    flags: [OFlags; 2],
}

impl TerminalSettings {
    fn get() -> io::Result<Self> {
        Ok(Self {
            modes: tcgetattr(io::stdin())?,
            flags: [fcntl_getfl(io::stdin())?, fcntl_getfl(io::stdout())?],
        })
    }

    fn set_raw(&self) -> io::Result<()> {
        let mut raw = self.modes.clone();
        raw.make_raw();
        Ok(tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?)
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        let [input, output] = self.flags;
        fcntl_setfl(io::stdin(), input | OFlags::NONBLOCK)?;
        Ok(fcntl_setfl(io::stdout(), output | OFlags::NONBLOCK)?)
    }

    fn restore_flags(&self) {
        let [input, output] = self.flags;
        let _ = fcntl_setfl(io::stdin(), input);
        let _ = fcntl_setfl(io::stdout(), output);
    }

    fn restore_modes(&self, when: OptionalActions) {
        let _ = tcsetattr(io::stdin(), when, &self.modes);
    }
}

/// Reports a signal, and exits if the program does not end by itself within [`EXIT_GRACE`]. This is
/// a separate task because the one that prints may be blocked.
async fn exit_on_signal(
    mut signals: Vec<Signal>,
    signalled: oneshot::Sender<()>,
    before: TerminalSettings,
) {
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
    before.restore_flags();
    // Does not wait for pending output.
    before.restore_modes(OptionalActions::Now);
    std::process::exit(INTERRUPTED.into())
}
