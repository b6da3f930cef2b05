//! Interrupts a turn at its first text: `cargo run -p bowline --example interrupt -- PROMPT`.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::{EventKind, Session};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prompt = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "Explain this project at length.".to_owned());
    let session = Session::builder().start().await?;
    let mut events = session.events();
    session.send(prompt).await?;
    let mut interrupted = false;
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::Delta { .. } if !interrupted => {
                interrupted = true;
                session.interrupt(true).await?;
            }
            EventKind::TurnEnd { outcome, .. } => {
                println!("{outcome:?}");
                break;
            }
            _ => {}
        }
    }
    session.end().await;
    Ok(())
}
