//! Terminal queries in the scrollback: each is answered exactly once, by the party attached when it
//! was sent.
//!
//! A program queries and draws while no host is attached, and the session answers. Then a host
//! attaches with the screen, or with a replay from any offset, which it filters as a host must.
//! Nothing in the replay may make its terminal answer, and the session must not answer any more.
//! The host's terminal answers later queries once, even if a query had begun before the host
//! attached.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use bowline_runner::wire::{
    Attach, AttachMode, Decoder, Epoch, Frame, Hello, Lease, Message, SessionFacts, SessionKind,
    SessionState, StdioKind, StreamId, VERSION, encode,
};
use bowline_runner::{
    Child, ChildCommand, ChildEvent, ChildPeer, MachineConfiguration, OverflowPolicy, ReplayFilter,
    SessionHandle, StreamConfiguration,
};
use bowline_transport::{Containment, Piece, SessionId, WindowSize};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::handoff::DIRT;
use super::oracle::Oracle;
use super::replay_cases::{DROPPED, KEPT};
use crate::campaign::{Job, Random, Report};

const SIZE: WindowSize = WindowSize::new(8, 30);

/// Size of the output ring. It is small, so that a replay may have to start with the screen.
const RING_BYTES: usize = 2 << 10;

/// Number of times a host attaches to one session.
const VISITS: u64 = 10;

/// A query that every terminal answers.
const QUESTION: &[u8] = b"\x1b[6n";

/// Virtual time after which all pending work has completed.
const UNTIL_ALL_IS_DONE: Duration = Duration::from_millis(1);

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let mut number = 0;
    while report.done < job.count {
        let seed = job.seed.wrapping_add(number);
        number += 1;
        let visits = VISITS.min(job.count - report.done);
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        let runtime = runtime.expect("a runtime can be made");
        let held = runtime.block_on(session(seed, visits));
        let named = |why| format!("session {seed}: {why}");
        report.violations.extend(held.err().map(named));
        report.done += visits;
    }
    report.note(format!("{} re-attaches to {number} sessions", report.done));
    report
}

async fn session(seed: u64, visits: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let id = SessionId::random();
    let (child, end) = Child::channels([StreamId::TTY]);
    let host = SessionHandle::start(configuration(id), child);
    let mut program = Program::new(end);
    for visit in 0..visits {
        let named = |why: String| format!("visit {visit}: {why}");
        program.talks_alone(&mut random).await.map_err(named)?;
        let mode = [AttachMode::Snapshot, AttachMode::Resume][random.below(2) as usize];
        let cursor = random.below(program.end() + 1);
        let shown = &program.written[..cursor as usize];
        let mut visitor = Visitor::come(&host, id, mode, shown).await;
        let came = visitor.reads(program.end()).await;
        let came = came.and_then(|()| program.is_silent("while a host came"));
        let outcome = match came {
            Ok(()) => program.asks_the_host(&mut visitor).await,
            Err(why) => Err(why),
        };
        outcome.map_err(|why| named(format!("{mode:?} from {cursor}: {why}")))?;
        // The session answers by itself again once the host has detached.
        drop(visitor);
        sleep(UNTIL_ALL_IS_DONE).await;
    }
    host.stop().await;
    Ok(())
}

/// The simulated program.
struct Program {
    output: mpsc::Sender<Piece>,
    /// Bytes that were written to its input.
    typed: mpsc::UnboundedReceiver<Bytes>,
    written: Vec<u8>,
    /// The rest of a query that it has partly written.
    rest: &'static [u8],
}

