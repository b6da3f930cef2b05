//! Prints every change of the transcript as JSON.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::Session;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = Session::builder().start().await?;
    let mut changes = session.changes();
    session.send("Tidy up the README.").await?.settled().await;
    session.end().await;
    while let Some(change) = changes.next().await {
        println!("{}", serde_json::to_string(&change)?);
    }
    Ok(())
}
