//! Numbers.

use bowline_lifecycle::{DialogueEventKind, Prompt, TerminalRegistry};

use super::support::{TURN, agent, start, until, within};

fn is_turn_end(kind: &DialogueEventKind) -> bool {
    matches!(kind, DialogueEventKind::TurnEnd { .. })
}

#[tokio::test]
async fn a_snapshot_counts_what_sessions_use() {
    let registry = TerminalRegistry::shared();
    let before = registry.metrics();
    let (session, mut events) = start(agent(TURN)).await;
    assert!(registry.metrics().dialogues >= 1);
    session.send(Prompt::text("go")).await.expect("it lives");
    until(&mut events, "the turn", is_turn_end).await;
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
