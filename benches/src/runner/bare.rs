//! The lower bound: bytes copied to a loopback socket and back.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use super::child;

/// Bytes per read.
const READ_BYTES: usize = 64 << 10;

/// Copies a child's output from a pipe to a socket and reads it there. Returns bytes, reads and
/// time.
pub(super) async fn copy(bytes: usize) -> Result<(usize, usize, Duration)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let mut child = Command::new(std::env::current_exe()?)
        .args([child::FLOOD_ASKED, &bytes.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = child.stdout.take().context("a pipe")?;
    let mut input = child.stdin.take().context("a pipe")?;
    let sending = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await?;
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match output.read(&mut buffer).await? {
                0 => return Ok::<_, std::io::Error>(()),
                count => socket.write_all(&buffer[..count]).await?,
            }
        }
    });
    let mut socket = TcpStream::connect(address).await?;
    let (mut came, mut reads) = (0, 0);
    let mut buffer = vec![0; READ_BYTES];
    let started = Instant::now();
    input.write_all(b"g").await?;
    loop {
        match socket.read(&mut buffer).await? {
            0 => break,
            count => {
                came += count;
                reads += 1;
            }
        }
    }
    let took = started.elapsed();
    sending.await??;
    child.wait().await?;
    Ok((came, reads, took))
}

/// Sends a byte to a socket and back, `keys` times.
pub(super) async fn echo(keys: usize) -> Result<Vec<Duration>> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let mut byte = [0];
        while socket.read_exact(&mut byte).await.is_ok() {
            socket.write_all(&byte).await?;
        }
        Ok::<_, std::io::Error>(())
    });
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let mut times = Vec::with_capacity(keys);
    for _ in 0..keys {
        let pressed = Instant::now();
        socket.write_all(b"k").await?;
        socket.read_exact(&mut [0]).await?;
        times.push(pressed.elapsed());
    }
    Ok(times)
}
