//! Asks an installed agent for its version.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bowline_jsonl::AgentVersion;
use bowline_transport::{
    Configuration, Environment, ExitStatus, Piece, SpawnError, Stream, TerminalEngine,
    TerminalSession, TerminationPolicy,
};
use parking_lot::Mutex;
use tokio::time::timeout;

use super::capabilities::AgentCapabilities;
use crate::registry::describe;

/// How long the agent may take to print its version; a cold start of the real one takes 2 s.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Number of bytes of the agent's output that are read for its version.
const MAX_OUTPUT: usize = 64 << 10;

/// Number of agents whose versions are remembered.
const CACHED: usize = 16;

/// An agent on this machine, and the version that it printed.
///
/// # Example
///
/// ```no_run
/// use bowline_lifecycle::{AgentFeature, Environment, InstalledAgent};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = InstalledAgent::find("claude".as_ref(), &Environment::inherited()).await?;
/// println!("{}: {}", agent.path.display(), agent.version_line);
/// if let Some(capabilities) = agent.capabilities() {
///     let missing: Vec<AgentFeature> = capabilities.missing().collect();
///     println!("lacks {missing:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledAgent {
    /// The program.
    pub path: PathBuf,
    /// The first line that `--version` printed.
    pub version_line: String,
}

/// Why the version of an agent is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The program was not found or could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It did not exit in time, and was killed.
    #[error("{} --version did not end within {seconds} s; run it by hand", path.display())]
    TimedOut {
        /// The program.
        path: PathBuf,
        /// The timeout, in seconds.
        seconds: u64,
    },
    /// It printed more than 64 KiB, and was killed.
    #[error("{} --version prints more than a version; run it by hand", path.display())]
    TooLong {
        /// The program.
        path: PathBuf,
    },
    /// It failed, or printed nothing.
    #[error(
        "{} --version ended with {} and printed no version; run it by hand",
        path.display(),
        describe(*status)
    )]
    NoVersion {
        /// The program.
        path: PathBuf,
        /// How it ended.
        status: ExitStatus,
    },
}

impl InstalledAgent {
    /// Finds a program as a session would, and runs it with `--version`, which takes up to 2 s. The
    /// result is remembered in this process for the program and `env`, until the size or the
    /// modification time of the file changes. Must be called within a tokio runtime.
    ///
    /// Cancel safe: dropping the future ends the program.
    ///
    /// # Errors
    ///
    /// The program is not found, fails, prints no version, or does not exit within 20 s. Nothing of it
    /// is left running.
    pub async fn find(program: &OsStr, env: &Environment) -> Result<Self, ProbeError> {
        let mut configuration = Configuration::new(program);
        configuration.env = env.clone();
        configuration.args = vec!["--version".into()];
        let path = configuration.find_program()?;
        let probe = ProbeIdentity::of(&path, env);
        if let Some(known) = probe.as_ref().and_then(cached) {
            return Ok(Self { path, ..known });
        }
        let session = TerminalEngine.make_session(configuration)?;
        let printed = timeout(TIMEOUT, printed_version(&session)).await;
        let version_line = match printed {
            Ok(Ok(line)) => line,
            Ok(Err(Failed::TooLong)) => {
                session.terminate(TerminationPolicy::AT_ONCE).await;
                return Err(ProbeError::TooLong { path });
            }
            Ok(Err(Failed::NoVersion(status))) => {
                return Err(ProbeError::NoVersion { path, status });
            }
            Err(_) => {
                session.terminate(TerminationPolicy::AT_ONCE).await;
                let seconds = TIMEOUT.as_secs();
                return Err(ProbeError::TimedOut { path, seconds });
            }
        };
        let agent = Self { path, version_line };
        if let Some(probe) = probe {
            remember(probe, &agent);
        }
        Ok(agent)
    }

    /// Returns the version, if the line begins with one.
    #[must_use]
    pub fn version(&self) -> Option<AgentVersion> {
        AgentVersion::parse(&self.version_line)
    }

    /// Returns what the agent offers, if its version is known.
    #[must_use]
    pub fn capabilities(&self) -> Option<AgentCapabilities> {
        self.version().map(AgentCapabilities::of)
    }
}

enum Failed {
    TooLong,
    NoVersion(ExitStatus),
}

/// Returns the line with the version that the program prints before it exits successfully.
async fn printed_version(session: &TerminalSession) -> Result<String, Failed> {
    let mut output = session.reader(Stream::Output);
    // Fails only if the program has exited.
    let _ = session.close_input().await;
    let mut printed = Vec::new();
    while let Some(piece) = output.next().await {
        if let Piece::Bytes { bytes, .. } = piece {
            printed.extend_from_slice(&bytes);
        }
        if printed.len() >= MAX_OUTPUT {
            return Err(Failed::TooLong);
        }
    }
    let status = session.exited().await.status;
    let text = String::from_utf8_lossy(&printed);
    match version_line(&text) {
        Some(line) if status == ExitStatus::Code(0) => Ok(line.to_owned()),
        _ => Err(Failed::NoVersion(status)),
    }
}

