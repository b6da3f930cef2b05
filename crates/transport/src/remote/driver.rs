//! The task of a remote session: it owns the state machine and the connection, and executes the
//! outputs of the machine.
//!
//! While idle it waits for the socket, the handles and one timer.

mod notifications;

pub(super) use self::notifications::Notifications;

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::{Instant, sleep_until, timeout};

use super::credentials::{Boxed, Token};
use super::link::Link;
use super::machine::{Connection, Input, LinkError, Machine, Output};
use super::open::{OpenError, Opened, open};
use super::spans::in_connect_span;
use super::target::Remote;
use super::terminal::{Command, Logs};
use super::url::RemoteUrl;
use bowline_process::log::SharedLog;
use bowline_process::{Inbox, SessionId, suspended_time};
use bowline_wire::{Decoder, Frame, MAX_MESSAGE, StreamId, encode};

/// Unsent bytes after which a connection is dropped. More than the longest message and all other
/// data in flight.
const MAX_UNSENT_BYTES: usize = 2 * MAX_MESSAGE;

/// Time limit for sending the remaining bytes when the session is over.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Suspensions of this machine that are shorter are ignored.
const MIN_SUSPENSION: Duration = Duration::from_secs(2);

type Opening = Pin<Box<dyn Future<Output = Result<Opened, OpenError>> + Send>>;

pub(super) struct Driver {
    machine: Machine,
    remote: Arc<Remote>,
    session: SessionId,
    commands: Inbox<Command>,
    /// Whether a handle still exists.
    is_held: bool,
    logs: Logs,
    notifications: Notifications,
    connection: Connection,
    opening: Option<Opening>,
    link: Option<Link>,
    /// While there is no link: resolves when the network changes.
    changes: Option<Boxed<'static, ()>>,
    /// Whether the machine has requested a disconnect.
    is_cut: bool,
    decoder: Decoder,
    out: BytesMut,
    token: Option<Token>,
    rooms: Vec<RoomWatch>,
    slept: Duration,
    start: Instant,
    is_over: bool,
}

/// A log that blocks when it is full, and whose free space is reported to the machine.
struct RoomWatch {
    /// The streams that are appended to it.
    streams: &'static [StreamId],
    log: Arc<SharedLog>,
    /// Its free space as last reported, in bytes.
    room: usize,
    /// Growth of the free space that is worth a report, in bytes.
    step: usize,
}

impl RoomWatch {
    fn new(streams: &'static [StreamId], log: &Arc<SharedLog>) -> Self {
        let room = log.room();
        Self {
            streams,
            log: Arc::clone(log),
            room,
            step: (room / 4).max(1),
        }
    }
}

impl Driver {
    pub(super) fn new(
        machine: Machine,
        (remote, session): (Arc<Remote>, SessionId),
        commands: Inbox<Command>,
        logs: Logs,
        notifications: Notifications,
    ) -> Self {
        let dialogue = logs.dialogue.as_ref();
        let input = dialogue.map(|it| RoomWatch::new(&[StreamId::INPUT], &it.input));
        let control = logs.control();
        let control = control.map(|it| RoomWatch::new(&[StreamId::CONTROL], it));
        let output = RoomWatch::new(
            &[StreamId::TTY, StreamId::STDOUT, StreamId::HOOKS],
            &logs.output,
        );
        Self {
            machine,
            remote,
            session,
            commands,
            is_held: true,
            notifications,
            connection: 0,
            opening: None,
            link: None,
            changes: None,
            is_cut: false,
            decoder: Decoder::new(),
            out: BytesMut::new(),
            token: None,
            rooms: [output].into_iter().chain(input).chain(control).collect(),
            slept: suspended_time(),
            start: Instant::now(),
            is_over: false,
            logs,
        }
    }

    /// Runs until nothing is left to do.
    pub(super) async fn run(mut self: Box<Self>) {
        self.feed(Input::Start);
        while !self.is_over {
            let due = self.machine.poll_timeout();
            // A time that no clock reaches is never due.
            let due = due.and_then(|due| self.start.checked_add(due));
            tokio::select! {
                command = self.commands.recv(), if self.is_held => self.command(command),
                opened = opening(&mut self.opening) => self.opened(opened),
                received = turn(&mut self.link, &mut self.out) => self.received(received),
                (log, room) = grown(&self.rooms) => self.made_room(log, room),
                () = changed(&mut self.changes) => self.changed(),
                () = at(due) => self.timed_out(),
            }
        }
        if let Some(link) = &mut self.link {
            // If this fails, the peer detects the closed connection.
            let _ = timeout(FLUSH_TIMEOUT, link.flush(&mut self.out)).await;
        }
        self.notifications.finish(&self.logs);
    }

    /// Handles one input and executes all outputs that result from it.
    fn feed(&mut self, input: Input) {
        self.machine.handle(input, self.start.elapsed());
        while let Some(output) = self.machine.poll_output() {
            self.act(output);
        }
        // When the session is over, `run` still has to send what is queued.
        if std::mem::take(&mut self.is_cut) && !self.is_over {
            self.hang_up();
        }
    }

    fn act(&mut self, output: Output) {
        match output {
            Output::Connect {
                connection,
                is_refused,
            } => self.connect(connection, is_refused),
            Output::Disconnect => self.is_cut = true,
            Output::Send(frame) => self.send(&frame),
            Output::Deliver {
                stream,
                bytes,
                arrival,
                is_replay,
            } => {
                self.logs.push(stream, bytes, arrival, is_replay);
                self.delivered(stream);
            }
            Output::Over => self.is_over = true,
            output => self.notifications.handle(output, &self.logs),
        }
    }

