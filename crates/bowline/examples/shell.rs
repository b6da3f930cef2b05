//! Runs a command in a login shell and prints its lines.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::shell::{SessionEvent, ShellConfiguration, ShellSession};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shell = ShellSession::start(ShellConfiguration::new(".")).await?;
    let mut events = shell.subscribe_from_start();
    shell.write("echo ready; exit\n").await?;
    while let Some(event) = events.next().await {
        if let SessionEvent::Output { line, .. } = event {
            println!("{line}");
        }
    }
    println!("{:?}", shell.exited().await.status);
    Ok(())
}
