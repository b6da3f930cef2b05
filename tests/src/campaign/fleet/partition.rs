//! A runner that is cut off from NATS while its sessions go on, and a takeover of some of them by another one.
//!
//! Checked during the partition: a conversation whose runner is silent starts elsewhere only by a takeover. Checked at the
//! end: no session of the runner was ended by the lapse of its lease; both epochs of each session that was taken over are
//! whole, byte for byte; the later generation counts, for the session and for the claim of its conversation; the other
//! sessions stay those of their runner, in one epoch.

use std::time::Duration;

use bowline_fleet::{
    Bucket, ClaimRecord, ConversationKey, FleetSession, FleetUrl, KeyStore as _, Reach, RunnerId,
    fleet_session,
};
use bowline_lifecycle::control::{GENERATION_LABEL, RESUME_LABEL};
use bowline_transport::SessionRequest;
use bowline_transport::wire::{Epoch, StreamId};
use tokio::time::{Instant, sleep_until};

use super::speakers::{Speaker, check, end, open, progressed, until, whole, written};
use crate::campaign::support::{run_to_end, within};
use crate::campaign::{Job, Random, Report};
use crate::chaos::{Address, ChaosProxy, Fault, Faults};
use crate::fleet::{FleetRunner, NatsServers, RecordedBus, connect};

/// Sessions of the runner, and how many of them are taken over.
const SESSIONS: usize = 14;
const TAKEN_OVER: usize = 10;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    run_to_end(job, partition)
}

/// Two runners, of which the first reaches the servers through a proxy.
struct Fleet {
    first: FleetRunner,
    second: FleetRunner,
    second_id: RunnerId,
    proxy: ChaosProxy,
    bus: RecordedBus,
}

/// A session of the first runner, with its conversation and its epoch there.
struct Divided {
    speaker: Speaker,
    conversation: String,
    epoch: Epoch,
    /// The session at the second runner.
    taken: Option<Speaker>,
}

async fn partition(job: &Job, report: &mut Report) -> Result<(), String> {
    let servers = NatsServers::start(1, "")?;
    // The path of a socket is limited in length (unix(7)).
    let folder = tempfile::Builder::new().prefix("bw").tempdir_in("/tmp");
    let folder = folder.map_err(|error| error.to_string())?;
    let fleet = Fleet::start(&servers, folder.path(), job.seed).await?;
    let mut random = Random::new(job.seed);
    let (requests, conversations): (Vec<_>, Vec<_>) = (0..SESSIONS)
        .map(|_| {
            let seed = random.draw();
            let (mut request, conversation) = (Speaker::request(seed), uuid(&mut random));
            request.id = Some(bowline_transport::SessionId::random());
            let resumes = (RESUME_LABEL.to_owned(), conversation.clone());
            request.labels.extend([resumes]);
            let id = request.id;
            ((request, seed), (id, conversation))
        })
        .unzip();
    let speakers = open(&fleet.first, requests).await?;
    progressed(&fleet.first, &fleet.bus, &speakers).await?;
    let begin = Instant::now();
    fleet.proxy.freeze(true);
    let mut sessions = Vec::new();
    for speaker in speakers {
        let id = speaker.session.id();
        let conversation = conversations.iter().find(|it| it.0 == Some(id));
        let is_silent = |it: &FleetSession| matches!(it.reach, Reach::Silent { .. });
        let silent = until(&fleet.bus, id, "a lapse of the lease", is_silent).await?;
        sessions.push(Divided {
            speaker,
            conversation: conversation.ok_or("no conversation")?.1.clone(),
            epoch: silent.record.epoch,
            taken: None,
        });
    }
    let lapsed = begin.elapsed();
    for session in sessions.iter_mut().take(TAKEN_OVER) {
        let taken = fleet.take_over(session, random.draw()).await?;
        session.taken = Some(taken);
    }
    fleet.go_on(&sessions).await?;
    sleep_until(begin + Duration::from_secs(job.count)).await;
    fleet.go_on(&sessions).await?;
    let length = begin.elapsed();
    fleet.proxy.freeze(false);
    fleet.rejoined(&sessions).await?;
    for session in &sessions {
        let id = session.speaker.session.id();
        let outcome = fleet.check(session).await;
        report.one(outcome.map_err(|why| format!("session {id}: {why}")));
    }
    report.note(format!(
        "{SESSIONS} sessions, {TAKEN_OVER} taken over; silent after {lapsed:.1?}, cut off for {length:.1?}"
    ));
    fleet.first.stop().await;
    fleet.second.stop().await;
    Ok(())
}

/// Returns a random id of a conversation.
fn uuid(random: &mut Random) -> String {
    let (high, low) = (random.draw(), random.draw());
    format!("{high:016x}{low:016x}")
}