impl Program {
    fn new(end: ChildPeer) -> Self {
        let ChildPeer {
            mut outputs,
            events,
            mut commands,
        } = end;
        let (_, output) = outputs.pop().expect("it was asked for");
        let (type_in, typed) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(order) = commands.recv().await {
                if let ChildCommand::Write(bytes) = order {
                    let _ = type_in.send(bytes);
                    let _ = events.send(ChildEvent::Written(Ok(())));
                }
            }
        });
        Self {
            output,
            typed,
            written: Vec::new(),
            rest: b"",
        }
    }

    /// Offset after its last byte.
    fn end(&self) -> u64 {
        self.written.len() as u64
    }

    async fn writes(&mut self, bytes: &[u8]) {
        let offset = self.end();
        self.written.extend_from_slice(bytes);
        let bytes = Bytes::copy_from_slice(bytes);
        // A session that has ended reads nothing.
        let _ = self.output.send(Piece::Bytes { offset, bytes }).await;
    }

    /// Queries and draws while the session answers. The output ends with a query, complete or
    /// partial.
    async fn talks_alone(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..random.below(40) {
            let from: &[&[u8]] = if random.below(2) == 0 {
                &DROPPED
            } else {
                &KEPT
            };
            self.writes(from[random.below(from.len() as u64) as usize])
                .await;
        }
        // Ends any open control string.
        self.writes(b"\x18\x1b\\").await;
        sleep(UNTIL_ALL_IS_DONE).await;
        while self.typed.try_recv().is_ok() {}
        self.writes(QUESTION).await;
        sleep(UNTIL_ALL_IS_DONE).await;
        let answer = self.typed.try_recv();
        let answer = answer.map_err(|_| "the session does not answer while it is alone")?;
        if !answer.ends_with(b"R") {
            return Err(format!("the session answers {:?}", answer.escape_ascii()));
        }
        let (begun, rest) = QUESTION.split_at(random.below(QUESTION.len() as u64) as usize);
        self.rest = rest;
        self.writes(begun).await;
        sleep(UNTIL_ALL_IS_DONE).await;
        self.is_silent("in the middle of a question")
    }

    /// Sends its query to the host.
    async fn asks_the_host(&mut self, visitor: &mut Visitor) -> Result<(), String> {
        let rest = self.rest;
        self.writes(rest).await;
        visitor.goes_live();
        let read = visitor.reads_on(self.end()).await;
        read.and_then(|()| self.is_silent("with a host to answer"))?;
        match visitor.terminal.replies().as_slice() {
            [reply] if reply.ends_with('R') => Ok(()),
            replies => Err(format!("one question, and the host answers {replies:?}")),
        }
    }

    fn is_silent(&mut self, when: &str) -> Result<(), String> {
        match self.typed.try_recv() {
            Err(_) => Ok(()),
            Ok(bytes) => Err(format!("{when} it is typed {:?}", bytes.escape_ascii())),
        }
    }
}

/// A host with a terminal.
struct Visitor {
    link: DuplexStream,
    decoder: Decoder,
    terminal: Oracle,
    cleaner: ReplayFilter,
    /// The next offset of the output.
    next: u64,
    /// Holds the clock until the screen is there, which a thread makes in real time.
    clock: Option<Sender<()>>,
}

impl Visitor {
    /// Attaches at the offset that the host has shown so far, unless it starts with the screen.
    async fn come(
        host: &SessionHandle,
        session: SessionId,
        mode: AttachMode,
        shown: &[u8],
    ) -> Self {
        let (link, other) = tokio::io::duplex(64 << 10);
        host.connect(other).await;
        let cursor = shown.len() as u64;
        let mut visitor = Self {
            link,
            decoder: Decoder::new(),
            terminal: Oracle::new(SIZE),
            cleaner: ReplayFilter::default(),
            next: 0,
            clock: None,
        };
        match mode {
            AttachMode::Snapshot => {
                visitor.terminal.feed(DIRT);
                visitor.clock = Some(hold_clock());
            }
            _ => visitor.shows(0, shown, true),
        }
        visitor.next = cursor;
        let versions = (VERSION, VERSION);
        let features = Vec::new();
        visitor
            .send(Message::Hello(Hello { versions, features }))
            .await;
        let attach = Attach {
            session,
            epoch: None,
            cursors: [(StreamId::TTY, cursor)].into(),
            mode,
            lease: Lease::Write,
            resume_generation: None,
            size: None,
            credit: 1 << 20,
            client: "visitor".to_owned(),
        };
        visitor.send(Message::Attach(attach)).await;
        visitor
    }

