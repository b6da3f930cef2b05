//! Round trip of a key to the child and back.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bowline_transport::{Stream, TerminationPolicy};
use bytes::Bytes;

use super::child::ECHO;
use super::{Plan, Row, bare, ours, stock};

pub(super) fn rows(plan: &Plan) -> Result<Vec<Row>> {
    let contenders = [
        ("bare read loop", bare_keys(plan.keys)?),
        ("bowline", ours_keys(plan.keys)?),
        ("portable-pty + thread", stock_keys(plan.keys)?),
    ];
    let bare = middle(&contenders[0].1);
    let rows = contenders.into_iter().map(|(contender, times)| Row {
        what: "key and back",
        contender,
        figure: figure(&times),
        ratio: (contender != "bare read loop").then(|| middle(&times) / bare),
        goal: None,
    });
    Ok(rows.collect())
}

/// Returns the median and the 99th percentile as text.
pub(super) fn figure(times: &[Duration]) -> String {
    format!(
        "p50 {:.0} us, p99 {:.0} us",
        middle(times) * 1e6,
        at(times, 99) * 1e6
    )
}

fn at(times: &[Duration], share: usize) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() * share / 100].as_secs_f64()
}

fn middle(times: &[Duration]) -> f64 {
    at(times, 50)
}

fn bare_keys(keys: usize) -> Result<Vec<Duration>> {
    let (mut child, mut console) = bare::pty(ECHO, "")?;
    let mut key = [0];
    console.read_exact(&mut key)?;
    let mut times = Vec::with_capacity(keys);
    for _ in 0..keys {
        let started = Instant::now();
        console.write_all(b"k")?;
        console.read_exact(&mut key)?;
        times.push(started.elapsed());
    }
    child.kill()?;
    child.wait()?;
    Ok(times)
}

fn ours_keys(keys: usize) -> Result<Vec<Duration>> {
    let configuration = ours::configuration(ECHO, "", ours::raw_pty())?;
    ours::runtime()?.block_on(async {
        let session = ours::start(configuration)?;
        let mut output = session.reader(Stream::Output);
        output.next().await.context("no output from the child")?;
        let mut times = Vec::with_capacity(keys);
        for _ in 0..keys {
            let started = Instant::now();
            session.write(Bytes::from_static(b"k")).await?;
            output.next().await.context("the child has ended")?;
            times.push(started.elapsed());
        }
        session.terminate(TerminationPolicy::AT_ONCE).await;
        Ok(times)
    })
}

fn stock_keys(keys: usize) -> Result<Vec<Duration>> {
    let mut stock = stock::start(&*stock::system(), stock::raw(ECHO, "")?)?;
    let mut writer = stock.master.take_writer()?;
    stock.output.recv()?;
    let mut times = Vec::with_capacity(keys);
    for _ in 0..keys {
        let started = Instant::now();
        writer.write_all(b"k")?;
        stock.output.recv()?;
        times.push(started.elapsed());
    }
    stock.child.kill()?;
    stock.child.wait()?;
    Ok(times)
}
