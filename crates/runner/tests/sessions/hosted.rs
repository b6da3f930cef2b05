//! Sessions in this process, under paused time, with a simulated child.
//!
//! `half_open_connection_is_closed_within_15_seconds` covers the detection of half-open
//! connections.

use std::time::Duration;

use bowline_runner::wire::{
    Epoch, Lease, Message, SessionFacts, SessionKind, SessionState, StdioKind, StreamId,
};
use bowline_runner::{
    Child, ChildCommand, ChildEvent, ChildPeer, MachineConfiguration, OverflowPolicy,
    SessionHandle, StreamConfiguration,
};
use bowline_transport::{Containment, Drained, ExitStatus, Piece, SessionId};
use bytes::Bytes;
use tokio::io::{DuplexStream, duplex};

use crate::client::{Client, Memory};
use crate::support::OUT;

const RING: usize = 64 * 1024;

pub(crate) fn configuration(policy: OverflowPolicy) -> MachineConfiguration {
    let stream = |id, policy| StreamConfiguration {
        id,
        policy,
        ring_bytes: RING,
    };
    MachineConfiguration {
        session: SessionId::random(),
        epoch: Epoch::random(),
        facts: SessionFacts {
            kind: SessionKind::Dialogue,
            stdio: StdioKind::Pipes,
            pid: None,
            size: None,
            containment: Containment::Group,
            state: SessionState::Running,
        },
        streams: vec![
            stream(OUT, policy),
            stream(StreamId::LIFECYCLE, OverflowPolicy::DropOldest),
            stream(StreamId::INPUT, OverflowPolicy::DropOldest),
        ],
        has_screen: false,
        exit_retention: None,
    }
}

struct Rig {
    host: SessionHandle,
    child: ChildPeer,
    session: SessionId,
    written: u64,
}

impl Rig {
    fn new(policy: OverflowPolicy) -> Self {
        let configuration = configuration(policy);
        let session = configuration.session;
        let (child, end) = Child::channels([OUT]);
        let host = SessionHandle::start(configuration, child);
        Self {
            host,
            child: end,
            session,
            written: 0,
        }
    }

    async fn connect(&self) -> DuplexStream {
        let (ours, theirs) = duplex(4 * 1024);
        self.host.connect(theirs).await;
        ours
    }

    async fn join(&self, lease: Lease) -> Client {
        let memory = Memory::new(self.session, lease, &[OUT]);
        Client::over(self.connect().await, memory).await
    }

    fn piece(&mut self, bytes: Vec<u8>) -> Piece {
        let offset = self.written;
        self.written += bytes.len() as u64;
        Piece::Bytes {
            offset,
            bytes: bytes.into(),
        }
    }

    async fn write(&mut self, bytes: Vec<u8>) {
        let piece = self.piece(bytes);
        self.child.outputs[0].1.send(piece).await.unwrap();
    }

