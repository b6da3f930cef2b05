//! Schedules of a host that reconnects while its old connections remain open at the peer.
//!
//! Time is virtual and a single thread runs the schedule. A host sends messages over a connection
//! that are still in transit when it considers that connection dead and opens another one. Then the
//! old ones arrive at any time: input, resizes, signals, kills, end of input, detach and close.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_runner::wire::{
    Attach, AttachMode, Attached, Decoder, Epoch, Frame, Hello, Lease, Message, SessionFacts,
    SessionKind, SessionState, StdioKind, StreamId, VERSION, encode,
};
use bowline_runner::{
    Child, ChildCommand, ChildEvent, ChildPeer, MachineConfiguration, OverflowPolicy,
    SessionHandle, StreamConfiguration,
};
use bowline_transport::{Containment, SessionId, Signal, TerminationPolicy, WindowSize};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::super::{Job, Random, Report};

/// Number of connections of a schedule.
const CONNECTIONS: u64 = 6;

/// Upper bound of every wait, in virtual time.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let (mut stale, mut lines) = (0, 0);
    for number in 0..job.count {
        let seed = job.seed.wrapping_add(number);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime can be made");
        let outcome = runtime.block_on(schedule(seed));
        report.one(match outcome {
            Ok((more_stale, more_lines)) => {
                stale += more_stale;
                lines += more_lines;
                Ok(())
            }
            Err(why) => Err(format!("seed {seed}: {why}")),
        });
    }
    report.note(format!(
        "{stale} messages of stale connections arrived, {lines} lines of living ones were typed"
    ));
    report
}

async fn schedule(seed: u64) -> Result<(u64, u64), String> {
    let mut random = Random::new(seed);
    let session = SessionId::random();
    let (child, end) = Child::channels([StreamId::TTY]);
    let host = SessionHandle::start(configuration(session), child);
    let mut played = Played::new(end);
    let mut old: Vec<Stale> = Vec::new();
    let (mut lease, mut typed, mut stale) = (None, Vec::new(), 0);
    for number in 0..CONNECTIONS {
        // A reconnecting host presents its lease; another host takes it.
        let resume = lease.filter(|_| random.below(3) > 0);
        let mut link = Link::open(&host, session, resume).await?;
        lease = Some(link.attached.generation);
        for _ in 0..random.below(4) {
            if !old.is_empty() && random.below(2) == 0 {
                let at = random.below(old.len() as u64) as usize;
                stale += old[at].arrive(&mut random).await;
                if random.below(2) == 0 {
                    // The close of the old connection arrives, too.
                    old.swap_remove(at);
                }
            }
            let line = format!("{number} {}\n", random.draw());
            link.types(typed.len() as u64, line.clone().into()).await?;
            typed.extend_from_slice(line.as_bytes());
        }
        // Everything sent before a ping has been processed when the ping is answered.
        link.settle().await?;
        played.check(&typed)?;
        old.push(Stale::of(link, typed.len() as u64, &mut random));
    }
    let mut link = Link::open(&host, session, lease).await?;
    for stale_link in &mut old {
        stale += stale_link.arrive(&mut random).await;
    }
    drop(old);
    link.types(typed.len() as u64, "last\n".into()).await?;
    typed.extend_from_slice(b"last\n");
    link.settle().await?;
    played.check(&typed)?;
    let lines = typed.iter().filter(|byte| **byte == b'\n').count() as u64;
    Ok((stale, lines))
}

/// A live connection.
struct Link {
    stream: DuplexStream,
    decoder: Decoder,
    attached: Attached,
    pings: u64,
}

impl Link {
    async fn open(
        host: &SessionHandle,
        session: SessionId,
        resume_generation: Option<u64>,
    ) -> Result<Self, String> {
        let (ours, theirs) = duplex(64 << 10);
        host.connect(theirs).await;
        let (mut stream, mut decoder) = (ours, Decoder::new());
        let hello = Message::Hello(Hello {
            versions: (VERSION, VERSION),
            features: Vec::new(),
        });
        let attach = Message::Attach(Attach {
            session,
            epoch: None,
            cursors: BTreeMap::from([(StreamId::TTY, 0)]),
            mode: AttachMode::Resume,
            lease: Lease::Write,
            resume_generation,
            size: None,
            credit: 1 << 20,
            client: "a schedule".to_owned(),
        });
        send(&mut stream, 0, [hello, attach]).await?;
        loop {
            if let Message::Attached(attached) = receive(&mut stream, &mut decoder).await? {
                return Ok(Self {
                    stream,
                    decoder,
                    attached,
                    pings: 0,
                });
            }
        }
    }

    /// Writes a line and waits for the confirmation.
    async fn types(&mut self, offset: u64, bytes: Bytes) -> Result<(), String> {
        let end = offset + bytes.len() as u64;
        let input = Message::Input { offset, bytes };
        send(&mut self.stream, self.attached.generation, [input]).await?;
        loop {
            match receive(&mut self.stream, &mut self.decoder).await? {
                Message::InputAck { offset, .. } if offset >= end => return Ok(()),
                Message::Fenced { generation } => {
                    return Err(format!("the newest host is fenced by {generation}"));
                }
                Message::InputRefused { reason, .. } => {
                    return Err(format!("input of the newest host is refused: {reason:?}"));
                }
                _ => {}
            }
        }
    }

