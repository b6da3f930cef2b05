//! The loop between a web terminal's WebSocket and its session's shim.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message as WsMessage, WebSocket};
use bowline_transport::wire::{
    Attach, AttachMode, Attached, ExitNotice, Lease, Message, StdioKind, StreamId,
};
use bowline_transport::{SessionId, TerminationPolicy};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, warn};

use super::detach::{self, CLOSE_TIMEOUT};
use super::machine::{Action, Departure, Disposition, WebTerminal, close};
use super::messages::ServerMessage;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::sessions::{ShimLink, ShimLinkError, kill_request, wait_until_ended};
use crate::shim::SessionDir;

/// Maximum bytes of output in flight to a web terminal.
const OUTPUT_CREDIT: u64 = 256 << 10;

/// Bytes of input queued for the shim above which the web terminal is not read.
const MAX_UNSENT_INPUT: usize = 1 << 20;

/// Replies queued for a web terminal above which it is not read.
const MAX_QUEUED_REPLIES: usize = 16;

/// Attaches a web terminal to an existing session. Without the write lease, it only shows the session. Without
/// `may_end`, the session continues afterwards, unless it was bound to a web terminal before.
pub(in crate::api) async fn attach(
    mut socket: WebSocket,
    id: SessionId,
    lease: Lease,
    may_end: bool,
    app: Arc<AppState>,
) {
    let counted = Arc::clone(&app);
    let _connection = counted.metrics.web_terminal.connections.increment();
    let Some(session) = app.sessions.find(id) else {
        let problem = Problem::session_not_found();
        return refuse(&mut socket, problem.code, &problem.detail, close::NOT_FOUND).await;
    };
    match open_link(&session, lease).await {
        Ok((link, attached)) if attached.info.stdio == StdioKind::Pty && lease == Lease::Read => {
            let machine = WebTerminal::watching(&attached);
            Driver::new(socket, link, machine, app, id).run().await;
        }
        Ok((link, attached)) if attached.info.stdio == StdioKind::Pty => {
            app.detach_timers.cancel(id);
            let departure = departure(&session, may_end);
            if departure == Departure::Keeps {
                let machine = WebTerminal::new(&attached, true, true).with_departure(departure);
                return Driver::new(socket, link, machine, app, id).run().await;
            }
            let is_reconnect = detach::mark(&session, link.generation()).unwrap_or_else(|error| {
                warn!(session.id = %id, %error, "cannot mark the session of a web terminal");
                true
            });
            let machine = WebTerminal::new(&attached, true, is_reconnect);
            let machine = machine.with_departure(departure);
            Driver::new(socket, link, machine, app, id).run().await;
        }
        Ok(_) => {
            let detail = "the session has no terminal; read its transcript instead";
            refuse(&mut socket, "NOT_A_TERMINAL", detail, close::NOT_FOUND).await;
        }
        Err(ShimLinkError::Disconnected(_)) => report_end(&mut socket, &session).await,
        Err(error) => {
            let detail = error.to_string();
            refuse(&mut socket, "SESSION_LOST", &detail, close::INTERNAL_ERROR).await;
        }
    }
}

/// Returns what a web terminal with the write lease may do to its session by disconnecting.
fn departure(session: &SessionDir, may_end: bool) -> Departure {
    if may_end {
        Departure::Ends
    } else if detach::has_web_terminal(session) {
        Departure::Detaches
    } else {
        Departure::Keeps
    }
}

/// Attaches to a session.
pub(super) async fn open_link(
    session: &SessionDir,
    lease: Lease,
) -> Result<(ShimLink, Attached), ShimLinkError> {
    let mut link = ShimLink::open(session).await?;
    let attached = link
        .attach(Attach {
            session: session.id(),
            epoch: None,
            cursors: BTreeMap::from([(StreamId::TTY, 0)]),
            mode: AttachMode::Snapshot,
            lease,
            resume_generation: None,
            size: None,
            credit: OUTPUT_CREDIT,
            client: "panel".to_owned(),
        })
        .await?;
    Ok((link, attached))
}

/// Sends an error and closes the connection.
pub(super) async fn refuse(socket: &mut WebSocket, code: &str, detail: &str, close: u16) {
    let text = ServerMessage::Error { code, detail }.to_json();
    send_and_close(socket, text, close, "").await;
}

async fn send_and_close(socket: &mut WebSocket, text: String, code: u16, reason: &'static str) {
    let reason = reason.into();
    let sending = async {
        socket.send(WsMessage::Text(text.into())).await?;
        socket
            .send(WsMessage::Close(Some(CloseFrame { code, reason })))
            .await
    };
    let _ = timeout(CLOSE_TIMEOUT, sending).await;
}

