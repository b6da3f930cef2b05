//! A runner and a host that are given secrets and log all that they can, for the test that looks
//! for these.

mod host;
mod serve;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use tracing_subscriber::filter::LevelFilter;

pub use host::run as host;
pub use serve::run as serve;

/// The variable that names the folder of the logs.
pub const LOGS: &str = "BOWLINE_TEST_LOGS";

/// What the program is asked to be.
#[derive(Debug)]
pub struct Words;

impl Words {
    /// A runner, told by its input where.
    pub const RUNNER: &str = "runner";
    /// The owner of a session.
    pub const SHIM: &str = "shim";
    /// A host, told by its input what to do.
    pub const HOST: &str = "host";
    /// The understudy.
    pub const AGENT: &str = "agent";
    /// What carries a hook to its server.
    pub const HOOK: &str = "hook";
}

/// What must not be seen. Each is a word that is nowhere else.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Canaries {
    /// Opens the runner.
    pub token: String,
    /// Is shown to the runner, and is not its token.
    pub guess: String,
    /// A variable of the agent's.
    pub variable: String,
    /// Is said to the agent.
    pub prompt: String,
    /// Sent by a hook, in the input of a tool.
    pub payload: String,
    /// Opens the backend that hooks are forwarded to.
    pub backend: String,
    /// Is posted to the hooks' server, and is no event.
    pub junk: String,
}

/// The arguments of the runner.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RunnerOrder {
    /// Where its socket, its token and its sessions are.
    pub folder: PathBuf,
    /// The certificate authorities of its clients.
    pub client_authorities: PathBuf,
}

/// What the runner answers.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Served {
    /// `https://`
    pub url: String,
    /// Of its certificate.
    pub fingerprint: String,
}

/// The arguments of the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HostOrder {
    /// Where the runner is.
    pub served: Served,
    /// A certificate that the runner lets in, and its key.
    pub identity: (PathBuf, PathBuf),
    /// What it must not tell.
    pub canaries: Canaries,
}

/// What the host has met when it says that all is there to be looked at.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Live {
    /// The ticket that the runner gave it.
    pub ticket: String,
    /// What opens the hooks' server.
    pub hook_token: String,
}

/// Logs everything there is into a file of this process's own.
///
/// # Errors
///
/// The file cannot be made.
pub fn log_everything() -> io::Result<()> {
    let Some(folder) = std::env::var_os(LOGS) else {
        return Ok(());
    };
    let name = format!("{}.log", std::process::id());
    let file = File::options()
        .create(true)
        .append(true)
        .open(Path::new(&folder).join(name))?;
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(Mutex::new(file))
        .with_ansi(false)
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)
}

/// Writes a line to the parent process.
fn write_json(value: &impl Serialize) -> io::Result<()> {
    use io::Write as _;
    let mut output = io::stdout().lock();
    serde_json::to_writer(&mut output, value)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Reads the next line from the parent process.
fn read_json<T: for<'a> Deserialize<'a>>() -> io::Result<T> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
