//! The loop between a panel's WebSocket and its session's shim.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message as Frame, WebSocket};
use bowline_transport::wire::{
    Attach, AttachMode, Attached, ExitNotice, Lease, Message, StdioKind, StreamId,
};
use bowline_transport::{Ladder, SessionId};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::debug;

use super::control::Said;
use super::machine::{Fate, Panel, Step, close};
use super::park;
use crate::serve::{Hall, Life, Link, LinkError, kill, watch};
use crate::shim::SessionDir;

/// Bytes of output that may be on the way to a panel.
const CREDIT: u64 = 256 << 10;

/// Bytes of input that may wait for the shim before no more is read from the panel.
const UNSENT: usize = 1 << 20;

/// How long a last word may take.
pub(super) const LAST_WORD: Duration = Duration::from_secs(2);

/// Serves a panel that attaches to a session which has an id.
pub(in crate::doors) async fn attach(mut socket: WebSocket, id: SessionId, hall: Arc<Hall>) {
    let held = Arc::clone(&hall);
    let _open = held.metrics.panel.open.hold();
    let Some(session) = hall.directory.find(id) else {
        let detail = "there is no session of this id";
        return refuse(&mut socket, "SESSION_NOT_FOUND", detail, close::MISSING).await;
    };
    match join(&session).await {
        Ok((link, attached)) if attached.info.stdio == StdioKind::Pty => {
            hall.parked.cancel(id);
            let is_return = park::mark(&session);
            let panel = Panel::new(&attached, true, is_return);
            Drive::new(socket, link, panel, hall, id).run().await;
        }
        Ok(_) => {
            let detail = "the session has no terminal, read its transcript";
            refuse(&mut socket, "NOT_A_TERMINAL", detail, close::MISSING).await;
        }
        Err(LinkError::Gone(_)) => tell_end(&mut socket, &session).await,
        Err(error) => {
            refuse(
                &mut socket,
                "SESSION_LOST",
                &error.to_string(),
                close::FAILED,
            )
            .await;
        }
    }
}

/// Joins a session as the one who types.
pub(super) async fn join(session: &SessionDir) -> Result<(Link, Attached), LinkError> {
    let mut link = Link::open(session).await?;
    let attached = link
        .attach(Attach {
            session: session.id(),
            epoch: None,
            cursors: BTreeMap::from([(StreamId::TTY, 0)]),
            mode: AttachMode::Snapshot,
            lease: Lease::Write,
            resume_generation: None,
            size: None,
            credit: CREDIT,
            client: "panel".to_owned(),
        })
        .await?;
    Ok((link, attached))
}

/// Says why there is nothing to attach to, and closes.
pub(super) async fn refuse(socket: &mut WebSocket, code: &str, detail: &str, close: u16) {
    let text = Said::Error { code, detail }.text();
    finish(socket, text, close, "").await;
}

async fn finish(socket: &mut WebSocket, text: String, code: u16, reason: &'static str) {
    let reason = reason.into();
    let last = async {
        socket.send(Frame::Text(text.into())).await?;
        socket
            .send(Frame::Close(Some(CloseFrame { code, reason })))
            .await
    };
    let _ = timeout(LAST_WORD, last).await;
}

/// A session that has ended says how, to whoever comes back.
async fn tell_end(socket: &mut WebSocket, session: &SessionDir) {
    let info = session.info().ok().flatten();
    match info.and_then(|info| info.exit) {
        Some(exit) => {
            let text = Said::exit(&exit).text();
            finish(socket, text, close::ENDED, "the session has ended").await;
        }
        None => {
            let detail = "the session's process was killed, and everything of it with it";
            refuse(socket, "SESSION_LOST", detail, close::MISSING).await;
        }
    }
}

/// One panel at one session.
pub(super) struct Drive {
    id: SessionId,
    sink: SplitSink<WebSocket, Frame>,
    stream: SplitStream<WebSocket>,
    link: Link,
    panel: Panel,
    hall: Arc<Hall>,
    life: Life,
    /// What waits to be sent to the panel.
    out: VecDeque<Frame>,
    /// Whether something was handed to the socket that may not have left it.
    is_flushing: bool,
    /// Credit that goes back to the shim when the socket has taken everything.
    owed: u64,
    /// When the panel was last heard.
    heard: Instant,
    /// When the socket last took something, or had nothing to take.
    moved: Instant,
    asked: Instant,
}

impl Drive {
    pub(super) fn new(
        socket: WebSocket,
        link: Link,
        panel: Panel,
        hall: Arc<Hall>,
        id: SessionId,
    ) -> Self {
        let now = Instant::now();
        let life = hall.life.clone();
        let (sink, stream) = socket.split();
        Self {
            id,
            sink,
            stream,
            link,
            panel,
            hall,
            life,
            out: VecDeque::new(),
            is_flushing: false,
            owed: 0,
            heard: now,
            moved: now,
            asked: now,
        }
    }

    /// Something that the panel typed before there was a session.
    pub(super) fn typed(&mut self, bytes: Bytes) {
        self.panel.typed(bytes);
    }

    /// Runs until the panel is gone, and lets its fate be done to the session.
    pub(super) async fn run(mut self) {
        let id = self.id;
        let fate = loop {
            self.carry_out();
            if let Some(fate) = self.panel.fate() {
                break fate;
            }
            self.turn().await;
        };
        debug!(session = %id, ?fate, "a panel goes");
        self.last_words().await;
        let Self { link, hall, .. } = self;
        match fate {
            Fate::Dispose => dispose(link, &hall, id).await,
            Fate::Detach => park::detach(link, hall, id).await,
            Fate::Leave | Fate::Strand => {}
        }
    }

