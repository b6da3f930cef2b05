//! Prints the agent's hook events.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::Session;
use bowline::hooks::{ExposeSecret as _, HookConfiguration, HookServer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = HookServer::start(HookConfiguration::default()).await?;
    let mut events = server.subscribe();
    let settings = server.settings("example")?.to_string();
    let variables = server.environment("example")?;
    let session = Session::builder()
        .arg("--settings")
        .arg(settings)
        .configure(|agent| {
            for (name, value) in &variables {
                agent.env.set(name, value.expose_secret());
            }
        })
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