    async fn send(&mut self, message: Message) {
        let mut bytes = BytesMut::new();
        encode(&Frame::new(0, message), &mut bytes);
        // A closed connection is noticed when it is polled.
        let _ = self.link.write_all(&bytes).await;
    }

    /// Reads the output from before the attach and answers none of it.
    async fn reads(&mut self, end: u64) -> Result<(), String> {
        self.reads_on(end).await?;
        let replies = self.terminal.replies();
        if replies.is_empty() {
            return Ok(());
        }
        Err(format!(
            "the host answers what was asked before: {replies:?}"
        ))
    }

    /// Reads up to an offset.
    async fn reads_on(&mut self, end: u64) -> Result<(), String> {
        let mut screen = None;
        while self.next < end || screen.is_some() || self.has_pending_message().await? {
            match self.receive().await? {
                Message::Snapshot { at_offset, .. } => {
                    // A sequence that began earlier has no end here.
                    self.cleaner = ReplayFilter::default();
                    screen = Some(at_offset);
                }
                Message::SnapshotChunk { bytes, more, .. } => {
                    self.terminal.feed(&bytes);
                    if !more {
                        self.clock = None;
                        self.next = screen.take().unwrap_or(self.next);
                    }
                }
                Message::Gap { to, .. } => self.next = self.next.max(to),
                Message::Data {
                    offset,
                    bytes,
                    replay,
                    ..
                } => self.shows(offset, &bytes, replay),
                Message::Error { detail, .. } => return Err(detail),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether a message is pending once all work has completed.
    async fn has_pending_message(&mut self) -> Result<bool, String> {
        if !self.decoder.is_empty() {
            return Ok(true);
        }
        let read = tokio::time::timeout(UNTIL_ALL_IS_DONE, self.receives()).await;
        Ok(match read {
            Ok(received) => received.map(|()| true)?,
            Err(_) => false,
        })
    }

    fn shows(&mut self, offset: u64, bytes: &[u8], is_replay: bool) {
        let known = usize::try_from(self.next.saturating_sub(offset)).unwrap_or(usize::MAX);
        let fresh = bytes.get(known..).unwrap_or_default();
        self.next = self.next.max(offset + bytes.len() as u64);
        if is_replay {
            let mut clean = Vec::new();
            self.cleaner.feed(fresh, &mut clean);
            self.terminal.feed(&clean);
        } else {
            self.terminal.feed(fresh);
        }
    }

    /// Later output is shown unfiltered, after the state in which the replay ended.
    fn goes_live(&mut self) {
        let rest = std::mem::take(&mut self.cleaner).rest();
        self.terminal.feed(&rest);
    }

    async fn receive(&mut self) -> Result<Message, String> {
        loop {
            let frame = self.decoder.next().map_err(|error| error.to_string())?;
            match frame {
                Some(frame) => return Ok(frame.message),
                None => self.receives().await?,
            }
        }
    }

    async fn receives(&mut self) -> Result<(), String> {
        let mut bytes = BytesMut::with_capacity(8 << 10);
        match self.link.read_buf(&mut bytes).await {
            Ok(0) => Err("the session has hung up".to_owned()),
            Ok(_) => {
                self.decoder.push(bytes.freeze());
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Stops virtual time until the result is dropped: it does not advance while a blocking task runs.
fn hold_clock() -> Sender<()> {
    let (hold, end) = channel();
    tokio::task::spawn_blocking(move || {
        // Fails when the sender is dropped.
        let _ = end.recv();
    });
    hold
}

fn configuration(session: SessionId) -> MachineConfiguration {
    let stream = |id| StreamConfiguration {
        id,
        policy: OverflowPolicy::DropOldest,
        ring_bytes: RING_BYTES,
    };
    MachineConfiguration {
        session,
        epoch: Epoch::random(),
        facts: SessionFacts {
            kind: SessionKind::Terminal,
            stdio: StdioKind::Pty,
            pid: None,
            size: Some(SIZE),
            containment: Containment::Group,
            state: SessionState::Running,
        },
        streams: vec![stream(StreamId::TTY), stream(StreamId::LIFECYCLE)],
        has_screen: true,
        exit_retention: None,
    }
}
