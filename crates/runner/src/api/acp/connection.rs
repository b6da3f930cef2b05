//! The connection of an editor, a WebSocket with one message of JSON-RPC in each text message.

mod ended;
mod follow;
mod list;
mod pieces;
mod work;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use bowline_transport::wire::DEAD_AFTER;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, SplitSink};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::debug;
use uuid::Uuid;

use super::intent::{Attachment, Input, Intent, Output};
use super::server::Server;
use crate::app_state::{AppState, RateLimiter};
use crate::conversations::Conversation;
pub(in crate::api) use work::AgentChoice;

/// Batches of changes that may wait for the editor. More are coalesced in the transcript.
const QUEUE: usize = 4;

/// Intents that may be under way. With more, the editor's next message waits.
const MAX_UNDER_WAY: usize = 8;

/// Maximum number of pings of the WebSocket per second.
const MAX_PINGS_PER_SECOND: u32 = 20;

/// Pings of the runner that may have no answer. They are a third of the permitted silence apart.
const MAX_UNANSWERED: u32 = 2;

/// Close code: the server goes away (RFC 6455, section 7.4.1).
const GOING_AWAY: u16 = 1001;
/// Close code: a message of a type that is not accepted (RFC 6455, section 7.4.1).
const UNSUPPORTED_DATA: u16 = 1003;
/// Close code: the client violated the protocol's policy (RFC 6455, section 7.4.1).
const POLICY_VIOLATION: u16 = 1008;

/// Something that happened in the sessions.
enum Event {
    Input(Input),
    /// A session is driven; its changes follow.
    Attached(Attachment, Conversation),
}

