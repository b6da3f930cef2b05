//! The one task of a remote session: it owns the machine and the connection, and does what the
//! machine wants.
//!
//! At rest it waits for the socket, the handles and one timer.

mod told;

pub(super) use self::told::Told;

use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::credentials::{Boxed, Token};
use super::link::Link;
use super::machine::{Breakage, Connection, Input, Machine, Output};
use super::open::{Opened, Unopened, open};
use super::socket::asleep;
use super::target::Remote;
use super::terminal::{Logs, Order};
use super::url::RemoteUrl;
use bowline_process::SessionId;
use bowline_wire::{Decoder, Frame, MAX_MESSAGE, StreamId, encode};

/// Bytes that may wait for a connection that takes nothing, before it is given up: over the longest
/// message and everything else that may be under way.
const UNSENT: usize = 2 * MAX_MESSAGE;

/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A machine that was suspended for less has not slept.
const NAP: Duration = Duration::from_secs(2);

type Opening = Pin<Box<dyn Future<Output = Result<Opened, Unopened>> + Send>>;

pub(super) struct Driver {
    machine: Machine,
    remote: Arc<Remote>,
    session: SessionId,
    orders: mpsc::UnboundedReceiver<Order>,
    /// Whether anybody still holds a handle.
    is_held: bool,
    logs: Logs,
    told: Told,
    connection: Connection,
    opening: Option<Opening>,
    link: Option<Link>,
    /// While there is no link: what might make one possible.
    changes: Option<Boxed<'static, ()>>,
    /// Whether the machine wants nothing more of the connection.
    is_cut: bool,
    decoder: Decoder,
    out: BytesMut,
    token: Option<Token>,
    /// Room in the log of output that the machine knows of.
    room: usize,
    /// How much more is worth telling.
    quarter: usize,
    slept: Duration,
    start: Instant,
    is_over: bool,
}

impl Driver {
    pub(super) fn new(
        machine: Machine,
        (remote, session): (Arc<Remote>, SessionId),
        orders: mpsc::UnboundedReceiver<Order>,
        logs: Logs,
        told: Told,
    ) -> Self {
        let room = logs.output.room();
        Self {
            machine,
            remote,
            session,
            orders,
            is_held: true,
            told,
            connection: 0,
            opening: None,
            link: None,
            changes: None,
            is_cut: false,
            decoder: Decoder::new(),
            out: BytesMut::new(),
            token: None,
            room,
            quarter: (room / 4).max(1),
            slept: asleep(),
            start: Instant::now(),
            is_over: false,
            logs,
        }
    }

    /// Runs until nothing is left to do.
    pub(super) async fn run(mut self: Box<Self>) {
        self.feed(Input::Start);
        while !self.is_over {
            let due = self.machine.poll_timeout().map(|due| self.start + due);
            let needs = self.room + self.quarter;
            tokio::select! {
                order = self.orders.recv(), if self.is_held => self.order(order),
                opened = opening(&mut self.opening) => self.opened(opened),
                came = turn(&mut self.link, &mut self.out) => self.came(came),
                room = room(&self.logs, needs) => self.made_room(room),
                () = changed(&mut self.changes) => self.changed(),
                () = at(due) => self.timed_out(),
            }
        }
        if let Some(link) = &mut self.link {
            // The other side finds out by itself, if it does not take them.
            let _ = timeout(LAST_WORDS, link.flush(&mut self.out)).await;
        }
        self.told.finish(&self.logs);
    }

