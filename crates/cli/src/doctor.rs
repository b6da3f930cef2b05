//! `bowline doctor`: checks this machine's setup.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::process::ExitCode;

use bowline_lifecycle::{
    AgentVersion, Environment, InstalledAgent, KnownAgent, LoginShell, LoginSource, ProbeError,
    SpawnError, error_chain,
};
use rustix::process::{Resource, getrlimit};
use tokio::task::JoinSet;

use crate::args;
use crate::failure::Failure;
use crate::stdio::print;
use crate::text::one_line;

/// Descriptors of one session on pipes: three pipes and the process, with room for a recording and
/// its readers.
const DESCRIPTORS_PER_SESSION: u64 = 8;

/// Checks the machine and prints the findings.
///
/// # Errors
/// If no agent can be run.
pub(crate) async fn doctor(options: &args::Doctor) -> Result<ExitCode, Failure> {
    let agent = agent(&options.agent).await;
    let mut out = String::new();
    let mut add = |name: &str, value: &str| {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{name:13} {}", one_line(value, usize::MAX));
    };
    add("bowline", concat!("version ", env!("CARGO_PKG_VERSION")));
    add("agent", agent.as_deref().unwrap_or("none"));
    for (name, found) in other_agents(&options.agent).await {
        add(name, &found);
    }
    add("containment", &containment());
    add("login shell", &login_shell().await);
    add("descriptors", &descriptors());
    add("processes", &limit(getrlimit(Resource::Nproc).current));
    add("terminals", &terminals());
    print(&out)?;
    agent.map(|_| ExitCode::SUCCESS).map_err(Failure::failed)
}

/// Describes the other agents that are known, or how each is installed.
async fn other_agents(agent: &OsStr) -> Vec<(&'static str, String)> {
    let mut probes = JoinSet::new();
    let others = KnownAgent::ALL.iter().filter(|it| agent != it.name);
    for (place, known) in others.enumerate() {
        probes.spawn(async move { (place, known.name, describe(known).await) });
    }
    let mut found = probes.join_all().await;
    found.sort_by_key(|(place, ..)| *place);
    let found = found.into_iter();
    found.map(|(_, name, text)| (name, text)).collect()
}

async fn describe(known: &KnownAgent) -> String {
    let program = OsStr::new(known.name);
    match InstalledAgent::find(program, &Environment::inherited()).await {
        Ok(agent) => {
            let line = one_line(&agent.version_line, 80);
            let dialect = known.dialect();
            format!("{}, version {line}, {dialect}", agent.path.display())
        }
        Err(ProbeError::Spawn(SpawnError::NotFound { .. })) => {
            format!("not installed; {}", known.install)
        }
        Err(error) => why_none(program, &error),
    }
}

/// Describes the agent and what its version lacks, or why there is none.
async fn agent(program: &OsStr) -> Result<String, String> {
    let found = InstalledAgent::find(program, &Environment::inherited()).await;
    let agent = found.map_err(|error| why_none(program, &error))?;
    let path = agent.path.display();
    let line = one_line(&agent.version_line, 80);
    let mut text = format!("{path}, version {line}");
    if let Some(it) = agent.capabilities() {
        let missing = it.describe_missing();
        if !missing.is_empty() {
            text.push_str(&format!("; without {missing}"));
        }
        if it.is_untested() {
            let oldest = AgentVersion::OLDEST;
            text.push_str(&format!("; older than {oldest}, the oldest that is tested"));
        }
    }
    Ok(text)
}

fn why_none(program: &OsStr, error: &ProbeError) -> String {
    let name = program.to_string_lossy();
    match error {
        ProbeError::Spawn(SpawnError::NotFound { .. }) => {
            format!("no agent {name} in PATH; install it, or name it with --agent PATH")
        }
        ProbeError::Spawn(error) => {
            let cause = error_chain(error);
            format!("{name} cannot be run: {cause}; check the file")
        }
        error => error.to_string(),
    }
}

/// Describes how well this machine can contain the processes of a session.
fn containment() -> String {
    let found = bowline_lifecycle::probe();
    match found.lacking {
        None => format!(
            "{}: the kernel tracks every process of a session",
            found.level
        ),
        Some(lacking) => format!(
            "{} by itself, {} with a guard: {lacking}",
            found.level, found.guarded
        ),
    }
}

/// Describes the environment of the user's login shell, which a host that was not started by a
/// shell needs.
async fn login_shell() -> String {
    let shell = LoginShell::of_user();
    let path = shell.shell.display().to_string();
    let environment = shell.environment().await;
    let (count, from) = (environment.variables.len(), environment.provenance);
    let mode = match (from.source, from.failures.last()) {
        (LoginSource::Interactive, _) => "login and interactive",
        (LoginSource::Login, _) => "login only",
        (LoginSource::Inherited, Some(why)) => return format!("{path}: no environment: {why}"),
        (LoginSource::Inherited, None) => "not run",
    };
    let took = from.took.as_secs_f64();
    format!("{path}: {count} variables in {took:.1} s, {mode}")
}

fn descriptors() -> String {
    let current = getrlimit(Resource::Nofile).current;
    let sessions = current.map(|count| count / DESCRIPTORS_PER_SESSION);
    let enough = sessions.map_or_else(String::new, |count| format!(", about {count} sessions"));
    limit(current) + &enough
}

fn limit(count: Option<u64>) -> String {
    count.map_or_else(|| "no limit".to_owned(), |count| format!("at most {count}"))
}

fn terminals() -> String {
    match bowline_lifecycle::terminal_limits() {
        (Some(used), Some(most)) => format!("{used} of {most} in use"),
        (_, most) => limit(most.map(Into::into)),
    }
}
