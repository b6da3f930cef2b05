//! Processes that are killed by SIGKILL at a random moment of a turn.

use std::time::Duration;

use bowline_lifecycle::DialogueSession;
use rustix::process::Signal;
use tokio::time::sleep;

use super::{is_on_terminal, scenario, send, settled, shims, some_time, url};
use crate::campaign::Random;
use crate::campaign::machine::real_agent::host::Host;
use crate::campaign::machine::real_agent::judge::{Completeness, begun, whole};
use crate::campaign::machine::real_agent::stage::{AgentSetup, Conversation, Theatre, end};
use crate::campaign::machine::station::{Station, send as signal};
use crate::campaign::support::within;
use crate::session::{transcript, until};

pub(super) async fn agent_here(
    theatre: &Theatre,
    random: &mut Random,
) -> Result<Completeness, String> {
    agent(theatre, random, None).await
}

pub(super) async fn agent_at_runner(
    theatre: &Theatre,
    random: &mut Random,
) -> Result<Completeness, String> {
    let station = Station::new().await?;
    agent(theatre, random, Some(&station)).await
}

async fn agent(
    theatre: &Theatre,
    random: &mut Random,
    station: Option<&Station>,
) -> Result<Completeness, String> {
    let (scenario, pty) = (scenario(random), is_on_terminal(random));
    let calm = theatre.calm(scenario, pty).await?;
    let mut stage = theatre.stage(scenario, pty)?;
    stage.order.runner = station.map(url);
    let session = stage.order.start().await?;
    let shims = station.map(shims).transpose()?.unwrap_or_default();
    let mut receipt = send(&session, &stage.order.prompt).await?;
    some_time(&calm, random).await;
    for agent in stage.agents() {
        signal(Some(agent), Signal::KILL);
    }
    within("what became of the prompt", receipt.settled()).await?;
    let found = ended(&stage, &session).await?;
    stage.no_process_is_left(&shims).await?;
    begun(&found, &calm.transcript, "unexpected_exit")
}

pub(super) async fn shim(theatre: &Theatre, random: &mut Random) -> Result<Completeness, String> {
    let (scenario, pty) = (scenario(random), is_on_terminal(random));
    let calm = theatre.calm(scenario, pty).await?;
    let mut stage = theatre.stage(scenario, pty)?;
    let station = Station::new().await?;
    stage.order.runner = Some(url(&station));
    let session = stage.order.start().await?;
    let shims = shims(&station)?;
    let mut receipt = send(&session, &stage.order.prompt).await?;
    some_time(&calm, random).await;
    for shim in &shims {
        signal(Some(*shim), Signal::KILL);
    }
    within("what became of the prompt", receipt.settled()).await?;
    // No shim is left to report what became of the agent's processes.
    let end = within("the end", session.ended()).await?;
    if end.expected {
        return Err(format!("{end:?}"));
    }
    let found = stage.comparable(&transcript(&session).await);
    stage.no_process_is_left(&shims).await?;
    begun(&found, &calm.transcript, "reconnect_failed")
}

/// The unexpected end of a session.
async fn ended(stage: &AgentSetup, session: &DialogueSession) -> Result<serde_json::Value, String> {
    let end = within("the end", session.ended()).await?;
    if end.expected || !end.report.survivors.is_empty() {
        return Err(format!("{end:?}"));
    }
    Ok(stage.comparable(&transcript(session).await))
}

pub(super) async fn runner(theatre: &Theatre, random: &mut Random) -> Result<Completeness, String> {
    let (scenario, pty) = (scenario(random), is_on_terminal(random));
    let calm = theatre.calm(scenario, pty).await?;
    let mut stage = theatre.stage(scenario, pty)?;
    let mut station = Station::new().await?;
    stage.order.runner = Some(url(&station));
    let session = stage.order.start().await?;
    let shims = shims(&station)?;
    let mut receipt = send(&session, &stage.order.prompt).await?;
    some_time(&calm, random).await;
    station.end_runner(Signal::KILL).await?;
    sleep(Duration::from_millis(random.below(300))).await;
    station.start().await?;
    settled(&mut receipt).await?;
    let found = end(&stage, &session).await?;
    stage.no_process_is_left(&shims).await?;
    whole(&found, &calm.transcript)
}

/// The next host must receive everything that the first one received, and the rest.
pub(super) async fn host(theatre: &Theatre, random: &mut Random) -> Result<Completeness, String> {
    let pty = is_on_terminal(random);
    let scenario = [Conversation::Text, Conversation::Agents][random.below(2) as usize];
    let calm = theatre.calm(scenario, pty).await?;
    let mut stage = theatre.stage(scenario, pty)?;
    let station = Station::new().await?;
    stage.order.runner = Some(url(&station));
    let mut host = Host::start(&stage.order).await?;
    let shims = shims(&station)?;
    some_time(&calm, random).await;
    host.kill().await?;
    sleep(Duration::from_millis(random.below(300))).await;
    let id = host.session.parse().map_err(|_| host.session.clone())?;
    let remote = stage.order.remote()?.ok_or("no runner")?;
    let joining = DialogueSession::attach(&remote, id, stage.order.configuration()?);
    let session = within("another host", joining).await?;
    let session = session.map_err(|error| error.to_string())?;
    let is_over = |now: &serde_json::Value| {
        let entries = now["entries"].as_array();
        entries.is_some_and(|all| all.iter().any(|entry| entry["kind"] == "result"))
    };
    until(&session, "a result", is_over).await;
    let found = end(&stage, &session).await?;
    stage.no_process_is_left(&shims).await?;
    whole(&found, &calm.transcript)
}