    /// One input, and everything that follows from it.
    fn feed(&mut self, input: Input) {
        self.machine.handle(input, self.start.elapsed());
        while let Some(output) = self.machine.poll_output() {
            self.act(output);
        }
        // The last words of a session are still to go out.
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
                is_replay,
            } => self.deliver(stream, bytes, is_replay),
            Output::Over => self.is_over = true,
            output => self.told.tell(output, &self.logs),
        }
    }

    fn connect(&mut self, connection: Connection, is_refused: bool) {
        self.hang_up();
        self.is_cut = false;
        self.connection = connection;
        let refused = self.token.take().filter(|_| is_refused);
        let remote = Arc::clone(&self.remote);
        self.opening = Some(Box::pin(open(remote, self.session, refused)));
    }

    fn hang_up(&mut self) {
        self.opening = None;
        self.link = None;
        self.decoder = Decoder::new();
        self.out = BytesMut::new();
    }

    fn opened(&mut self, opened: Result<Opened, Unopened>) {
        self.opening = None;
        match opened {
            Ok(Opened { link, token }) => {
                self.token = token;
                self.link = Some(link);
                self.changes = None;
                self.feed(Input::Opened(self.connection));
            }
            Err(Unopened { why, token }) => {
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

    fn came(&mut self, came: Result<Bytes, String>) {
        match came {
            Ok(bytes) => {
                self.decoder.push(bytes);
                self.hear();
            }
            Err(why) => self.broken(why),
        }
    }

    /// Hears everything that has come whole, as long as it is the same connection.
    fn hear(&mut self) {
        let connection = self.connection;
        while connection == self.connection && self.link.is_some() && !self.is_over {
            match self.decoder.next() {
                Ok(Some(frame)) => self.feed(Input::Frame(connection, frame)),
                Ok(None) => break,
                Err(error) => return self.broken(error.to_string()),
            }
        }
        if self.out.len() > UNSENT {
            self.broken("it asks and does not listen".to_owned());
        }
    }

    fn broken(&mut self, why: String) {
        self.hang_up();
        self.watch();
        self.feed(Input::Broken(self.connection, Breakage::lost(why)));
    }

    /// A runner on this machine is not reached by other links than before.
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

    fn deliver(&mut self, stream: StreamId, bytes: Bytes, is_replay: bool) {
        let log = self.logs.of(stream);
        log.push_as(bytes, is_replay);
        let room = log.room();
        if stream != StreamId::STDERR {
            self.room = room;
        }
        let room = Input::Room(stream, room as u64);
        self.machine.handle(room, self.start.elapsed());
    }

    fn made_room(&mut self, room: Option<usize>) {
        let room = room.unwrap_or(usize::MAX);
        self.room = room;
        for stream in [StreamId::TTY, StreamId::STDOUT] {
            self.feed(Input::Room(stream, room as u64));
        }
    }

    fn order(&mut self, order: Option<Order>) {
        let Some(order) = order else {
            self.is_held = false;
            return self.feed(Input::Detach);
        };
        match order {
            // Its caller has gone before its turn: nothing of it is written.
            Order::Write(_, _, done) if done.is_closed() => {}
            Order::Write(bytes, claim, done) => {
                let ticket = self.told.ticket(Some(claim), done);
                self.feed(Input::Write(bytes, ticket));
            }
            Order::Close(done) => {
                let ticket = self.told.ticket(None, done);
                self.feed(Input::Close(ticket));
            }
            Order::Prompt(prompt, answer) => {
                let ticket = self.told.prompt_ticket(answer);
                self.feed(Input::Prompt(prompt, ticket));
            }
            Order::Resize(size) => self.feed(Input::Resize(size)),
            Order::Signal(signal) => self.feed(Input::Signal(signal)),
            Order::Kill(ladder) => self.feed(Input::Kill(ladder)),
            Order::Retry => self.feed(Input::Retry),
            Order::Detach => self.feed(Input::Detach),
        }
    }

    fn timed_out(&mut self) {
        let slept = asleep();
        let nap = slept.saturating_sub(self.slept);
        self.slept = slept;
        if nap > NAP {
            self.feed(Input::Woke);
        }
        self.feed(Input::Timeout);
    }
}

async fn opening(opening: &mut Option<Opening>) -> Result<Opened, Unopened> {
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

/// Waits until the log of output has so much room; one that never is full always has.
async fn room(logs: &Logs, needs: usize) -> Option<usize> {
    poll_fn(|cx| match logs.output.poll_room_of(cx, needs) {
        Poll::Ready(None) => Poll::Pending,
        other => other,
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
