//! Sessions at runners of a fleet whose children write without a pause, and their copies.

use std::time::Duration;

use bowline_fleet::{FleetSession, fleet_sessions, log_subject};
use bowline_transport::journal::{Body, Folder, JournalTail};
use bowline_transport::wire::{Epoch, SessionKind, StreamId};
use bowline_transport::{
    Configuration, ExitStatus, Remote, SessionId, SessionRequest, TerminalEngine, TerminalSession,
};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::writers::{compare, stored};
use crate::campaign::machine::{OutputSequence, SPEAK};
use crate::campaign::support::{own, within};
use crate::fleet::{FleetRunner, RecordedBus};

/// Number of concurrent start requests.
const AT_ONCE: usize = 8;

/// Interval between two blocks of a session's child.
const SPEAK_EVERY_MS: u64 = 250;

/// Interval between two looks at the directory.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Bytes that each session writes between two steps.
const STEP_BYTES: u64 = 4 << 10;

/// A session and the seed of its output.
pub(super) struct Speaker {
    pub(super) session: TerminalSession,
    seed: u64,
}

impl Speaker {
    /// Returns a request for a session.
    pub(super) fn request(seed: u64) -> SessionRequest {
        let mut configuration = Configuration::new(own());
        let args = [SPEAK.into(), seed.to_string(), SPEAK_EVERY_MS.to_string()];
        configuration.args = args.iter().map(Into::into).collect();
        SessionRequest::new(SessionKind::Dialogue, configuration)
    }

    /// Starts a session at a runner.
    pub(super) async fn start(
        runner: &Remote,
        request: &SessionRequest,
        seed: u64,
    ) -> Result<Self, String> {
        let session = TerminalEngine.make_remote(runner, request).await;
        let session = session.map_err(|error| error.to_string())?;
        Ok(Self { session, seed })
    }
}

/// Starts sessions.
pub(super) async fn open(
    runner: &FleetRunner,
    requests: impl IntoIterator<Item = (SessionRequest, u64)>,
) -> Result<Vec<Speaker>, String> {
    let (mut making, mut speakers) = (JoinSet::new(), Vec::new());
    for (request, seed) in requests {
        if making.len() >= AT_ONCE {
            speakers.push(made(&mut making).await?);
        }
        let remote = runner.remote();
        making.spawn(async move { Speaker::start(&remote, &request, seed).await });
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
pub(super) async fn written<'a>(
    runner: &FleetRunner,
    speakers: impl IntoIterator<Item = &'a Speaker>,
) -> Result<(), String> {
    let ends = speakers.into_iter().map(|it| {
        let id = it.session.id();
        Ok((id, journal_end(runner, id)?))
    });
    for (id, end) in ends.collect::<Result<Vec<_>, String>>()? {
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
pub(super) async fn progressed(
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
pub(super) async fn until(
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
pub(super) async fn end(speaker: &Speaker) -> Result<(), String> {
    let policy = bowline_transport::TerminationPolicy::default();
    let end = within("an end", speaker.session.terminate(policy)).await?;
    match end.exit.status {
        ExitStatus::Code(0) => Ok(()),
        _ => Err(format!("a session ended by {end:?}")),
    }
}

/// Waits until all of a session that has ended is copied, and returns its epoch.
pub(super) async fn whole(
    runner: &FleetRunner,
    bus: &RecordedBus,
    speaker: &Speaker,
) -> Result<Epoch, String> {
    let id = speaker.session.id();
    let end = journal_end(runner, id)?;
    let is_copied = |it: &FleetSession| {
        let copied = it.record.copied.at(StreamId::STDOUT) >= end;
        copied && it.record.ends.past(&it.record.copied) == 0
    };
    let session = until(bus, id, "the whole copy", is_copied).await?;
    Ok(session.record.epoch)
}

/// Compares the copy of an epoch with the journal of a session that has ended, and the journal with what the child
/// wrote.
pub(super) async fn check(
    runner: &FleetRunner,
    bus: &RecordedBus,
    speaker: &Speaker,
    epoch: Epoch,
) -> Result<(), String> {
    let id = speaker.session.id();
    let journal = runner.state().session(id).journal();
    let subject = log_subject(id, epoch);
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
