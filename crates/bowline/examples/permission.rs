//! Answers permission requests with a callback: `cargo run -p bowline --example permission -- PROMPT`.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::{Decision, Session};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prompt = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "Delete the build folder.".to_owned());
    let session = Session::builder()
        .on_permission(|request| async move {
            println!("denied {}", request.tool_name);
            Decision::deny("read-only session").into()
        })
        .start()
        .await?;
    session.send(prompt).await?.settled().await;
    println!("{}", session.end().await.reason);
    Ok(())
}
