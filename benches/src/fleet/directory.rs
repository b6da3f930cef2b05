//! The list of all sessions, from nothing: `ps --fleet`.

use std::time::Instant;

use anyhow::{Result, ensure};
use bowline_fleet::{
    Bucket, KeyStore as _, LogIndex, Positions, RunnerId, SessionRecord, fleet_sessions,
};
use bowline_transport::SessionId;
use bowline_transport::wire::Epoch;

use super::{Cluster, Plan, Row, percentiles};

/// How often the list is read.
const READS: usize = 20;

pub(super) async fn row(cluster: &Cluster, plan: &Plan) -> Result<Row> {
    let bus = cluster.servers.connect(None).await;
    let runner: RunnerId = "away".parse()?;
    let mut ids = Vec::new();
    for n in 0..plan.sessions {
        let id = SessionId::random();
        let record = SessionRecord {
            runner: runner.clone(),
            generation: 1,
            epoch: Epoch(1),
            summary: summary(id, n),
            ends: Positions::default(),
            copied: Positions::default(),
            is_durable: false,
            index: LogIndex::default(),
            earlier: Vec::new(),
            claimed_by: None,
            git: None,
        };
        let value = serde_json::to_vec(&record)?;
        let key = id.to_string();
        ids.push((bus.cas(Bucket::Sessions, &key, 0, value.into()).await?, key));
    }
    let mut times = Vec::new();
    for _ in 0..READS {
        let begin = Instant::now();
        let host = cluster.servers.connect(None).await;
        let sessions = fleet_sessions(&host).await?;
        times.push(begin.elapsed());
        ensure!(
            sessions.len() >= plan.sessions,
            "{} sessions",
            sessions.len()
        );
    }
    for (revision, key) in ids {
        bus.delete(Bucket::Sessions, &key, revision).await?;
    }
    let (p50, p99) = percentiles(&mut times)?;
    Ok(Row {
        what: "list of the fleet's sessions, with the connection",
        contender: "1,000 sessions",
        figure: format!("p50 {p50:.0} ms, p99 {p99:.0} ms"),
        ratio: None,
        goal: Some("<= 300 ms"),
    })
}

/// What a runner lists of a session, as long as a real one.
fn summary(id: SessionId, n: usize) -> serde_json::Value {
    serde_json::json!({
        "id": id.to_string(), "kind": "dialogue", "state": "running", "phase": "idle", "name": format!("task {n}"),
        "program": "/usr/local/bin/claude", "cwd": format!("/home/dev/projects/service-{n}"),
        "created_ms": 1_795_000_000_000_u64, "pid": 4242, "epoch": 1, "clients": 1, "title": "Fix the failing test",
        "labels": {"team": "core", "branch": "main"}, "model": "sonnet", "cost_usd": 1.25, "permissions": 0,
    })
}
