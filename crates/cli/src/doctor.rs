//! `bowline doctor`: what this machine can do.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::process::Command;
use tokio::time::timeout;

use crate::args;
use crate::failure::Failure;
use crate::view::print;

/// How long the agent may take to say its version: a cold start of the real one takes two seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// Looks at the machine and prints what it finds; fails when no agent can be run.
pub(crate) async fn doctor(options: &args::Doctor) -> Result<ExitCode, Failure> {
    let agent = agent(&options.agent).await;
    let mut out = String::new();
    let mut say = |name: &str, value: &str| {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{name:13} {value}");
    };
    say("bowline", concat!("version ", env!("CARGO_PKG_VERSION")));
    say("agent", agent.as_deref().unwrap_or_else(|why| why));
    say("containment", containment());
    say("login shell", &login_shell());
    say("descriptors", &descriptors());
    say("terminals", &terminals());
    print(&out)?;
    Ok(if agent.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The agent's version, or why there is none.
async fn agent(program: &OsStr) -> Result<String, String> {
    let name = program.to_string_lossy().into_owned();
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true);
    let output = match timeout(PATIENCE, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(format!(
                "{name} not found: install it or name it with --agent PATH"
            ));
        }
        Ok(Err(error)) => return Err(format!("{name} cannot be run: {error}")),
        Err(_) => {
            return Err(format!(
                "{name} said no version in {} s",
                PATIENCE.as_secs()
            ));
        }
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !version.is_empty() {
        Ok(format!("{name}, version {version}"))
    } else {
        Err(format!("{name} --version failed with {}", output.status))
    }
}

/// How the processes of a session are held together on this system.
const fn containment() -> &'static str {
    if cfg!(target_os = "linux") {
        "descendants by parentage, session, group and environment marker"
    } else if cfg!(target_os = "macos") {
        "descendants by parentage and process group"
    } else {
        "process group"
    }
}

fn login_shell() -> String {
    match std::env::var_os("SHELL") {
        Some(shell) if Path::new(&shell).exists() => shell.to_string_lossy().into_owned(),
        Some(shell) => format!(
            "SHELL names {}, which does not exist",
            shell.to_string_lossy()
        ),
        None => "SHELL is not set".to_owned(),
    }
}

fn descriptors() -> String {
    let limit = getrlimit(Resource::Nofile);
    match limit.current {
        Some(count) => format!(
            "{count}, about {} sessions",
            count / DESCRIPTORS_PER_SESSION
        ),
        None => "no limit".to_owned(),
    }
}

/// What one session on pipes holds open in this process: three pipes and the process itself, with
/// room for a recording and its readers.
const DESCRIPTORS_PER_SESSION: u64 = 8;

fn terminals() -> String {
    let number = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/kernel/pty/{name}"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    match (number("nr"), number("max")) {
        (Some(used), Some(most)) => format!("{used} of {most} in use"),
        _ => "no limit known".to_owned(),
    }
}
