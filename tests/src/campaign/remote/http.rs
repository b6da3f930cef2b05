//! A minimal HTTP/1.1 client that connects from any loopback address and can send arbitrary bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::super::Random;
use super::super::support::within;

/// A connection to a runner.
#[derive(Debug)]
pub(super) struct Caller {
    stream: TcpStream,
    buffer: Vec<u8>,
    since: Instant,
}

/// The runner's time limit for the first request of an unauthenticated client.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
}

impl Caller {
    /// Connects from an address that is unlikely to be in use; all of 127.0.0.0/8 is local.
    pub(super) async fn connect(to: SocketAddr, random: &mut Random) -> Result<Self, String> {
        let mut part = |least: u64, most: u64| (least + random.below(most - least)) as u8;
        let from = Ipv4Addr::new(127, part(1, 250), part(0, 255), part(1, 255));
        let stream = async {
            let socket = TcpSocket::new_v4()?;
            socket.bind((from, 0).into())?;
            let stream = socket.connect(to).await?;
            stream.set_nodelay(true)?;
            Ok::<_, std::io::Error>(stream)
        };
        let stream = within("a connection", stream).await?;
        Ok(Self {
            stream: stream.map_err(|error| error.to_string())?,
            buffer: Vec::new(),
            since: Instant::now(),
        })
    }

    /// Whether the request was so slow, on a busy machine, that the runner may have closed the
    /// connection.
    pub(super) fn is_overdue(&self) -> bool {
        self.since.elapsed() >= TIMEOUT
    }

    /// Sends a head (lines with their line ends) and reads the response with its body.
    pub(super) async fn ask(&mut self, head: &str) -> Result<Answer, String> {
        self.send(head).await?;
        within("an answer", self.receive()).await?
    }

    pub(super) async fn send(&mut self, head: &str) -> Result<(), String> {
        let sent = self.stream.write_all(head.as_bytes()).await;
        sent.map_err(|error| error.to_string())
    }

    pub(super) async fn receive(&mut self) -> Result<Answer, String> {
        loop {
            if let Some((length, answer)) = whole(&self.buffer) {
                self.buffer.drain(..length);
                return Ok(answer);
            }
            let read = self.stream.read_buf(&mut self.buffer).await;
            if read.map_err(|error| error.to_string())? == 0 {
                return Err(format!(
                    "hung up after {:?}",
                    String::from_utf8_lossy(&self.buffer)
                ));
            }
        }
    }

    /// Reads up to the end of the connection.
    pub(super) async fn rest(mut self) -> Vec<u8> {
        let _ = self.stream.shutdown().await;
        let mut rest = std::mem::take(&mut self.buffer);
        let _ = within("the end", self.stream.read_to_end(&mut rest)).await;
        rest
    }
}

/// Parses the first response and its length, if it is complete.
fn whole(bytes: &[u8]) -> Option<(usize, Answer)> {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let lower = head.to_ascii_lowercase();
    let length = lower.split("content-length: ").nth(1);
    let length = length.and_then(|it| it.split("\r\n").next()?.parse::<usize>().ok());
    let length = end + length.unwrap_or(0);
    let body = bytes.get(end..length)?;
    let text = head + &String::from_utf8_lossy(body);
    Some((length, Answer { status, text }))
}
