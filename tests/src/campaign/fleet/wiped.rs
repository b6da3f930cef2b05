//! Servers that come back without their data while sessions run.
//!
//! Checked at the end: each replica equals the journal byte for byte, the journal has all output of the session's
//! child without a gap, and the child exited as it was asked to.

use super::speakers::{Speaker, check, end, open, progressed, whole, written};
use crate::campaign::support::{run_to_end, within};
use crate::campaign::{Job, Random, Report};
use crate::fleet::{FleetRunner, NatsServers, RecordedBus};

/// Servers of the cluster.
const SERVERS: usize = 3;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    run_to_end(job, wiped)
}

async fn wiped(job: &Job, report: &mut Report) -> Result<(), String> {
    let mut servers = NatsServers::start(SERVERS, "")?;
    let connection = within("a cluster", servers.set_up()).await?;
    let keeping = connection.clone();
    let keeping = tokio::spawn(async move { keeping.keep_set_up(SERVERS).await });
    // The path of a socket is limited in length (unix(7)).
    let folder = tempfile::Builder::new().prefix("bw").tempdir_in("/tmp");
    let folder = folder.map_err(|error| error.to_string())?;
    let id = "a".parse().map_err(|_| "no id of a runner")?;
    let runner = FleetRunner::start(folder.path(), &connection, &id).await?;
    let mut random = Random::new(job.seed);
    let seeds = (0..job.count).map(|_| random.draw());
    let requests = seeds.map(|seed| (Speaker::request(seed), seed));
    let speakers = open(&runner, requests).await?;
    let bus = RecordedBus::new(connection);
    progressed(&runner, &bus, &speakers).await?;
    for n in 0..SERVERS {
        servers.kill(n);
    }
    written(&runner, &speakers).await?;
    for n in 0..SERVERS {
        servers.wipe(n)?;
        servers.run(n)?;
    }
    progressed(&runner, &bus, &speakers).await?;
    for speaker in &speakers {
        end(speaker).await?;
    }
    for speaker in &speakers {
        let id = speaker.session.id();
        let outcome = match whole(&runner, &bus, speaker).await {
            Ok(epoch) => check(&runner, &bus, speaker, epoch).await,
            Err(why) => Err(why),
        };
        report.one(outcome.map_err(|why| format!("session {id}: {why}")));
    }
    keeping.abort();
    runner.stop().await;
    Ok(())
}
