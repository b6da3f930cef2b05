//! A host joins a session with much output at its beginning.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bowline_fleet::{BusError, fleet_session, read_replica};
use bowline_transport::wire::{Lease, SessionKind, StreamId};
use bowline_transport::{
    Attachment, Configuration, Piece, Remote, SessionId, SessionRequest, StartPosition, Stream,
    TerminalEngine, TerminationPolicy,
};

use super::{Cluster, Plan, Row, Way, percentiles};
use crate::terminal::{median, megabytes};

/// Interval between two looks at the directory.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) async fn rows(cluster: &Cluster, plan: &Plan) -> Result<Vec<Row>> {
    let local = cluster.remote(Way::WebSocket).await;
    let mut configuration = Configuration::new("/bin/sh");
    let script = format!("head -c {} /dev/zero; exec cat", plan.history);
    configuration.args = vec!["-c".into(), script.into()];
    let request = SessionRequest::new(SessionKind::Dialogue, configuration);
    let made = TerminalEngine.make_remote(&local, &request).await;
    let session = made.context("a session")?;
    session.detach();
    let id = session.id();
    // Until the journal has all of it.
    joined(&local, id, plan.history).await?;
    let mut rows = Vec::new();
    for way in Way::ALL {
        let remote = cluster.remote(way).await;
        let (mut firsts, mut rates) = (Vec::new(), Vec::new());
        for _ in 0..plan.joins {
            let (first, whole) = joined(&remote, id, plan.history).await?;
            firsts.push(first);
            rates.push(megabytes(plan.history, whole));
        }
        rows.push(row(way.name(), &mut firsts, rates)?);
    }
    rows.push(from_copy(cluster, id, plan).await?);
    let session = TerminalEngine.attach_remote(&local, id, Attachment::default());
    let session = session.await.context("an attachment")?;
    session.terminate(TerminationPolicy::AT_ONCE).await;
    Ok(rows)
}

fn row(contender: &'static str, firsts: &mut [Duration], rates: Vec<f64>) -> Result<Row> {
    let (first, late) = percentiles(firsts)?;
    let rate = median(rates);
    Ok(Row {
        what: "join of 100 MB of output",
        contender,
        figure: format!("first byte {first:.1} ms, worst {late:.1} ms, {rate:.0} MB/s"),
        ratio: None,
        goal: (contender != Way::WebSocket.name()).then_some("<= 400 ms, >= 60 MB/s"),
    })
}

/// Reads the output from its beginning, and returns the times until the first byte and until the last.
async fn joined(remote: &Remote, id: SessionId, bytes: usize) -> Result<(Duration, Duration)> {
    let attachment = Attachment {
        lease: Lease::Read,
        start: StartPosition::At {
            output: 0,
            errors: 0,
            input: 0,
        },
        ..Attachment::default()
    };
    let begin = Instant::now();
    let session = TerminalEngine.attach_remote(remote, id, attachment).await;
    let session = session.context("an attachment")?;
    let mut output = session.reader(Stream::Output);
    let (mut end, mut first) = (0, None);
    while end < bytes as u64 {
        end = match output.next().await {
            Some(Piece::Bytes { offset, bytes }) => {
                ensure!(offset == end, "bytes of {offset} where {end} is next");
                offset + bytes.len() as u64
            }
            Some(Piece::Gap { from, to }) => bail!("a gap of {from} to {to}"),
            None => bail!("the output ends at {end}"),
        };
        first.get_or_insert_with(|| begin.elapsed());
    }
    let whole = begin.elapsed();
    session.detach();
    Ok((first.context("no output")?, whole))
}

/// Reads the copy, as of a runner that is away.
async fn from_copy(cluster: &Cluster, id: SessionId, plan: &Plan) -> Result<Row> {
    let bus = cluster.servers.connect(None).await;
    let is_whole = |copied: u64| copied >= plan.history as u64;
    let session = loop {
        let found = match fleet_session(&bus, id).await {
            // The servers are busy with the copy.
            Err(BusError::Unanswered) => None,
            found => found.context("the session's record")?,
        };
        match found.filter(|it| is_whole(it.record.copied.at(StreamId::STDOUT))) {
            Some(found) => break found,
            None => tokio::time::sleep(LOOK_EVERY).await,
        }
    };
    let (mut firsts, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..plan.joins {
        let begin = Instant::now();
        let subject = bowline_fleet::log_subject(id, session.record.epoch);
        let messages = bowline_fleet::LogStore::read(&bus, &subject, 0).await;
        let mut messages = messages.context("a reader of the copy")?;
        let message = messages.recv().await.context("no message")?;
        message.context("the first message of the copy")?;
        firsts.push(begin.elapsed());
        drop(messages);
        let begin = Instant::now();
        let replica = read_replica(&bus, &session).await;
        let replica = replica.context("the whole copy")?;
        ensure!(is_whole(replica.end().at(StreamId::STDOUT)), "a short copy");
        rates.push(megabytes(plan.history, begin.elapsed()));
    }
    row("copy of a runner that is away", &mut firsts, rates)
}
