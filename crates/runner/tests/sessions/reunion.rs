//! The remote client and a session, over an in-memory network that breaks connections: cut at any
//! byte in either direction, stalled, or with a flipped bit. Under paused time, one schedule per
//! seed.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bowline_runner::{Child, ChildCommand, ChildEvent, ChildPeer, OverflowPolicy, SessionHandle};
use bowline_transport::{
    Address, Attachment, Boxed, ByteStream, Drained, Exit, ExitStatus, Network, Piece, Remote,
    RemoteUrl, SessionId, Stream, TerminalEngine,
};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::time::timeout;

use crate::hosted::configuration;
use crate::support::{Dice, OUT};

/// Longer than any schedule takes, in paused time.
const TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of output and of input per schedule.
const OUTPUT: usize = 150_000;
const INPUT: usize = 60_000;

/// How a connection breaks once its bytes are used up.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Both sides are disconnected.
    Cut,
    /// Neither side notices.
    Stall,
    /// A bit flips, and the connection continues.
    Flip,
}

/// A connection with a limited number of bytes in each direction.
struct BreakingStream {
    inner: Option<DuplexStream>,
    fault: Fault,
    reads: usize,
    writes: usize,
}

impl BreakingStream {
    fn broken<T>(&mut self) -> Poll<io::Result<T>> {
        match self.fault {
            // Pending forever: the peer is not notified.
            Fault::Stall => Poll::Pending,
            _ => {
                self.inner = None;
                Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
            }
        }
    }
}

impl AsyncRead for BreakingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let flips = matches!(self.fault, Fault::Flip);
        let most = if flips { usize::MAX } else { self.reads };
        if most == 0 {
            return self.broken();
        }
        let Some(inner) = &mut self.inner else {
            return self.broken();
        };
        let mut part = buffer.take(most);
        match Pin::new(inner).poll_read(cx, &mut part) {
            Poll::Ready(Ok(())) => {}
            other => return other,
        }
        let count = part.filled().len();
        let bytes = part.filled().to_vec();
        buffer.put_slice(&flipped(bytes, flips && self.reads < count, self.reads));
        self.reads = self.reads.saturating_sub(count);
        if flips && self.reads == 0 {
            self.reads = usize::MAX;
        }
        Poll::Ready(Ok(()))
    }
}

fn flipped(mut bytes: Vec<u8>, flips: bool, at: usize) -> Vec<u8> {
    if flips && let Some(byte) = bytes.get_mut(at) {
        *byte ^= 0x10;
    }
    bytes
}

impl AsyncWrite for BreakingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let most = bytes.len().min(self.writes);
        if most == 0 {
            return self.broken();
        }
        let Some(inner) = &mut self.inner else {
            return self.broken();
        };
        let written = Pin::new(inner).poll_write(cx, &bytes[..most]);
        if let Poll::Ready(Ok(count)) = written {
            self.writes -= count;
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner = None;
        Poll::Ready(Ok(()))
    }
}

/// A network whose connections to one session break.
#[derive(Debug)]
struct BreakingNetwork {
    host: SessionHandle,
    dice: Mutex<Dice>,
    /// Connections that will break; later ones do not.
    breaking: Mutex<u32>,
}

impl Network for BreakingNetwork {
    fn connect<'a>(&'a self, _: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        let (fault, reads, writes, buffer) = {
            let mut dice = self.dice.lock().unwrap();
            let mut breaking = self.breaking.lock().unwrap();
            let is_calm = *breaking == 0;
            *breaking = breaking.saturating_sub(1);
            let fault = match dice.roll(8) {
                0 => Fault::Stall,
                1 => Fault::Flip,
                _ => Fault::Cut,
            };
            let mut most = |below| {
                let rolled = dice.roll(below) as usize;
                if is_calm { usize::MAX } else { rolled }
            };
            (
                fault,
                most(30_000),
                most(12_000),
                1 + most(9_000).min(64 * 1024),
            )
        };
        Box::pin(async move {
            if reads < 500 {
                return Err(io::ErrorKind::NetworkUnreachable.into());
            }
            let (ours, theirs) = duplex(buffer);
            self.host.connect(theirs).await;
            let stream: Box<dyn ByteStream> = Box::new(BreakingStream {
                inner: Some(ours),
                fault,
                reads,
                writes,
            });
            Ok(stream)
        })
    }
}

fn output_at(offset: usize) -> u8 {
    (offset % 251) as u8
}

fn input_at(offset: usize) -> u8 {
    b'a' + (offset % 23) as u8
}

