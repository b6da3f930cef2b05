//! Tests of the state machine alone: protocol cases, and random schedules of several clients.

mod protocol;
mod readers;
mod schedule;

use super::connections::{MAX_CLIENTS, MAX_OUTBOX, MAX_REFUSED_CLIENTS};
use super::*;
use crate::wire::{
    Attach, AttachMode, Attached, Frame, Hello, Lease, SessionState, StdioKind, VERSION,
};
use bowline_transport::journal::Arrival;
use bowline_transport::{Drained, ExitStatus, Signal, TerminationPolicy, WindowSize};
use bytes::Bytes;

const KIB: usize = 1024;

fn size() -> WindowSize {
    WindowSize::new(24, 80)
}

fn facts(stdio: StdioKind) -> SessionFacts {
    SessionFacts {
        kind: crate::wire::SessionKind::Dialogue,
        stdio,
        pid: Some(1),
        size: (stdio == StdioKind::Pty).then(size),
        containment: bowline_transport::Containment::Group,
        state: SessionState::Running,
    }
}

fn session() -> SessionId {
    "00000000-0000-4000-8000-000000000001".parse().unwrap()
}

/// Creates a machine with one output stream and the audit log.
fn machine(id: StreamId, policy: OverflowPolicy, ring_bytes: usize) -> SessionMachine {
    let stdio = if id == StreamId::TTY {
        StdioKind::Pty
    } else {
        StdioKind::Pipes
    };
    let stream = |id, policy, ring_bytes| StreamConfiguration {
        id,
        policy,
        ring_bytes,
    };
    SessionMachine::new(MachineConfiguration {
        session: session(),
        epoch: Epoch(7),
        facts: facts(stdio),
        streams: vec![
            stream(id, policy, ring_bytes),
            stream(StreamId::LIFECYCLE, OverflowPolicy::DropOldest, 4 * KIB),
            stream(StreamId::INPUT, OverflowPolicy::DropOldest, 4 * KIB),
        ],
        has_screen: id == StreamId::TTY,
        exit_retention: None,
    })
}

/// Returns the `Attach` of a host without any state.
fn attach(lease: Lease, stream: StreamId) -> Attach {
    Attach {
        session: session(),
        epoch: None,
        cursors: BTreeMap::from([(stream, 0), (StreamId::LIFECYCLE, 0)]),
        mode: AttachMode::Resume,
        lease,
        resume_generation: None,
        size: None,
        credit: 1 << 20,
        client: "test".into(),
    }
}

/// Sends a message without a lease.
fn send(machine: &mut SessionMachine, client: ClientId, message: Message) {
    send_as(machine, client, 0, message);
}

fn send_as(machine: &mut SessionMachine, client: ClientId, generation: u64, message: Message) {
    let now = machine.now;
    let frame = Frame::new(generation, message);
    machine.on_frame(client, frame, now);
}

/// Connects a client and exchanges the greeting.
fn greeted(machine: &mut SessionMachine) -> ClientId {
    let client = machine.connect(machine.now);
    let hello = Hello {
        versions: (VERSION, VERSION),
        features: Vec::new(),
    };
    send(machine, client, Message::Hello(hello));
    let welcome = machine.next_frame(client).unwrap().message;
    assert!(matches!(welcome, Message::Welcome(_)));
    client
}

/// Attaches a client and returns what it received.
fn join(machine: &mut SessionMachine, attach: Attach) -> (ClientId, Attached) {
    let client = greeted(machine);
    send(machine, client, Message::Attach(attach));
    match machine.next_frame(client).unwrap().message {
        Message::Attached(attached) => (client, attached),
        other => panic!("not let in: {other:?}"),
    }
}

/// Returns all pending messages of a client.
fn all(machine: &mut SessionMachine, client: ClientId) -> Vec<Message> {
    std::iter::from_fn(|| machine.next_frame(client))
        .map(|frame| frame.message)
        .collect()
}

/// Returns all pending effects.
fn effects(machine: &mut SessionMachine) -> Vec<Effect> {
    std::iter::from_fn(|| machine.next_effect()).collect()
}
