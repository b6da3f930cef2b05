//! Model of one session with its child, hosts and connections.

use std::time::Duration;

use bowline_runner::wire::{
    Attach, AttachMode, Epoch, Frame, Hello, Lease, Message, SessionFacts, SessionKind,
    SessionState, StdioKind, StreamId, VERSION,
};
use bowline_runner::{
    ClientId, Effect, MachineConfiguration, OverflowPolicy, SessionMachine, StreamConfiguration,
};
use bowline_transport::{Containment, SessionId};
use bytes::Bytes;
use shuttle::sync::mpsc::{Receiver, Sender, channel};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

/// Number of hosts, of attachments of each, and of lines typed per attachment.
const HOSTS: u64 = 3;
const LIVES: u64 = 2;
const LINES: u64 = 2;

/// Number of chunks that the child writes.
const PIECES: u64 = 3;

/// Size of a chunk, in bytes.
const PIECE: u64 = 5;

/// A constant time; nothing here depends on the clock.
const NOW: Duration = Duration::ZERO;

const OUT: StreamId = StreamId::STDOUT;

/// The session, and what was observed of it.
struct Session {
    machine: SessionMachine,
    id: SessionId,
    /// Everything written to the child.
    typed: Vec<u8>,
    /// Leases, with the lines that were typed under them and delivered.
    leases: Vec<(u64, Vec<String>)>,
    is_over: bool,
}

/// The session, its lock, and the condition variable notified on each change.
struct Place {
    session: Mutex<Session>,
    changed: Condvar,
}

impl Place {
    fn new() -> Arc<Self> {
        let id = SessionId::random();
        let session = Session {
            machine: SessionMachine::new(configuration(id)),
            id,
            typed: Vec::new(),
            leases: Vec::new(),
            is_over: false,
        };
        Arc::new(Self {
            session: Mutex::new(session),
            changed: Condvar::new(),
        })
    }

    /// Runs an operation on the session under the lock.
    fn with<T>(&self, act: impl FnOnce(&mut Session) -> T) -> T {
        let mut session = self
            .session
            .lock()
            .expect("no panic while the lock is held");
        let done = act(&mut session);
        self.changed.notify_all();
        done
    }

    /// Waits until the session has something to deliver.
    fn wait<T>(&self, mut look: impl FnMut(&mut Session) -> Option<T>) -> T {
        let mut session = self
            .session
            .lock()
            .expect("no panic while the lock is held");
        loop {
            if let Some(found) = look(&mut session) {
                self.changed.notify_all();
                return found;
            }
            session = self
                .changed
                .wait(session)
                .expect("no panic while the lock is held");
        }
    }
}

/// Runs one schedule. Panics on a violation.
pub(super) fn schedule() {
    let place = Place::new();
    let child = thread::spawn({
        let place = Arc::clone(&place);
        move || child(&place)
    });
    let hosts: Vec<_> = (0..HOSTS)
        .map(|number| {
            let place = Arc::clone(&place);
            thread::spawn(move || host(number, &place))
        })
        .collect();
    for host in hosts {
        host.join().expect("a host holds");
    }
    place.with(|session| session.is_over = true);
    child.join().expect("the child holds");
    place.with(|session| check(session));
}

/// The child: consumes input and writes now and then.
fn child(place: &Place) {
    for piece in 0..PIECES {
        let bytes: Vec<u8> = (piece * PIECE..(piece + 1) * PIECE).map(byte_at).collect();
        place.with(|session| session.machine.on_output(OUT, bytes.into()));
    }
    loop {
        let effect = place.wait(|session| match session.machine.next_effect() {
            Some(effect) => Some(Some(effect)),
            None => session.is_over.then_some(None),
        });
        match effect {
            None => return,
            Some(Effect::Write(bytes)) => place.with(|session| {
                session.typed.extend_from_slice(&bytes);
                session.machine.on_written(Ok(()), NOW);
            }),
            Some(Effect::Attached { .. } | Effect::Detached { .. } | Effect::Record(_)) => {}
            Some(other) => panic!("unexpected {other:?}"),
        }
    }
}

fn byte_at(offset: u64) -> u8 {
    (offset % 251) as u8
}

/// The host: attaches, types and detaches, more than once. When it is cut off, its connection stays
/// open.
fn host(number: u64, place: &Arc<Place>) {
    let connections: Vec<_> = (0..LIVES)
        .map(|life| {
            let (link, connection) = connect(place);
            live(number, life, place, &link);
            connection
        })
        .collect();
    for connection in connections {
        connection.join().expect("a connection holds");
    }
}

/// The host's end of a connection.
struct Link {
    client: ClientId,
    sends: Sender<Frame>,
}

impl Link {
    fn send(&self, generation: u64, message: Message) {
        let frame = Frame::new(generation, message);
        self.sends.send(frame).expect("a connection takes frames");
    }
}

/// Delivers the host's messages in order after arbitrary delays, then the close of the connection.
fn connect(place: &Arc<Place>) -> (Link, thread::JoinHandle<()>) {
    let client = place.with(|session| session.machine.connect(NOW));
    let (sends, receives) = channel();
    let place = Arc::clone(place);
    let connection = thread::spawn(move || deliver(&place, client, &receives));
    (Link { client, sends }, connection)
}

