//! Prints the agent's hook events.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::Session;
use bowline::hooks::{HookConfiguration, HookServer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = HookServer::start(HookConfiguration::default()).await?;
    let mut events = server.subscribe();
    let settings = server.settings("example")?.to_string();
    let session = Session::builder()
        .arg("--settings")
        .arg(settings)
        .start()
        .await?;
    session
        .send("What is in this folder?")
        .await?
        .settled()
        .await;
    session.end().await;
    let report = server.stop().await;
    while let Some(event) = events.next().await {
        println!("{event:?}");
    }
    println!("{} events", report.events);
    Ok(())
}
