//! Servers that come back without their data while sessions run.
//!
//! Checked at the end: each replica equals the journal byte for byte, the journal has all output of the session's
//! child without a gap, and the child exited as it was asked to.

use std::time::Duration;

use bowline_fleet::{FleetSession, fleet_sessions, log_subject};
use bowline_transport::journal::{Body, Folder, JournalTail};
use bowline_transport::wire::{SessionKind, StreamId};
use bowline_transport::{
    Configuration, ExitStatus, SessionId, SessionRequest, TerminalEngine, TerminalSession,
};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::writers::{compare, stored};
use crate::campaign::machine::{OutputSequence, SPEAK};
use crate::campaign::support::{own, run_to_end, within};
use crate::campaign::{Job, Random, Report};
use crate::fleet::{FleetRunner, NatsServers, RecordedBus};

/// Servers of the cluster.
const SERVERS: usize = 3;

/// Number of concurrent start requests.
const AT_ONCE: usize = 8;

/// Interval between two blocks of a session's child.
const SPEAK_EVERY_MS: u64 = 250;

/// Interval between two looks at the directory.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Bytes that each session writes between two steps.
const STEP_BYTES: u64 = 4 << 10;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    run_to_end(job, wiped)
}

/// A session and the seed of its output.
struct Speaker {
    session: TerminalSession,
    seed: u64,
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
    let speakers = open(&runner, job).await?;
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
        let outcome = check(&runner, &bus, speaker).await;
        report.one(outcome.map_err(|why| format!("session {id}: {why}")));
    }
    keeping.abort();
    runner.stop().await;
    Ok(())
}

/// Starts the sessions.
async fn open(runner: &FleetRunner, job: &Job) -> Result<Vec<Speaker>, String> {
    let mut random = Random::new(job.seed);
    let (mut making, mut speakers) = (JoinSet::new(), Vec::new());
    for _ in 0..job.count {
        if making.len() >= AT_ONCE {
            speakers.push(made(&mut making).await?);
        }
        let seed = random.draw();
        let mut configuration = Configuration::new(own());
        let args = [SPEAK.into(), seed.to_string(), SPEAK_EVERY_MS.to_string()];
        configuration.args = args.iter().map(Into::into).collect();
        let request = SessionRequest::new(SessionKind::Dialogue, configuration);
        let remote = runner.remote();
        making.spawn(async move {
            let session = TerminalEngine.make_remote(&remote, &request).await;
            let session = session.map_err(|error| error.to_string())?;
            Ok(Speaker { session, seed })
        });
    }
    while !making.is_empty() {
        speakers.push(made(&mut making).await?);
    }
    Ok(speakers)
}

async fn made(making: &mut JoinSet<Result<Speaker, String>>) -> Result<Speaker, String> {
    let made = within("a session", making.join_next()).await?;
    made.ok_or("no session")?
        .map_err(|error| error.to_string())?
}

/// The end of a session's output in its journal.
fn journal_end(runner: &FleetRunner, id: SessionId) -> Result<u64, String> {
    let mut tail = JournalTail::new(
        Folder::at(runner.state().session(id).journal()),
        Default::default(),
    );
    while tail
        .next_record()
        .map_err(|error| error.to_string())?
        .is_some()
    {}
    let end = tail.ends().get(&StreamId::STDOUT);
    Ok(end.copied().unwrap_or(0))
}

/// Waits until each session has written more.
async fn written(runner: &FleetRunner, speakers: &[Speaker]) -> Result<(), String> {
    for speaker in speakers {
        let id = speaker.session.id();
        let end = journal_end(runner, id)?;
        let more = async {
            while journal_end(runner, id)? < end + STEP_BYTES {
                sleep(LOOK_EVERY).await;
            }
            Ok::<_, String>(())
        };
        within("more output of a session", more).await??;
    }
    Ok(())
}

/// Waits until each session has written more, and that is copied.
async fn progressed(
    runner: &FleetRunner,
    bus: &RecordedBus,
    speakers: &[Speaker],
) -> Result<(), String> {
    written(runner, speakers).await?;
    for speaker in speakers {
        let id = speaker.session.id();
        let end = journal_end(runner, id)?;
        let is_copied = |it: &FleetSession| it.record.copied.at(StreamId::STDOUT) >= end;
        until(bus, id, "a copy", is_copied).await?;
    }
    Ok(())
}

/// Waits for a state of a session in the directory.
async fn until(
    bus: &RecordedBus,
    id: SessionId,
    what: &str,
    is_there: impl Fn(&FleetSession) -> bool,
) -> Result<FleetSession, String> {
    let look = async {
        loop {
            let sessions = fleet_sessions(bus).await.unwrap_or_default();
            let found = sessions.into_iter().find(|it| it.id == id);
            if let Some(found) = found.filter(&is_there) {
                return found;
            }
            sleep(LOOK_EVERY).await;
        }
    };
    within(what, look).await
}

/// Ends a session by the end of its input.
async fn end(speaker: &Speaker) -> Result<(), String> {
    let policy = bowline_transport::TerminationPolicy::default();
    let end = within("an end", speaker.session.terminate(policy)).await?;
    match end.exit.status {
        ExitStatus::Code(0) => Ok(()),
        _ => Err(format!("a session ended by {end:?}")),
    }
}

/// Compares the replica with the journal, and the journal with what the child wrote.
async fn check(runner: &FleetRunner, bus: &RecordedBus, speaker: &Speaker) -> Result<(), String> {
    let id = speaker.session.id();
    let journal = runner.state().session(id).journal();
    let end = journal_end(runner, id)?;
    let is_copied = |it: &FleetSession| {
        let copied = it.record.copied.at(StreamId::STDOUT) >= end;
        copied && it.record.ends.past(&it.record.copied) == 0
    };
    let session = until(bus, id, "the whole copy", is_copied).await?;
    let subject = log_subject(id, session.record.epoch);
    // The last records are copied a moment after the directory names them.
    let same = async {
        loop {
            match compare(&stored(bus, &subject).await?, &journal) {
                Err(why) if why.starts_with("the replica has") => sleep(LOOK_EVERY).await,
                compared => return compared,
            }
        }
    };
    within("a replica that equals the journal", same).await??;
    let mut expected = OutputSequence::new(speaker.seed);
    let mut tail = JournalTail::new(Folder::at(&journal), Default::default());
    while let Some(record) = tail.next_record().map_err(|error| error.to_string())? {
        match record.body {
            _ if record.stream != StreamId::STDOUT => {}
            Body::Bytes(bytes) => drop(expected.check_bytes(&bytes)?),
            Body::Gap { to, .. } => return Err(format!("a gap up to {to} in the journal")),
        }
    }
    Ok(())
}
