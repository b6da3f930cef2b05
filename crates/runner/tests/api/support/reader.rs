//! A client that connects to a session's shim directly.

use std::collections::BTreeMap;

use bowline_runner::wire::{
    Attach, AttachMode, Attached, Decoder, ExitNotice, Frame, Hello, Lease, Message, StreamId,
    VERSION, encode,
};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::{TestRunner, within_limit};

/// A client of a shim.
pub(crate) struct Reader {
    stream: UnixStream,
    decoder: Decoder,
    pub(crate) attached: Attached,
}

impl Reader {
    /// Attaches to a session and reads its output from the start.
    pub(crate) async fn of(runner: &TestRunner, id: &str) -> Self {
        Self::attach(runner, id, Lease::Read).await
    }

    /// Attaches to a session with a lease.
    pub(crate) async fn attach(runner: &TestRunner, id: &str, lease: Lease) -> Self {
        let session = runner.folder(id);
        let mut stream = session.connect().await.unwrap();
        let mut out = BytesMut::new();
        let hello = Hello {
            versions: (VERSION, VERSION),
            features: Vec::new(),
        };
        encode(&Frame::new(0, Message::Hello(hello)), &mut out);
        let attach = Attach {
            session: session.id(),
            epoch: None,
            cursors: BTreeMap::from([(StreamId::TTY, 0)]),
            mode: AttachMode::Tail,
            lease,
            resume_generation: None,
            size: None,
            credit: u64::MAX / 2,
            client: "test reader".to_owned(),
        };
        encode(&Frame::new(0, Message::Attach(attach)), &mut out);
        stream.write_all(&out).await.unwrap();
        let mut decoder = Decoder::new();
        loop {
            if let Message::Attached(attached) = next(&mut stream, &mut decoder).await.unwrap() {
                return Self {
                    stream,
                    decoder,
                    attached,
                };
            }
        }
    }

    /// Waits for the exit of the session's child.
    pub(crate) async fn exit(&mut self) -> ExitNotice {
        loop {
            match next(&mut self.stream, &mut self.decoder).await {
                Some(Message::Exit(exit)) => return exit,
                Some(_) => {}
                None => panic!("the shim disconnected before the exit"),
            }
        }
    }

    /// Waits until the shim disconnects.
    pub(crate) async fn wait_for_disconnect(&mut self) {
        while next(&mut self.stream, &mut self.decoder).await.is_some() {}
    }

    /// Waits until the session's output contains a text.
    pub(crate) async fn wait_for_output(&mut self, what: &str) {
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains(what) {
            match next(&mut self.stream, &mut self.decoder).await {
                Some(Message::Data { bytes, .. }) => seen.extend_from_slice(&bytes),
                Some(_) => {}
                None => panic!("the shim disconnected before {what:?}"),
            }
        }
    }
}

async fn next(stream: &mut UnixStream, decoder: &mut Decoder) -> Option<Message> {
    loop {
        if let Some(frame) = decoder.next().unwrap() {
            return Some(frame.message);
        }
        let mut bytes = BytesMut::with_capacity(64 << 10);
        match within_limit("a frame", stream.read_buf(&mut bytes)).await {
            Ok(0) | Err(_) => return None,
            Ok(_) => decoder.push(bytes.freeze()),
        }
    }
}
