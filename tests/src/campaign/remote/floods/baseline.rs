//! A baseline server that responds like a runner, in its own process, but does no work; it measures
//! the cost of a flood by itself.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::super::super::support::{own, runtime};

/// Serves until its standard input ends. Argument: attaches per second.
pub(in crate::campaign) const MODE: &str = "--baseline";

const REFUSAL: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n";

const WELCOME: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n";

/// Maximum length of a head, in bytes.
const HEAD: usize = 16 << 10;

/// Bytes that an accepted client may send before it is disconnected: 20 pings with their masks.
const PINGS: usize = 20 * (28 + 8 + 6);

/// Time limit of a head, and of what follows it.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The baseline server. It stops on drop.
#[derive(Debug)]
pub(super) struct BaselineServer {
    process: Child,
    pub(super) address: SocketAddr,
}

impl BaselineServer {
    pub(super) fn start(attaches_per_second: u32) -> Result<Self, String> {
        let mut command = Command::new(own());
        command.args([MODE, &attaches_per_second.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let stdout = process.stdout.take().ok_or("no stdout")?;
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(|error| error.to_string())?;
        let address = line.trim().parse();
        let address = address.map_err(|_| format!("it does not start: {line:?}"))?;
        Ok(Self { process, address })
    }
}

impl Drop for BaselineServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves until the standard input ends.
pub(in crate::campaign) fn run(attaches_per_second: u32) -> ExitCode {
    let served = runtime().block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        writeln!(io::stdout().lock(), "{}", listener.local_addr()?)?;
        tokio::spawn(async move {
            let doorman = Arc::new(Doorman::new(attaches_per_second));
            while let Ok((stream, _)) = listener.accept().await {
                let doorman = Arc::clone(&doorman);
                tokio::spawn(async move { doorman.serve(stream).await });
            }
        });
        let end = tokio::task::spawn_blocking(|| io::stdin().read(&mut [0]));
        let _ = end.await;
        Ok::<_, io::Error>(())
    });
    served.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Admission: a number of clients per second, with a burst of twice as many.
#[derive(Debug)]
struct Doorman {
    since: Instant,
    per_second: u64,
    let_in: AtomicU64,
}

impl Doorman {
    fn new(per_second: u32) -> Self {
        Self {
            since: Instant::now(),
            per_second: per_second.into(),
            let_in: AtomicU64::new(0),
        }
    }

    /// Reads a head, responds, and continues reading for as long as a runner does.
    async fn serve(&self, stream: TcpStream) {
        // A client may disconnect at any time.
        let _ = timeout(TIMEOUT, self.answer(stream)).await;
    }

    async fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let (mut head, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
        while !head.windows(4).any(|it| it == b"\r\n\r\n") {
            let count = stream.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            if head.len() < HEAD {
                head.extend_from_slice(&buffer[..count]);
            }
        }
        let is_in = head.windows(7).any(|it| it == b"Upgrade") && self.lets_in();
        let (answer, mut left) = if is_in {
            (WELCOME, PINGS)
        } else {
            (REFUSAL, 1)
        };
        stream.write_all(answer).await?;
        while left > 0 {
            match stream.read(&mut buffer).await? {
                0 => return Ok(()),
                count => left = left.saturating_sub(count),
            }
        }
        Ok(())
    }

    fn lets_in(&self) -> bool {
        let most = 2 * self.per_second + self.since.elapsed().as_secs() * self.per_second;
        let count = |count: u64| (count < most).then_some(count + 1);
        let counted = self
            .let_in
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, count);
        counted.is_ok()
    }
}