    /// One input: from the panel, from the session, or from the clock.
    async fn turn(&mut self) {
        let listens = self.panel.takes_input() && self.link.unsent() < UNSENT;
        if !listens {
            // Nobody hears the panel now, so its silence says nothing.
            self.heard = Instant::now();
        }
        let has_output = self.is_flushing || !self.out.is_empty();
        let alive = if has_output {
            self.heard.min(self.moved)
        } else {
            self.heard
        };
        let silence = self.hall.limits.silence;
        tokio::select! {
            biased;
            () = self.life.ending() => self.panel.away(),
            message = self.link.next() => self.told(message),
            sent = push(&mut self.sink, &mut self.out, &mut self.is_flushing), if has_output => {
                self.sent(sent);
            }
            frame = self.stream.next(), if listens => self.heard(frame),
            () = sleep_until(alive + silence) => self.panel.closed(None),
            () = sleep_until(self.asked + silence / 3) => self.ask(),
        }
    }

    fn told(&mut self, message: Result<Message, LinkError>) {
        match message {
            Ok(message) => self.panel.told(message),
            Err(error) => match self.exit() {
                // The shim went when everybody else had taken the exit.
                Some(exit) => self.panel.told(Message::Exit(exit)),
                None => {
                    self.panel.lost_session(&error.to_string());
                    if self.panel.fate() == Some(Fate::Strand) {
                        tokio::spawn(park::stranded(&self.hall, self.id));
                    }
                }
            },
        }
    }

    /// How the child ended, as the session's folder has it.
    fn exit(&self) -> Option<ExitNotice> {
        let session = self.hall.directory.find(self.id)?;
        session.info().ok()??.exit
    }

    fn sent(&mut self, sent: Result<(), axum::Error>) {
        self.moved = Instant::now();
        match sent {
            Err(_) => self.panel.closed(None),
            Ok(()) if self.out.is_empty() && !self.is_flushing && self.owed > 0 => {
                let n = std::mem::take(&mut self.owed);
                let stream = StreamId::TTY;
                self.link.queue(Message::Credit { stream, n });
            }
            Ok(()) => {}
        }
    }

    fn heard(&mut self, frame: Option<Result<Frame, axum::Error>>) {
        self.heard = Instant::now();
        let now = self.heard.into_std();
        match frame {
            Some(Ok(Frame::Binary(bytes))) => {
                self.hall.metrics.panel.taken.add(bytes.len() as u64);
                self.panel.typed(bytes);
            }
            Some(Ok(Frame::Text(text))) => self.panel.hear(text.as_str(), now),
            Some(Ok(Frame::Ping(_))) => self.panel.pinged(now),
            Some(Ok(Frame::Pong(_))) => {}
            Some(Ok(Frame::Close(frame))) => self.panel.closed(frame.map(|it| it.code)),
            Some(Err(_)) | None => self.panel.closed(None),
        }
    }

    /// Asks twice: a browser answers the ping of the WebSocket by itself, and its page may watch
    /// for the other.
    fn ask(&mut self) {
        self.asked = Instant::now();
        self.panel.ask();
        self.out.push_back(Frame::Ping(Bytes::new()));
    }

    /// Does what the machine wants done.
    fn carry_out(&mut self) {
        let was_idle = self.out.is_empty() && !self.is_flushing;
        while let Some(step) = self.panel.step() {
            match step {
                Step::Say(text) => self.out.push_back(Frame::Text(text.into())),
                Step::Show(bytes, credit) => {
                    self.hall.metrics.panel.given.add(bytes.len() as u64);
                    self.owed += credit;
                    self.out.push_back(Frame::Binary(bytes));
                }
                Step::Send(message) => self.link.queue(message),
                Step::Close(code, reason) => {
                    let reason = reason.into();
                    let frame = CloseFrame { code, reason };
                    self.out.push_back(Frame::Close(Some(frame)));
                }
            }
        }
        if was_idle {
            self.moved = Instant::now();
        }
    }

    /// Says the last words on both sides, to whoever still listens.
    async fn last_words(&mut self) {
        let last = async {
            while let Some(frame) = self.out.pop_front() {
                self.sink.send(frame).await?;
            }
            self.sink.close().await
        };
        let _ = timeout(LAST_WORD, last).await;
        let _ = timeout(LAST_WORD, self.link.flush()).await;
    }
}

/// Hands the socket what it takes. May be dropped and called again.
async fn push(
    sink: &mut SplitSink<WebSocket, Frame>,
    out: &mut VecDeque<Frame>,
    is_flushing: &mut bool,
) -> Result<(), axum::Error> {
    if !*is_flushing {
        poll_fn(|context| sink.poll_ready_unpin(context)).await?;
        if let Some(frame) = out.pop_front() {
            sink.start_send_unpin(frame)?;
        }
        *is_flushing = true;
    }
    sink.flush().await?;
    *is_flushing = false;
    Ok(())
}

/// Ends a session under the lease of the panel that was there: if somebody else has the lease by
/// now, nothing happens.
pub(super) async fn dispose(mut link: Link, hall: &Hall, id: SessionId) {
    let ladder = Ladder::default();
    link.queue(kill(ladder));
    match watch(&mut link, ladder).await {
        Ok(_) => hall.metrics.disposed.add(1),
        Err(error) => debug!(session = %id, %error, "a session was not disposed of"),
    }
}
