//! The real agent with a scripted API, for tests that are not written in Rust: `scripted-api SCENARIO`.
//!
//! Prints one line of JSON: the agent, its working directory, its environment, and the prompts of the scenario. The
//! API is served until standard input ends; a line of it opens the gate of this name.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use bowline_tests::real_agent::{Agent, Home, MessagesApi, Scenario, scenario};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let name = env::args().nth(1).unwrap_or_default();
    let home = Home::new()?;
    let Some(scenario) = scenario_named(&name, &home.project()) else {
        let names = "plain, edit, interruptible, queued-prompts or nested-agents";
        return Err(format!("no scenario {name:?}; name {names}").into());
    };
    let agent = Agent::install()?;
    let api = MessagesApi::start(scenario.script)?;
    let environment: BTreeMap<_, _> = home
        .environment(&api)
        .into_iter()
        .map(|(name, value)| (text(name), text(value)))
        .collect();
    let setup = json!({
        "agent": agent.executable(), "cwd": home.project(), "environment": environment,
        "prompts": scenario.prompts,
    });
    writeln!(io::stdout(), "{setup}")?;
    for gate in io::stdin().lock().lines() {
        api.gate(&gate?).open();
    }
    Ok(())
}

fn scenario_named(name: &str, project: &Path) -> Option<Scenario> {
    Some(match name {
        "plain" => scenario::plain(),
        "edit" => scenario::edit(project),
        "interruptible" => scenario::interruptible(),
        "queued-prompts" => scenario::queued_prompts(),
        "nested-agents" => scenario::nested_agents(),
        _ => return None,
    })
}

fn text(text: OsString) -> String {
    text.to_string_lossy().into_owned()
}
