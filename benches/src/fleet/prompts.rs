//! The time from a prompt to its receipt, through NATS and over the runner's own port in turns.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bowline_lifecycle::{AgentLocation, DialogueSession, Prompt, ReceiptState};
use bowline_tests::fleet::understudy;

use super::{Cluster, Plan, Row, Way, percentiles};

pub(super) async fn rows(cluster: &Cluster, plan: &Plan) -> Result<Vec<Row>> {
    let mut sessions = Vec::new();
    for way in Way::ALL {
        let remote = cluster.remote(way).await;
        let configuration = understudy(AgentLocation::Runner(remote));
        sessions.push(DialogueSession::start(configuration).await?);
    }
    let mut all = vec![Vec::new(); sessions.len()];
    for _ in 0..plan.prompts {
        for (session, times) in sessions.iter().zip(&mut all) {
            times.push(prompt(session).await?);
        }
    }
    for session in sessions {
        session.terminate().await;
    }
    let mut base = None;
    let mut rows = Vec::new();
    for (way, mut times) in Way::ALL.into_iter().zip(all) {
        let (p50, p99) = percentiles(&mut times)?;
        rows.push(Row {
            what: "a prompt to its receipt",
            contender: way.name(),
            figure: format!("p50 {p50:.2} ms, p99 {p99:.2} ms"),
            ratio: base.map(|base: f64| p50 / base),
            goal: base.map(|_| "<= 3 x, p99 <= 20 ms"),
        });
        base.get_or_insert(p50);
    }
    Ok(rows)
}

/// Sends a prompt, and returns the time until the owner has written it to the agent.
async fn prompt(session: &DialogueSession) -> Result<Duration> {
    let sent = Instant::now();
    let mut receipt = session.send(Prompt::text("hello")).await?;
    let state = receipt.reached(ReceiptState::Written).await;
    let took = sent.elapsed();
    ensure!(state >= ReceiptState::Written, "{state:?}");
    let settled = receipt.settled().await;
    ensure!(settled == ReceiptState::Answered, "{settled:?}");
    Ok(took)
}
