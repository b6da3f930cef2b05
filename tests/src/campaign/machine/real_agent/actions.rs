//! Disturbances of a dialogue, by kind.

mod disk;
mod kills;
mod links;
mod slow;

use std::time::Duration;

use bowline_lifecycle::{DialogueSession, Prompt, Receipt, ReceiptState};
use tokio::time::sleep;

use super::judge::Completeness;
use super::stage::{Calm, Conversation, Theatre};
use crate::campaign::Random;
use crate::campaign::machine::station::Station;
use crate::campaign::support::within;

/// Kind of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The link to the runner is cut every 200 ms; the agent runs on pipes.
    CutPipes,
    /// The same, with the agent on a terminal.
    CutTerminal,
    /// The agent, a child of this process, is killed.
    AgentKilled,
    /// The agent is killed at a runner.
    AgentKilledAtRunner,
    /// The shim that owns the agent is killed.
    ShimKilled,
    /// The runner is killed and another one is started.
    RunnerKilled,
    /// The host is killed and another one attaches.
    HostKilled,
    /// The host stops reading for a while; the agent is its child.
    SlowHost,
    /// The same at a runner.
    SlowHostOfRunner,
    /// The journal's disk is full.
    DiskFull,
}

impl Kind {
    pub(super) const ALL: [Self; 10] = [
        Self::CutPipes,
        Self::CutTerminal,
        Self::AgentKilled,
        Self::AgentKilledAtRunner,
        Self::ShimKilled,
        Self::RunnerKilled,
        Self::HostKilled,
        Self::SlowHost,
        Self::SlowHostOfRunner,
        Self::DiskFull,
    ];
}

/// Runs the disturbance once and returns how much of the scenario the transcript contains.
pub(super) async fn one(
    kind: Kind,
    theatre: &Theatre,
    random: &mut Random,
) -> Result<Completeness, String> {
    match kind {
        Kind::CutPipes => links::cut(theatre, random, false).await,
        Kind::CutTerminal => links::cut(theatre, random, true).await,
        Kind::AgentKilled => kills::agent_here(theatre, random).await,
        Kind::AgentKilledAtRunner => kills::agent_at_runner(theatre, random).await,
        Kind::ShimKilled => kills::shim(theatre, random).await,
        Kind::RunnerKilled => kills::runner(theatre, random).await,
        Kind::HostKilled => kills::host(theatre, random).await,
        Kind::SlowHost => slow::here(theatre, random).await,
        Kind::SlowHostOfRunner => slow::at_runner(theatre, random).await,
        Kind::DiskFull => disk::full(theatre, random).await,
    }
}

/// A random short scenario.
fn scenario(random: &mut Random) -> Conversation {
    [Conversation::Text, Conversation::Tool, Conversation::Agents][random.below(3) as usize]
}

fn is_on_terminal(random: &mut Random) -> bool {
    random.below(2) == 1
}

/// Sends the prompt and waits until the agent has read it.
pub(super) async fn send(session: &DialogueSession, prompt: &str) -> Result<Receipt, String> {
    let sent = within("a prompt", session.send(Prompt::text(prompt))).await?;
    let mut receipt = sent.map_err(|error| error.to_string())?;
    within("an echo", receipt.reached(ReceiptState::Echoed)).await?;
    Ok(receipt)
}

/// Waits for the answer.
pub(super) async fn settled(receipt: &mut Receipt) -> Result<(), String> {
    match within("an answer", receipt.settled()).await? {
        ReceiptState::Answered => Ok(()),
        state => Err(format!("the prompt is {state:?}")),
    }
}

/// Sleeps for a random part of the duration of an undisturbed turn.
async fn some_time(calm: &Calm, random: &mut Random) {
    let most = u64::try_from(calm.took.as_micros()).unwrap_or(u64::MAX);
    sleep(Duration::from_micros(random.below(most.max(1)))).await;
}

/// The runner's URL.
fn url(station: &Station) -> String {
    let socket = crate::campaign::machine::program::socket(station.folder());
    format!("unix:{}", socket.display())
}

/// Process ids of every shim of a runner.
fn shims(station: &Station) -> Result<Vec<u32>, String> {
    let state = station.state()?;
    let ids = state.sessions().map_err(|error| error.to_string())?;
    let infos = ids
        .into_iter()
        .filter_map(|id| state.session(id).info().ok()?);
    Ok(infos.map(|info| info.shim_pid).collect())
}
