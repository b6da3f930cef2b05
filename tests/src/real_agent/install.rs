//! Installs a version of the real agent into the user's cache, once for all callers.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bowline_lifecycle::AgentVersion;
use thiserror::Error;

/// The version that the tests run by default, which the recorded fixtures come from.
pub const PINNED_VERSION: &str = "2.1.330";

/// Set to `1` to skip the campaign of the real agent on a developer's machine.
pub const SKIP_VARIABLE: &str = "BOWLINE_SKIP_REAL_AGENT";

/// Set to a version, such as `2.0.77`, to test that one instead of [`PINNED_VERSION`].
pub const VERSION_VARIABLE: &str = "BOWLINE_REAL_AGENT_VERSION";

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// The first version with a native build for each platform; earlier ones are scripts for Node.
const FIRST_NATIVE: AgentVersion = AgentVersion::new(2, 1, 113);

/// An installed agent, verified to run and to have the requested version.
#[derive(Clone, Debug)]
pub struct Agent {
    executable: PathBuf,
    version: AgentVersion,
}

/// Why the real agent is not available.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The package does not exist for this machine.
    #[error("find the agent's package for {os} on {arch}; {SKIP_OR}", SKIP_OR = skip_hint())]
    Unsupported {
        /// `std::env::consts::OS`.
        os: &'static str,
        /// `std::env::consts::ARCH`.
        arch: &'static str,
    },
    /// npm is missing.
    #[error("run npm, which installs the agent: put npm on PATH, or {SKIP_OR}", SKIP_OR = skip_hint())]
    NpmMissing(#[source] io::Error),
    /// npm failed, most often because it cannot reach its registry.
    #[error(
        "install {package} with npm ({status}): {stderr}; check that npm reaches its registry, or {SKIP_OR}",
        SKIP_OR = skip_hint()
    )]
    Npm {
        /// The package and version.
        package: String,
        /// npm's exit status.
        status: String,
        /// The first lines of npm's standard error.
        stderr: String,
    },
    /// The requested version is not a version.
    #[error("parse {VERSION_VARIABLE}={text:?}; pass a version, such as {PINNED_VERSION}")]
    BadVersion {
        /// The text.
        text: String,
    },
    /// The installed program does not run, or is another version.
    #[error(
        "run {} as version {wanted}: it printed {found:?}; remove its folder and try again",
        path.display()
    )]
    Version {
        /// The program.
        path: PathBuf,
        /// The requested version.
        wanted: AgentVersion,
        /// What `--version` printed, or why it could not be run.
        found: String,
    },
    /// The cache folder cannot be written or locked.
    #[error("prepare {}: check that it is writable", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The campaign must not be skipped in CI.
    #[error("skip the real agent in CI: unset {SKIP_VARIABLE}, or run without CI=true")]
    SkippedInCi,
}

fn skip_hint() -> String {
    format!("set {SKIP_VARIABLE}=1 to skip its campaign")
}

impl Agent {
    /// Returns the agent, after installing it with npm if it is not in the cache yet.
    ///
    /// Safe for parallel test processes: one installs, the others wait for its lock. The folder gets
    /// its name only when it is complete, so an interrupted installation is never used.
    ///
    /// # Errors
    ///
    /// npm or the package is missing, npm fails, or the program does not run.
    pub fn install() -> Result<Self, InstallError> {
        let version = wanted_version()?;
        let package = native_package(version)?;
        let cache = cache_folder();
        fs::create_dir_all(&cache).map_err(at(&cache))?;
        let _lock = lock(&cache.join("claude-code.lock"))?;
        let folder = cache.join(format!("claude-code-{version}"));
        if !folder.is_dir() {
            install_into(&folder, version, package.as_deref())?;
        }
        let modules = folder.join("node_modules");
        let executable = match package {
            Some(package) => modules.join(package).join(EXECUTABLE),
            None => modules.join(PACKAGE).join(SCRIPT),
        };
        Self::verified(executable, version)
    }

    /// Returns the agent, or `None` if the developer skips its campaign.
    ///
    /// # Errors
    ///
    /// The agent is not available, or it is skipped under `CI=true`.
    pub fn unless_skipped() -> Result<Option<Self>, InstallError> {
        is_wanted()?.then(Self::install).transpose()
    }

    /// Returns the agent for a test.
    ///
    /// # Panics
    ///
    /// The agent is not available.
    #[must_use]
    pub fn for_test() -> Self {
        Self::install().unwrap_or_else(|error| panic!("failed to {}", with_sources(&error)))
    }

    /// Returns the program: a native executable, or a script that Node runs.
    #[must_use]
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// Returns the version.
    #[must_use]
    pub fn version(&self) -> AgentVersion {
        self.version
    }

    fn verified(executable: PathBuf, wanted: AgentVersion) -> Result<Self, InstallError> {
        let found = version_of(&executable).unwrap_or_else(|error| error.to_string());
        if AgentVersion::parse(&found) == Some(wanted) {
            return Ok(Self {
                executable,
                version: wanted,
            });
        }
        Err(InstallError::Version {
            path: executable,
            wanted,
            found,
        })
    }
}

