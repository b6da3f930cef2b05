//! What the tests share.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_shell::{
    SessionEvent, SessionEvents, ShellConfiguration, ShellProgram, ShellSession, SubmitOptions,
};

/// Waits for `future`, but not for ever.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("done within a minute")
}

/// `bash` as a login shell whose home is empty but for a `.bash_profile`.
pub(crate) fn login(home: &Path, profile: &str) -> ShellConfiguration {
    std::fs::write(home.join(".bash_profile"), profile).unwrap();
    let mut configuration = ShellConfiguration::new(home);
    configuration.program = ShellProgram::LoginWith("/bin/bash".into());
    configuration
        .env
        .set("HOME", home)
        .set("PS1", "$ ")
        .remove("PROMPT_COMMAND");
    configuration
}

pub(crate) fn command(cwd: &Path, program: &str, args: &[&str]) -> ShellConfiguration {
    let mut configuration = ShellConfiguration::new(cwd);
    let args = args.iter().map(Into::into).collect();
    configuration.program = ShellProgram::Command(program.into(), args);
    configuration
}

/// The stand-in for a full-screen program, which leaves what it got in `folder`.
pub(crate) async fn tui(folder: &Path, kind: &str) -> (ShellSession, SessionEvents) {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/tui.pl");
    let args = [script.to_str().unwrap(), folder.to_str().unwrap(), kind];
    let session = ShellSession::start(command(folder, "perl", &args))
        .await
        .unwrap();
    let mut events = session.subscribe_from_start();
    line_that(&mut events, |line| line == "ready").await;
    (session, events)
}

/// The next line that `wanted` likes.
pub(crate) async fn line_that(events: &mut SessionEvents, wanted: impl Fn(&str) -> bool) -> String {
    loop {
        match within(events.next()).await {
            Some(SessionEvent::Output { line, .. }) if wanted(&line) => return line,
            Some(SessionEvent::Exit { exit, .. }) => panic!("ended with {exit:?} before the line"),
            Some(_) => {}
            None => panic!("ended before the line"),
        }
    }
}

/// Waits that suit a program that is near and quick.
pub(crate) fn quick() -> SubmitOptions {
    SubmitOptions {
        settle: Duration::from_millis(1),
        ..SubmitOptions::default()
    }
}
