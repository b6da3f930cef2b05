//! The agents of these measurements.

use std::env;
use std::io;
use std::time::Duration;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_transport::TerminationPolicy;
use tokio::task::JoinSet;

use super::Role;

/// An agent without output of its own: a shell that has become `sleep`. Another process writes to
/// its stdout.
pub(super) fn silent() -> DialogueConfiguration {
    shell("exec sleep 1000000", Vec::new())
}

/// Runs this program in a role, as an agent.
pub(super) fn playing(role: Role) -> io::Result<DialogueConfiguration> {
    let program = env::current_exe()?.into_os_string();
    let script = format!("exec \"$0\" {}", role.arguments().join(" "));
    Ok(shell(&script, vec![program]))
}

/// Runs a shell script, which ignores the arguments of an agent.
fn shell(script: &str, more: Vec<std::ffi::OsString>) -> DialogueConfiguration {
    let mut leading_args = vec!["-c".into(), script.into()];
    leading_args.extend(more);
    DialogueConfiguration {
        program: "/bin/sh".into(),
        leading_args,
        initialize: false,
        termination: TerminationPolicy::AT_ONCE,
        ..DialogueConfiguration::default()
    }
}

/// Returns the offset after the last folded line of a session.
pub(super) async fn applied(session: &DialogueSession) -> u64 {
    session.inspect(|transcript| transcript.applied()).await
}

/// Waits until a session has folded this many bytes. It polls every millisecond, which is the
/// possible error of a measurement.
pub(super) async fn folded(session: &DialogueSession, bytes: u64) -> u64 {
    loop {
        let applied = applied(session).await;
        if applied >= bytes {
            return applied;
        }
        if session.has_ended() {
            return applied;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Terminates sessions at the same time, so that they share scans of the process table.
pub(super) async fn end(sessions: impl IntoIterator<Item = DialogueSession>) {
    let ends = sessions.into_iter();
    let mut ends: JoinSet<_> = ends.map(|it| async move { it.terminate().await }).collect();
    while ends.join_next().await.is_some() {}
}
