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

/// Values of the first argument, which select the role of the program.
#[derive(Debug)]
pub struct Words;

impl Words {
    /// A runner. Reads its configuration from stdin.
    pub const RUNNER: &str = "runner";
    /// The owner of a session.
    pub const SHIM: &str = "shim";
    /// A host. Reads its configuration from stdin.
    pub const HOST: &str = "host";
    /// The understudy.
    pub const AGENT: &str = "agent";
    /// The client that posts a hook to its server.
    pub const HOOK: &str = "hook";
}

/// Secrets that must not leak. Each is a unique word.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Canaries {
    /// The token of the runner.
    pub token: String,
    /// A token that the runner refuses.
    pub guess: String,
    /// An environment variable of the agent.
    pub variable: String,
    /// A prompt to the agent.
    pub prompt: String,
    /// Sent by a hook, in the input of a tool.
    pub payload: String,
    /// The token of the backend that hooks are forwarded to.
    pub backend: String,
    /// A body posted to the hook server that is not an event.
    pub junk: String,
}

/// The arguments of the runner.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RunnerOrder {
    /// The folder of its socket, token and sessions.
    pub folder: PathBuf,
    /// The certificate authorities of its clients.
    pub client_authorities: PathBuf,
}

/// The address of the running runner, printed to stdout.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Served {
    /// `https://`
    pub url: String,
    /// The fingerprint of its certificate.
    pub fingerprint: String,
}

/// The arguments of the host.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HostOrder {
    /// The address of the runner.
    pub served: Served,
    /// A client certificate that the runner accepts, and its key.
    pub identity: (PathBuf, PathBuf),
    /// Secrets that it must not print.
    pub canaries: Canaries,
}

/// The secrets that the host has received, printed when the processes are ready to be inspected.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Live {
    /// The ticket that the runner issued.
    pub ticket: String,
    /// The token of the hook server.
    pub hook_token: String,
}

/// Logs all levels to a file of this process.
///
/// # Errors
///
/// Fails if the file cannot be created.
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