/// Reports how a session has ended.
async fn report_end(socket: &mut WebSocket, session: &SessionDir) {
    let info = session.info().ok().flatten();
    match info.and_then(|info| info.exit) {
        Some(exit) => {
            let text = ServerMessage::Exit((&exit).into()).to_json();
            send_and_close(socket, text, close::ENDED, "the session has ended").await;
        }
        None => {
            let detail = Problem::session_killed().detail;
            refuse(socket, "SESSION_LOST", &detail, close::NOT_FOUND).await;
        }
    }
}

/// Performs the actions of a [`WebTerminal`] on its WebSocket and its link to the shim.
pub(super) struct Driver {
    id: SessionId,
    sink: SplitSink<WebSocket, WsMessage>,
    stream: SplitStream<WebSocket>,
    link: ShimLink,
    machine: WebTerminal,
    app: Arc<AppState>,
    /// Messages that wait to be sent to the web terminal.
    queue: VecDeque<WsMessage>,
    /// Whether the socket may still hold a message that was handed to it.
    is_flushing: bool,
    /// Credit to return to the shim once the socket has sent everything.
    owed_credit: u64,
    /// When the web terminal last sent something.
    last_received: Instant,
    /// When the socket last sent something or had nothing to send.
    last_sent: Instant,
    last_ping: Instant,
}

impl Driver {
    pub(super) fn new(
        socket: WebSocket,
        link: ShimLink,
        machine: WebTerminal,
        app: Arc<AppState>,
        id: SessionId,
    ) -> Self {
        let now = Instant::now();
        let (sink, stream) = socket.split();
        Self {
            id,
            sink,
            stream,
            link,
            machine,
            app,
            queue: VecDeque::new(),
            is_flushing: false,
            owed_credit: 0,
            last_received: now,
            last_sent: now,
            last_ping: now,
        }
    }

    /// Handles input that was received before the session started.
    pub(super) fn input(&mut self, bytes: Bytes) {
        self.machine.input(bytes);
    }

    /// Runs until the web terminal is done, then keeps or terminates the session accordingly.
    pub(super) async fn run(mut self) {
        let id = self.id;
        let disposition = loop {
            self.perform_actions();
            if let Some(disposition) = self.machine.disposition() {
                break disposition;
            }
            self.wait_for_event().await;
        };
        debug!(session.id = %id, ?disposition, "web terminal disconnected");
        self.flush_and_close().await;
        let Self { link, app, .. } = self;
        match disposition {
            Disposition::Terminate => terminate(link, &app, id).await,
            Disposition::Detach => detach::detach(link, app, id).await,
            Disposition::Keep | Disposition::DetachUnreachable => {}
        }
    }

    /// Handles one event of the web terminal, the session or the clock.
    async fn wait_for_event(&mut self) {
        let reads_input = self.machine.accepts_input()
            && self.link.unsent() < MAX_UNSENT_INPUT
            && self.queued_replies() < MAX_QUEUED_REPLIES;
        if !reads_input {
            // While the web terminal is not read, its silence has no meaning.
            self.last_received = Instant::now();
        }
        let has_output = self.is_flushing || !self.queue.is_empty();
        let last_activity = if has_output {
            self.last_received.min(self.last_sent)
        } else {
            self.last_received
        };
        let silence = self.app.limits.silence;
        tokio::select! {
            biased;
            () = self.app.shutdown.cancelled() => self.machine.shutdown(),
            message = self.link.next() => self.on_shim_message(message),
            sent = send_next(&mut self.sink, &mut self.queue, &mut self.is_flushing),
                if has_output => self.on_sent(sent),
            message = self.stream.next(), if reads_input => self.on_client_message(message),
            () = sleep_until(last_activity + silence) => self.machine.closed(None),
            () = sleep_until(self.last_ping + silence / 3) => self.ping(),
        }
    }

    /// Number of queued messages other than output, whose size the credit limits.
    fn queued_replies(&self) -> usize {
        let is_output = |message: &&WsMessage| matches!(message, WsMessage::Binary(_));
        self.queue.iter().filter(|it| !is_output(it)).count()
    }

