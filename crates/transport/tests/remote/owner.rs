//! A minimal simulated session, which keeps all bytes and echoes its input.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bowline_transport::wire::{
    Attach, Attached, Decoder, Epoch, ExitNotice, Extent, Frame, Hello, KillReport, Lease, Message,
    PromptStatus, SessionFacts, SessionKind, SessionState, StdioKind, StreamId, VERSION, Welcome,
    WireLimits, code, encode,
};
use bowline_transport::{Containment, Drained, ExitStatus, SessionId, Signal};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;

/// Bytes of output in one frame.
const PIECE: u64 = 1000;

#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) session: SessionId,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) epoch: Epoch,
    pub(crate) stdio: StdioKind,
    /// Output and errors.
    pub(crate) streams: BTreeMap<StreamId, Vec<u8>>,
    /// Offset of the oldest output that is kept.
    pub(crate) start: u64,
    pub(crate) typed: Vec<u8>,
    pub(crate) input_has_ended: bool,
    /// Whether input is echoed as output.
    pub(crate) echoes: bool,
    pub(crate) generation: u64,
    pub(crate) exit: Option<ExitNotice>,
    pub(crate) exit_is_acknowledged: bool,
    pub(crate) signals: Vec<(String, Signal)>,
    pub(crate) prompts: Vec<String>,
    pub(crate) sizes: Vec<(u16, u16)>,
    pub(crate) detaches: usize,
    pub(crate) hang_ups: usize,
    pub(crate) attaches: Vec<Attach>,
    /// The error code of all attaches, if set.
    pub(crate) refusal: Option<&'static str>,
}

impl Owner {
    pub(crate) fn new(stdio: StdioKind) -> Self {
        let ids: &[StreamId] = match stdio {
            StdioKind::Pipes => &[StreamId::STDOUT, StreamId::STDERR],
            StdioKind::Pty => &[StreamId::TTY],
        };
        Self {
            session: SessionId::random(),
            state: Arc::new(Mutex::new(State {
                epoch: Epoch::random(),
                stdio,
                streams: ids.iter().map(|id| (*id, Vec::new())).collect(),
                start: 0,
                typed: Vec::new(),
                input_has_ended: false,
                echoes: true,
                generation: 0,
                exit: None,
                exit_is_acknowledged: false,
                signals: Vec::new(),
                prompts: Vec::new(),
                sizes: Vec::new(),
                detaches: 0,
                hang_ups: 0,
                attaches: Vec::new(),
                refusal: None,
            })),
            changed: Arc::new(Notify::new()),
        }
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let done = act(&mut self.state.lock().expect("no panic holds the lock"));
        self.changed.notify_waiters();
        done
    }

    /// Waits until a condition holds.
    pub(crate) async fn until(&self, is_so_far: impl Fn(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_so_far(&self.state.lock().expect("no panic holds the lock")) {
                return;
            }
            changed.await;
        }
    }

    pub(crate) fn say(&self, stream: StreamId, bytes: &[u8]) {
        self.with(|state| state.stream(stream).extend(bytes));
    }

    pub(crate) fn exit(&self, status: ExitStatus) {
        self.with(|state| state.end(status));
    }

    /// Closes all current connections.
    pub(crate) fn hang_up(&self) {
        self.with(|state| state.hang_ups += 1);
    }

    /// Serves a connection until it breaks.
    pub(crate) fn serve(&self, stream: impl AsyncStream) {
        let connection = Connection {
            owner: self.clone(),
            attachment: None,
            hang_ups: self.with(|state| state.hang_ups),
        };
        tokio::spawn(connection.run(stream));
    }
}

pub(crate) trait AsyncStream:
    tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static
{
}

impl<T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static> AsyncStream for T {}

impl State {
    fn end(&mut self, status: ExitStatus) {
        let ends = self.streams.iter();
        let ends = ends.map(|(id, bytes)| (*id, bytes.len() as u64)).collect();
        self.exit.get_or_insert(ExitNotice {
            status,
            oom: false,
            drained: Drained::Clean,
            ends,
        });
    }

    pub(crate) fn stream(&mut self, id: StreamId) -> &mut Vec<u8> {
        self.streams
            .get_mut(&id)
            .expect("the session has the stream")
    }

