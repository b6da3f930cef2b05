//! Throughput.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bowline_transport::{Stdio, TerminalEngine};

use super::child::FLOOD;
use super::{Plan, Row, bare, median, megabytes, ours, stock};

/// Transfers this many bytes; returns the number received and the time.
type Carrier = fn(usize) -> Result<(usize, Duration)>;

/// Measures megabytes per second of each contender, in turn.
fn by_turns(
    what: &'static str,
    plan: &Plan,
    bytes: usize,
    contenders: &[(&'static str, Carrier)],
    goal: &'static str,
) -> Result<Vec<Row>> {
    let mut figures = vec![Vec::new(); contenders.len()];
    for _ in 0..plan.rounds {
        for ((contender, measure), figures) in contenders.iter().zip(&mut figures) {
            let (came, took) = measure(bytes)?;
            ensure!(
                came == bytes,
                "{contender}: received {came} of {bytes} bytes"
            );
            figures.push(megabytes(bytes, took));
        }
    }
    let middles: Vec<f64> = figures.into_iter().map(median).collect();
    let rows = contenders.iter().zip(&middles).enumerate();
    let rows = rows.map(|(index, ((contender, _), middle))| Row {
        what,
        contender,
        figure: format!("{middle:.0} MB/s"),
        ratio: (index > 0).then(|| middle / middles[0]),
        goal: contender.starts_with("bowline").then_some(goal),
    });
    Ok(rows.collect())
}

pub(super) fn pipes(plan: &Plan) -> Result<Vec<Row>> {
    let contenders: &[(&'static str, Carrier)] = &[
        ("bare read loop", bare_pipe),
        ("bowline reader", |bytes| {
            ours_by_reader(bytes, Stdio::Pipes)
        }),
        ("bowline OutputReader", |bytes| {
            ours_by_output_reader(bytes, Stdio::Pipes)
        }),
    ];
    by_turns("pipe", plan, plan.pipe_bytes, contenders, ">= 0.9")
}

pub(super) fn ptys(plan: &Plan) -> Result<Vec<Row>> {
    let contenders: &[(&'static str, Carrier)] = &[
        ("bare read loop", bare_pty),
        ("bowline reader", |bytes| {
            ours_by_reader(bytes, ours::raw_pty())
        }),
        ("bowline OutputReader", |bytes| {
            ours_by_output_reader(bytes, ours::raw_pty())
        }),
        ("portable-pty + thread", stock_pty),
    ];
    by_turns("terminal", plan, plan.pty_bytes, contenders, ">= 0.9")
}

fn bare_pipe(bytes: usize) -> Result<(usize, Duration)> {
    let started = Instant::now();
    let (mut child, mut output) = bare::pipe(FLOOD, &bytes.to_string())?;
    let came = bare::drain(&mut output)?;
    let took = started.elapsed();
    child.wait()?;
    Ok((came, took))
}

fn bare_pty(bytes: usize) -> Result<(usize, Duration)> {
    let started = Instant::now();
    let (mut child, mut output) = bare::pty(FLOOD, &bytes.to_string())?;
    let came = bare::drain(&mut output)?;
    let took = started.elapsed();
    child.wait()?;
    Ok((came, took))
}

fn ours_by_reader(bytes: usize, stdio: Stdio) -> Result<(usize, Duration)> {
    let configuration = ours::configuration(FLOOD, &bytes.to_string(), stdio)?;
    ours::runtime()?.block_on(async {
        let started = Instant::now();
        let session = ours::start(configuration)?;
        let came = ours::drain(&session).await;
        let took = started.elapsed();
        session.exited().await;
        Ok((came, took))
    })
}

fn ours_by_output_reader(bytes: usize, stdio: Stdio) -> Result<(usize, Duration)> {
    let configuration = ours::configuration(FLOOD, &bytes.to_string(), stdio)?;
    ours::runtime()?.block_on(async {
        let started = Instant::now();
        let (session, mut reader) = TerminalEngine.make_session_with_reader(configuration)?;
        let came = ours::drain_reader(&mut reader).await;
        let took = started.elapsed();
        session.exited().await;
        Ok((came, took))
    })
}

fn stock_pty(bytes: usize) -> Result<(usize, Duration)> {
    let started = Instant::now();
    let command = stock::raw(FLOOD, &bytes.to_string())?;
    let mut stock = stock::start(&*stock::system(), command)?;
    let came = stock.output.iter().map(|part| part.len()).sum();
    let took = started.elapsed();
    stock.child.wait()?;
    Ok((came, took))
}