    fn exit(&mut self) {
        self.child.outputs.clear();
        let status = ExitStatus::Code(0);
        let drained = Drained::Clean;
        self.child
            .events
            .send(ChildEvent::Exited {
                status,
                oom: false,
                drained,
            })
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn output_then_exit_then_close() {
    let mut rig = Rig::new(OverflowPolicy::Block);
    let client = rig.join(Lease::Write).await;
    rig.write(b"hello".to_vec()).await;
    rig.exit();
    let memory = client.finish().await;
    assert_eq!(memory.text(OUT), "hello");
    let exit = memory.exit.unwrap();
    assert_eq!((exit.status, exit.ends[&OUT]), (ExitStatus::Code(0), 5));
    let mut state = rig.host.status();
    state.wait_for(|state| state.is_over).await.unwrap();
    let order = rig.child.commands.recv().await;
    assert!(
        matches!(order, Some(ChildCommand::Kill(_))),
        "the rest of the tree is killed"
    );
    assert!(rig.child.commands.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn ping_after_exit_ack_is_answered() {
    let mut rig = Rig::new(OverflowPolicy::Block);
    let mut client = rig.join(Lease::Write).await;
    rig.exit();
    client.until(|memory| memory.exit.is_some()).await;
    client.send(Message::ExitAck).await;
    client.send(Message::Ping { nonce: 7 }).await;
    let is_answer = |message: &Message| matches!(message, Message::Pong { nonce: 7 }).then_some(());
    client.find(is_answer).await;
    assert_eq!(client.next().await, None, "the connection closes then");
}

#[tokio::test(start_paused = true)]
async fn slow_client_pauses_the_child_and_loses_nothing() {
    let mut rig = Rig::new(OverflowPolicy::Block);
    let mut memory = Memory::new(rig.session, Lease::Write, &[OUT]);
    memory.credit = 0;
    let mut client = Client::over(rig.connect().await, memory).await;
    let mut sent = 0;
    // Output is accepted until the ring and the channel are full.
    loop {
        let piece = rig.piece(vec![7; 4 * 1024]);
        let sending = rig.child.outputs[0].1.send(piece);
        match tokio::time::timeout(Duration::from_secs(3), sending).await {
            Ok(done) => done.unwrap(),
            Err(_) => break,
        }
        sent += 4 * 1024;
        assert!(sent <= 2 * RING, "the child is paused at some point");
    }
    assert!(sent >= RING);
    client
        .send(Message::Credit {
            stream: OUT,
            n: 1 << 30,
        })
        .await;
    client.until(|memory| memory.next(OUT) == sent as u64).await;
    assert_eq!(client.memory.missing.get(&OUT), None);
}

#[tokio::test(start_paused = true)]
async fn idle_reader_does_not_pause_a_dropping_stream() {
    let mut rig = Rig::new(OverflowPolicy::DropOldest);
    let idle = rig.join(Lease::Read).await;
    let mut live = rig.join(Lease::Read).await;
    for round in 1..=200 {
        rig.write(vec![7; 8 * 1024]).await;
        live.until(|memory| memory.next(OUT) == round * 8 * 1024)
            .await;
    }
    assert_eq!(live.memory.missing.get(&OUT), None);
    let mut idle = idle;
    let end = rig.written;
    idle.until(|memory| memory.next(OUT) == end).await;
    assert!(idle.memory.missing[&OUT] > 0, "the gap is reported");
}

#[tokio::test(start_paused = true)]
async fn half_open_connection_is_closed_within_15_seconds() {
    let rig = Rig::new(OverflowPolicy::Block);
    let (ours, theirs) = duplex(4 * 1024);
    rig.host.connect(theirs).await;
    let memory = Memory::new(rig.session, Lease::Write, &[OUT]);
    let mut client = Client::over(ours, memory).await;
    let started = tokio::time::Instant::now();
    // It reads, so that only its missing pongs reveal it.
    client.memory.lease = Lease::Read;
    let silent = async {
        loop {
            let mut pings = 0;
            match client.find(|it| Some(it.clone())).await {
                Message::Ping { .. } => pings += 1,
                _ => continue,
            }
            if pings > 100 {
                break;
            }
        }
    };
    // This client answers pings and stays connected.
    let lived = tokio::time::timeout(Duration::from_secs(60), silent).await;
    assert!(lived.is_err() && started.elapsed() >= Duration::from_secs(60));
    // This one sends nothing and is disconnected.
    let (mut mute, theirs) = duplex(64 * 1024);
    rig.host.connect(theirs).await;
    let started = tokio::time::Instant::now();
    let mut all = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut mute, &mut all)
        .await
        .unwrap();
    assert!(started.elapsed() <= Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn stalled_client_is_disconnected() {
    let mut rig = Rig::new(OverflowPolicy::DropOldest);
    let mut stuck = rig.join(Lease::Write).await;
    let mut live = rig.join(Lease::Read).await;
    let end = 32 * 1024;
    rig.write(vec![7; end]).await;
    let started = tokio::time::Instant::now();
    live.until(|memory| memory.next(OUT) == end as u64).await;
    while started.elapsed() < Duration::from_secs(20) {
        live.next().await;
    }
    // Data that was in transit at the time, and then the end.
    let mut got = 0;
    while let Some(message) = stuck.next().await {
        if let Message::Data { bytes, .. } = message {
            got += bytes.len();
        }
    }
    assert!(got < end, "it was disconnected");
    let memory = Memory::new(rig.session, Lease::Write, &[StreamId::LIFECYCLE]);
    let mut after = Client::over(rig.connect().await, memory).await;
    let lines = |memory: &Memory| memory.text(StreamId::LIFECYCLE);
    after
        .until(|memory| lines(memory).contains(r#""event":"detached""#))
        .await;
}

#[tokio::test(start_paused = true)]
async fn input_is_applied_once_over_broken_connections() {
    let mut rig = Rig::new(OverflowPolicy::Block);
    let mut taken = Vec::new();
    let mut memory = Memory::new(rig.session, Lease::Write, &[OUT]);
    let whole: Vec<u8> = (0..40_000_u32).map(|at| (at % 251) as u8).collect();
    let mut round = 0_usize;
    while taken.len() < whole.len() {
        round += 1;
        assert!(round < 10_000);
        // The link accepts a random number of bytes before it breaks.
        let (ours, theirs) = duplex(1 + (round * 7919) % 5_000);
        rig.host.connect(theirs).await;
        let mut client = Client::over(ours, memory.clone()).await;
        let next = client.attached.as_ref().unwrap().input_next;
        // Repeats some input, like a host that has missed an acknowledgement.
        let next = usize::try_from(next).unwrap();
        let from = next.saturating_sub(round % 50);
        let to = whole.len().min(next + 1 + (round * 104_729) % 3_000);
        let sending = client.type_in(from as u64, whole[from..to].to_vec());
        // The link delivers what it has accepted by now.
        let cut = Duration::from_millis(u64::from(round.is_multiple_of(3)));
        let _ = tokio::time::timeout(cut, sending).await;
        memory = client.cut();
        while let Ok(order) = rig.child.commands.try_recv() {
            let ChildCommand::Write(bytes) = order else {
                panic!("unexpected: {order:?}");
            };
            taken.extend_from_slice(&bytes);
            rig.child.events.send(ChildEvent::Written(Ok(()))).unwrap();
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(taken, whole);
}

#[tokio::test(start_paused = true)]
async fn output_is_contiguous_over_broken_connections() {
    let mut rig = Rig::new(OverflowPolicy::Block);
    let mut memory = Memory::new(rig.session, Lease::Write, &[OUT]);
    let mut round = 0_usize;
    while memory.next(OUT) < 500_000 {
        round += 1;
        let (ours, theirs) = duplex(1 + (round * 7919) % 9_000);
        rig.host.connect(theirs).await;
        let mut client = Client::over(ours, memory).await;
        let bytes: Vec<u8> = (0..5_000)
            .map(|at| ((rig.written + at) % 251) as u8)
            .collect();
        if let Ok(permit) = rig.child.outputs[0].1.clone().try_reserve() {
            permit.send(rig.piece(bytes));
        }
        for _ in 0..round % 7 {
            let next = tokio::time::timeout(Duration::from_millis(10), client.next());
            if next.await.is_err() {
                break;
            }
        }
        memory = client.cut();
    }
    let right = memory.streams[&OUT].iter().zip(0_u64..);
    assert!(right.clone().all(|(byte, at)| *byte == (at % 251) as u8));
    assert_eq!(memory.missing.get(&OUT), None);
}

#[tokio::test(start_paused = true)]
async fn malformed_frames_close_only_their_connection() {
    let mut rig = Rig::new(OverflowPolicy::Block);
    let mut client = rig.join(Lease::Write).await;
    let mut garbage = rig.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut garbage, &[0x5a; 64])
        .await
        .unwrap();
    let mut answer = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut garbage, &mut answer)
        .await
        .unwrap();
    assert!(!answer.is_empty(), "it receives an error");
    rig.write(b"alive".to_vec()).await;
    client.until(|memory| memory.text(OUT) == "alive").await;
}

#[tokio::test(start_paused = true)]
async fn audit_log_records_start_and_attach() {
    let rig = Rig::new(OverflowPolicy::Block);
    let memory = Memory::new(rig.session, Lease::Write, &[StreamId::LIFECYCLE]);
    let mut client = Client::over(rig.connect().await, memory).await;
    client
        .until(|memory| memory.text(StreamId::LIFECYCLE).lines().count() == 2)
        .await;
    let text = client.memory.text(StreamId::LIFECYCLE);
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&lines[0]["event"], &lines[1]["event"]),
        (&"started".into(), &"attached".into())
    );
    assert_eq!(lines[1]["generation"], 1);
}

#[tokio::test(start_paused = true)]
async fn stop_kills_the_child_and_reports_the_exit() {
    let mut rig = Rig::new(OverflowPolicy::Block);
    let client = rig.join(Lease::Read).await;
    rig.host.stop().await;
    let order = rig.child.commands.recv().await;
    assert!(matches!(order, Some(ChildCommand::Kill(_))));
    rig.exit();
    let memory = client.finish().await;
    assert!(memory.exit.is_some());
}

/// A hundred thousand single bytes.
#[tokio::test(start_paused = true)]
async fn many_small_pieces_are_delivered() {
    let mut rig = Rig::new(OverflowPolicy::Block);
    let mut client = rig.join(Lease::Write).await;
    let sender = rig.child.outputs.remove(0).1;
    let writing = tokio::spawn(async move {
        for at in 0..100_000_u64 {
            let bytes = Bytes::from_static(b"x");
            sender
                .send(Piece::Bytes { offset: at, bytes })
                .await
                .unwrap();
        }
    });
    client.until(|memory| memory.next(OUT) == 100_000).await;
    writing.await.unwrap();
}
