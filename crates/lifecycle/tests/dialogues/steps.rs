//! The life of a session: started, prompted, read, awaited, terminated, diagnosed.

use std::path::Path;
use std::time::Duration;

use bowline_lifecycle::{
    DialogueConfiguration, DialogueEventKind, ExitStatus, Prompt, Receipt, ReceiptState,
    WatchdogPolicy,
};

use super::support::{agent, start, until, within};

/// An agent that writes the number of its arguments, and whether it received the prompt.
const REPEATS: &str = r#"
read line
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"'"$#"'"}]},"uuid":"a"}'
case "$line" in *"Implement feature X"*) said=received ;; *) said=nothing ;; esac
echo '{"type":"result","subtype":"success","result":"'$said'","uuid":"d"}'
"#;

fn command_line(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).into_owned()
}

#[tokio::test]
async fn prompt_is_written_to_stdin() {
    let (session, mut events) = start(agent(&format!("{REPEATS}\nexec cat"))).await;
    let pid = session.pid().expect("a local agent");
    let prompt = Prompt::text("Implement feature X, canary");
    let mut receipt: Receipt = session.send(prompt).await.expect("it runs");
    let events_seen = until(&mut events, "the turn", |kind| {
        matches!(kind, DialogueEventKind::TurnEnd { .. })
    });
    let events_seen = events_seen.await;
    let DialogueEventKind::TurnEnd { text, .. } = &events_seen.last().expect("an end").kind else {
        panic!("{events_seen:?}");
    };
    assert_eq!(text.as_deref(), Some("received"));
    assert_eq!(
        within("an answer", receipt.settled()).await,
        ReceiptState::Answered
    );
    assert!(Path::new(&format!("/proc/{pid}")).exists());
    assert!(!command_line(pid).contains("canary"));
    within("the end", session.terminate()).await;
}

#[tokio::test]
async fn wait_returns_at_exit_with_stderr() {
    let script = format!("{REPEATS}\necho 'out of luck' >&2; exit 3");
    let (session, _events) = start(agent(&script)).await;
    let waiting = session.clone();
    let waiting = tokio::spawn(async move { waiting.ended().await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "the agent waits for the prompt");
    session.send(Prompt::text("go")).await.expect("it runs");
    let end = within("the end", waiting).await.expect("no panic");
    assert_eq!(end.exit.status, ExitStatus::Code(3));
    assert_eq!(end.stderr.text, "out of luck\n");
}

#[tokio::test]
async fn terminate_ends_agent_that_ignores_signals() {
    let (session, mut events) = start(agent(
        "trap '' TERM INT HUP; echo up >&2; while :; do sleep 1; done",
    ))
    .await;
    until(&mut events, "the agent", |kind| {
        matches!(kind, DialogueEventKind::StderrLine { .. })
    })
    .await;
    let pid = session.pid().expect("a local agent");
    let end = within("the end", session.terminate()).await;
    assert!(end.expected && end.report.survivors.is_empty(), "{end:?}");
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[tokio::test]
async fn timeout_and_extra_arguments_are_configurable() {
    let timeout = Duration::from_millis(300);
    let configuration = DialogueConfiguration {
        watchdog: WatchdogPolicy::fixed_timeout(timeout),
        // A shell uses the first one as its own name.
        args: vec!["--extra".into(), "argument".into()],
        ..agent(&format!("{REPEATS}\nread line; exec sleep 600"))
    };
    let (session, mut events) = start(configuration.clone()).await;
    let (plain, mut of_plain) = start(agent(&format!("{REPEATS}\nexec cat"))).await;
    let mut counted = Vec::new();
    for (session, events) in [(&session, &mut events), (&plain, &mut of_plain)] {
        session.send(Prompt::text("go")).await.expect("it runs");
        let events_seen = until(events, "the count", |kind| {
            matches!(kind, DialogueEventKind::Text { .. })
        });
        let DialogueEventKind::Text { text } = events_seen.await.pop().expect("a count").kind
        else {
            panic!("another event");
        };
        counted.push(text.parse::<usize>().expect("a number"));
    }
    assert_eq!(counted[0], counted[1] + 2);
    session.send(Prompt::text("again")).await.expect("it runs");
    until(&mut events, "the timeout", |kind| {
        matches!(kind, DialogueEventKind::SessionTimeout(silence) if silence.silent_for >= timeout)
    })
    .await;
    let end = within("the end", session.ended()).await;
    assert!(
        !end.expected && end.reason.contains("by the watchdog"),
        "{end:?}"
    );
    within("the end", plain.terminate()).await;
}
