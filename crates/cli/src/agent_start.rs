//! Starts an agent at a runner by its name, which the runner's daemon then drives.

use std::collections::BTreeMap;
use std::path::Path;

use bowline_lifecycle::{BudgetRecord, SessionId};
use bowline_runner::RunnerClient;
use serde_json::{Value, json};

use crate::args::{self, Stdio};
use crate::daemon;
use crate::failure::Failure;
use crate::policy::policy_text;
use crate::runner::announced;

/// Starts an agent, with a first prompt or without. Starts this user's own runner if it does not run.
///
/// # Errors
/// If the agent cannot be started, the policy cannot be read, or the runner cannot be reached.
pub(crate) async fn start(
    client: &RunnerClient,
    run: &args::Run,
    prompt: Option<&str>,
) -> Result<SessionId, Failure> {
    refuse_local_options(run)?;
    let runner = run.runner_args();
    let body = body(run, prompt)?;
    daemon::request(&runner, async || announced(client.create(&body)).await).await
}

/// Refuses the options of an agent that runs in this program.
fn refuse_local_options(run: &args::Run) -> Result<(), Failure> {
    let given = [
        ("--record", run.record.is_some()),
        ("--stdio pty", run.stdio == Stdio::Pty),
    ];
    let given = given.into_iter().find(|(_, is_given)| *is_given);
    given.map_or(Ok(()), |(option, _)| {
        Err(Failure::usage(format!(
            "{option} is not possible at a runner; omit it, or run the agent in this program (`bowline run`, `bowline chat --no-runner`)"
        )))
    })
}

/// The request that starts the agent.
fn body(run: &args::Run, prompt: Option<&str>) -> Result<Value, Failure> {
    let is_here = run.runner_args().is_on_this_machine();
    let here = || std::env::current_dir().ok().filter(|_| is_here);
    let args: Vec<_> = run
        .agent_args
        .iter()
        .map(|it| it.to_string_lossy())
        .collect();
    let mut body = json!({
        "agent": agent(run, here().as_deref()),
        "agent_args": args,
        "allowed_tools": run.allowed_tools(),
        "fork": run.fork,
        "budget": BudgetRecord::from(&run.budget),
        "labels": run.labels.iter().cloned().collect::<BTreeMap<_, _>>(),
    });
    // A runner on this machine reads the user's own policy itself.
    let policy = match &run.policy {
        None if is_here => None,
        path => policy_text(path.as_deref())?,
    };
    let options = [
        ("prompt", prompt.map(str::to_owned)),
        ("cwd", here().map(|it| it.to_string_lossy().into_owned())),
        ("dialect", run.dialect.map(|it| it.to_string())),
        ("model", run.model.clone()),
        ("mode", run.permission_mode.clone()),
        ("resume", run.resume.clone()),
        ("resume_at_reset", run.resume_at_reset.clone()),
        ("policy", policy),
        ("name", run.name.clone()),
    ];
    for (name, value) in options {
        if let Some(value) = value {
            body[name] = value.into();
        }
    }
    // The daemon may have been started where the agent is not in the path.
    if is_here && let Ok(path) = std::env::var("PATH") {
        body["env"] = json!({"set": {"PATH": path}});
    }
    Ok(body)
}

/// Returns the name of the agent, or the path of its program.
fn agent(run: &args::Run, here: Option<&Path>) -> String {
    let agent = Path::new(&run.agent);
    let is_path = agent.components().count() > 1;
    match here {
        Some(here) if is_path => here.join(agent).to_string_lossy().into_owned(),
        _ => run.agent.to_string_lossy().into_owned(),
    }
}
