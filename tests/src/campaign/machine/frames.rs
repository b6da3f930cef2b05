//! A client that speaks the wire protocol directly, to observe messages that the host API hides.

use std::collections::BTreeMap;

use bowline_runner::wire::{
    Attach, AttachMode, Attached, Decoder, Frame, Hello, Lease, Message, StreamId, VERSION, encode,
};
use bowline_transport::SessionId;
use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// Flow control window, larger than the output of any of these sessions.
const CREDIT: u64 = 1 << 40;

/// One connection.
#[derive(Debug)]
pub(super) struct Frames<S> {
    link: S,
    decoder: Decoder,
    buffer: BytesMut,
    generation: u64,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Frames<S> {
    /// Sends the greeting and attaches, reading streams from the given offsets.
    pub(super) async fn join(
        link: S,
        session: SessionId,
        lease: Lease,
        cursors: BTreeMap<StreamId, u64>,
    ) -> Result<(Self, Attached), String> {
        let mut frames = Self {
            link,
            decoder: Decoder::new(),
            buffer: BytesMut::new(),
            generation: 0,
        };
        let hello = Hello {
            versions: (VERSION, VERSION),
            features: Vec::new(),
        };
        frames.send(Message::Hello(hello)).await?;
        let attach = Attach {
            session,
            epoch: None,
            cursors,
            mode: AttachMode::Resume,
            lease,
            resume_generation: None,
            size: None,
            credit: CREDIT,
            client: "campaign".into(),
        };
        frames.send(Message::Attach(attach)).await?;
        loop {
            match frames.next().await? {
                Message::Attached(attached) => {
                    frames.generation = attached.generation;
                    return Ok((frames, attached));
                }
                Message::Welcome(_) => {}
                other => return Err(format!("not let in: {other:?}")),
            }
        }
    }

    pub(super) async fn send(&mut self, message: Message) -> Result<(), String> {
        let mut bytes = BytesMut::new();
        encode(&Frame::new(self.generation, message), &mut bytes);
        let sent = self.link.write_all(&bytes).await;
        sent.map_err(|error| error.to_string())
    }

    /// Returns the next message that carries an event.
    pub(super) async fn next(&mut self) -> Result<Message, String> {
        loop {
            match self.receive().await? {
                Message::Ping { nonce } => self.send(Message::Pong { nonce }).await?,
                Message::Data {
                    stream,
                    offset,
                    bytes,
                    replay,
                } => {
                    // Output is consumed as it arrives.
                    let n = bytes.len() as u64;
                    self.send(Message::Credit { stream, n }).await?;
                    return Ok(Message::Data {
                        stream,
                        offset,
                        bytes,
                        replay,
                    });
                }
                message => return Ok(message),
            }
        }
    }

    async fn receive(&mut self) -> Result<Message, String> {
        loop {
            let frame = self.decoder.next().map_err(|error| error.to_string())?;
            if let Some(frame) = frame {
                return Ok(frame.message);
            }
            self.buffer.reserve(64 << 10);
            match self.link.read_buf(&mut self.buffer).await {
                Ok(0) => return Err("hung up".to_owned()),
                Ok(_) => self.decoder.push(self.buffer.split().freeze()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
