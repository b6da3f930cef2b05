//! Installs one pinned version of the real CLI under `target/`, once for all callers.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use thiserror::Error;

/// The version that the rig drives, the one that the recorded fixtures come from.
pub const PINNED_VERSION: &str = "2.1.330";

/// Set to `1` to leave out, on a developer's machine, the tests that need the real CLI.
pub const SKIP_VARIABLE: &str = "BOWLINE_SKIP_REAL_AGENT";

const WRAPPER: &str = "@anthropic-ai/claude-code";

/// An installed CLI, checked to run and to be [`PINNED_VERSION`].
#[derive(Clone, Debug)]
pub struct Agent {
    executable: PathBuf,
}

/// Why the real CLI cannot be had here.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The package exists for no such machine.
    #[error("find the agent's package for {os} on {arch}; {SKIP_OR}", SKIP_OR = skip_hint())]
    Unsupported {
        /// `std::env::consts::OS`.
        os: &'static str,
        /// `std::env::consts::ARCH`.
        arch: &'static str,
    },
    /// There is no npm to install it with.
    #[error("run npm, which installs the agent: put npm on PATH, or {SKIP_OR}", SKIP_OR = skip_hint())]
    NpmMissing(#[source] io::Error),
    /// npm ran and failed, most often because it cannot reach its registry.
    #[error(
        "install {package} with npm ({status}): {stderr}; check that npm reaches its registry, or {SKIP_OR}",
        SKIP_OR = skip_hint()
    )]
    Npm {
        /// The package and version that were asked for.
        package: String,
        /// npm's exit status.
        status: String,
        /// What npm said.
        stderr: String,
    },
    /// What was installed does not run, or is another version.
    #[error(
        "run {} as version {PINNED_VERSION}, it says {found:?}; remove that folder and try again",
        path.display()
    )]
    Version {
        /// The executable that was asked.
        path: PathBuf,
        /// What `--version` printed, or why it could not be run.
        found: String,
    },
    /// The folder under `target/` cannot be written or locked.
    #[error("prepare {}: check that it is writable", path.display())]
    Folder {
        /// The file or folder concerned.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Leaving tests out is for people, not for CI.
    #[error("leave out the real agent in CI: unset {SKIP_VARIABLE}, or run without CI=true")]
    SkippedInCi,
}

fn skip_hint() -> String {
    format!("set {SKIP_VARIABLE}=1 to leave these tests out")
}

impl Agent {
    /// The CLI under `target/`, installed with npm when it is not there yet.
    ///
    /// Safe under parallel test processes: one installs, the others wait for its lock. The folder
    /// takes its name only when complete, so a broken install leaves nothing that looks whole.
    ///
    /// # Errors
    ///
    /// [`InstallError`] says what is missing and what to do.
    pub fn install() -> Result<Self, InstallError> {
        let package = platform_package()?;
        let folder = install_folder();
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let _lock = lock(&folder.join("install.lock"))?;
        let home = folder.join(PINNED_VERSION);
        if !home.is_dir() {
            install_into(&home, &package)?;
        }
        Self::checked(home.join("node_modules").join(&package).join(EXECUTABLE))
    }

    /// The same for a test: `None` when the developer leaves these tests out by name.
    ///
    /// # Panics
    ///
    /// When the CLI cannot be had, and under `CI=true` also when it is to be left out.
    #[must_use]
    pub fn for_test() -> Option<Self> {
        let found = wanted().and_then(|wanted| wanted.then(Self::install).transpose());
        let agent = found.unwrap_or_else(|error| panic!("failed to {}", with_sources(&error)));
        if agent.is_none() {
            drop(writeln!(
                io::stderr().lock(),
                "left out: {SKIP_VARIABLE} is set"
            ));
        }
        agent
    }

    /// The native executable; it needs no Node at run time.
    #[must_use]
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    fn checked(executable: PathBuf) -> Result<Self, InstallError> {
        let found = version_of(&executable).unwrap_or_else(|error| error.to_string());
        if found.split_whitespace().next() == Some(PINNED_VERSION) {
            return Ok(Self { executable });
        }
        Err(InstallError::Version {
            path: executable,
            found,
        })
    }
}

#[cfg(windows)]
const EXECUTABLE: &str = "claude.exe";
#[cfg(not(windows))]
const EXECUTABLE: &str = "claude";

fn wanted() -> Result<bool, InstallError> {
    let is_set = |name, value| env::var(name).is_ok_and(|found| found == value);
    match (is_set(SKIP_VARIABLE, "1"), is_set("CI", "true")) {
        (true, true) => Err(InstallError::SkippedInCi),
        (skip, _) => Ok(!skip),
    }
}

/// The native build of this machine: an optional dependency of the wrapper package, one a platform.
fn platform_package() -> Result<String, InstallError> {
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
    Ok(format!("{WRAPPER}-{os_name}-{arch_name}{libc}"))
}

fn install_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/real-agent")
}

/// Held until the file is dropped, or its process dies.
fn lock(path: &Path) -> Result<File, InstallError> {
    let file = File::create(path).map_err(at(path))?;
    file.lock().map_err(at(path))?;
    Ok(file)
}

fn install_into(home: &Path, package: &str) -> Result<(), InstallError> {
    let folder = install_folder();
    remove_leftovers(&folder);
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(&folder);
    let staging = staging.map_err(at(&folder))?;
    // Without a manifest of its own npm would climb to the nearest one and install there.
    let manifest = staging.path().join("package.json");
    fs::write(&manifest, r#"{"private":true}"#).map_err(at(&manifest))?;
    npm_install(staging.path(), package)?;
    fs::rename(staging.keep(), home).map_err(at(home))
}

const STAGING: &str = "partial-";

/// An install that was killed leaves its folder, and perhaps an npm at work in it, so that no
/// later one may use the same name. What cannot be removed now is left to the next.
fn remove_leftovers(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(STAGING)) {
        drop(fs::remove_dir_all(entry.path()));
    }
}

/// Both packages are named with the version: the wrapper's own choice of a native build may lag.
/// Its install script would only copy the executable a second time, so no script runs.
fn npm_install(folder: &Path, package: &str) -> Result<(), InstallError> {
    let named = [WRAPPER, package].map(|name| format!("{name}@{PINNED_VERSION}"));
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

/// One retry after a second: npm's own two, a minute apart, look like a hang.
const RETRIES: [&str; 3] = [
    "--fetch-retries=1",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=1000",
];

fn npm_error(package: &str, output: &Output) -> InstallError {
    let stderr = String::from_utf8_lossy(&output.stderr);
    // The first lines name the cause; a stack of npm's own functions comes after them.
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

fn version_of(executable: &Path) -> io::Result<String> {
    let output = Command::new(executable)
        .arg("--version")
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
