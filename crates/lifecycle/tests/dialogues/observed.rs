//! Metrics and standard error.

use bowline_lifecycle::{DialogueEventKind, Prompt, TerminalRegistry};

use super::support::{TURN, agent, start, until, within};

fn is_turn_end(kind: &DialogueEventKind) -> bool {
    matches!(kind, DialogueEventKind::TurnEnd { .. })
}

#[tokio::test]
async fn metrics_count_sessions() {
    let registry = TerminalRegistry::shared();
    let before = registry.metrics();
    let (session, mut events) = start(agent(TURN)).await;
    assert!(registry.metrics().dialogues >= 1);
    session.send(Prompt::text("go")).await.expect("it runs");
    until(&mut events, "the turn", is_turn_end).await;
    // Written after the turn; an earlier end would kill the agent before that.
    let is_stderr = |kind: &_| matches!(kind, DialogueEventKind::StderrLine { .. });
    until(&mut events, "standard error", is_stderr).await;
    within("the end", session.terminate()).await;
    let after = registry.metrics();
    // Other tests of this process count as well.
    assert!(after.started > before.started && after.ended > before.ended);
    assert!(after.turns > before.turns);
    assert!(after.input_tokens >= before.input_tokens + 7);
    assert!(after.output_tokens >= before.output_tokens + 5);
    assert!(after.cache_read_tokens >= before.cache_read_tokens + 3);
    assert!(after.cost_usd >= before.cost_usd + 0.25);
    assert!(after.output_bytes >= before.output_bytes + 500);
    assert!(after.error_bytes >= before.error_bytes + 14);
}

#[tokio::test]
async fn stderr_keeps_head_and_tail_without_blocking() {
    let script = "echo first >&2; head -c 1000000 /dev/zero | tr '\\0' x >&2; echo last >&2";
    let (session, _events) = start(agent(script)).await;
    let end = within("the end", session.ended()).await;
    let written = 1_000_000 + 6 + 5;
    let stderr = end.stderr;
    assert_eq!(
        (stderr.written, stderr.dropped),
        (written, written - (64 << 10))
    );
    assert!(stderr.text.starts_with("first\nxxx") && stderr.text.ends_with("xxxlast\n"));
    let note = format!("\n[{} bytes not kept]\n", stderr.dropped);
    assert_eq!(stderr.text.len(), (64 << 10) + note.len());
}
