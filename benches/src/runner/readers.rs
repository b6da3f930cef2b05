//! Readers of the events of a session, in a process of their own: this program in a hidden mode. So the processor time
//! and the memory of the runner's process are those of the runner.

use std::io::Write as _;
use std::process::{ExitCode, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;

use super::agent::LAST;
use super::http::Client;

/// Argument for the hidden mode. The address, the token, the path and the number of readers follow.
pub(super) const READERS: &str = "--event-readers";

/// Written once each reader has the first event.
const READY: &str = "ready";

/// Written once each reader has the end of the first answer.
const DONE: &str = "done";

/// The process of the readers.
pub(super) struct Readers {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Readers {
    /// Starts readers. Returns once each has the first event.
    pub(super) async fn start(client: &Client, path: &str, count: usize) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(READERS)
            .arg(client.address.to_string())
            .args([&client.token, path])
            .arg(count.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let out = child.stdout.take().context("an output")?;
        let lines = BufReader::new(out).lines();
        let mut readers = Self { child, lines };
        readers.wait_for(READY).await?;
        Ok(readers)
    }

    /// Waits until each reader has the end of the first answer.
    pub(super) async fn finish(mut self) -> Result<()> {
        self.wait_for(DONE).await?;
        self.child.wait().await?;
        Ok(())
    }

    async fn wait_for(&mut self, word: &str) -> Result<()> {
        match self.lines.next_line().await? {
            Some(line) if line == word => Ok(()),
            other => bail!("the readers have not written {word}: {other:?}"),
        }
    }
}

/// Runs the hidden mode.
pub(super) fn run(args: &[String]) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let read = match runtime {
        Ok(runtime) => runtime.block_on(read_all(args)),
        Err(error) => Err(error.into()),
    };
    match read {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "the readers have failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn read_all(args: &[String]) -> Result<()> {
    let [address, token, path, count] = args else {
        bail!("not the arguments of readers");
    };
    let client = Client {
        address: address.parse()?,
        token: token.clone(),
    };
    let (mut waiting, mut ready) = (JoinSet::new(), Vec::new());
    for _ in 0..count.parse()? {
        let stream = client.open("GET", path, None).await?;
        waiting.spawn(read_until(stream, "data:".to_owned()));
    }
    while let Some(read) = waiting.join_next().await {
        ready.push(read??);
    }
    say(READY)?;
    let mut reading = JoinSet::new();
    for stream in ready {
        reading.spawn(read_until(stream, format!("{LAST} of turn 1")));
    }
    while let Some(read) = reading.join_next().await {
        read??;
    }
    say(DONE)
}

fn say(word: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{word}")?;
    Ok(out.flush()?)
}

async fn read_until(mut stream: TcpStream, text: String) -> Result<TcpStream> {
    let (mut buffer, mut kept) = (vec![0; 1 << 16], Vec::new());
    loop {
        let count = stream.read(&mut buffer).await?;
        ensure!(count > 0, "the events end before {text}");
        kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if memchr::memmem::find(&kept, text.as_bytes()).is_some() {
            return Ok(stream);
        }
        let rest = kept.len().saturating_sub(text.len());
        kept.drain(..rest);
    }
}
