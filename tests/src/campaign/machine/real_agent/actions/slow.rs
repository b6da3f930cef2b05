//! A host that reads nothing for a while during a large output.

use std::time::Duration;

use bowline_runner::RING_VARIABLE;
use rustix::process::Signal;
use tokio::process::Command;
use tokio::time::sleep;

use super::{is_on_terminal, shims, url};
use crate::campaign::Random;
use crate::campaign::machine::real_agent::host::Host;
use crate::campaign::machine::real_agent::judge::{Completeness, whole};
use crate::campaign::machine::real_agent::stage::{AgentSetup, Conversation, Theatre};
use crate::campaign::machine::station::{Station, send as signal};

/// Minimum and maximum duration of the pause, in milliseconds.
const STOPPED: [u64; 2] = [1_000, 3_000];

/// Size of the runner's ring, far less than the output meanwhile.
const RING: &str = "16384";

pub(super) async fn here(theatre: &Theatre, random: &mut Random) -> Result<Completeness, String> {
    let pty = is_on_terminal(random);
    let calm = theatre.calm(Conversation::LongText, pty).await?;
    let stage = theatre.stage(Conversation::LongText, pty)?;
    slow(&stage, &[], random, &calm.transcript).await
}

pub(super) async fn at_runner(
    theatre: &Theatre,
    random: &mut Random,
) -> Result<Completeness, String> {
    let pty = is_on_terminal(random);
    let calm = theatre.calm(Conversation::LongText, pty).await?;
    let mut stage = theatre.stage(Conversation::LongText, pty)?;
    let mut station = Station::with_copy()?;
    let mut runner = Command::new(station.program());
    runner.env(RING_VARIABLE, RING);
    station.start_by(runner).await?;
    stage.order.runner = Some(url(&station));
    slow(&stage, &[&station], random, &calm.transcript).await
}

async fn slow(
    stage: &AgentSetup,
    stations: &[&Station],
    random: &mut Random,
    calm: &serde_json::Value,
) -> Result<Completeness, String> {
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
    let found = stage.comparable(&host.finish().await?);
    stage.no_process_is_left(&all).await?;
    whole(&found, calm)
}
