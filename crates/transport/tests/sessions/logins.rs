//! The login environment: cached until one of its files changes.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use bowline_transport::{
    Configuration, Environment, LoginEnvironment, LoginFailure, LoginShell, LoginSource, Stream,
};

use crate::support::{read_all, start, within};

/// A file that records each time it is read.
const COUNTED: &str =
    "echo asked >> \"$HOME/asked\"; export GIVEN=given; [ -n \"$SLOW\" ] && sleep 300";

fn shell(home: &Path) -> LoginShell {
    fs::write(home.join(".profile"), COUNTED).unwrap();
    let mut env = Environment::inherited();
    env.set("HOME", home).set("CLAUDECODE", "1").remove("ENV");
    LoginShell {
        shell: "/bin/sh".into(),
        env,
        timeout: Duration::from_secs(60),
    }
}

fn asked(home: &Path) -> usize {
    fs::read_to_string(home.join("asked"))
        .unwrap()
        .lines()
        .count()
}

fn given(environment: &LoginEnvironment) -> Option<&OsStr> {
    environment
        .variables
        .get(OsStr::new("GIVEN"))
        .map(AsRef::as_ref)
}

#[tokio::test]
async fn login_environment_is_cached_until_file_changes() {
    let home = tempfile::tempdir().unwrap();
    let login = shell(home.path());
    let (one, other) = tokio::join!(login.environment(), login.environment());
    assert_eq!((asked(home.path()), &one), (1, &other));
    assert_eq!(given(&one), Some(OsStr::new("given")));
    assert_eq!(one.provenance.source, LoginSource::Interactive);
    assert!(one.provenance.files.contains(&home.path().join(".profile")));
    assert!(one.provenance.failures.is_empty());
    assert!(!one.variables.contains_key(OsStr::new("CLAUDECODE")));

    let changed = COUNTED.replace("=given", "=changed");
    fs::write(home.path().join(".profile"), changed).unwrap();
    let again = within(login.environment()).await;
    assert_eq!(
        (asked(home.path()), given(&again)),
        (2, Some(OsStr::new("changed")))
    );
    within(login.capture()).await;
    assert_eq!(asked(home.path()), 3, "asked in any case");
}

/// A host may set every duration to its maximum.
#[tokio::test]
async fn maximum_timeout_does_not_overflow() {
    let home = tempfile::tempdir().unwrap();
    let mut login = shell(home.path());
    login.timeout = Duration::MAX;
    let found = within(login.capture()).await;
    assert_eq!(given(&found), Some(OsStr::new("given")));
    // The second attempt has all of the time.
    login.shell = "/bin/false".into();
    let found = within(login.capture()).await;
    assert_eq!(found.provenance.failures.len(), 2);
}

#[tokio::test]
async fn hanging_shell_is_skipped_with_reason() {
    let home = tempfile::tempdir().unwrap();
    let mut login = shell(home.path());
    login.env.set("SLOW", "1");
    login.timeout = Duration::from_secs(1);
    let found = within(login.capture()).await;
    let provenance = &found.provenance;
    assert_eq!(provenance.source, LoginSource::Inherited);
    let timed_out = |failure: &LoginFailure| matches!(failure, LoginFailure::TimedOut(_));
    assert_eq!(provenance.failures.len(), 2);
    assert!(provenance.failures.iter().all(timed_out), "{provenance:?}");
    assert_eq!(given(&found), None);
    assert_eq!(found.variables[OsStr::new("HOME")], home.path());
}

#[tokio::test]
async fn session_uses_login_environment() {
    let home = tempfile::tempdir().unwrap();
    let login = within(shell(home.path()).capture()).await;
    let mut configuration = Configuration::new("env");
    configuration.env = login.environment();
    let session = start(configuration);
    let (all, _) = read_all(&mut session.reader(Stream::Output)).await;
    let all = String::from_utf8(all).unwrap();
    assert!(
        all.contains("\nGIVEN=given\n") && !all.contains("RESOLVING"),
        "{all}"
    );
}
