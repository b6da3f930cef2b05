//! A client of a shim: frames over its Unix socket.

mod error;

use std::time::Duration;

use bowline_transport::wire::{
    Attach, Attached, DEAD_AFTER, Decoder, Frame, Hello, Message, PING_EVERY, VERSION, encode,
};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::{Instant, sleep_until, timeout};

use crate::shim::SessionDir;
pub(crate) use error::LinkError;

/// Bytes that are read at a time.
const CHUNK: usize = 128 << 10;

/// What a ping carries whose answer is waited for.
const MARK: u64 = 1;

/// How long a shim may take to greet and to let in.
const GREETING: Duration = Duration::from_secs(5);

/// A client of a shim. What is [queued](Self::queue) goes out while [`next`](Self::next) waits.
#[derive(Debug)]
pub(crate) struct Link {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
    decoder: Decoder,
    input: BytesMut,
    output: BytesMut,
    generation: u64,
    heard: Instant,
    asked: Instant,
}

impl Link {
    /// Connects and greets.
    pub(crate) async fn open(session: &SessionDir) -> Result<Self, LinkError> {
        let stream = session.connect().await.map_err(LinkError::Gone)?;
        let (read, write) = stream.into_split();
        let now = Instant::now();
        let mut link = Self {
            read,
            write,
            decoder: Decoder::new(),
            input: BytesMut::new(),
            output: BytesMut::new(),
            generation: 0,
            heard: now,
            asked: now,
        };
        link.queue(Message::Hello(Hello {
            versions: (VERSION, VERSION),
            features: Vec::new(),
        }));
        match link.answer().await? {
            Message::Welcome(_) => Ok(link),
            other => Err(LinkError::unexpected(other)),
        }
    }

    /// Joins the session.
    pub(crate) async fn attach(&mut self, attach: Attach) -> Result<Attached, LinkError> {
        self.queue(Message::Attach(attach));
        match self.answer().await? {
            Message::Attached(attached) => {
                self.generation = attached.generation;
                Ok(attached)
            }
            other => Err(LinkError::unexpected(other)),
        }
    }

    async fn answer(&mut self) -> Result<Message, LinkError> {
        timeout(GREETING, self.next())
            .await
            .map_err(|_| LinkError::Silent)?
    }

    /// Puts a message behind those that are on their way.
    pub(crate) fn queue(&mut self, message: Message) {
        encode(&Frame::new(self.generation, message), &mut self.output);
    }

    /// The write lease that it has; 0 for none.
    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Bytes that wait to go out.
    pub(crate) fn unsent(&self) -> usize {
        self.output.len()
    }

    /// Waits until all that is queued has gone out.
    pub(crate) async fn flush(&mut self) -> Result<(), LinkError> {
        let written = timeout(DEAD_AFTER, self.write.write_all_buf(&mut self.output)).await;
        written
            .map_err(|_| LinkError::Silent)?
            .map_err(LinkError::Gone)
    }

    /// Waits until the shim has done everything that is queued.
    pub(crate) async fn settled(&mut self) -> Result<(), LinkError> {
        self.queue(Message::Ping { nonce: MARK });
        let answered = async {
            loop {
                match self.step().await? {
                    Message::Pong { nonce: MARK } => return Ok(()),
                    Message::Error { code, detail, .. } => {
                        return Err(LinkError::Refused { code, detail });
                    }
                    _ => {}
                }
            }
        };
        timeout(DEAD_AFTER, answered)
            .await
            .map_err(|_| LinkError::Silent)?
    }

    /// The next message but for pings and their answers. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Result<Message, LinkError> {
        loop {
            match self.step().await? {
                Message::Pong { .. } => {}
                message => return Ok(message),
            }
        }
    }

    /// The next message but for pings, which are answered.
    async fn step(&mut self) -> Result<Message, LinkError> {
        loop {
            while let Some(frame) = self.decoder.next()? {
                match frame.message {
                    Message::Ping { nonce } => self.queue(Message::Pong { nonce }),
                    message => return Ok(message),
                }
            }
            self.turn().await?;
        }
    }

    /// Reads or writes what can be, or asks whether the shim is there.
    async fn turn(&mut self) -> Result<(), LinkError> {
        self.input.reserve(CHUNK.saturating_sub(self.input.len()));
        let due = self.asked + PING_EVERY;
        tokio::select! {
            read = self.read.read_buf(&mut self.input) => {
                if read.map_err(LinkError::Gone)? == 0 {
                    return Err(LinkError::Gone(std::io::ErrorKind::UnexpectedEof.into()));
                }
                self.heard = Instant::now();
                self.decoder.push(self.input.split().freeze());
                Ok(())
            }
            written = self.write.write_buf(&mut self.output), if !self.output.is_empty() => {
                written.map(drop).map_err(LinkError::Gone)
            }
            () = sleep_until(due) => self.ask(),
        }
    }

    fn ask(&mut self) -> Result<(), LinkError> {
        self.asked = Instant::now();
        if self.heard.elapsed() >= DEAD_AFTER {
            return Err(LinkError::Silent);
        }
        self.queue(Message::Ping { nonce: 0 });
        Ok(())
    }
}
