//! Messages that are stored one after another, each fenced by the last one.

use std::time::Instant;

use anyhow::Result;
use bowline_fleet::{LogStore as _, Positions};
use bytes::Bytes;

use super::{Cluster, Plan, Row, percentiles};

/// Size of a message.
const BYTES: usize = 16 << 10;

pub(super) async fn row(cluster: &Cluster, plan: &Plan) -> Result<Row> {
    let bus = cluster.servers.connect(None).await;
    let (subject, begin) = ("bl.log.bench.1", Positions::default());
    let body = Bytes::from(vec![7; BYTES]);
    let (mut last, mut times) = (0, Vec::with_capacity(plan.messages));
    let started = Instant::now();
    for _ in 0..plan.messages {
        let sent = Instant::now();
        last = bus.append(subject, last, &begin, body.clone()).await?;
        times.push(sent.elapsed());
    }
    let rate = crate::terminal::megabytes(plan.messages * BYTES, started.elapsed());
    let (p50, p99) = percentiles(&mut times)?;
    Ok(Row {
        what: "16 KiB stored by three servers that sync each",
        contender: "one session",
        figure: format!("p50 {p50:.2} ms, p99 {p99:.2} ms, {rate:.1} MB/s"),
        ratio: None,
        goal: Some("p50 <= 3 ms, p99 <= 15 ms"),
    })
}
