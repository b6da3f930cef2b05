//! What the broker has once all faults have ended.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_fleet::{
    Bucket, ClaimRecord, FakeBus, FleetSession, KeyStore as _, LocalSession, Replica, RunnerId,
    fleet_session, log_subject,
};
use bowline_transport::SessionId;
use bowline_transport::journal::Record;
use tokio::time::{Instant, sleep};

use super::machine::Machine;

/// Longest time until everything is copied, in virtual time.
const SETTLES_WITHIN: Duration = Duration::from_secs(300);

/// An incarnation of a session, and what its journal has.
struct Expected {
    runner: RunnerId,
    session: LocalSession,
    records: Vec<Record>,
}

/// Waits until the broker has what it must have.
///
/// # Errors
///
/// It does not within [`SETTLES_WITHIN`]; the error says what is missing.
pub(super) async fn check(broker: &FakeBus, machines: &[Machine]) -> Result<(), String> {
    let mut expected: BTreeMap<SessionId, Vec<Expected>> = BTreeMap::new();
    for machine in machines {
        let mut failure = None;
        machine.each(|incarnation| match incarnation.records() {
            Ok(records) => expected
                .entry(incarnation.session.id)
                .or_default()
                .push(Expected {
                    runner: machine.id.clone(),
                    session: incarnation.session.clone(),
                    records,
                }),
            Err(error) => failure = Some(error),
        });
        failure.map_or(Ok(()), Err)?;
    }
    let begin = Instant::now();
    loop {
        let outcome = settled(broker, &expected).await;
        if outcome.is_ok() || begin.elapsed() > SETTLES_WITHIN {
            return outcome;
        }
        sleep(Duration::from_secs(1)).await;
    }
}

async fn settled(
    broker: &FakeBus,
    expected: &BTreeMap<SessionId, Vec<Expected>>,
) -> Result<(), String> {
    for (id, incarnations) in expected {
        for incarnation in incarnations {
            copied(broker, incarnation)
                .map_err(|why| format!("session {id} at {}: {why}", incarnation.runner))?;
        }
        let found = fleet_session(broker, *id).await;
        let found = found.map_err(|error| error.to_string())?;
        let found = found.ok_or_else(|| format!("session {id} is not in the directory"))?;
        let owner = owner(&found, incarnations).map_err(|why| format!("session {id}: {why}"))?;
        claimed(broker, owner)
            .await
            .map_err(|why| format!("session {id}: {why}"))?;
    }
    Ok(())
}

/// Checks that the log of an incarnation equals its journal.
fn copied(broker: &FakeBus, incarnation: &Expected) -> Result<(), String> {
    let LocalSession { id, epoch, .. } = incarnation.session;
    let mut replica = Replica::default();
    for message in broker.log(&log_subject(id, epoch)) {
        replica.take(message.sequence, &message.body);
    }
    replica.finish();
    let records = replica.take_records();
    match records == incarnation.records {
        true => Ok(()),
        false => Err(format!(
            "the log has {} records, and the journal {}",
            records.len(),
            incarnation.records.len()
        )),
    }
}

/// Returns the incarnation that the directory names, if it is one of the latest generation.
fn owner<'a>(found: &FleetSession, incarnations: &'a [Expected]) -> Result<&'a Expected, String> {
    let record = &found.record;
    let latest = incarnations.iter().filter_map(|it| it.session.generation);
    let latest = latest.max().unwrap_or(1);
    if record.generation != latest {
        let generation = record.generation;
        return Err(format!(
            "generation {generation} counts, and {latest} is the latest"
        ));
    }
    let is_it = |it: &&Expected| {
        it.runner == record.runner
            && it.session.epoch == record.epoch
            && it.session.generation.unwrap_or(1) == latest
    };
    let owner = incarnations.iter().find(is_it);
    let owner = owner.ok_or_else(|| format!("{} is not one of its runners", record.runner))?;
    if record.copied != record.ends || record.copied.total() == 0 {
        return Err("the record says that not all is copied".to_owned());
    }
    let earlier: Vec<_> = record.earlier.iter().map(|it| it.generation).collect();
    if earlier.windows(2).any(|pair| pair[0] >= pair[1]) || earlier.last() >= Some(&latest) {
        return Err(format!("{earlier:?} were before generation {latest}"));
    }
    Ok(owner)
}

/// Checks that the owner of a session has the claim of its conversation while it runs.
async fn claimed(broker: &FakeBus, owner: &Expected) -> Result<(), String> {
    if owner.session.has_ended {
        return Ok(());
    }
    let key = owner
        .session
        .conversation
        .as_ref()
        .ok_or("no conversation")?;
    let found = broker.get(Bucket::Claims, &key.key()).await;
    let found = found.map_err(|error| error.to_string())?;
    let value = found.and_then(|it| it.value).ok_or("no claim")?;
    let claim: ClaimRecord = serde_json::from_slice(&value).map_err(|error| error.to_string())?;
    match claim.runner == owner.runner {
        true => Ok(()),
        false => Err(format!(
            "{} has the claim of {}",
            claim.runner, owner.runner
        )),
    }
}