    async fn settle(&mut self) -> Result<(), String> {
        self.pings += 1;
        let ours = self.pings;
        let ping = Message::Ping { nonce: ours };
        send(&mut self.stream, self.attached.generation, [ping]).await?;
        loop {
            match receive(&mut self.stream, &mut self.decoder).await? {
                Message::Pong { nonce } if nonce == ours => return Ok(()),
                _ => {}
            }
        }
    }
}

async fn send(
    stream: &mut DuplexStream,
    generation: u64,
    messages: impl IntoIterator<Item = Message>,
) -> Result<(), String> {
    let mut bytes = BytesMut::new();
    for message in messages {
        encode(&Frame::new(generation, message), &mut bytes);
    }
    let sent = stream.write_all(&bytes).await;
    sent.map_err(|error| format!("the newest connection is closed: {error}"))
}

async fn receive(stream: &mut DuplexStream, decoder: &mut Decoder) -> Result<Message, String> {
    loop {
        match decoder.next().map_err(|error| error.to_string())? {
            Some(frame) => return Ok(frame.message),
            None => {
                let mut bytes = BytesMut::with_capacity(4096);
                let read = timeout(TIMEOUT, stream.read_buf(&mut bytes)).await;
                let read = read.map_err(|_| "nothing is answered".to_owned())?;
                if read.map_err(|error| error.to_string())? == 0 {
                    return Err("the newest connection was closed".to_owned());
                }
                decoder.push(bytes.freeze());
            }
        }
    }
}

/// A connection that its host considers dead, with the data still in transit on it.
struct Stale {
    stream: DuplexStream,
    under_way: Vec<Bytes>,
}

impl Stale {
    fn of(link: Link, next: u64, random: &mut Random) -> Self {
        let generation = link.attached.generation;
        let mut under_way = Vec::new();
        for _ in 0..1 + random.below(4) {
            let message = match random.below(8) {
                0..=2 => Message::Input {
                    offset: next + random.below(3),
                    bytes: "STALE\n".into(),
                },
                3 => Message::Resize {
                    seq: 1 << 40,
                    size: WindowSize::new(7, 7),
                },
                4 => Message::Signal {
                    id: format!("{}", random.draw()),
                    signal: Signal::Kill,
                },
                5 => Message::Kill {
                    id: format!("{}", random.draw()),
                    policy: TerminationPolicy::AT_ONCE,
                },
                6 => Message::InputEnd { offset: next },
                _ => Message::Detach,
            };
            let mut bytes = BytesMut::new();
            encode(&Frame::new(generation, message), &mut bytes);
            under_way.push(bytes.freeze());
        }
        Self {
            stream: link.stream,
            under_way,
        }
    }

    /// Delivers some of the data. The owner may have closed the connection before.
    async fn arrive(&mut self, random: &mut Random) -> u64 {
        let count = random.below(self.under_way.len() as u64 + 1);
        for bytes in self.under_way.drain(..count as usize) {
            let _ = self.stream.write_all(&bytes).await;
        }
        count
    }
}

/// The child. Its commands are checked once all work has completed.
struct Played {
    commands: mpsc::UnboundedReceiver<String>,
    typed: Vec<u8>,
}

impl Played {
    fn new(child: ChildPeer) -> Self {
        let (sender, commands) = mpsc::unbounded_channel();
        tokio::spawn(obey(child, sender));
        Self {
            commands,
            typed: Vec::new(),
        }
    }

    /// Whether the child received exactly what the live connections sent.
    fn check(&mut self, expected: &[u8]) -> Result<(), String> {
        while let Ok(order) = self.commands.try_recv() {
            match order.strip_prefix("type ") {
                Some(text) => self.typed.extend_from_slice(text.as_bytes()),
                None => return Err(format!("a stale connection had the child {order}")),
            }
        }
        if self.typed != expected {
            return Err(format!(
                "typed was {:?}, not {:?}",
                self.typed.escape_ascii().to_string(),
                expected.escape_ascii().to_string()
            ));
        }
        Ok(())
    }
}

async fn obey(child: ChildPeer, sender: mpsc::UnboundedSender<String>) {
    let ChildPeer {
        outputs,
        events,
        mut commands,
    } = child;
    while let Some(order) = commands.recv().await {
        let result = match order {
            ChildCommand::Write(bytes) => {
                let _ = events.send(ChildEvent::Written(Ok(())));
                format!("type {}", String::from_utf8_lossy(&bytes))
            }
            ChildCommand::CloseInput => "hear the end of its input".to_owned(),
            ChildCommand::Resize(size) => format!("resized to {size:?}"),
            ChildCommand::Signal(signal) => format!("signalled {signal:?}"),
            ChildCommand::Kill(_) => "killed".to_owned(),
        };
        let _ = sender.send(result);
    }
    drop(outputs);
}

fn configuration(session: SessionId) -> MachineConfiguration {
    let stream = |id| StreamConfiguration {
        id,
        policy: OverflowPolicy::DropOldest,
        ring_bytes: 64 << 10,
    };
    MachineConfiguration {
        session,
        epoch: Epoch::random(),
        facts: SessionFacts {
            kind: SessionKind::Terminal,
            stdio: StdioKind::Pty,
            pid: None,
            size: Some(WindowSize::default()),
            containment: Containment::Group,
            state: SessionState::Running,
        },
        streams: vec![stream(StreamId::TTY), stream(StreamId::LIFECYCLE)],
        has_screen: true,
        exit_retention: None,
    }
}
