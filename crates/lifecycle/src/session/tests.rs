//! Resources of an idle session.

use bowline_jsonl::Prompt;
use bowline_reducer::Revision;
use bowline_transport::TerminationPolicy;
use tokio::time::Instant;

use super::handle::DialogueSession;
use crate::configuration::DialogueConfiguration;
use crate::watchdog::WatchdogPolicy;

async fn next_revision(session: &DialogueSession, revision: Revision) -> Revision {
    session.changed_since(revision).await;
    session.inspect(|transcript| transcript.revision()).await
}

/// A paused runtime without work advances to its next timer. Here it waits for a child process, so the
/// clock stands still exactly as long as there is no timer.
#[tokio::test(start_paused = true)]
async fn idle_session_has_no_timer() {
    let session = DialogueSession::start(DialogueConfiguration {
        program: "/bin/sh".into(),
        leading_args: vec![
            "-c".into(),
            r#"read line; sleep 0.2; echo '{"type":"system","subtype":"init"}'; exec cat"#.into(),
        ],
        initialize: false,
        // An open turn has a check every ten seconds.
        watchdog: WatchdogPolicy::disabled(),
        termination: TerminationPolicy::AT_ONCE,
        ..DialogueConfiguration::default()
    })
    .await
    .expect("every system has a shell");
    let before = Instant::now();
    session.send(Prompt::text("ahoy")).await.expect("it runs");
    let mut revision = session.inspect(|transcript| transcript.revision()).await;
    while session.inspect(|transcript| transcript.applied()).await == 0 {
        revision = next_revision(&session, revision).await;
    }
    assert_eq!(before.elapsed(), std::time::Duration::ZERO);
    session.terminate().await;
}
