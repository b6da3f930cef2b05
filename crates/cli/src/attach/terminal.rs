//! A terminal of a runner, joined with our own.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use bowline_lifecycle::{
    ConnectionState, ExitStatus, ReconnectFailed, SessionId, TerminalSession, WindowSize,
};
use bowline_runner::{Piece, RunnerClient, Stream};
use bytes::Bytes;
use rustix::termios::tcgetwinsize;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::feed::Feed;
use super::keys::Keys;
use super::raw::Raw;
use crate::args::At;
use crate::failure::Failure;
use crate::link::{lost, out_of_reach};
use crate::runner::refused;
use crate::view::tell;

/// Joins a session until it ends or is left.
pub(super) async fn join(
    client: &RunnerClient,
    at: &At,
    id: SessionId,
) -> Result<ExitCode, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a terminal is joined from a terminal: run this in one, or read its log with \
             GET /api/sessions/ID/log",
        ));
    }
    let session = client.type_in(id, size()).await;
    let session = session.map_err(|error| refused(at, error))?;
    let mut raw = Raw::new()?;
    let left = Joined::new(&session)?.run(&mut raw).await;
    drop(raw);
    let goes_on = format!("left {id}, which goes on: `bowline attach {id}`");
    match left? {
        Left::Away => tell(&format!("{goes_on}\n")),
        Left::Asked => return Err(Failure::interrupted(goes_on)),
        Left::Ended => tell(&format!("{id} has ended: {}\n", how(&session).await)),
        Left::Lost(why) => return Err(out_of_reach(at.runner.as_deref(), id, &why)),
    }
    Ok(ExitCode::SUCCESS)
}

async fn how(session: &TerminalSession) -> String {
    match session.exited().await.status {
        ExitStatus::Code(code) => format!("exit code {code}"),
        ExitStatus::Signal(signal) => format!("signal {signal}"),
        ExitStatus::Unknown => "nobody knows how".to_owned(),
    }
}

fn size() -> Option<WindowSize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then(|| WindowSize::new(size.ws_row, size.ws_col))
}

/// How a session was left.
enum Left {
    Away,
    /// A signal has asked for it.
    Asked,
    Ended,
    Lost(ReconnectFailed),
}

struct Joined<'a> {
    session: &'a TerminalSession,
    resized: Signal,
}

impl<'a> Joined<'a> {
    fn new(session: &'a TerminalSession) -> Result<Self, Failure> {
        let resized = signal(SignalKind::window_change());
        let resized = resized
            .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
        Ok(Self { session, resized })
    }

    async fn run(mut self, raw: &mut Raw) -> Result<Left, Failure> {
        let mut output = self.session.reader(Stream::Output);
        let mut connection = self.session.connection();
        let mut keys = Keys::new(self.session);
        let mut screens = self.session.screens();
        let (mut feed, mut is_blank) = (Feed::default(), true);
        loop {
            tokio::select! {
                biased;
                // Whoever wants to leave is heard before output without an end.
                () = raw.asked() => return Ok(Left::Asked),
                () = keys.until_left() => {
                    keys.flush().await;
                    return Ok(Left::Away);
                }
                _ = self.resized.recv() => self.resize(),
                // The first screen comes before the bytes that go on from it. A later one stands in
                // a gap, and waits for its turn there.
                Ok(_) = screens.wait_for(Option::is_some), if is_blank => {
                    is_blank = false;
                    show(&self.screen())?;
                }
                piece = output.next() => match piece {
                    Some(Piece::Bytes { bytes, .. }) => {
                        is_blank = false;
                        show(&feed.take(&bytes, output.is_replay()))?;
                    }
                    // What is missing is on the screen that came instead.
                    Some(Piece::Gap { .. }) => {
                        feed.begin_anew();
                        show(&self.screen())?;
                    }
                    // A link without hope ends the output, too.
                    None => return Ok(lost(&connection).map_or(Left::Ended, Left::Lost)),
                },
                changed = connection.changed() => {
                    let state = connection.borrow_and_update().clone();
                    match (changed, state) {
                        (_, ConnectionState::Failed(why)) => return Ok(Left::Lost(why)),
                        (Err(_), _) => return Ok(Left::Ended),
                        (Ok(()), state) => tell_state(&state),
                    }
                }
            }
        }
    }

    fn resize(&self) {
        if let Some(size) = size() {
            // A session that has ended is about to be told as such.
            let _ = self.session.resize(size);
        }
    }

    /// The screen that stands for output that is gone, in front of a clean one.
    fn screen(&self) -> Bytes {
        let screen = self.session.screen();
        screen.map(|screen| screen.bytes).unwrap_or_default()
    }
}

/// A lost link is told in the title, where it disturbs no screen.
fn tell_state(state: &ConnectionState) {
    let title = match state {
        ConnectionState::Reconnecting { attempt } => format!("reconnecting, try {attempt}"),
        ConnectionState::Connected | ConnectionState::Reconnected { .. } => "connected".to_owned(),
        ConnectionState::Failed(_) => return,
    };
    tell(&format!("\x1b]2;bowline: {title}\x07"));
}

fn show(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let shown = out.write_all(bytes).and_then(|()| out.flush());
    shown.map_err(|_| Failure::unread())
}
