//! Asks one question: `cargo run -p bowline --example ask`.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

#[tokio::main]
async fn main() -> Result<(), bowline::AskError> {
    let answer = bowline::ask("What does this project do?").await?;
    println!("{}", answer.text);
    println!("cost: {} USD", answer.cost_usd);
    Ok(())
}