    fn on_shim_message(&mut self, message: Result<Message, ShimLinkError>) {
        match message {
            Ok(message) => self.machine.on_shim_message(message),
            Err(error) => match self.recorded_exit() {
                // The shim ended after its other clients had acknowledged the exit.
                Some(exit) => self.machine.on_shim_message(Message::Exit(exit)),
                None => {
                    self.machine.link_lost(&error.to_string());
                    if self.machine.disposition() == Some(Disposition::DetachUnreachable) {
                        tokio::spawn(detach::detach_unreachable(
                            &self.app,
                            self.id,
                            self.link.generation(),
                        ));
                    }
                }
            },
        }
    }

    /// The child's exit status, as recorded in the session's folder.
    fn recorded_exit(&self) -> Option<ExitNotice> {
        let session = self.app.sessions.find(self.id)?;
        session.info().ok()??.exit
    }

    fn on_sent(&mut self, sent: Result<(), axum::Error>) {
        self.last_sent = Instant::now();
        match sent {
            Err(_) => self.machine.closed(None),
            Ok(()) if self.queue.is_empty() && !self.is_flushing && self.owed_credit > 0 => {
                let n = std::mem::take(&mut self.owed_credit);
                let stream = StreamId::TTY;
                self.link.queue(Message::Credit { stream, n });
            }
            Ok(()) => {}
        }
    }

    fn on_client_message(&mut self, message: Option<Result<WsMessage, axum::Error>>) {
        self.last_received = Instant::now();
        let now = self.last_received.into_std();
        match message {
            Some(Ok(WsMessage::Binary(bytes))) => {
                let metrics = &self.app.metrics.web_terminal;
                metrics.received_bytes.add(bytes.len() as u64);
                self.machine.on_input(bytes, now);
            }
            Some(Ok(WsMessage::Text(text))) => self.machine.on_text(text.as_str(), now),
            Some(Ok(WsMessage::Ping(_))) => self.machine.websocket_ping(now),
            Some(Ok(WsMessage::Pong(_))) => {}
            Some(Ok(WsMessage::Close(frame))) => self.machine.closed(frame.map(|it| it.code)),
            Some(Err(_)) | None => self.machine.closed(None),
        }
    }

    /// Sends two pings: browsers answer that of the WebSocket by themselves, and pages can see the
    /// other.
    fn ping(&mut self) {
        self.last_ping = Instant::now();
        self.machine.ping();
        self.queue.push_back(WsMessage::Ping(Bytes::new()));
    }

    fn perform_actions(&mut self) {
        let was_idle = self.queue.is_empty() && !self.is_flushing;
        while let Some(action) = self.machine.next_action() {
            match action {
                Action::SendText(text) => self.queue.push_back(WsMessage::Text(text.into())),
                Action::SendBytes(bytes, credit) => {
                    let metrics = &self.app.metrics.web_terminal;
                    metrics.sent_bytes.add(bytes.len() as u64);
                    self.owed_credit += credit;
                    self.queue.push_back(WsMessage::Binary(bytes));
                }
                Action::SendToShim(message) => self.link.queue(message),
                Action::Close(code, reason) => {
                    let reason = reason.into();
                    let frame = CloseFrame { code, reason };
                    self.queue.push_back(WsMessage::Close(Some(frame)));
                }
            }
        }
        if was_idle {
            self.last_sent = Instant::now();
        }
    }

    /// Sends what is queued in both directions, and closes the WebSocket.
    async fn flush_and_close(&mut self) {
        let sending = async {
            while let Some(message) = self.queue.pop_front() {
                self.sink.send(message).await?;
            }
            self.sink.close().await
        };
        let _ = timeout(CLOSE_TIMEOUT, sending).await;
        let _ = timeout(CLOSE_TIMEOUT, self.link.flush()).await;
    }
}

/// Sends the next queued message. Cancel safe.
async fn send_next(
    sink: &mut SplitSink<WebSocket, WsMessage>,
    queue: &mut VecDeque<WsMessage>,
    is_flushing: &mut bool,
) -> Result<(), axum::Error> {
    if !*is_flushing {
        poll_fn(|context| sink.poll_ready_unpin(context)).await?;
        if let Some(message) = queue.pop_front() {
            sink.start_send_unpin(message)?;
        }
        *is_flushing = true;
    }
    sink.flush().await?;
    *is_flushing = false;
    Ok(())
}

/// Terminates a session under the web terminal's lease, so that nothing happens if another client
/// has taken the lease.
async fn terminate(mut link: ShimLink, app: &AppState, id: SessionId) {
    let policy = TerminationPolicy::default();
    link.queue(kill_request(policy));
    match wait_until_ended(&mut link, policy).await {
        Ok(_) => app.metrics.terminated.add(1),
        Err(error) => debug!(session.id = %id, %error, "session was not terminated"),
    }
}
