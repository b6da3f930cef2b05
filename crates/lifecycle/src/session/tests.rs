//! What a session takes of its reactor.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::mpsc::channel;
use std::task::Poll;
use std::time::Duration;

use bowline_jsonl::Prompt;
use bowline_reducer::Revision;
use bowline_transport::TerminationPolicy;
use tokio::time::Instant;

use super::handle::DialogueSession;
use super::start::with_history;
use crate::configuration::DialogueConfiguration;
use crate::machine::{Limits, Machine};
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
    assert_eq!(before.elapsed(), Duration::ZERO);
    session.terminate().await;
}

/// While the only thread for blocking work is taken, a fold that belongs on it waits; a fold on the reactor would
/// not.
#[test]
fn past_conversation_is_folded_off_the_reactor() {
    const LINES: usize = 16_000;
    let lines = (0..LINES).map(|n| {
        format!(
            r#"{{"type":"user","isReplay":true,"uuid":"{n}","message":{{"role":"user","content":"prompt {n}"}}}}"#
        ) + "\n"
    });
    let history: String = lines.collect();
    assert!(history.len() > 1 << 20);
    let configuration = DialogueConfiguration::default();
    let limits = Limits::from(&configuration);
    let machine = Machine::silent(configuration.dialect, configuration.opening(), limits, 0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .expect("a runtime");
    let (release, released) = channel::<()>();
    runtime.spawn_blocking(move || released.recv());
    runtime.block_on(async {
        let mut folding = pin!(with_history(machine, Some(history.into())));
        let is_pending =
            poll_fn(|context| Poll::Ready(folding.as_mut().poll(context).is_pending()));
        assert!(is_pending.await);
        drop(release);
        drop(folding.await);
    });
}

/// While a worker is blocked with notice, the runtime starts another thread in its place. Nothing else of this
/// session does.
#[test]
fn long_line_is_folded_off_the_reactor() {
    let (started, threads) = channel();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .on_thread_start(move || {
            let _ = started.send(());
        })
        .build()
        .expect("a runtime");
    let fold = |lines| runtime.block_on(runtime.spawn(fold_output_of(lines)));
    let next_thread = || threads.recv_timeout(Duration::from_secs(60));
    next_thread().expect("the worker");
    fold("head -c 3000000 /dev/zero | tr '\\0' x | fold -w 1000000; echo").expect("it is folded");
    assert!(threads.try_recv().is_err(), "for lines below a megabyte");
    fold("head -c 2000000 /dev/zero | tr '\\0' x; echo").expect("it is folded");
    next_thread().expect("one in place of the worker");
}

/// Runs a session of an agent whose output is that of a command, to its end.
async fn fold_output_of(command: &str) {
    let session = DialogueSession::start(DialogueConfiguration {
        program: "/bin/sh".into(),
        leading_args: vec!["-c".into(), command.into()],
        initialize: false,
        watchdog: WatchdogPolicy::disabled(),
        termination: TerminationPolicy::AT_ONCE,
        ..DialogueConfiguration::default()
    })
    .await
    .expect("every system has a shell");
    session.ended().await;
}