impl Fleet {
    async fn start(
        servers: &NatsServers,
        folder: &std::path::Path,
        seed: u64,
    ) -> Result<Self, String> {
        let id = |text: &str| text.parse::<RunnerId>().map_err(|error| error.to_string());
        let bus = within("a server", servers.set_up()).await?;
        // Nothing but the partition happens to the connection.
        let none = Faults {
            kinds: vec![Fault::Cut],
            after: u64::MAX - 1..u64::MAX,
        };
        let proxy = ChaosProxy::start(Address::Tcp(servers.address(0)), seed, none).await;
        let proxy = proxy.map_err(|error| error.to_string())?;
        let url = format!("nats://{}", proxy.address()).parse::<FleetUrl>();
        let url = url.map_err(|error| format!("{error}"))?;
        let through = within("a connection", connect(&url, None)).await?;
        let second_id = id("b")?;
        let [a, b] = ["a", "b"].map(|it| folder.join(it));
        for folder in [&a, &b] {
            std::fs::create_dir(folder).map_err(|error| error.to_string())?;
        }
        Ok(Self {
            first: FleetRunner::start(&a, &through, &id("a")?).await?,
            second: FleetRunner::start(&b, &bus, &second_id).await?,
            second_id,
            proxy,
            bus: RecordedBus::new(bus),
        })
    }

    /// Takes a session over. Without the next generation, its conversation is refused.
    async fn take_over(&self, session: &Divided, seed: u64) -> Result<Speaker, String> {
        let resumes = (RESUME_LABEL.to_owned(), session.conversation.clone());
        let mut request = SessionRequest {
            id: Some(session.speaker.session.id()),
            ..Speaker::request(seed)
        };
        request.labels.extend([resumes]);
        let second = self.second.remote();
        match Speaker::start(&second, &request, seed).await {
            Err(why) if why.contains("is written by session") => {}
            Err(why) => return Err(format!("refused by: {why}")),
            Ok(_) => return Err("a claimed conversation has a second writer".to_owned()),
        }
        let generation = (GENERATION_LABEL.to_owned(), "2".to_owned());
        request.labels.extend([generation]);
        let taken = Speaker::start(&second, &request, seed).await?;
        let is_there = |it: &FleetSession| {
            it.record.runner == self.second_id && it.record.copied.at(StreamId::STDOUT) > 0
        };
        until(&self.bus, taken.session.id(), "a takeover", is_there).await?;
        Ok(taken)
    }

    /// Waits until every session has written more, at both runners.
    async fn go_on(&self, sessions: &[Divided]) -> Result<(), String> {
        written(&self.first, sessions.iter().map(|it| &it.speaker)).await?;
        written(
            &self.second,
            sessions.iter().filter_map(|it| it.taken.as_ref()),
        )
        .await
    }

    /// Waits until the first runner renews its lease again.
    async fn rejoined(&self, sessions: &[Divided]) -> Result<(), String> {
        for session in sessions.iter().filter(|it| it.taken.is_none()) {
            let is_live = |it: &FleetSession| matches!(it.reach, Reach::Live { .. });
            let id = session.speaker.session.id();
            until(&self.bus, id, "a lease after the partition", is_live).await?;
        }
        self.go_on(sessions).await
    }

    async fn check(&self, session: &Divided) -> Result<(), String> {
        let id = session.speaker.session.id();
        end(&session.speaker).await?;
        let Some(taken) = &session.taken else {
            let epoch = whole(&self.first, &self.bus, &session.speaker).await?;
            return check(&self.first, &self.bus, &session.speaker, epoch).await;
        };
        check(&self.first, &self.bus, &session.speaker, session.epoch).await?;
        self.counts(session).await?;
        end(taken).await?;
        let epoch = whole(&self.second, &self.bus, taken).await?;
        if epoch == session.epoch {
            return Err("both incarnations have one epoch".to_owned());
        }
        check(&self.second, &self.bus, taken, epoch).await?;
        let record = fleet_session(&self.bus, id).await;
        let record = record.map_err(|error| error.to_string())?;
        let record = record.ok_or("no record of the session")?.record;
        let earlier: Vec<_> = record.earlier.iter().map(|it| it.epoch).collect();
        let is_later = record.runner == self.second_id && record.generation == 2;
        match is_later && earlier == [session.epoch] {
            true => Ok(()),
            false => Err(format!("the record is {record:?}")),
        }
    }

    /// Checks that the claim of a session's conversation is that of the second runner, which runs.
    async fn counts(&self, session: &Divided) -> Result<(), String> {
        let key = ConversationKey::new("claude", &session.conversation).key();
        let found = self.bus.get(Bucket::Claims, &key).await;
        let found = found.map_err(|error| error.to_string())?;
        let found = found.and_then(|it| it.value).ok_or("no claim")?;
        let claim: ClaimRecord =
            serde_json::from_slice(&found).map_err(|error| error.to_string())?;
        match claim.runner == self.second_id {
            true => Ok(()),
            false => Err(format!("the conversation is claimed by {claim:?}")),
        }
    }
}
