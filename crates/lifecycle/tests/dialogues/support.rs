//! Scripted agents, and waiting for events.

use std::time::Duration;

use bowline_lifecycle::{
    DialogueConfiguration, DialogueEvent, DialogueEventKind, DialogueEvents, DialogueSession,
    EventLimits, TerminationPolicy,
};

/// Waits for `work` with a timeout.
pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(60), work).await;
    done.unwrap_or_else(|_| panic!("no {what} in time"))
}

/// Configures a shell script as the agent.
pub(crate) fn agent(script: &str) -> DialogueConfiguration {
    DialogueConfiguration {
        program: "/bin/sh".into(),
        leading_args: vec!["-c".into(), script.into()],
        initialize: false,
        termination: TerminationPolicy::AT_ONCE,
        ..DialogueConfiguration::default()
    }
}

pub(crate) async fn start(
    configuration: DialogueConfiguration,
) -> (DialogueSession, DialogueEvents) {
    let started = DialogueSession::start_with_events(configuration, EventLimits::default());
    within("a start", started)
        .await
        .expect("every system has a shell")
}

/// Returns the events up to the next one that is `wanted`.
pub(crate) async fn until(
    events: &mut DialogueEvents,
    what: &str,
    wanted: impl Fn(&DialogueEventKind) -> bool,
) -> Vec<DialogueEvent> {
    let mut before = Vec::new();
    loop {
        match within(what, events.next()).await {
            Some(event) => {
                before.push((*event).clone());
                if wanted(&event.kind) {
                    return before;
                }
            }
            None => panic!("the end before {what}, after {before:?}"),
        }
    }
}

/// An agent that writes a text, uses a tool, and ends the turn.
pub(crate) const TURN: &str = r#"
read line
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"CANARY-text"}]},"uuid":"a"}'
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"CANARY-input"}}]},"uuid":"b"}'
echo '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"CANARY-result"}]},"uuid":"c"}'
echo '{"type":"result","subtype":"success","result":"CANARY-final","total_cost_usd":0.25,"modelUsage":{"m":{"inputTokens":7,"outputTokens":5,"cacheReadInputTokens":3,"cacheCreationInputTokens":2}},"uuid":"d"}'
echo 'CANARY-stderr' >&2
exec cat >/dev/null
"#;