/// Returns the last line that begins with a version, else the first line with text. Claude Code 1.0.128
/// prints hints about a missing configuration file before its version.
fn version_line(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let has_version = |line: &&str| AgentVersion::parse(line).is_some();
    lines().rfind(has_version).or_else(|| lines().next())
}

/// What changes when another version is started: the program is replaced, or it is a version manager
/// that selects one by its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProbeIdentity {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
    /// Hash of the environment, whose values may be secret.
    environment: u64,
}

impl ProbeIdentity {
    /// Follows links: an update of the agent replaces what its name links to.
    fn of(path: &Path, env: &Environment) -> Option<Self> {
        let path = fs::canonicalize(path).ok()?;
        let metadata = fs::metadata(&path).ok()?;
        let mut environment = DefaultHasher::new();
        env.parts().hash(&mut environment);
        Some(Self {
            size: metadata.len(),
            modified: metadata.modified().ok()?,
            path,
            environment: environment.finish(),
        })
    }

    fn is_same_program(&self, other: &Self) -> bool {
        (&self.path, self.environment) == (&other.path, other.environment)
    }
}

static VERSIONS: Mutex<Vec<(ProbeIdentity, InstalledAgent)>> = Mutex::new(Vec::new());

fn cached(probe: &ProbeIdentity) -> Option<InstalledAgent> {
    let versions = VERSIONS.lock();
    let mut known = versions.iter();
    known
        .find(|(known, _)| known == probe)
        .map(|(_, agent)| agent.clone())
}

fn remember(probe: ProbeIdentity, agent: &InstalledAgent) {
    let mut versions = VERSIONS.lock();
    versions.retain(|(known, _)| !known.is_same_program(&probe));
    if versions.len() == CACHED {
        versions.remove(0);
    }
    versions.push((probe, agent.clone()));
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Writes a script by another process: a child that another test forks meanwhile would inherit the
    /// open file, and execve(2) would fail with ETXTBSY.
    fn write_script(path: &Path, script: &str) {
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod +x "$2""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh", script]).arg(path);
        assert!(shell.status().unwrap().success());
    }

    async fn line_of(program: &Path) -> String {
        let found = InstalledAgent::find(program.as_os_str(), &Environment::inherited()).await;
        found.unwrap().version_line
    }

    #[tokio::test]
    async fn version_is_asked_again_after_update() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("claude");
        let count = folder.path().join("count");
        let script = |version: &str| {
            format!(
                "echo >> {}; echo '{version} (Claude Code)'",
                count.display()
            )
        };
        let calls = || fs::read_to_string(&count).unwrap().lines().count();
        write_script(&program, &script("2.1.5"));
        assert_eq!(line_of(&program).await, "2.1.5 (Claude Code)");
        assert_eq!(line_of(&program).await, "2.1.5 (Claude Code)");
        assert_eq!(calls(), 1);
        write_script(&program, &script("2.1.330"));
        assert_eq!(line_of(&program).await, "2.1.330 (Claude Code)");
        assert_eq!(calls(), 2);
    }

    #[tokio::test]
    async fn version_is_asked_for_each_environment() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("claude");
        // As a version manager does.
        write_script(&program, r#"echo "$SELECTED (Claude Code)""#);
        for version in ["2.1.5", "2.1.330", "2.1.5"] {
            let mut env = Environment::inherited();
            env.set("SELECTED", version);
            let found = InstalledAgent::find(program.as_os_str(), &env)
                .await
                .unwrap();
            assert_eq!(found.version_line, format!("{version} (Claude Code)"));
        }
    }

    #[test]
    fn version_may_follow_hints() {
        let hints = "Claude configuration file not found at: /home/user/.claude.json\n\n";
        let printed = format!("{hints}{hints}1.0.128 (Claude Code)\n");
        assert_eq!(version_line(&printed), Some("1.0.128 (Claude Code)"));
        assert_eq!(version_line("\nan agent\nof ours\n"), Some("an agent"));
        assert_eq!(version_line("\n \n"), None);
    }

    #[tokio::test]
    async fn failed_probe_is_not_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("claude");
        write_script(&program, "exit 3");
        let env = Environment::inherited();
        for _ in 0..2 {
            let error = InstalledAgent::find(program.as_os_str(), &env)
                .await
                .unwrap_err();
            let wanted = "--version ended with exit code 3 and printed no version; run it by hand";
            assert!(error.to_string().ends_with(wanted), "{error}");
        }
    }
}
