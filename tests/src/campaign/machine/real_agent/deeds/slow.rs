//! A host that reads nothing for a while, and the agent has much to say.

use std::time::Duration;

use bowline_runner::RING_VARIABLE;
use rustix::process::Signal;
use tokio::process::Command;
use tokio::time::sleep;

use super::{is_on_terminal, shims, url};
use crate::campaign::Random;
use crate::campaign::machine::real_agent::host::Host;
use crate::campaign::machine::real_agent::judge::{Told, whole};
use crate::campaign::machine::real_agent::stage::{Stage, Story, Theatre};
use crate::campaign::machine::station::{Station, send as signal};

/// How long it reads nothing, in milliseconds at least and at most.
const STOPPED: [u64; 2] = [1_000, 3_000];

/// Bytes that the runner's session keeps in memory: far less than is said meanwhile.
const RING: &str = "16384";

pub(super) async fn here(theatre: &Theatre, random: &mut Random) -> Result<Told, String> {
    let pty = is_on_terminal(random);
    let calm = theatre.calm(Story::LongText, pty).await?;
    let stage = theatre.stage(Story::LongText, pty)?;
    slow(&stage, &[], random, &calm.told).await
}

pub(super) async fn at_runner(theatre: &Theatre, random: &mut Random) -> Result<Told, String> {
    let pty = is_on_terminal(random);
    let calm = theatre.calm(Story::LongText, pty).await?;
    let mut stage = theatre.stage(Story::LongText, pty)?;
    let mut station = Station::with_copy()?;
    let mut runner = Command::new(station.program());
    runner.env(RING_VARIABLE, RING);
    station.start_by(runner).await?;
    stage.order.runner = Some(url(&station));
    slow(&stage, &[&station], random, &calm.told).await
}

async fn slow(
    stage: &Stage,
    stations: &[&Station],
    random: &mut Random,
    calm: &serde_json::Value,
) -> Result<Told, String> {
    let host = Host::start(&stage.order).await?;
    let mut all = Vec::new();
    for station in stations {
        all.extend(shims(station)?);
    }
    stage.in_the_middle().await?;
    signal(host.pid(), Signal::STOP);
    stage.go_on();
    let [least, most] = STOPPED;
    sleep(Duration::from_millis(least + random.below(most - least))).await;
    signal(host.pid(), Signal::CONT);
    let told = stage.told(&host.finish().await?);
    stage.nobody_is_left(&all).await?;
    whole(&told, calm)
}