    fn output(&mut self) -> &mut Vec<u8> {
        let (_, output) = self.streams.iter_mut().next().expect("there is output");
        output
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts {
            kind: SessionKind::Dialogue,
            stdio: self.stdio,
            pid: Some(42),
            size: None,
            containment: Containment::Group,
            state: SessionState::Running,
        }
    }

    fn attached(&self, generation: u64) -> Message {
        let extent = |bytes: &Vec<u8>| Extent {
            start: self.start.min(bytes.len() as u64),
            end: bytes.len() as u64,
            ..Extent::default()
        };
        let streams = self.streams.iter();
        Message::Attached(Attached {
            epoch: self.epoch,
            generation,
            streams: streams.map(|(id, bytes)| (*id, extent(bytes))).collect(),
            input_next: self.typed.len() as u64,
            exit: self.exit.clone(),
            info: self.facts(),
        })
    }

    fn input_ack(&self) -> Message {
        Message::InputAck {
            offset: self.typed.len() as u64,
            ended: self.input_has_ended,
        }
    }
}

struct Attachment {
    lease: Lease,
    generation: u64,
    cursors: BTreeMap<StreamId, u64>,
    /// Ends of the streams at the attach. Earlier output is a replay.
    live_from: BTreeMap<StreamId, u64>,
    credits: BTreeMap<StreamId, u64>,
    exit_is_sent: bool,
}

struct Connection {
    owner: Owner,
    attachment: Option<Attachment>,
    /// Value of `State::hang_ups` when the connection began.
    hang_ups: usize,
}

impl Connection {
    async fn run(mut self, mut stream: impl AsyncStream) {
        let mut decoder = Decoder::new();
        let mut read = BytesMut::new();
        let changed = Arc::clone(&self.owner.changed);
        loop {
            let changed = changed.notified();
            let mut out = BytesMut::new();
            let goes_on = self.speak(&mut out);
            if stream.write_all(&out).await.is_err() || !goes_on {
                return;
            }
            tokio::select! {
                count = stream.read_buf(&mut read) => {
                    if count.unwrap_or(0) == 0 {
                        return;
                    }
                    decoder.push(read.split().freeze());
                    let mut out = BytesMut::new();
                    while let Some(frame) = decoder.next().expect("hosts speak frames") {
                        self.hear(frame, &mut out);
                    }
                    if stream.write_all(&out).await.is_err() {
                        return;
                    }
                }
                () = changed => {}
            }
        }
    }

    fn hear(&mut self, frame: Frame, out: &mut BytesMut) {
        let owner = self.owner.clone();
        let answers = owner.with(|state| self.answers(state, frame));
        for message in answers {
            self.write(message, out);
        }
    }

    fn write(&self, message: Message, out: &mut BytesMut) {
        let generation = self.attachment.as_ref().map_or(0, |it| it.generation);
        encode(&Frame::new(generation, message), out);
    }

    fn answers(&mut self, state: &mut State, frame: Frame) -> Vec<Message> {
        match frame.message {
            Message::Hello(Hello { .. }) => vec![Message::Welcome(Welcome {
                version: VERSION,
                features: Vec::new(),
                limits: WireLimits::default(),
            })],
            Message::Attach(attach) => self.attach(state, attach),
            Message::Ping { nonce } => vec![Message::Pong { nonce }],
            Message::Pong { .. } => Vec::new(),
            message => self.act(state, frame.generation, message),
        }
    }

    fn attach(&mut self, state: &mut State, attach: Attach) -> Vec<Message> {
        state.attaches.push(attach.clone());
        let refusal = state
            .refusal
            .or_else(|| (attach.session != self.owner.session).then_some(code::UNKNOWN_SESSION));
        if let Some(code) = refusal {
            return vec![Message::Error {
                code: code.to_owned(),
                retryable: false,
                after_ms: None,
                detail: "not here".to_owned(),
            }];
        }
        if attach.lease == Lease::Write {
            match attach.resume_generation {
                Some(old) if old == state.generation => {}
                Some(_) => {
                    let generation = state.generation;
                    return vec![Message::Fenced { generation }];
                }
                None => state.generation += 1,
            }
        }
        let cursors = attach.cursors.into_iter();
        let cursors: BTreeMap<_, _> = cursors
            .filter(|(id, _)| state.streams.contains_key(id))
            .collect();
        let credits = cursors.keys().map(|id| (*id, attach.credit)).collect();
        let streams = state.streams.iter();
        let live_from = streams.map(|(id, it)| (*id, it.len() as u64)).collect();
        self.attachment = Some(Attachment {
            lease: attach.lease,
            generation: state.generation,
            cursors,
            live_from,
            credits,
            exit_is_sent: false,
        });
        vec![state.attached(state.generation), state.input_ack()]
    }

