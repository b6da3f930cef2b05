//! Failures of spawning: each has a specific error and leaks nothing.

use std::path::Path;
use std::process::Command;

use bowline_transport::{Configuration, ExitStatus, PtyMode, SpawnError, TerminalEngine};

use crate::support::{alone, on_pty, shell, start, until, within};

fn refused(configuration: Configuration) -> SpawnError {
    TerminalEngine
        .make_session(configuration)
        .map(drop)
        .expect_err("refused")
}

fn in_directory(path: impl AsRef<Path>) -> Configuration {
    let mut configuration = Configuration::new("pwd");
    configuration.cwd = Some(path.as_ref().into());
    configuration
}

/// Writes a file by another process: a child that another thread forks meanwhile would inherit the open file, and
/// execve(2) would fail with ETXTBSY.
pub(crate) fn write(path: &Path, text: &str, mode: u32) {
    let write = r#"printf %s "$1" > "$2" && chmod "$3" "$2""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", write, "sh", text]);
    shell.arg(path).arg(format!("{mode:o}"));
    assert!(shell.status().unwrap().success());
}

#[tokio::test]
async fn missing_program_is_reported() {
    let mut configuration = Configuration::new("no-such-program");
    configuration.env.set("PATH", "/no/such/directory");
    let error = refused(configuration);
    assert!(matches!(&error, SpawnError::NotFound { program, path }
        if program == "no-such-program" && path.as_deref() == Some("/no/such/directory".as_ref())));
    assert_eq!(
        error.to_string(),
        "find the program \"no-such-program\": not found in PATH, which is \"/no/such/directory\" \
         alone, install it or give its full path"
    );
    for (path, searched) in [
        ("/no/such:/neither", "in the 2 folders of PATH,"),
        ("", "in PATH, which is empty,"),
    ] {
        let mut configuration = Configuration::new("no-such-program");
        configuration.env.set("PATH", path);
        let error = refused(configuration).to_string();
        assert!(
            error.contains(searched) && !error.contains("/no/such:"),
            "{error}"
        );
    }
    let error = refused(Configuration::new("/no/such/program"));
    assert!(matches!(error, SpawnError::NotFound { path: None, .. }));
    assert_eq!(
        error.to_string(),
        "find the program \"/no/such/program\": no such file, check the path"
    );
    let error = refused(Configuration::new(""));
    assert!(matches!(error, SpawnError::NoProgram));
    assert_eq!(
        error.to_string(),
        "find the program: its name is empty, give a name or a path"
    );
}

/// Spawns outside of a runtime.
#[test]
fn lookup_matches_spawned_program() {
    let directory = tempfile::tempdir().unwrap();
    let tool = directory.path().join("tool");
    write(&tool, "#!/bin/sh\ntouch started\n", 0o755);
    let mut configuration = in_directory(directory.path());
    configuration.program = "./tool".into();
    assert_eq!(configuration.find_program().unwrap(), tool);
    configuration.program = "tool".into();
    configuration.env.set("PATH", "/no/such/directory:.");
    assert_eq!(configuration.find_program().unwrap(), tool);
    assert!(!directory.path().join("started").exists());

    configuration.env.set("PATH", "/no/such/directory");
    assert!(matches!(
        configuration.find_program(),
        Err(SpawnError::NotFound { path: Some(_), .. })
    ));
    configuration.cwd = Some(directory.path().join("missing"));
    assert!(matches!(
        configuration.find_program(),
        Err(SpawnError::CwdMissing { .. })
    ));
}

#[tokio::test]
async fn non_executable_file_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("plain");
    write(&plain, "#!/bin/sh\n", 0o644);
    assert!(matches!(
        refused(Configuration::new(&plain)),
        SpawnError::NotExecutable { .. }
    ));
    let folder = refused(Configuration::new(directory.path()));
    assert!(matches!(folder, SpawnError::NotExecutable { .. }));
    let orphan = directory.path().join("orphan");
    write(&orphan, "#!/no/such/interpreter\n", 0o755);
    assert!(matches!(
        refused(Configuration::new(&orphan)),
        SpawnError::MissingInterpreter { .. }
    ));
}

#[tokio::test]
async fn relative_program_resolves_in_child_directory() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory.path().join("here"), "#!/bin/sh\nexit 6\n", 0o755);
    let mut configuration = in_directory(directory.path());
    configuration.program = "./here".into();
    let session = start(configuration);
    assert_eq!(within(session.exited()).await.status, ExitStatus::Code(6));
}

/// The guard is missing, is no guard, or is no program.
#[tokio::test]
async fn program_that_is_no_guard_is_reported_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let plain = directory.path().join("bowline");
    write(&plain, "", 0o644);
    for guard in [Path::new("/no/such/bowline"), Path::new("/bin/sh"), &plain] {
        let mut guarded = shell("exit 0");
        guarded.guard = Some(guard.into());
        let error = refused(guarded);
        assert!(
            matches!(&error, SpawnError::Guard { path, .. } if path == guard),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.contains("name a `bowline` of this version"), "{text}");
    }
}

#[tokio::test]
async fn inaccessible_directory_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    write(&file, "", 0o644);
    assert!(matches!(
        refused(in_directory(&file)),
        SpawnError::CwdNotADirectory { .. }
    ));
    let missing = refused(in_directory(directory.path().join("missing")));
    assert!(matches!(missing, SpawnError::CwdMissing { .. }));
}

#[tokio::test]
async fn too_long_arguments_are_reported() {
    let mut long = shell("true");
    long.args.push("x".repeat(3 << 20).into());
    assert!(matches!(refused(long), SpawnError::ArgumentsTooLong));
    let mut nul = shell("true");
    nul.args.push("a\0b".into());
    assert!(matches!(refused(nul), SpawnError::NulByte));
}

#[test]
fn missing_runtime_is_reported() {
    assert!(matches!(refused(shell("true")), SpawnError::NoRuntime));
}

#[test]
fn exhausted_descriptors_are_reported() {
    alone("refusals::exhausted_descriptors_are_reported_alone", |_| {});
}

#[tokio::test]
#[ignore = "run by `exhausted_descriptors_are_reported` in a separate process"]
async fn exhausted_descriptors_are_reported_alone() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
    let tasks = tokio::runtime::Handle::current().metrics();
    let first = start(shell("true"));
    let level = first.containment();
    within(first.exited()).await;
    drop(first);
    until(|| tasks.num_alive_tasks() == 0).await;
    let (before, limit) = (open(), getrlimit(Resource::Nofile));
    for spare in 0..64 {
        let tight = Rlimit {
            current: Some(before - 1 + spare),
            ..limit
        };
        setrlimit(Resource::Nofile, tight).unwrap();
        let mut configuration = shell("true");
        if spare % 2 == 1 {
            configuration = on_pty(configuration, PtyMode::Raw);
        }
        let made = TerminalEngine.make_session(configuration);
        setrlimit(Resource::Nofile, limit).unwrap();
        match made {
            Err(error) => assert!(matches!(error, SpawnError::TooManyDescriptors), "{error:?}"),
            Ok(session) => {
                assert_eq!(session.containment(), level, "not the weaker for it");
                within(session.exited()).await;
            }
        }
        until(|| tasks.num_alive_tasks() == 0).await;
        assert_eq!(open(), before, "with {spare} to spare");
    }
}
