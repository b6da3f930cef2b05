//! The program that an editor starts, like `bowline acp`: connects standard input and output to the runner.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use bowline_transport::{MessageReceiver, MessageSender, Remote, RemoteUrl};
use tokio::sync::mpsc;

/// Pipes an editor to a runner. Arguments: socket, query, and a token that only marks the process.
pub(in crate::campaign::machine) const EDITOR: &str = "--editor";

/// Pipes until the input ends or the connection is lost.
#[tokio::main(flavor = "current_thread")]
pub(in crate::campaign::machine) async fn pipe(socket: &str, query: &str) -> ExitCode {
    let remote = Remote::new(RemoteUrl::Unix(socket.into()));
    let Ok((sender, receiver)) = remote.messages(&format!("/acp?{query}")).await else {
        return ExitCode::from(3);
    };
    let (lines, received) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    tokio::select! {
        () = send(sender, received) => ExitCode::SUCCESS,
        () = receive(receiver) => ExitCode::from(4),
    }
}

async fn send(mut sender: MessageSender, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        if sender.send(line).await.is_err() {
            return std::future::pending().await;
        }
    }
    sender.close().await;
}

async fn receive(mut receiver: MessageReceiver) {
    let mut out = std::io::stdout();
    while let Some(Ok(message)) = receiver.next().await {
        if writeln!(out, "{message}")
            .and_then(|()| out.flush())
            .is_err()
        {
            return;
        }
    }
}
