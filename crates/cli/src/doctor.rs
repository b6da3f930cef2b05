//! `bowline doctor`: what this machine can do.

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
use crate::view::{one_line, print};

/// How long the agent may take to say its version: a cold start of the real one takes two seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// How much of what the agent says about its version is read, in bytes.
const MOST_SAID: u64 = 64 * 1024;

/// What one session on pipes holds open in this process: three pipes and the process itself, with
/// room for a recording and its readers.
const DESCRIPTORS_PER_SESSION: u64 = 8;

/// Looks at the machine and prints what it finds; fails when no agent can be run.
pub(crate) async fn doctor(options: &args::Doctor) -> Result<ExitCode, Failure> {
    let agent = agent(&options.agent).await;
    let mut out = String::new();
    let mut say = |name: &str, value: &str| {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "{name:13} {value}");
    };
    say("bowline", concat!("version ", env!("CARGO_PKG_VERSION")));
    say("agent", agent.as_deref().unwrap_or("none"));
    say("containment", &containment());
    say("login shell", &login_shell().await);
    say("descriptors", &descriptors());
    say("processes", &limit(getrlimit(Resource::Nproc).current));
    say("terminals", &terminals());
    print(&out)?;
    agent.map(|_| ExitCode::SUCCESS).map_err(Failure::failed)
}

/// The agent and its version, or why there is none.
async fn agent(program: &OsStr) -> Result<String, String> {
    let name = program.to_string_lossy();
    let Some(path) = find(program) else {
        return Err(format!(
            "no agent {name} in PATH: install it, or name it with --agent PATH"
        ));
    };
    let path = path.display();
    let (version, status) = match timeout(PATIENCE, first_line(program)).await {
        Ok(Ok(said)) => said,
        Ok(Err(error)) => return Err(format!("{path} cannot be run: {error}, check the file")),
        Err(_) => {
            let seconds = PATIENCE.as_secs();
            return Err(format!(
                "{path} did not tell its version within {seconds} s, run it by hand"
            ));
        }
    };
    let version = one_line(&version, 80);
    let Some(status) = status else {
        return Err(format!(
            "{path} --version says more than a version, run it by hand"
        ));
    };
    if status.success() && !version.is_empty() {
        return Ok(format!("{path}, version {version}"));
    }
    Err(format!(
        "{path} --version ended with {status} and no version, run it by hand"
    ))
}

/// The first line that the agent says, and how it ended; none when it had more to say than a
/// version, and was killed.
async fn first_line(program: &OsStr) -> io::Result<(String, Option<ExitStatus>)> {
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut said = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MOST_SAID).read_to_end(&mut said).await?;
    }
    let is_flood = u64::try_from(said.len()).is_ok_and(|length| length >= MOST_SAID);
    let status = if is_flood {
        child.kill().await?;
        None
    } else {
        Some(child.wait().await?)
    };
    let said = String::from_utf8_lossy(&said);
    Ok((said.lines().next().unwrap_or_default().to_owned(), status))
}

/// Where the agent is: the path that was given, or the first executable of that name in `PATH`.
fn find(program: &OsStr) -> Option<PathBuf> {
    let given = Path::new(program);
    if given.components().count() > 1 {
        return given.exists().then(|| given.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(program));
    files.find(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok())
}

/// How tightly this machine can hold the processes of a session.
fn containment() -> String {
    let found = bowline_lifecycle::probe();
    match found.lacking {
        None => format!(
            "{}: the kernel holds a session's processes together",
            found.level
        ),
        Some(lacking) => format!(
            "{} by itself, {} with a guard: {lacking}",
            found.level, found.guarded
        ),
    }
}

/// Whether the user's own shell tells its environment, which hosts that no shell has started need.
async fn login_shell() -> String {
    let shell = LoginShell::of_user();
    let path = shell.shell.display().to_string();
    let told = shell.environment().await;
    let (many, from) = (told.variables.len(), told.provenance);
    let way = match (from.source, from.failures.last()) {
        (LoginSource::Interactive, _) => "as a login and interactively",
        (LoginSource::Login, _) => "as a login alone",
        (LoginSource::Inherited, Some(why)) => return format!("{path} tells nothing: {why}"),
        (LoginSource::Inherited, None) => "not asked",
    };
    let took = from.took.as_secs_f64();
    format!("{path} tells {many} variables in {took:.1} s, {way}")
}

fn descriptors() -> String {
    let current = getrlimit(Resource::Nofile).current;
    let sessions = current.map(|count| count / DESCRIPTORS_PER_SESSION);
    let enough = sessions.map_or_else(String::new, |many| format!(", about {many} sessions"));
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
