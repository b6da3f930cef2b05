//! The real agent with a scripted API, for tests that are not written in Rust.
//!
//! Prints one line of JSON: the agent, its working directory and its environment. The API is served until standard
//! input ends. The script: a `Write` that needs permission, a text, then a text that never ends.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write as _};
use std::time::Duration;

use bowline_tests::real_agent::scenario::{STREAM_GATE, TOOL_CALL};
use bowline_tests::real_agent::{Agent, Home, Lanes, MessagesApi, Reply};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let agent = Agent::install()?;
    let home = Home::new()?;
    let path = home.project().join("permitted.txt");
    let write = json!({"file_path": path, "content": "permitted\n"});
    let endless = Reply::text("This text has no end. ".repeat(40))
        .in_chunks(12, Duration::ZERO)
        .hold_after(10, STREAM_GATE);
    let api = MessagesApi::start(Lanes::main([
        Reply::tool(TOOL_CALL, "Write", write),
        Reply::text("The file is written."),
        endless,
    ]))?;
    let environment: BTreeMap<_, _> = home
        .environment(&api)
        .into_iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect();
    let agent = agent.executable();
    let setup = json!({"agent": agent, "cwd": home.project(), "environment": environment});
    writeln!(io::stdout(), "{setup}")?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

fn text(text: std::ffi::OsString) -> String {
    text.to_string_lossy().into_owned()
}