    fn act(&mut self, state: &mut State, generation: u64, message: Message) -> Vec<Message> {
        let attachment = self.attachment.as_mut().expect("a host attaches first");
        if attachment.lease == Lease::Write && generation != state.generation {
            return Vec::new();
        }
        match message {
            Message::Credit { stream, n } => *attachment.credits.entry(stream).or_default() += n,
            Message::Ack { .. } => {}
            Message::Input { offset, bytes } => {
                let known = state.typed.len() as u64 - offset;
                if known < bytes.len() as u64 {
                    let fresh = &bytes[known as usize..];
                    state.typed.extend(fresh);
                    if state.echoes {
                        state.output().extend(fresh);
                    }
                }
                return vec![state.input_ack()];
            }
            Message::InputEnd { .. } => {
                state.input_has_ended = true;
                let ack = state.input_ack();
                state.end(ExitStatus::Code(0));
                return vec![ack];
            }
            Message::Signal { id, signal } => state.signals.push((id, signal)),
            Message::Resize { size, .. } => state.sizes.push((size.rows, size.cols)),
            Message::Prompt(prompt) => {
                if !state.prompts.contains(&prompt.id) {
                    state.prompts.push(prompt.id.clone());
                    state.output().extend(&prompt.bytes);
                }
                let (id, state) = (prompt.id, PromptStatus::Written);
                return vec![Message::PromptState { id, state }];
            }
            Message::Kill { id, .. } => {
                state.end(ExitStatus::Signal(9));
                let report = KillReport {
                    killed: vec![42],
                    survivors: Vec::new(),
                    level: Containment::Group,
                    took: std::time::Duration::from_millis(1),
                };
                return vec![Message::Killed { id, report }];
            }
            Message::ExitAck => state.exit_is_acknowledged = true,
            Message::Detach => state.detaches += 1,
            other => panic!("{other:?}"),
        }
        Vec::new()
    }

    /// Writes the pending messages. Returns whether the connection continues.
    fn speak(&mut self, out: &mut BytesMut) -> bool {
        let state = self.owner.state.lock().expect("no panic holds the lock");
        if state.hang_ups != self.hang_ups {
            return false;
        }
        let Some(attachment) = self.attachment.as_mut() else {
            return true;
        };
        let mut say = |message| encode(&Frame::new(attachment.generation, message), out);
        if attachment.lease == Lease::Write && attachment.generation != state.generation {
            let generation = state.generation;
            say(Message::Fenced { generation });
            return false;
        }
        for (id, next) in &mut attachment.cursors {
            let (bytes, credit) = (
                &state.streams[id],
                attachment.credits.entry(*id).or_default(),
            );
            let start = state.start.min(bytes.len() as u64);
            if *next < start {
                let reason = bowline_transport::wire::GapReason::Overflow;
                let (stream, from, to) = (*id, *next, start);
                say(Message::Gap {
                    stream,
                    from,
                    to,
                    reason,
                });
                *next = start;
            }
            let live_from = attachment.live_from.get(id).copied().unwrap_or_default();
            while *next < bytes.len() as u64 && *credit > 0 {
                let mut end = (bytes.len() as u64).min(*next + PIECE).min(*next + *credit);
                let replay = *next < live_from;
                if replay {
                    end = end.min(live_from);
                }
                let piece = &bytes[*next as usize..end as usize];
                say(Message::Data {
                    stream: *id,
                    offset: *next,
                    bytes: Bytes::copy_from_slice(piece),
                    replay,
                });
                *credit -= end - *next;
                *next = end;
            }
        }
        if let Some(exit) = state.exit.clone().filter(|_| !attachment.exit_is_sent) {
            let cursors = &mut attachment.cursors.iter();
            if cursors.all(|(id, next)| *next == exit.ends[id]) {
                attachment.exit_is_sent = true;
                say(Message::Exit(exit));
            }
        }
        true
    }
}