#[cfg(windows)]
const EXECUTABLE: &str = "claude.exe";
#[cfg(not(windows))]
const EXECUTABLE: &str = "claude";

const SCRIPT: &str = "cli.js";

fn is_wanted() -> Result<bool, InstallError> {
    let is_set = |name, value| env::var(name).is_ok_and(|found| found == value);
    match (is_set(SKIP_VARIABLE, "1"), is_set("CI", "true")) {
        (true, true) => Err(InstallError::SkippedInCi),
        (skip, _) => Ok(!skip),
    }
}

fn wanted_version() -> Result<AgentVersion, InstallError> {
    let text = env::var(VERSION_VARIABLE).unwrap_or_else(|_| PINNED_VERSION.to_owned());
    AgentVersion::parse(&text).ok_or(InstallError::BadVersion { text })
}

/// Returns the package with the native build for this machine, an optional dependency of the main
/// package; `None` for a version without one.
fn native_package(version: AgentVersion) -> Result<Option<String>, InstallError> {
    if version < FIRST_NATIVE {
        return Ok(None);
    }
    let (os, arch) = (env::consts::OS, env::consts::ARCH);
    let os_name = match os {
        "linux" => "linux",
        "macos" => "darwin",
        "windows" => "win32",
        _ => return Err(InstallError::Unsupported { os, arch }),
    };
    let arch_name = match arch {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return Err(InstallError::Unsupported { os, arch }),
    };
    let libc = if cfg!(target_env = "musl") {
        "-musl"
    } else {
        ""
    };
    Ok(Some(format!("{PACKAGE}-{os_name}-{arch_name}{libc}")))
}

/// The folder of the project's other downloads, `~/.cache/bowline` by default.
fn cache_folder() -> PathBuf {
    let set = |name| env::var_os(name).filter(|it| !it.is_empty());
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")));
    cache.unwrap_or_else(env::temp_dir).join("bowline")
}

/// Locks a file until the returned handle is dropped or this process dies.
fn lock(path: &Path) -> Result<File, InstallError> {
    let file = File::create(path).map_err(at(path))?;
    file.lock().map_err(at(path))?;
    Ok(file)
}

fn install_into(
    folder: &Path,
    version: AgentVersion,
    native: Option<&str>,
) -> Result<(), InstallError> {
    let cache = cache_folder();
    remove_leftovers(&cache);
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(&cache);
    let staging = staging.map_err(at(&cache))?;
    // Without a manifest of its own, npm would install into the nearest parent that has one.
    let manifest = staging.path().join("package.json");
    fs::write(&manifest, r#"{"private":true}"#).map_err(at(&manifest))?;
    npm_install(staging.path(), version, native)?;
    fs::rename(staging.keep(), folder).map_err(at(folder))
}

const STAGING: &str = "claude-code-partial-";

/// Removes the folders of killed installations. An npm may still work in one, so a later installation
/// never uses the same name, and what cannot be removed now is left to the next installation.
fn remove_leftovers(cache: &Path) {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(STAGING)) {
        drop(fs::remove_dir_all(entry.path()));
    }
}

/// Installs the packages by version: the main package's own choice of a native build may lag behind.
/// Its install script would only copy the executable, so no script runs.
fn npm_install(
    folder: &Path,
    version: AgentVersion,
    native: Option<&str>,
) -> Result<(), InstallError> {
    let packages = std::iter::once(PACKAGE).chain(native);
    let named: Vec<String> = packages.map(|name| format!("{name}@{version}")).collect();
    let flags = [
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--loglevel=error",
    ];
    let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.arg("install").args(flags).args(RETRIES).args(&named);
    npm.current_dir(folder).stdin(Stdio::null());
    let output = npm.output().map_err(InstallError::NpmMissing)?;
    if output.status.success() {
        return Ok(());
    }
    Err(npm_error(&named.join(" "), &output))
}

/// One retry after a second: npm's default of two, a minute apart, looks like a hang.
const RETRIES: [&str; 3] = [
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=1000",
];

fn npm_error(package: &str, output: &Output) -> InstallError {
    let stderr = String::from_utf8_lossy(&output.stderr);
    // The first lines name the cause; a stack of npm's own functions follows.
    let lines = stderr
        .lines()
        .map(|line| line.trim_start_matches("npm error").trim());
    let first: Vec<&str> = lines.filter(|line| !line.is_empty()).take(4).collect();
    InstallError::Npm {
        package: package.to_owned(),
        status: output.status.to_string(),
        stderr: first.join(", "),
    }
}

/// Returns what the agent prints as its version.
///
/// Its home is an empty folder: 1.0.128 writes the state of the user's installation before its
/// version, and would create that state if there is none.
fn version_of(executable: &Path) -> io::Result<String> {
    let home = tempfile::tempdir()?;
    let output = Command::new(executable)
        .arg("--version")
        .env("HOME", home.path())
        .env("CLAUDE_CONFIG_DIR", home.path())
        .stdin(Stdio::null())
        .output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> InstallError + use<> {
    let path = path.to_owned();
    |source| InstallError::Folder { path, source }
}

fn with_sources(error: &InstallError) -> String {
    let first: &dyn std::error::Error = error;
    let chain = std::iter::successors(Some(first), |error| error.source());
    chain
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
