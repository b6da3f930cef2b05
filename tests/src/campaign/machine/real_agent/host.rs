//! A host of a dialogue in its own process, so that it can be killed and stopped.

use std::io::Write as _;
use std::process::{ExitCode, Stdio};

use bowline_lifecycle::{Prompt, ReceiptState};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::stage::Order;
use crate::campaign::machine::program::CONVERSE;
use crate::campaign::support::{own, within};
use crate::session::transcript;

/// Handle of such a host in the parent process.
#[derive(Debug)]
pub(super) struct Host {
    process: Child,
    output: Lines<BufReader<ChildStdout>>,
    /// The session.
    pub(super) session: String,
}

impl Host {
    /// Starts a host that starts the session and sends the prompt; returns once the agent has read
    /// it.
    pub(super) async fn start(order: &Order) -> Result<Self, String> {
        let mut host = Command::new(own());
        host.arg(CONVERSE).kill_on_drop(true);
        host.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = host.spawn().map_err(|error| error.to_string())?;
        let stdout = process.stdout.take().ok_or("no output of a host")?;
        let mut host = Self {
            process,
            output: BufReader::new(stdout).lines(),
            session: String::new(),
        };
        let order = serde_json::to_string(order).map_err(|error| error.to_string())?;
        host.write_line(&order).await?;
        host.session = host.read_line("a session").await?;
        host.read_line("a prompt that is read").await?;
        Ok(host)
    }

    /// Its process.
    pub(super) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// Kills it.
    pub(super) async fn kill(&mut self) -> Result<(), String> {
        let killed = within("the host's end", self.process.kill()).await?;
        killed.map_err(|error| error.to_string())
    }

    /// Lets it wait for the answer and end the session; returns its transcript.
    pub(super) async fn finish(mut self) -> Result<Value, String> {
        self.write_line("finish").await?;
        let reply = self.read_line("a transcript").await?;
        let ended = within("the host's end", self.process.wait()).await?;
        let ended = ended.map_err(|error| error.to_string())?;
        if !ended.success() {
            return Err(format!("the host ends with {ended}: {reply}"));
        }
        serde_json::from_str(&reply).map_err(|error| error.to_string())
    }

    async fn write_line(&mut self, line: &str) -> Result<(), String> {
        let input = self.process.stdin.as_mut().ok_or("no input of a host")?;
        let written = input.write_all(format!("{line}\n").as_bytes()).await;
        written.map_err(|error| error.to_string())
    }

    async fn read_line(&mut self, what: &str) -> Result<String, String> {
        let line = within(what, self.output.next_line()).await?;
        let line = line.map_err(|error| error.to_string())?;
        line.ok_or_else(|| format!("the host ends before {what}"))
    }
}

/// The host process.
pub(in super::super) fn run() -> ExitCode {
    let done = crate::campaign::support::runtime().block_on(converse());
    if let Err(why) = &done {
        let _ = writeln!(std::io::stdout(), "{why}");
    }
    // The thread that reads the input does not exit by itself.
    std::process::exit(i32::from(done.is_err()))
}

async fn converse() -> Result<(), String> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut next = async || {
        let line = lines.next_line().await.map_err(|error| error.to_string())?;
        line.ok_or_else(|| "no process is left".to_owned())
    };
    let order: Order = serde_json::from_str(&next().await?).map_err(|error| error.to_string())?;
    let session = order.start().await?;
    print(&session.id().to_string())?;
    let sent = session.send(Prompt::text(&order.prompt)).await;
    let mut receipt = sent.map_err(|error| error.to_string())?;
    receipt.reached(ReceiptState::Echoed).await;
    print("read")?;
    next().await?;
    let state = within("an answer", receipt.settled()).await?;
    if state != ReceiptState::Answered {
        return Err(format!("the prompt is {state:?}"));
    }
    let end = within("the end", session.end()).await?;
    if !end.expected || !end.report.survivors.is_empty() {
        return Err(format!("{end:?}").replace('\n', " "));
    }
    print(&transcript(&session).await.to_string())
}

fn print(line: &str) -> Result<(), String> {
    let mut output = std::io::stdout();
    let written = writeln!(output, "{line}").and_then(|()| output.flush());
    written.map_err(|error| error.to_string())
}
