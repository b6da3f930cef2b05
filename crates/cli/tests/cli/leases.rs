//! Two runs never write to the same conversation at the same time.

use rustix::process::Signal;

use crate::support::{Running, ScriptedAgent};

const ID: &str = "11111111-2222-4333-8444-555555555555";

/// An agent that stays in its conversation until it is interrupted, and can resume it.
fn waiting_agent() -> ScriptedAgent {
    ScriptedAgent::new(
        "sessions = ['11111111-2222-4333-8444-555555555555']\n\
         [[turn]]\nmatch = 'stay'\nsteps = [ { text = \"One line.\\nAnd another.\" }, \
         { tool = { name = 'Bash', input = { command = 'sleep' }, duration_ms = 600000 } } ]\n\
         [[turn]]\nsteps = [ { text = 'Welcome back.' } ]",
    )
}

fn start(scripted: &ScriptedAgent) -> Running {
    let line = ["--agent-arg", "--pace=1", "--resume", ID, "stay"];
    scripted.run_until(&line, "● Bash")
}

/// Returns the names of the lease files.
fn leases(scripted: &ScriptedAgent) -> Vec<String> {
    let folder = std::fs::read_dir(scripted.path("state/leases")).unwrap();
    let names = folder.map(|it| it.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn held_conversation_is_refused_until_released() {
    let scripted = waiting_agent();
    let first = start(&scripted);
    let line = scripted.run(&["--resume", ID, "Go on."]).failed(1);
    let wanted = format!(
        "bowline: failed to resume {ID}: it is in use by `bowline run` in process {}; ",
        first.pid()
    );
    assert!(line.starts_with(&wanted), "{line}");
    // A fork writes to another conversation.
    let fork = ["--agent-arg", "--fork-session", "--resume", ID, "Go on."];
    assert!(scripted.run(&fork).ok().contains("\nWelcome back.\n"));
    first.signal(Signal::INT);
    assert_eq!(first.finish().code, Some(130));
    assert_eq!(leases(&scripted), [] as [&str; 0]);
    let text = scripted.run(&["--resume", ID, "Go on."]).ok();
    assert!(text.contains("\nWelcome back.\n"), "{text}");
}

#[test]
fn killed_run_releases_its_conversation() {
    let scripted = waiting_agent();
    let first = start(&scripted);
    first.signal(Signal::KILL);
    assert_eq!(first.finish().code, None);
    assert_eq!(
        leases(&scripted),
        [format!("{ID}.lock")],
        "a killed process cannot remove its lease"
    );
    let text = scripted.run(&["--resume", ID, "Go on."]).ok();
    assert!(text.contains("\nWelcome back.\n"), "{text}");
}

#[test]
fn new_conversation_is_leased() {
    let scripted = waiting_agent();
    let first = scripted.run_until(&["--agent-arg", "--pace=1", "stay"], "● Bash");
    let begun = leases(&scripted);
    let [lease] = begun.as_slice() else {
        panic!("{begun:?}")
    };
    let id = lease.strip_suffix(".lock").unwrap();
    let line = scripted.run(&["--resume", id, "Go on."]).failed(1);
    assert!(line.contains("it is in use by `bowline run`"), "{line}");
    first.signal(Signal::INT);
    assert_eq!(first.finish().code, Some(130));
}