    fn connect(&mut self, connection: Connection, is_refused: bool) {
        self.hang_up();
        self.is_cut = false;
        self.connection = connection;
        let refused = self.token.take().filter(|_| is_refused);
        let remote = Arc::clone(&self.remote);
        let opening = open(remote, self.session, refused);
        self.opening = Some(Box::pin(in_connect_span(connection, opening)));
    }

    fn hang_up(&mut self) {
        self.opening = None;
        self.link = None;
        self.decoder = Decoder::new();
        self.out = BytesMut::new();
    }

    fn opened(&mut self, opened: Result<Opened, OpenError>) {
        self.opening = None;
        match opened {
            Ok(Opened { link, token }) => {
                self.token = token;
                self.link = Some(link);
                self.changes = None;
                self.feed(Input::Opened(self.connection));
            }
            Err(OpenError { why, token }) => {
                self.token = token;
                self.watch();
                self.feed(Input::Broken(self.connection, why));
            }
        }
    }

    fn send(&mut self, frame: &Frame) {
        if self.link.is_some() {
            encode(frame, &mut self.out);
        }
    }

    fn received(&mut self, received: Result<Bytes, String>) {
        match received {
            Ok(bytes) => {
                self.decoder.push(bytes);
                self.decode_frames();
            }
            Err(why) => self.broken(why),
        }
    }

    /// Handles all complete frames that were received on this connection.
    fn decode_frames(&mut self) {
        let connection = self.connection;
        while connection == self.connection && self.link.is_some() && !self.is_over {
            match self.decoder.next() {
                Ok(Some(frame)) => self.feed(Input::Frame(connection, frame)),
                Ok(None) => break,
                Err(error) => return self.broken(error.to_string()),
            }
        }
        if self.out.len() > MAX_UNSENT_BYTES {
            self.broken("the runner sends requests but does not read the replies".to_owned());
        }
    }

    fn broken(&mut self, why: String) {
        self.hang_up();
        self.watch();
        self.feed(Input::Broken(self.connection, LinkError::lost(why)));
    }

    /// Watches the network for changes, which do not affect a runner on this machine.
    fn watch(&mut self) {
        if matches!(self.remote.url, RemoteUrl::Tcp { .. }) {
            self.changes
                .get_or_insert_with(|| self.remote.network.changed());
        }
    }

    fn changed(&mut self) {
        self.changes = None;
        self.watch();
        self.feed(Input::Woke);
    }

    fn delivered(&mut self, stream: StreamId) {
        let room = self.logs.of(stream).room();
        let mut watches = self.rooms.iter_mut();
        if let Some(watch) = watches.find(|it| it.streams.contains(&stream)) {
            watch.room = room;
        }
        let room = Input::Room(stream, room as u64);
        self.machine.handle(room, self.start.elapsed());
    }

    fn made_room(&mut self, log: usize, room: usize) {
        let watch = &mut self.rooms[log];
        watch.room = room;
        for stream in watch.streams {
            self.feed(Input::Room(*stream, room as u64));
        }
    }

    fn command(&mut self, command: Option<Command>) {
        let Some(command) = command else {
            self.is_held = false;
            return self.feed(Input::Detach);
        };
        match command {
            // The caller has cancelled the write before it was sent.
            Command::Write(_, _, done) if done.is_closed() => {}
            Command::Write(bytes, reserved, done) => {
                let ticket = self.notifications.ticket(Some(reserved), done);
                self.feed(Input::Write(bytes, ticket));
            }
            Command::Close(done) => {
                let ticket = self.notifications.ticket(None, done);
                self.feed(Input::Close(ticket));
            }
            Command::Prompt(prompt, answer) => {
                let ticket = self.notifications.prompt_ticket(answer);
                self.feed(Input::Prompt(prompt, ticket));
            }
            Command::Resize(size) => self.feed(Input::Resize(size)),
            Command::Signal(signal) => self.feed(Input::Signal(signal)),
            Command::Kill(policy) => self.feed(Input::Kill(policy)),
            Command::Retry => self.feed(Input::Retry),
            Command::Detach => self.feed(Input::Detach),
        }
    }

    fn timed_out(&mut self) {
        let slept = suspended_time();
        let suspended = slept.saturating_sub(self.slept);
        self.slept = slept;
        if suspended > MIN_SUSPENSION {
            self.feed(Input::Woke);
        }
        self.feed(Input::Timeout);
    }
}

/// A task that is dropped before its end, because it panicked or its runtime has ended, leaves no handle
/// waiting.
impl Drop for Driver {
    fn drop(&mut self) {
        if !self.is_over {
            self.notifications.abandon(&self.logs);
        }
    }
}

async fn opening(opening: &mut Option<Opening>) -> Result<Opened, OpenError> {
    match opening {
        Some(opening) => opening.await,
        None => pending().await,
    }
}

async fn turn(link: &mut Option<Link>, out: &mut BytesMut) -> Result<Bytes, String> {
    match link {
        Some(link) => link.turn(out).await,
        None => pending().await,
    }
}

/// Waits until a log has enough free space for a report. Returns its number and the space.
async fn grown(rooms: &[RoomWatch]) -> (usize, usize) {
    poll_fn(|cx| {
        for (number, watch) in rooms.iter().enumerate() {
            // A log that is closed has no room to report.
            if let Poll::Ready(Some(room)) = watch.log.poll_room_of(cx, watch.room + watch.step) {
                return Poll::Ready((number, room));
            }
        }
        Poll::Pending
    })
    .await
}

async fn changed(changes: &mut Option<Boxed<'static, ()>>) {
    match changes {
        Some(changes) => changes.await,
        None => pending().await,
    }
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}
