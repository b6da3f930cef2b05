//! Resumes a conversation in a second session.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::Session;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let first = bowline::ask("Remember the number 7.").await?;
    let conversation = first
        .conversation
        .ok_or("the agent reported no conversation")?;
    let session = Session::builder().resume(conversation).start().await?;
    session.send("Which number?").await?.settled().await;
    let entries = session
        .inspect(|transcript| transcript.entries().count())
        .await;
    println!("{entries} entries");
    session.end().await;
    Ok(())
}
