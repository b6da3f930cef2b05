//! `bowline doctor`: checks this machine's setup.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use bowline_lifecycle::{LoginShell, LoginSource};
use rustix::fs::{Access, access};
use rustix::process::{Resource, getrlimit};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::args;
use crate::failure::Failure;
use crate::stdio::print;
use crate::text::one_line;

/// How long the agent may take to print its version; a cold start of the real one takes 2 s.
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Number of bytes of the agent's output that are read for its version.
const MAX_VERSION_OUTPUT: u64 = 64 * 1024;

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
        let _ = writeln!(out, "{name:13} {value}");
    };
    add("bowline", concat!("version ", env!("CARGO_PKG_VERSION")));
    add("agent", agent.as_deref().unwrap_or("none"));
    add("containment", &containment());
    add("login shell", &login_shell().await);
    add("descriptors", &descriptors());
    add("processes", &limit(getrlimit(Resource::Nproc).current));
    add("terminals", &terminals());
    print(&out)?;
    agent.map(|_| ExitCode::SUCCESS).map_err(Failure::failed)
}

/// Returns the path and version of the agent, or why there is none.
async fn agent(program: &OsStr) -> Result<String, String> {
    let name = program.to_string_lossy();
    let Some(path) = find(program) else {
        return Err(format!(
            "no agent {name} in PATH; install it, or name it with --agent PATH"
        ));
    };
    let path = path.display();
    let (version, status) = match timeout(VERSION_TIMEOUT, first_line(program)).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(format!("{path} cannot be run: {error}; check the file")),
        Err(_) => {
            let seconds = VERSION_TIMEOUT.as_secs();
            return Err(format!(
                "{path} --version did not end within {seconds} s; run it by hand"
            ));
        }
    };
    let version = one_line(&version, 80);
    let Some(status) = status else {
        return Err(format!(
            "{path} --version prints more than a version; run it by hand"
        ));
    };
    if status.success() && !version.is_empty() {
        return Ok(format!("{path}, version {version}"));
    }
    Err(format!(
        "{path} --version ended with {status} and printed no version; run it by hand"
    ))
}

/// Returns the first line that the agent prints, and its exit status; no status if it was killed
/// because it printed more than [`MAX_VERSION_OUTPUT`].
async fn first_line(program: &OsStr) -> io::Result<(String, Option<ExitStatus>)> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout
            .take(MAX_VERSION_OUTPUT)
            .read_to_end(&mut output)
            .await?;
    }
    let is_too_long = u64::try_from(output.len()).is_ok_and(|it| it >= MAX_VERSION_OUTPUT);
    let status = if is_too_long {
        child.kill().await?;
        None
    } else {
        Some(child.wait().await?)
    };
    let output = String::from_utf8_lossy(&output);
    let line = output.lines().next().unwrap_or_default();
    Ok((line.to_owned(), status))
}

/// Finds the agent: a path as it is, a name among the executables in `PATH`.
fn find(program: &OsStr) -> Option<PathBuf> {
    let given = Path::new(program);
    if given.components().count() > 1 {
        return given.exists().then(|| given.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files.find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
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
