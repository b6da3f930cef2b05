//! A journal on a slow disk.

use std::fs::File;
use std::io::{self, IoSlice};
use std::sync::{Arc, Condvar, Mutex};

use bowline_runner::wire::{Durability, Lease, Message, StreamId};
use bowline_runner::{Child, OverflowPolicy, SessionHandle};
use bowline_transport::Piece;
use bowline_transport::journal::{Disk, Folder, JournalLimits};
use tokio::io::duplex;

use crate::client::{Client, Memory};
use crate::hosted::configuration;
use crate::support::{OUT, until};

/// A disk whose syncs block until they are released.
#[derive(Clone, Debug)]
struct BlockedDisk {
    folder: Folder,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

#[derive(Debug, Default)]
struct Gate {
    is_open: bool,
    waiting: u32,
}

impl BlockedDisk {
    fn release(&self) {
        self.gate.0.lock().unwrap().is_open = true;
        self.gate.1.notify_all();
    }

    fn waiting(&self) -> u32 {
        self.gate.0.lock().unwrap().waiting
    }
}

impl Disk for BlockedDisk {
    type File = File;

    fn segments(&self) -> io::Result<Vec<u32>> {
        self.folder.segments()
    }

    fn create(&self, segment: u32) -> io::Result<File> {
        self.folder.create(segment)
    }

    fn open(&self, segment: u32) -> io::Result<File> {
        self.folder.open(segment)
    }

    fn remove(&self, segment: u32) -> io::Result<()> {
        self.folder.remove(segment)
    }

    fn write(&self, file: &File, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.folder.write(file, bytes)
    }

    fn read(&self, file: &File, position: u64, into: &mut [u8]) -> io::Result<usize> {
        self.folder.read(file, position, into)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let mut gate = self.gate.0.lock().unwrap();
        gate.waiting += 1;
        while !gate.is_open {
            gate = self.gate.1.wait(gate).unwrap();
        }
        drop(gate);
        self.folder.sync(file)
    }
}

/// The session continues across segments; once too many bytes wait for a sync it reports the
/// journal as degraded, and keeps the rest in memory.
#[tokio::test]
async fn blocked_sync_does_not_stall_the_session() {
    const PIECE: usize = 16 << 10;
    let scratch = tempfile::tempdir().unwrap();
    let disk = BlockedDisk {
        folder: Folder::make(scratch.path().join("journal")).unwrap(),
        gate: Arc::default(),
    };
    let limits = JournalLimits {
        segment_bytes: 64 << 10,
        cap_bytes: 8 << 20,
        sync_bytes: 16 << 10,
        ..JournalLimits::default()
    };
    let configuration = configuration(OverflowPolicy::Block);
    let session = configuration.session;
    let (child, end) = Child::channels([OUT]);
    let host = SessionHandle::with_journal(configuration, child, disk.clone(), limits).unwrap();
    let connect = async || {
        let (ours, theirs) = duplex(64 << 10);
        host.connect(theirs).await;
        ours
    };
    let memory = Memory::new(session, Lease::Write, &[OUT, StreamId::LIFECYCLE]);
    let mut client = Client::over(connect().await, memory).await;
    let mut written = 0;
    let mut is_degraded = false;
    // Sixteen groups may wait; this is twice as many, in eight segments.
    for _ in 0..32 {
        let bytes = vec![7; PIECE].into();
        let piece = Piece::Bytes {
            offset: written,
            bytes,
        };
        end.outputs[0].1.send(piece).await.unwrap();
        written += PIECE as u64;
        while client.memory.next(OUT) < written {
            let message = client.next().await.expect("the session goes on");
            is_degraded |= matches!(message, Message::Degraded { .. });
        }
    }
    until("a sync", || disk.waiting() > 0).await;
    if !is_degraded {
        let degraded = |it: &Message| matches!(it, Message::Degraded { .. }).then_some(());
        client.find(degraded).await;
    }
    assert_eq!(disk.waiting(), 1, "one sync at a time");
    let late = Memory::new(session, Lease::Read, &[OUT]);
    let late = Client::over(connect().await, late).await;
    let durable = late.attached.unwrap().streams[&OUT].durable;
    assert_ne!(durable, Durability::Power, "nothing is durable yet");
    disk.release();
    client
        .until(|memory| memory.text(StreamId::LIFECYCLE).contains("recovered"))
        .await;
    assert_eq!(client.memory.missing.get(&OUT), None);
}
