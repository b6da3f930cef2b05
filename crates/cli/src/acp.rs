//! `bowline acp`: an editor's ACP agent, which is the runner's endpoint `/acp` on standard input and output.

mod exchange;

use std::io::{self, BufRead as _};
use std::process::ExitCode;

use bowline_runner::{MessageReceiver, MessageSender, RunnerClient};
use exchange::Exchange;
use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::{mpsc, oneshot, watch};

use crate::args;
use crate::daemon;
use crate::failure::Failure;
use crate::runner::client;
use crate::stdio::print;

/// Lines of the editor that may wait for the runner.
const QUEUE: usize = 16;

/// Serves an editor until it closes standard input and its requests have their responses, or until it closes standard
/// output. Its sessions keep running.
///
/// # Errors
/// If the runner is unreachable and cannot be started, or the connection to it is lost.
pub(crate) async fn acp(options: args::Acp) -> Result<ExitCode, Failure> {
    let client = client(&options.runner)?;
    let (sender, receiver) = connect(&client, &options).await?;
    let lines = lines_of_editor();
    let exchange = watch::Sender::new(Exchange::default());
    tokio::select! {
        sent = send(sender, lines, exchange.clone()) => sent?,
        lost = tokio::spawn(receive(receiver, exchange)) => {
            lost.unwrap_or_else(|error| Err(Failure::failed(error)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Connects to the runner; starts this user's own if it does not run.
async fn connect(
    client: &RunnerClient,
    options: &args::Acp,
) -> Result<(MessageSender, MessageReceiver), Failure> {
    let query = query(options);
    daemon::request(&options.runner, async || client.editor(&query).await).await
}

/// The agent of new sessions, in the query of the URL.
fn query(options: &args::Acp) -> String {
    let args = serde_json::to_string(&options.agent_args).unwrap_or_default();
    let mut query = format!("agent={}&args={}", encoded(&options.agent), encoded(&args));
    if let Some(dialect) = options.dialect {
        query.push_str(&format!("&dialect={dialect}"));
    }
    if options.protocol != 1 {
        query.push_str(&format!("&protocol={}", options.protocol));
    }
    query
}

/// Percent-encodes a value of a query (RFC 3986, section 2.1).
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(byte.into());
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Reads standard input on a thread of its own, which does not keep the process from exiting.
fn lines_of_editor() -> mpsc::Receiver<String> {
    let (lines, received) = mpsc::channel(QUEUE);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        while input
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\r', '\n']);
            if !text.is_empty() && lines.blocking_send(text.to_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    received
}

async fn send(
    mut sender: MessageSender,
    mut lines: mpsc::Receiver<String>,
    exchange: watch::Sender<Exchange>,
) -> Result<(), Failure> {
    while let Some(line) = lines.recv().await {
        // Before it is sent, since the response can be there first.
        exchange.send_modify(|it| it.sent_by_editor(&line));
        let sent = sender.send(line).await;
        sent.map_err(|error| Failure::caused("cannot", &error))?;
    }
    let mut exchange = exchange.subscribe();
    tokio::select! {
        _ = exchange.wait_for(Exchange::is_over) => {}
        _ = output_closed() => {}
    }
    sender.close().await;
    Ok(())
}

/// Returns a receiver that ends once standard output cannot be written to any more. poll(2) always reports `POLLERR` and
/// `POLLHUP`.
fn output_closed() -> oneshot::Receiver<()> {
    let (sender, closed) = oneshot::channel();
    std::thread::spawn(move || {
        let output = io::stdout();
        // An interrupted call, too, ends the wait: rather early than never.
        let _ = poll(&mut [PollFd::new(&output, PollFlags::empty())], None);
        let _ = sender.send(());
    });
    closed
}

/// Writes the runner's messages to standard output. Returns when the connection is lost.
async fn receive(
    mut receiver: MessageReceiver,
    exchange: watch::Sender<Exchange>,
) -> Result<(), Failure> {
    while let Some(message) = receiver.next().await {
        let mut message = message.map_err(|error| Failure::caused("cannot", &error))?;
        message.push('\n');
        print(&message)?;
        exchange.send_modify(|it| it.sent_by_runner(&message));
    }
    Err(Failure::failed(
        "the runner closed the connection; its sessions keep running, restart the agent in the editor",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_value_is_percent_encoded() {
        assert_eq!(
            encoded("[\"--a b\",\"é&\"]"),
            "%5B%22%2D%2Da%20b%22%2C%22%C3%A9%26%22%5D"
        );
    }
}