/// Acts as the child: writes its output in random pieces, reads its input slowly, and exits when
/// both are done. Returns its input.
async fn play(mut end: ChildPeer, mut dice: Dice) -> Vec<u8> {
    let output = end.outputs.remove(0).1;
    let mut sizes = Dice::new(dice.roll(1 << 40) + 1);
    let writing = tokio::spawn(async move {
        let mut at = 0;
        while at < OUTPUT {
            let to = OUTPUT.min(at + 1 + sizes.roll(5_000) as usize);
            let bytes: Vec<u8> = (at..to).map(output_at).collect();
            let offset = at as u64;
            let bytes = Bytes::from(bytes);
            output.send(Piece::Bytes { offset, bytes }).await.unwrap();
            if sizes.roll(4) == 0 {
                tokio::time::sleep(Duration::from_millis(sizes.roll(500))).await;
            }
            at = to;
        }
    });
    let mut taken = Vec::new();
    while let Some(order) = end.commands.recv().await {
        match order {
            ChildCommand::Write(bytes) => {
                if dice.roll(3) == 0 {
                    tokio::time::sleep(Duration::from_millis(dice.roll(300))).await;
                }
                taken.extend_from_slice(&bytes);
                end.events.send(ChildEvent::Written(Ok(()))).unwrap();
            }
            ChildCommand::CloseInput => {
                end.events.send(ChildEvent::Written(Ok(()))).unwrap();
                break;
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
    writing.await.unwrap();
    let status = ExitStatus::Code(7);
    let drained = Drained::Clean;
    end.events
        .send(ChildEvent::Exited {
            status,
            oom: false,
            drained,
        })
        .unwrap();
    taken
}

async fn one(seed: u64) {
    let mut dice = Dice::new(seed);
    let configuration = configuration(OverflowPolicy::Block);
    let session: SessionId = configuration.session;
    let (child, end) = Child::channels([OUT]);
    let host = SessionHandle::start(configuration, child);
    let child = tokio::spawn(play(end, Dice::new(dice.roll(1 << 40) + 1)));
    let breaking = dice.roll(40) as u32;
    let url: RemoteUrl = "shim:/in/memory".parse().unwrap();
    let mut remote = Remote::new(url);
    remote.network = Arc::new(BreakingNetwork {
        host: host.clone(),
        dice: Mutex::new(Dice::new(dice.roll(1 << 40) + 1)),
        breaking: Mutex::new(breaking),
    });
    let attachment = Attachment {
        connect_timeout: TIMEOUT,
        ..Attachment::default()
    };
    let joined = TerminalEngine.attach_remote(&remote, session, attachment);
    let session = joined.await.unwrap();
    let mut reader = session.reader(Stream::Output);
    let writer = session.clone();
    let writing = tokio::spawn(async move {
        let mut at = 0;
        while at < INPUT {
            let to = INPUT.min(at + 1 + dice.roll(4_000) as usize);
            let bytes: Vec<u8> = (at..to).map(input_at).collect();
            writer.write(bytes.into()).await.unwrap();
            at = to;
        }
        writer.close_input().await.unwrap();
    });
    let mut got = Vec::new();
    while let Some(piece) = reader.next().await {
        match piece {
            Piece::Bytes { offset, bytes } => {
                assert_eq!(offset, got.len() as u64, "seed {seed}");
                got.extend_from_slice(&bytes);
            }
            gap => panic!("seed {seed}: {gap:?}"),
        }
    }
    writing.await.unwrap();
    let taken = child.await.unwrap();
    assert!(
        taken.iter().copied().eq((0..INPUT).map(input_at)),
        "seed {seed}: input once"
    );
    assert!(
        got.iter().copied().eq((0..OUTPUT).map(output_at)),
        "seed {seed}: output once"
    );
    let Exit {
        status, output_end, ..
    } = session.exited().await;
    assert_eq!(
        (status, output_end),
        (ExitStatus::Code(7), OUTPUT as u64),
        "seed {seed}"
    );
    drop((session, reader));
    // The client has acknowledged the exit, so nothing retains the session.
    let mut state = host.status();
    state.wait_for(|state| state.is_over).await.unwrap();
}

/// Runs `BOWLINE_SEEDS` schedules, or the one of `BOWLINE_SEED`.
#[tokio::test(start_paused = true)]
async fn bytes_are_delivered_once_over_broken_connections() {
    let number = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let seeds = match number("BOWLINE_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("BOWLINE_SEEDS").unwrap_or(100),
    };
    for seed in seeds {
        let schedule = timeout(2 * TIMEOUT, one(seed));
        assert!(schedule.await.is_ok(), "seed {seed} comes to its end");
    }
}
