//! Start-up files that hang, fail or spoil the environment.

mod kinds;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_transport::{Environment, LoginEnvironment, LoginShell, LoginSource};

use super::support::{describe, left_after, runtime, token, within};
use super::{Job, Random, Report};
use kinds::{KINDS, Kind};

/// Time limit of a shell, and of its termination.
const TIMEOUT: Duration = Duration::from_secs(8);
const ENDING: Duration = Duration::from_secs(1);

/// Shells that are tested too, where they are installed.
const OTHERS: [(&str, &str, &str); 4] = [
    ("zsh", ".zprofile", "export GIVEN=given"),
    ("fish", ".config/fish/config.fish", "set -gx GIVEN given"),
    ("tcsh", ".tcshrc", "setenv GIVEN given"),
    ("nu", ".config/nushell/env.nu", "$env.GIVEN = 'given'"),
];

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let mut random = Random::new(job.seed);
    for _ in 0..job.count {
        runtime().block_on(round(&mut random, &mut report));
    }
    for (shell, ..) in OTHERS {
        if find(shell).is_none() {
            report.note(format!("{shell} is not installed: not asked"));
        }
    }
    report
}

async fn round(random: &mut Random, report: &mut Report) {
    let mut running = tokio::task::JoinSet::new();
    for kind in KINDS {
        running.spawn(one(kind, token(random)));
    }
    for (shell, file, text) in OTHERS {
        if let Some(shell) = find(shell) {
            running.spawn(other(shell, file, text));
        }
    }
    let mut slowest = Duration::ZERO;
    while let Some(done) = running.join_next().await {
        let done = done.unwrap_or_else(|error| Err(error.to_string()));
        report.one(done.map(|took| slowest = slowest.max(took)));
    }
    report.note(format!("{} kinds, the slowest {slowest:.1?}", KINDS.len()));
}

async fn one(kind: &'static Kind, token: String) -> Result<Duration, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    for file in [".bash_profile", ".profile"] {
        let written = fs::write(home.path().join(file), kind.text);
        written.map_err(|error| error.to_string())?;
    }
    let capture = ask(Path::new(kind.shell), home.path(), &token);
    let found = within(kind.name, capture).await?;
    let name = kind.name;
    let left = left_after(Duration::ZERO, &token);
    if !left.is_empty() {
        return Err(format!("{name}: left {}", describe(&left)));
    }
    let provenance = &found.provenance;
    if kind
        .source
        .is_some_and(|source| source != provenance.source)
    {
        return Err(format!("{name}: {provenance:?}"));
    }
    if provenance.took > TIMEOUT + ENDING {
        return Err(format!("{name}: took {:?}", provenance.took));
    }
    check(kind, &found)?;
    Ok(provenance.took)
}

async fn ask(shell: &Path, home: &Path, token: &str) -> LoginEnvironment {
    let mut env = Environment::inherited();
    env.set("HOME", home).set("CAMPAIGN", token);
    for other in ["XDG_CONFIG_HOME", "ZDOTDIR", "ENV", "BASH_ENV", "GIVEN"] {
        env.remove(other);
    }
    let login = LoginShell {
        shell: shell.into(),
        env,
        timeout: TIMEOUT,
    };
    login.capture().await
}

/// Checks that the variables set by the files are present if the shell answered, and no internal
/// ones.
fn check(kind: &Kind, found: &LoginEnvironment) -> Result<(), String> {
    let wrong = |what: String| Err(format!("{}: {what}", kind.name));
    let is_answered = found.provenance.source != LoginSource::Inherited;
    if is_answered {
        for (name, value) in kind.sets {
            let value = OsStr::from_bytes(value);
            let is = found.variables.get(OsStr::new(name));
            if is.map(AsRef::as_ref) != Some(value) {
                return wrong(format!("{name} is {is:?}"));
            }
        }
        for name in kind.lacks {
            if found.variables.contains_key(OsStr::new(name)) {
                return wrong(format!("{name} is set"));
            }
        }
    } else if found.provenance.failures.is_empty() {
        return wrong("no reason given".into());
    }
    for own in [
        "BOWLINE_SESSION",
        "BOWLINE_RESOLVING_ENVIRONMENT",
        "CLAUDECODE",
        "SHLVL",
    ] {
        if found.variables.contains_key(OsStr::new(own)) {
            return wrong(format!("{own} is set"));
        }
    }
    Ok(())
}

async fn other(shell: PathBuf, file: &str, text: &str) -> Result<Duration, String> {
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = home.path().join(file);
    let folder = file.parent().unwrap_or_else(|| home.path());
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    fs::write(&file, text).map_err(|error| error.to_string())?;
    let found = ask(&shell, home.path(), "0").await;
    let given = found.variables.get(OsStr::new("GIVEN"));
    if given.is_some_and(|given| given == "given") {
        return Ok(found.provenance.took);
    }
    Err(format!("{}: {found:?}", shell.display()))
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}
