//! Prints the transcript of a recording: `cargo run -p bowline --example replay -- session.jsonl`.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: replay FILE")?;
    let transcript = bowline::replay(std::fs::read(path)?);
    println!("{}", serde_json::to_string_pretty(&transcript)?);
    Ok(())
}