/// Serves an editor until it disconnects. Its sessions continue.
pub(in crate::api) async fn serve(socket: WebSocket, app: Arc<AppState>, agent: AgentChoice) {
    let (sink, mut stream) = socket.split();
    let (events, mut inbox) = mpsc::channel(QUEUE);
    let mut server = Server::new(Uuid::new_v4()).offering(agent.mcp());
    if agent.has_draft {
        server = server.offering_draft();
    }
    let mut connection = Connection {
        app,
        server,
        agent: Arc::new(agent),
        sink,
        work: FuturesUnordered::new(),
        followers: JoinSet::new(),
        attached: HashMap::new(),
        events,
    };
    let shutdown = connection.app.shutdown.clone();
    let silence = connection.app.limits.silence;
    let mut pings = RateLimiter::new(MAX_PINGS_PER_SECOND, MAX_PINGS_PER_SECOND);
    let mut unanswered = 0;
    let close = loop {
        if connection.carry_out().await.is_err() {
            return;
        }
        let is_read = !connection.is_busy();
        tokio::select! {
            message = stream.next(), if is_read => match message {
                Some(Ok(Message::Text(line))) => connection.server.receive(&line),
                Some(Ok(Message::Ping(_))) => {
                    if pings.acquire((), Instant::now()).is_err() {
                        break (POLICY_VIOLATION, "at most 20 pings per second");
                    }
                }
                Some(Ok(Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => break (UNSUPPORTED_DATA, "messages are text"),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
            },
            // Nothing has happened meanwhile. While the editor is not read, its silence has no meaning.
            () = sleep(silence / (MAX_UNANSWERED + 1)), if is_read => {
                let ping = Message::Ping(Bytes::new());
                if unanswered == MAX_UNANSWERED || connection.send(ping).await.is_err() {
                    debug!("the connection of an editor is lost");
                    return;
                }
                unanswered += 1;
                continue;
            }
            Some(input) = connection.work.next() => connection.input(input),
            Some(event) = inbox.recv() => connection.event(event),
            // Reaped, since a follower may end before its connection.
            Some(_) = connection.followers.join_next() => {}
            () = shutdown.cancelled() => break (GOING_AWAY, "the runner is shutting down"),
        }
        unanswered = 0;
    };
    connection.close(close).await;
}

struct Connection {
    app: Arc<AppState>,
    agent: Arc<AgentChoice>,
    sink: SplitSink<WebSocket, Message>,
    server: Server,
    /// Intents under way. New ones are polled in their order, so that they reach a session in it.
    work: FuturesUnordered<BoxFuture<'static, Option<Input>>>,
    /// The tasks that read the sessions; aborted with the connection.
    followers: JoinSet<()>,
    attached: HashMap<Attachment, Attached>,
    events: mpsc::Sender<Event>,
}

/// A session that this connection follows.
struct Attached {
    follower: AbortHandle,
    /// Absent until it is driven.
    conversation: Option<Conversation>,
}

impl Connection {
    /// Sends the lines and begins the intents that are due. Fails if the editor takes nothing for
    /// [`DEAD_AFTER`].
    async fn carry_out(&mut self) -> Result<(), ()> {
        while let Some(output) = self.server.poll() {
            match output {
                Output::Line(line) => self.send(Message::Text(line.into())).await?,
                Output::Intent(intent) => self.begin(intent),
            }
        }
        Ok(())
    }

    async fn send(&mut self, message: Message) -> Result<(), ()> {
        let sent = timeout(DEAD_AFTER, self.sink.send(message)).await;
        sent.map_err(drop)?.map_err(drop)
    }

    /// Whether [`MAX_UNDER_WAY`] intents are under way.
    fn is_busy(&self) -> bool {
        let attaching = self
            .attached
            .values()
            .filter(|it| it.conversation.is_none());
        self.work.len() + attaching.count() >= MAX_UNDER_WAY
    }

    fn begin(&mut self, intent: Intent) {
        let app = Arc::clone(&self.app);
        match intent {
            Intent::List {
                ticket,
                cwd,
                cursor,
            } => self.work.push(Box::pin(async move {
                let result = list::list(&app, cwd, cursor).await;
                Some(Input::Listed { ticket, result })
            })),
            Intent::Start { ticket, start } => {
                let agent = Arc::clone(&self.agent);
                self.work.push(Box::pin(async move {
                    let result = work::start(&app, &agent, start).await;
                    Some(Input::Started { ticket, result })
                }));
            }
            Intent::Attach {
                attachment,
                session,
            } => {
                let events = self.events.clone();
                let follow = follow::follow(app, attachment, session, events);
                let follower = self.followers.spawn(follow);
                let attached = Attached {
                    follower,
                    conversation: None,
                };
                self.attached.insert(attachment, attached);
            }
            Intent::Detach { attachment } => {
                if let Some(attached) = self.attached.remove(&attachment) {
                    attached.follower.abort();
                }
            }
            Intent::Prompt { attachment, .. }
            | Intent::Interrupt { attachment }
            | Intent::Answer { attachment, .. }
            | Intent::SetOption { attachment, .. } => {
                let attached = self.attached.get(&attachment);
                let conversation = attached.and_then(|it| it.conversation.clone());
                if let Some(conversation) = conversation {
                    self.work.push(Box::pin(work::submit(conversation, intent)));
                }
            }
        }
    }

    fn input(&mut self, input: Option<Input>) {
        if let Some(input) = input {
            self.server.input(input);
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Input(input) => {
                if let Input::AttachFailed { attachment, .. } | Input::Ended { attachment, .. } =
                    &input
                {
                    self.attached.remove(attachment);
                }
                self.server.input(input);
            }
            Event::Attached(attachment, conversation) => {
                if let Some(attached) = self.attached.get_mut(&attachment) {
                    attached.conversation = Some(conversation);
                }
            }
        }
    }

    async fn close(mut self, (code, reason): (u16, &'static str)) {
        debug!(code, reason, "closing the connection of an editor");
        let frame = Message::Close(Some(CloseFrame {
            code,
            reason: reason.into(),
        }));
        let _ = self.send(frame).await;
    }
}