fn deliver(place: &Place, client: ClientId, receives: &Receiver<Frame>) {
    while let Ok(frame) = receives.recv() {
        place.with(|session| session.machine.on_frame(client, frame, NOW));
    }
    place.with(|session| session.machine.on_closed(client));
}

/// What a host observes during one attachment.
#[derive(Default)]
struct Known {
    generation: Option<u64>,
    input_next: u64,
    /// The lease of the host that took over.
    fenced: Option<u64>,
    /// The next offset of the output.
    next: u64,
}

fn live(number: u64, life: u64, place: &Place, link: &Link) {
    let session = place.with(|session| session.id);
    let versions = (VERSION, VERSION);
    let features = Vec::new();
    link.send(0, Message::Hello(Hello { versions, features }));
    link.send(0, Message::Attach(attach(session)));
    let mut known = Known::default();
    let generation = place.wait(|session| {
        receive_all(&mut session.machine, link.client, &mut known);
        known.generation
    });
    let mut offset = known.input_next;
    let lines: Vec<_> = (0..LINES)
        .map(|line| format!("{generation} {number} {life} {line}\n"))
        .collect();
    place.with(|session| session.leases.push((generation, lines.clone())));
    for line in lines {
        let bytes = Bytes::from(line);
        let length = bytes.len() as u64;
        link.send(generation, Message::Input { offset, bytes });
        offset += length;
    }
    place.with(|session| receive_all(&mut session.machine, link.client, &mut known));
    assert!(known.fenced != Some(generation), "fenced by its own lease");
    if (number + life).is_multiple_of(2) {
        link.send(generation, Message::Detach);
    }
}

/// Receives all pending messages of the session.
fn receive_all(machine: &mut SessionMachine, client: ClientId, known: &mut Known) {
    while let Some(frame) = machine.next_frame(client) {
        match frame.message {
            Message::Attached(attached) => {
                assert!(known.generation.is_none(), "attached twice");
                known.generation = Some(attached.generation);
                known.input_next = attached.input_next;
            }
            Message::Fenced { generation } => known.fenced = Some(generation),
            Message::Data { offset, bytes, .. } => {
                assert_eq!(offset, known.next, "output is in one piece");
                known.next += bytes.len() as u64;
                let mut bytes = bytes.iter().zip(offset..);
                assert!(bytes.all(|(byte, at)| *byte == byte_at(at)), "other bytes");
            }
            Message::Welcome(_) | Message::InputAck { .. } | Message::Error { .. } => {}
            other => panic!("unexpected: {other:?}"),
        }
    }
}

/// Checks the final state, once all hosts have gone.
fn check(session: &Session) {
    let typed = String::from_utf8_lossy(&session.typed);
    let lines: Vec<&str> = typed.split_inclusive('\n').collect();
    let lease = |line: &str| line.split(' ').next().and_then(|it| it.parse::<u64>().ok());
    let mut seen = Vec::new();
    for line in &lines {
        let sent = session.leases.iter().flat_map(|(_, lines)| lines);
        assert!(
            sent.into_iter().any(|it| it == line),
            "never sent: {line:?} in {lines:?}"
        );
        assert!(!seen.contains(line), "typed twice: {line:?} in {lines:?}");
        seen.push(line);
    }
    assert!(
        lines.is_sorted_by_key(|line| lease(line)),
        "typed under a lease that was over: {lines:?}"
    );
    let last = session.leases.iter().max_by_key(|(lease, _)| *lease);
    let (_, last) = last.expect("a lease was held");
    let tail = lines.get(lines.len().saturating_sub(last.len())..);
    assert!(
        tail.is_some_and(|tail| tail.iter().eq(last.iter())),
        "the last lease typed {last:?}, and the child has {lines:?}"
    );
    let mut leases: Vec<_> = session.leases.iter().map(|(lease, _)| lease).collect();
    leases.sort_unstable();
    leases.dedup();
    assert_eq!(
        leases.len() as u64,
        HOSTS * LIVES,
        "a lease was given twice"
    );
}

fn attach(session: SessionId) -> Attach {
    Attach {
        session,
        epoch: None,
        cursors: [(OUT, 0)].into(),
        mode: AttachMode::Resume,
        lease: Lease::Write,
        resume_generation: None,
        size: None,
        credit: 1 << 20,
        client: "host".to_owned(),
    }
}

fn configuration(session: SessionId) -> MachineConfiguration {
    let stream = |id, policy| StreamConfiguration {
        id,
        policy,
        ring_bytes: 4 << 10,
    };
    MachineConfiguration {
        session,
        epoch: Epoch(1),
        facts: SessionFacts {
            kind: SessionKind::Dialogue,
            stdio: StdioKind::Pipes,
            pid: None,
            size: None,
            containment: Containment::Group,
            state: SessionState::Running,
        },
        streams: vec![
            stream(OUT, OverflowPolicy::Block),
            stream(StreamId::LIFECYCLE, OverflowPolicy::DropOldest),
        ],
        has_screen: false,
        exit_retention: None,
    }
}
