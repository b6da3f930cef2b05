//! Starts a session at a runner: `cargo run -p bowline --features remote --example remote -- unix:/path`.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::{Remote, Session};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: remote URL")?;
    let session = Session::builder()
        .runner(Remote::new(url.parse()?))
        .start()
        .await?;
    println!("session {}", session.id());
    session
        .send("What is in this folder?")
        .await?
        .settled()
        .await;
    println!("{}", session.end().await.reason);
    Ok(())
}
