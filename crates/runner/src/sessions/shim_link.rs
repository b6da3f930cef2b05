//! A connection to a shim, over its Unix socket.

use std::io;
use std::time::Duration;

use bowline_transport::wire::{
    ARRIVALS, Attach, Attached, DEAD_AFTER, Decoder, Frame, Hello, Message, PING_EVERY, VERSION,
    WireError, encode,
};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{Instrument as _, debug_span};

use crate::read_room::ReadRoom;
use crate::shim::SessionDir;

/// The most bytes per read.
const READ_BYTES: usize = 128 << 10;

/// Nonce of the ping that [`ShimLink::flush_and_settle`] sends. Keep-alive pings have 0.
const SETTLE_NONCE: u64 = 1;

/// Time limit for the shim's reply to `Hello` and `Attach`.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why communication with a shim failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShimLinkError {
    /// The connection cannot be opened, or was closed.
    #[error("the session's process is unreachable: {0}")]
    Disconnected(#[source] io::Error),
    /// The shim did not respond in time.
    #[error("the session's process did not respond in time")]
    TimedOut,
    /// The shim sent an invalid frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The shim refused a request.
    #[error("{detail}")]
    Refused {
        /// One of the wire's codes.
        code: String,
        /// The shim's reason.
        detail: String,
    },
    /// Another client has taken the write lease.
    #[error("another client has attached to the session")]
    Fenced,
    /// The shim sent a message that is not valid at this point.
    #[error("unexpected message from the session's process: {0}")]
    Unexpected(&'static str),
}

impl ShimLinkError {
    fn unexpected(message: Message) -> Self {
        match message {
            Message::Error { code, detail, .. } => Self::Refused { code, detail },
            Message::Fenced { .. } => Self::Fenced,
            Message::GoAway { .. } => Self::Disconnected(io::ErrorKind::ConnectionReset.into()),
            Message::Exit(_) => Self::Unexpected("exit"),
            Message::Data { .. } => Self::Unexpected("data"),
            _ => Self::Unexpected("other"),
        }
    }
}

/// A client connection to a shim. [Queued](Self::queue) messages are sent while
/// [`next`](Self::next) waits.
#[derive(Debug)]
pub(crate) struct ShimLink {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
    decoder: Decoder,
    input: BytesMut,
    room: ReadRoom,
    output: BytesMut,
    generation: u64,
    last_received: Instant,
    last_ping: Instant,
}

impl ShimLink {
    /// Connects to a session's shim and exchanges `Hello` and `Welcome`.
    pub(crate) async fn open(session: &SessionDir) -> Result<Self, ShimLinkError> {
        let span = debug_span!("shim_link", session.id = %session.id());
        Self::connect(session).instrument(span).await
    }

    async fn connect(session: &SessionDir) -> Result<Self, ShimLinkError> {
        let stream = session.connect().await;
        let mut link = Self::over(stream.map_err(ShimLinkError::Disconnected)?);
        link.queue(Message::Hello(Hello {
            versions: (VERSION, VERSION),
            features: vec![ARRIVALS.to_owned()],
        }));
        match link.handshake_reply().await? {
            Message::Welcome(_) => Ok(link),
            other => Err(ShimLinkError::unexpected(other)),
        }
    }

    /// Returns a link over a connection, without a handshake.
    pub(crate) fn over(stream: UnixStream) -> Self {
        let (read, write) = stream.into_split();
        let now = Instant::now();
        Self {
            read,
            write,
            decoder: Decoder::new(),
            input: BytesMut::new(),
            room: ReadRoom::up_to(READ_BYTES),
            output: BytesMut::new(),
            generation: 0,
            last_received: now,
            last_ping: now,
        }
    }

    /// Attaches to the session.
    pub(crate) async fn attach(&mut self, attach: Attach) -> Result<Attached, ShimLinkError> {
        self.queue(Message::Attach(attach));
        match self.handshake_reply().await? {
            Message::Attached(attached) => {
                self.generation = attached.generation;
                Ok(attached)
            }
            other => Err(ShimLinkError::unexpected(other)),
        }
    }

    async fn handshake_reply(&mut self) -> Result<Message, ShimLinkError> {
        timeout(HANDSHAKE_TIMEOUT, self.next())
            .await
            .map_err(|_| ShimLinkError::TimedOut)?
    }

    /// Appends a message to the output buffer.
    pub(crate) fn queue(&mut self, message: Message) {
        encode(&Frame::new(self.generation, message), &mut self.output);
    }

    /// Generation of the write lease; 0 without one.
    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of queued bytes that are not sent yet.
    pub(crate) fn unsent(&self) -> usize {
        self.output.len()
    }

    /// Sends all queued messages.
    pub(crate) async fn flush(&mut self) -> Result<(), ShimLinkError> {
        let written = timeout(DEAD_AFTER, self.write.write_all_buf(&mut self.output)).await;
        written
            .map_err(|_| ShimLinkError::TimedOut)?
            .map_err(ShimLinkError::Disconnected)
    }

    /// Sends all queued messages and waits until the shim has processed them.
    pub(crate) async fn flush_and_settle(&mut self) -> Result<(), ShimLinkError> {
        self.queue(Message::Ping {
            nonce: SETTLE_NONCE,
        });
        let settled = async {
            loop {
                match self.next_or_pong().await? {
                    Message::Pong {
                        nonce: SETTLE_NONCE,
                    } => return Ok(()),
                    Message::Error { code, detail, .. } => {
                        return Err(ShimLinkError::Refused { code, detail });
                    }
                    _ => {}
                }
            }
        };
        timeout(DEAD_AFTER, settled)
            .await
            .map_err(|_| ShimLinkError::TimedOut)?
    }

    /// Returns the next message except pings and pongs. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Message, ShimLinkError> {
        loop {
            match self.next_or_pong().await? {
                Message::Pong { .. } => {}
                message => return Ok(message),
            }
        }
    }

    /// Returns the next message except pings, which it answers. Cancel safe.
    async fn next_or_pong(&mut self) -> Result<Message, ShimLinkError> {
        loop {
            while let Some(frame) = self.decoder.next()? {
                match frame.message {
                    Message::Ping { nonce } => self.queue(Message::Pong { nonce }),
                    message => return Ok(message),
                }
            }
            self.transfer().await?;
        }
    }

    /// Reads or writes what is possible, or sends a keep-alive ping when one is due.
    async fn transfer(&mut self) -> Result<(), ShimLinkError> {
        self.input.reserve(self.room.bytes());
        let ping_due = self.last_ping + PING_EVERY;
        tokio::select! {
            read = self.read.read_buf(&mut self.input) => {
                let read = read.map_err(ShimLinkError::Disconnected)?;
                if read == 0 {
                    let eof = io::ErrorKind::UnexpectedEof.into();
                    return Err(ShimLinkError::Disconnected(eof));
                }
                self.room.took(read);
                self.last_received = Instant::now();
                self.decoder.push(self.input.split().freeze());
                Ok(())
            }
            written = self.write.write_buf(&mut self.output), if !self.output.is_empty() => {
                written.map(drop).map_err(ShimLinkError::Disconnected)
            }
            () = sleep_until(ping_due) => self.ping(),
        }
    }

    fn ping(&mut self) -> Result<(), ShimLinkError> {
        self.last_ping = Instant::now();
        if self.last_received.elapsed() >= DEAD_AFTER {
            return Err(ShimLinkError::TimedOut);
        }
        self.queue(Message::Ping { nonce: 0 });
        Ok(())
    }
}
