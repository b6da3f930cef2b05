//! Moves bytes between a local stream and the messages of a link.

use bowline_wire::{DEAD_AFTER, PING_EVERY};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, interval_at, sleep_until};

use super::packet::{Packet, WINDOW};
use crate::bus::{Delivery, Messages};

/// Maximum number of payload bytes in one message.
const CHUNK: usize = 64 << 10;

/// Number of bytes written to the local stream after which an acknowledgement is sent.
const ACK_AFTER: u64 = WINDOW / 4;

/// Moves bytes between `local` and the peer until both directions have ended, or the link is lost. `local` is
/// dropped then, which ends its other side.
pub(super) async fn forward<M: Messages>(
    bus: M,
    peer: String,
    inbox: mpsc::Receiver<Delivery>,
    local: DuplexStream,
) {
    let (read, write) = split(local);
    let (acked, window) = watch::channel(0);
    let (data, to_local) = mpsc::unbounded_channel();
    let sends = send(&bus, &peer, read, window);
    let writes = write_local(&bus, &peer, to_local, write);
    let receives = receive(inbox, &acked, &data);
    let pings = ping(&bus, &peer);
    tokio::select! {
        // Ends early if one direction is lost.
        _ = async { tokio::try_join!(sends, writes) } => {}
        () = async { tokio::join!(receives, std::future::pending::<()>()); } => {}
        () = pings => {}
    }
}

/// The link was lost; both directions end.
struct Lost;

/// What the peer sent.
enum Received {
    Bytes(Bytes),
    /// The peer has ended its direction.
    End,
    /// The link is lost.
    Lost,
}

/// Receives the peer's messages in order. Ends the link at a missing offset, and when no message arrived for
/// [`DEAD_AFTER`].
async fn receive(
    mut inbox: mpsc::Receiver<Delivery>,
    acked: &watch::Sender<u64>,
    data: &mpsc::UnboundedSender<Received>,
) {
    let mut next = 0_u64;
    let mut last_delivery = Instant::now();
    loop {
        let delivery = tokio::select! {
            delivery = inbox.recv() => delivery,
            () = sleep_until(last_delivery + DEAD_AFTER) => None,
        };
        last_delivery = Instant::now();
        let packet = delivery.map(|it| Packet::decode(it.payload));
        let received = match packet {
            Some(Ok(Packet::Ping)) => continue,
            Some(Ok(Packet::Ack { offset })) => {
                acked.send_if_modified(|it| {
                    offset > *it && {
                        *it = offset;
                        true
                    }
                });
                continue;
            }
            // A repeated message.
            Some(Ok(Packet::Data { offset, bytes })) if offset + bytes.len() as u64 <= next => {
                continue;
            }
            Some(Ok(Packet::Data { offset, bytes })) if offset == next => {
                next += bytes.len() as u64;
                Received::Bytes(bytes)
            }
            Some(Ok(Packet::End { offset })) if offset == next => Received::End,
            _ => Received::Lost,
        };
        let is_lost = matches!(received, Received::Lost);
        if data.send(received).is_err() || is_lost {
            return;
        }
    }
}

/// Writes what was received to the local stream, and acknowledges it.
async fn write_local<M: Messages>(
    bus: &M,
    peer: &str,
    mut from: mpsc::UnboundedReceiver<Received>,
    mut local: WriteHalf<DuplexStream>,
) -> Result<(), Lost> {
    let (mut written, mut acknowledged) = (0_u64, 0_u64);
    while let Some(received) = from.recv().await {
        let bytes = match received {
            Received::Bytes(bytes) => bytes,
            Received::End => {
                let _ = local.shutdown().await;
                return Ok(());
            }
            Received::Lost => return Err(Lost),
        };
        local.write_all(&bytes).await.map_err(|_| Lost)?;
        written += bytes.len() as u64;
        if written - acknowledged >= ACK_AFTER || from.is_empty() {
            acknowledged = written;
            let ack = Packet::Ack { offset: written }.encode();
            bus.publish(peer, ack).await.map_err(|_| Lost)?;
        }
    }
    Err(Lost)
}

/// Reads the local stream and sends it, with at most [`WINDOW`] bytes unacknowledged.
async fn send<M: Messages>(
    bus: &M,
    peer: &str,
    mut local: ReadHalf<DuplexStream>,
    mut acked: watch::Receiver<u64>,
) -> Result<(), Lost> {
    let mut offset = 0_u64;
    let mut buffer = BytesMut::with_capacity(CHUNK);
    loop {
        let has_room = |acked: &u64| offset - acked < WINDOW;
        acked.wait_for(has_room).await.map_err(|_| Lost)?;
        buffer.reserve(CHUNK);
        let read = local.read_buf(&mut buffer).await.unwrap_or(0);
        let bytes = buffer.split_to(read.min(CHUNK)).freeze();
        let packet = match bytes.is_empty() {
            true => Packet::End { offset },
            false => Packet::Data {
                offset,
                bytes: bytes.clone(),
            },
        };
        offset += bytes.len() as u64;
        bus.publish(peer, packet.encode()).await.map_err(|_| Lost)?;
        if bytes.is_empty() {
            return Ok(());
        }
    }
}

/// Sends pings, by which the peer notices that this side is alive.
async fn ping<M: Messages>(bus: &M, peer: &str) {
    let mut times = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    loop {
        times.tick().await;
        if bus.publish(peer, Packet::Ping.encode()).await.is_err() {
            return;
        }
    }
}
