//! What is compared with the events of a runner: a loop that writes as many bytes, in as many pieces, to as many sockets.

use std::time::Duration;

use anyhow::Result;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::agent::LAST;
use super::http::Client;
use super::processor::{self, ProcessorTime};
use super::readers::Readers;

/// Writes an answer in pieces to each reader, over a time. Returns what this process spends on it.
pub(super) async fn fan_out(
    bytes: usize,
    pieces: u64,
    over: Duration,
    readers: usize,
) -> Result<ProcessorTime> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let client = Client {
        address: listener.local_addr()?,
        token: String::new(),
    };
    let (reading, accepted) = tokio::join!(
        Readers::start(&client, "/", readers),
        accept(&listener, readers)
    );
    let (reading, mut sockets) = (reading?, accepted?);
    let pieces = u32::try_from(pieces.max(1))?;
    let piece = vec![b'x'; bytes / pieces as usize];
    let spent = processor::time()?;
    for _ in 0..pieces {
        write(&mut sockets, &piece).await?;
        tokio::time::sleep(over / pieces).await;
    }
    write(&mut sockets, format!("{LAST} of turn 1").as_bytes()).await?;
    reading.finish().await?;
    Ok(processor::time()? - spent)
}

/// Accepts the readers, and lets each know that it is connected.
async fn accept(listener: &TcpListener, readers: usize) -> Result<Vec<TcpStream>> {
    let mut sockets = Vec::with_capacity(readers);
    for _ in 0..readers {
        let (mut socket, _) = listener.accept().await?;
        socket.write_all(b"data:\n").await?;
        sockets.push(socket);
    }
    Ok(sockets)
}

async fn write(sockets: &mut [TcpStream], piece: &[u8]) -> Result<()> {
    for socket in sockets {
        socket.write_all(piece).await?;
    }
    Ok(())
}
