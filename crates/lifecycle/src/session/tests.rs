//! What a session holds while it rests.

use bowline_jsonl::Prompt;
use bowline_reducer::Revision;
use bowline_transport::Ladder;
use tokio::time::Instant;

use super::DialogueSession;
use crate::configuration::DialogueConfiguration;
use crate::watchdog::WatchdogConfiguration;

async fn newer(session: &DialogueSession, revision: Revision) -> Revision {
    session.newer_than(revision).await;
    session.inspect(|transcript| transcript.revision()).await
}

/// Under a paused clock a runtime that has nothing to do jumps to its next timer. This one waits
/// for a child, so the clock stands still exactly as long as no timer is armed.
#[tokio::test(start_paused = true)]
async fn a_session_that_rests_has_no_timer() {
    let session = DialogueSession::start(DialogueConfiguration {
        program: "/bin/sh".into(),
        leading_args: vec![
            "-c".into(),
            r#"read line; sleep 0.2; echo '{"type":"system","subtype":"init"}'; exec cat"#.into(),
        ],
        initialize: false,
        // A turn is looked at each ten seconds; a rest is not.
        watchdog: WatchdogConfiguration::never(),
        ladder: Ladder::AT_ONCE,
        ..DialogueConfiguration::default()
    })
    .await
    .expect("every system has a shell");
    let before = Instant::now();
    session.send(Prompt::text("ahoy")).await.expect("it lives");
    let mut revision = session.inspect(|transcript| transcript.revision()).await;
    while session.inspect(|transcript| transcript.applied()).await == 0 {
        revision = newer(&session, revision).await;
    }
    assert_eq!(before.elapsed(), std::time::Duration::ZERO);
    session.terminate().await;
}
