//! Connects this terminal to a terminal session of a runner.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use bowline_lifecycle::{
    ConnectionState, ExitStatus, ReconnectFailed, SessionId, TerminalSession, WindowSize,
};
use bowline_runner::{Piece, RunnerClient, Stream};
use bytes::Bytes;
use rustix::termios::tcgetwinsize;
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{Signal, SignalKind};
use tokio::task::spawn_blocking;

use super::display::Display;
use super::keyboard::{Keyboard, Keys};
use super::output_filter::OutputFilter;
use super::raw_mode::RawMode;
use crate::args::RunnerArgs;
use crate::failure::Failure;
use crate::runner::{announced, connection_failure, request_failed, unreachable_session};
use crate::signals::listen;
use crate::stdio::eprint;

/// Attaches until the session ends, the user detaches, or the connection fails for good.
///
/// All of it runs on one thread, so that a key and its echo do not pass from thread to thread. Those of the
/// caller's runtime handle signals, while the one of the attachment may be blocked.
pub(super) async fn attach(
    client: &RunnerClient,
    runner: &RunnerArgs,
    id: SessionId,
    is_read_only: bool,
) -> Result<ExitCode, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a terminal session needs a terminal; run this in one, or read the session's log with \
             GET /api/sessions/ID/log",
        ));
    }
    let failed = |error| {
        Failure::failed(format!(
            "cannot attach: {error}; raise the limits of threads"
        ))
    };
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let (client, runner, signal_runtime) = (client.clone(), runner.clone(), Handle::current());
    let attached = spawn_blocking(move || {
        runtime.block_on(attach_here(
            &client,
            &runner,
            id,
            is_read_only,
            &signal_runtime,
        ))
    });
    attached.await.map_err(|error| failed(error.into()))?
}

async fn attach_here(
    client: &RunnerClient,
    runner: &RunnerArgs,
    id: SessionId,
    is_read_only: bool,
    signal_runtime: &Handle,
) -> Result<ExitCode, Failure> {
    let session = if is_read_only {
        announced(client.watch_terminal(id)).await
    } else {
        announced(client.attach_terminal(id, window_size())).await
    };
    let session = session.map_err(|error| request_failed(runner, error))?;
    let (mut raw_mode, keys) = RawMode::enter(signal_runtime)?;
    let attachment = Attachment::new(&session, is_read_only)?;
    let mut display = Display::default();
    let end = attachment.run(&mut raw_mode, &mut display, keys).await;
    if let Ok(AttachEnd::Detached | AttachEnd::Signalled) = end {
        detach(&session).await;
    }
    raw_mode.leave(display).await;
    let options = runner.options();
    let detached = format!("detached from {id}; it keeps running: `bowline attach{options} {id}`");
    match end? {
        AttachEnd::Detached => eprint(&format!("{detached}\n")),
        AttachEnd::Signalled => return Err(Failure::interrupted(detached)),
        AttachEnd::SessionEnded => {
            eprint(&format!(
                "{id} has ended: {}\n",
                exit_status(&session).await
            ));
        }
        AttachEnd::ConnectionFailed(reason) => {
            return Err(unreachable_session(&options, id, &reason));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Detaches, and waits until the runner has been sent that.
async fn detach(session: &TerminalSession) {
    let mut connection = session.connection();
    session.detach();
    // Ends with the task of the session.
    while connection.changed().await.is_ok() {}
}

async fn exit_status(session: &TerminalSession) -> String {
    match session.exited().await.status {
        ExitStatus::Code(code) => format!("exit code {code}"),
        ExitStatus::Signal(signal) => format!("signal {signal}"),
        ExitStatus::Unknown => "exit status unknown".to_owned(),
    }
}

pub(crate) fn window_size() -> Option<WindowSize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| WindowSize::new(size.ws_row, size.ws_col))
}

/// Why an attachment has ended.
enum AttachEnd {
    Detached,
    Signalled,
    SessionEnded,
    ConnectionFailed(ReconnectFailed),
}

/// A session whose terminal this one shows.
struct Attachment<'a> {
    session: &'a TerminalSession,
    resized: Signal,
    /// Whether keys and sizes are not sent.
    is_read_only: bool,
}

impl<'a> Attachment<'a> {
    fn new(session: &'a TerminalSession, is_read_only: bool) -> Result<Self, Failure> {
        let resized = listen(SignalKind::window_change())?;
        Ok(Self {
            session,
            resized,
            is_read_only,
        })
    }

    async fn run(
        mut self,
        raw_mode: &mut RawMode,
        display: &mut Display,
        keys: Keys,
    ) -> Result<AttachEnd, Failure> {
        let mut output = self.session.reader(Stream::Output);
        let mut connection = self.session.connection();
        let mut keyboard = Keyboard::new(self.session, self.is_read_only, keys);
        let mut screens = self.session.screens();
        let (mut filter, mut is_blank) = (OutputFilter::default(), true);
        loop {
            // Nothing else is shown before.
            let is_blocked = display.is_blocked();
            tokio::select! {
                // In this order, so that endless output does not hold up a detach.
                biased;
                () = raw_mode.signalled() => return Ok(AttachEnd::Signalled),
                () = keyboard.until_detach() => {
                    keyboard.flush().await;
                    return Ok(AttachEnd::Detached);
                }
                _ = self.resized.recv() => self.resize(),
                drained = display.drained(), if is_blocked => drained?,
                // The first snapshot precedes the bytes that continue it. A later one stands for a
                // gap and is shown there.
                Ok(_) = screens.wait_for(Option::is_some), if is_blank && !is_blocked => {
                    is_blank = false;
                    display.write(&self.snapshot())?;
                }
                piece = output.next(), if !is_blocked => match piece {
                    Some(Piece::Bytes { bytes, .. }) => {
                        is_blank = false;
                        display.write(&filter.filter(&bytes, output.is_replay()))?;
                    }
                    Some(Piece::Gap { .. }) => {
                        filter.reset();
                        display.write(&self.snapshot())?;
                    }
                    // A failed connection ends the output, too.
                    None => {
                        let failure = connection_failure(&connection);
                        return Ok(failure
                            .map_or(AttachEnd::SessionEnded, AttachEnd::ConnectionFailed));
                    }
                },
                changed = connection.changed(), if !is_blocked => {
                    let state = connection.borrow_and_update().clone();
                    match (changed, state) {
                        (_, ConnectionState::Failed(reason)) => {
                            return Ok(AttachEnd::ConnectionFailed(reason));
                        }
                        (Err(_), _) => return Ok(AttachEnd::SessionEnded),
                        (Ok(()), state) => display.write(title(&state).as_bytes())?,
                    }
                }
            }
        }
    }

    fn resize(&self) {
        if let Some(size) = window_size().filter(|_| !self.is_read_only) {
            // Fails if the session has ended, which its output reports.
            let _ = self.session.resize(size);
        }
    }

    /// Returns the sequence that draws the current screen on a cleared one; it stands for output
    /// that is not available.
    fn snapshot(&self) -> Bytes {
        let screen = self.session.screen();
        screen.map(|screen| screen.bytes).unwrap_or_default()
    }
}

/// Returns the sequence that shows the state of the connection in the window title, which leaves the screen
/// intact.
fn title(state: &ConnectionState) -> String {
    let title = match state {
        ConnectionState::Reconnecting { attempt } => format!("reconnecting, attempt {attempt}"),
        ConnectionState::Connected | ConnectionState::Reconnected { .. } => "connected".to_owned(),
        _ => return String::new(),
    };
    format!("\x1b]2;bowline: {title}\x07")
}
