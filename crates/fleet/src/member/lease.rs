//! Renews the record of the runner.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::MemberConfiguration;
use crate::bus::{Bucket, Bus, BusError};
use crate::directory::{Lease, LeaseReply, LeaseStep, RunnerRecord, link_subject};

/// Interval between two writes of when the runner was seen last, in a bucket whose keys do not expire.
const SEEN_EVERY: Duration = Duration::from_secs(60);

/// Renews the lease; never returns.
pub(super) async fn keep<B: Bus>(
    bus: B,
    configuration: Arc<MemberConfiguration>,
    sessions: Arc<AtomicU64>,
) {
    let mut lease = Lease::new(configuration.boot.clone(), Instant::now().into_std());
    let mut connects = bus.connects();
    let mut seen: Option<Instant> = None;
    loop {
        let now = Instant::now();
        let Some(step) = lease.poll(now.into_std()) else {
            tokio::select! {
                () = sleep_until(Instant::from_std(lease.deadline())) => {}
                _ = connects.changed() => lease.renew_now(Instant::now().into_std()),
            }
            continue;
        };
        let record = RunnerRecord {
            runner: configuration.runner.clone(),
            name: configuration.name.clone(),
            boot: configuration.boot.clone(),
            version: configuration.version.clone(),
            link: link_subject(&configuration.runner),
            sessions: sessions.load(Ordering::Relaxed),
        };
        let reply = write(&bus, &record, step).await;
        let is_written = matches!(reply, LeaseReply::Written(_));
        lease.on_reply(reply, now.into_std(), Instant::now().into_std());
        if is_written && seen.is_none_or(|at| at.elapsed() >= SEEN_EVERY) {
            seen = write_seen(&bus, &record).await.then(Instant::now);
        }
    }
}

async fn write<B: Bus>(bus: &B, record: &RunnerRecord, step: LeaseStep) -> LeaseReply {
    let Ok(value) = serde_json::to_vec(record) else {
        return LeaseReply::Failed;
    };
    let key = record.runner.as_str();
    let revision = match step {
        LeaseStep::Create => 0,
        LeaseStep::Update(revision) => revision,
    };
    match bus.cas(Bucket::Runners, key, revision, value.into()).await {
        Ok(revision) => LeaseReply::Written(revision),
        Err(BusError::WrongLast) => match bus.get(Bucket::Runners, key).await {
            Ok(None) => LeaseReply::Found(None),
            Ok(Some(entry)) => {
                let found = entry.value.as_deref();
                let found = found.and_then(|it| serde_json::from_slice::<RunnerRecord>(it).ok());
                // An unreadable value is replaced.
                let boot = found.map_or_else(|| record.boot.clone(), |it| it.boot);
                LeaseReply::Found(Some((entry.revision, boot)))
            }
            Err(_) => LeaseReply::Failed,
        },
        Err(_) => LeaseReply::Failed,
    }
}

/// Writes when the runner was seen. The time is that of the server.
async fn write_seen<B: Bus>(bus: &B, record: &RunnerRecord) -> bool {
    let key = record.runner.as_str();
    let Ok(found) = bus.get(Bucket::Seen, key).await else {
        return false;
    };
    let revision = found.map_or(0, |it| it.revision);
    let Ok(value) = serde_json::to_vec(record) else {
        return false;
    };
    bus.cas(Bucket::Seen, key, revision, value.into())
        .await
        .is_ok()
}
