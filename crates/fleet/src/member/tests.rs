//! Members of a fleet over a broker in memory, under virtual time.

use std::time::{Duration, Instant};

use bowline_journal::{Arrival, Folder, JournalLimits, JournalTail, JournalWriter};
use bowline_wire::StreamId;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::sleep;

use super::*;
use crate::bus::{Bucket, FileStore as _, KeyStore as _};
use crate::carrier::open_link;
use crate::claims::{ClaimOutcome, claim};
use crate::directory::{ConversationKey, GitState, Reach, file_name, link_subject, take_over};
use crate::fake::FakeBus;
use crate::view::{
    FleetSession, FleetWatch, fleet_session, fleet_sessions, read_replica, read_replica_from,
};

/// A daemon whose sessions are journals in a folder.
#[derive(Clone, Default)]
struct Daemon {
    sessions: Arc<Mutex<Vec<LocalSession>>>,
}

impl LocalRunner for Daemon {
    async fn sessions(&self) -> Option<Vec<LocalSession>> {
        Some(self.sessions.lock().clone())
    }

    async fn files(&self, session: &LocalSession) -> Option<LocalFiles> {
        Some(LocalFiles {
            archive: session.summary["phase"].to_string().into(),
            git: Some(GitState::default()),
        })
    }

    async fn serve(&self, mut stream: DuplexStream, opening: LinkOpening) {
        let _ = stream.write_all(opening.scope.as_bytes()).await;
    }
}

impl Daemon {
    /// Adds a session with this number of bytes of output.
    fn add(&self, folder: &tempfile::TempDir, epoch: u128, bytes: usize) -> SessionId {
        let id = SessionId::random();
        let journal = folder.path().join(id.to_string());
        let disk = Folder::make(&journal).unwrap();
        let limits = JournalLimits::default();
        let mut writer = JournalWriter::create(disk, limits, Epoch(epoch), 1).unwrap();
        let (bytes, at) = (vec![b'x'; bytes].into(), Arrival::at(1));
        writer
            .append(StreamId::STDOUT, 0, bytes, at, Instant::now())
            .unwrap();
        let session = LocalSession {
            id,
            epoch: Epoch(epoch),
            has_ended: false,
            journal,
            summary: serde_json::json!({ "id": id, "state": "running" }),
            conversation: None,
            generation: None,
        };
        self.sessions.lock().push(session);
        id
    }

    fn join(&self, bus: &FakeBus, name: &str) -> Member {
        Member::join(bus.clone(), Self::configuration(name), self.clone())
    }

    fn configuration(name: &str) -> MemberConfiguration {
        MemberConfiguration {
            runner: name.parse().unwrap(),
            name: format!("{name}.example"),
            version: "1".to_owned(),
            boot: format!("boot of {name}"),
            is_durable: watch::channel(false).1,
            log_days: None,
        }
    }
}

/// Waits until a session satisfies a condition.
async fn until(
    bus: &FakeBus,
    id: SessionId,
    condition: impl Fn(&FleetSession) -> bool,
) -> FleetSession {
    loop {
        if let Ok(Some(session)) = fleet_session(bus, id).await
            && condition(&session)
        {
            return session;
        }
        sleep(Duration::from_millis(100)).await;
    }
}

fn copied(bytes: u64) -> impl Fn(&FleetSession) -> bool {
    move |it| it.record.copied.at(StreamId::STDOUT) == bytes
}

#[tokio::test(start_paused = true)]
async fn runners_see_and_reach_each_others_sessions() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let (a, b) = (Daemon::default(), Daemon::default());
    let first = a.add(&folder, 1, 1000);
    let second = b.add(&folder, 2, 500);
    let _members = (a.join(&bus, "a"), b.join(&bus, "b"));
    let session = until(&bus, first, copied(1000)).await;
    until(&bus, second, copied(500)).await;
    assert_eq!(session.runner_name, "a.example");
    assert_eq!(fleet_sessions(&bus).await.unwrap().len(), 2);
    let Reach::Live { link } = session.reach else {
        panic!("its runner renews its lease");
    };
    let mut stream = open_link(&bus, &link, "test", "look").await.unwrap();
    let mut scope = String::new();
    stream.read_to_string(&mut scope).await.unwrap();
    assert_eq!(scope, "look");
}

#[tokio::test(start_paused = true)]
async fn session_of_a_gone_runner_is_silent_and_readable() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let daemon = Daemon::default();
    let id = daemon.add(&folder, 1, 300_000);
    let member = daemon.join(&bus, "a");
    until(&bus, id, copied(300_000)).await;
    drop(member);
    let is_silent = |it: &FleetSession| matches!(it.reach, Reach::Silent { since_ms: Some(_) });
    let begin = tokio::time::Instant::now();
    let session = until(&bus, id, is_silent).await;
    assert!(begin.elapsed() <= Duration::from_secs(31));
    let mut replica = read_replica(&bus, &session).await.unwrap();
    let journal = folder.path().join(id.to_string());
    let mut tail = JournalTail::new(Folder::at(journal), std::collections::BTreeMap::new());
    let records: Vec<_> = std::iter::from_fn(|| tail.next_record().unwrap()).collect();
    assert_eq!(replica.take_records(), records);
}

#[tokio::test(start_paused = true)]
async fn partitioned_runner_keeps_both_epochs_after_a_takeover() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let daemon = Daemon::default();
    let id = daemon.add(&folder, 1, 1000);
    let _member = daemon.join(&bus, "a");
    until(&bus, id, copied(1000)).await;
    bus.cut();
    sleep(Duration::from_secs(600)).await;
    bus.connect();
    // Another runner takes it over before the first has written again.
    let entry = bus
        .get(Bucket::Sessions, &id.to_string())
        .await
        .unwrap()
        .unwrap();
    let stored = serde_json::from_slice(&entry.value.unwrap()).unwrap();
    let taken = take_over(&stored, "b".parse().unwrap(), Epoch(2));
    let value = serde_json::to_vec(&taken).unwrap();
    bus.cas(
        Bucket::Sessions,
        &id.to_string(),
        entry.revision,
        value.into(),
    )
    .await
    .unwrap();
    // The first continues, and leaves the record as it is.
    daemon.sessions.lock()[0].summary = serde_json::json!({ "id": id, "state": "exited" });
    sleep(Duration::from_secs(30)).await;
    let session = fleet_session(&bus, id).await.unwrap().unwrap();
    assert_eq!(session.record, taken);
    assert_eq!(session.record.generation, 2);
    assert_eq!(session.record.earlier[0].epoch, Epoch(1));
    let mut old = session.clone();
    old.record.epoch = Epoch(1);
    assert_eq!(
        read_replica(&bus, &old)
            .await
            .unwrap()
            .end()
            .at(StreamId::STDOUT),
        1000
    );
}

#[tokio::test(start_paused = true)]
async fn wiped_directory_is_written_again() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let daemon = Daemon::default();
    let ids: Vec<_> = (0..20).map(|n| daemon.add(&folder, n + 1, 700)).collect();
    let _member = daemon.join(&bus, "a");
    for id in &ids {
        until(&bus, *id, copied(700)).await;
    }
    bus.cut();
    bus.wipe();
    bus.connect();
    for id in &ids {
        let session = until(&bus, *id, copied(700)).await;
        let replica = read_replica(&bus, &session).await.unwrap();
        assert_eq!(replica.end().at(StreamId::STDOUT), 700);
    }
    until(&bus, ids[0], |it| {
        it.reach
            == Reach::Live {
                link: link_subject(&"a".parse().unwrap()),
            }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn conversation_has_one_writer_in_the_fleet() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let (a, b) = (Daemon::default(), Daemon::default());
    let (first, second) = (a.add(&folder, 1, 10), b.add(&folder, 2, 10));
    let conversation = ConversationKey::new("claude", "c");
    a.sessions.lock()[0].conversation = Some(conversation.clone());
    let _a = a.join(&bus, "a");
    until(&bus, first, copied(10)).await;
    b.sessions.lock()[0].conversation = Some(conversation.clone());
    let _b = b.join(&bus, "b");
    // The second session is not ended: its record names the first.
    let session = until(&bus, second, |it| it.record.claimed_by.is_some()).await;
    assert_eq!(session.record.claimed_by.unwrap().session, first);
    assert_eq!(until(&bus, first, |_| true).await.record.claimed_by, None);
    // The claim outlives a lapsed lease, and is given up at the session's end.
    bus.cut();
    sleep(Duration::from_secs(60)).await;
    bus.connect();
    sleep(Duration::from_secs(5)).await;
    let session = until(&bus, second, |_| true).await;
    assert_eq!(session.record.claimed_by.unwrap().session, first);
    a.sessions.lock()[0].has_ended = true;
    until(&bus, second, |it| it.record.claimed_by.is_none()).await;
    let held = claim(&bus, &conversation, &"b".parse().unwrap(), second, false).await;
    assert!(matches!(held, Ok(ClaimOutcome::Held(_))), "{held:?}");
}

#[tokio::test(start_paused = true)]
async fn taken_over_session_counts_at_its_new_runner() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let (a, b) = (Daemon::default(), Daemon::default());
    let id = a.add(&folder, 1, 10);
    let _a = a.join(&bus, "a");
    until(&bus, id, copied(10)).await;
    // The same session in another incarnation, which was started with the next generation.
    let other = tempfile::tempdir().unwrap();
    b.add(&other, 2, 20);
    let journal = b.sessions.lock()[0].journal.clone();
    b.sessions.lock()[0] = LocalSession {
        id,
        epoch: Epoch(2),
        journal,
        generation: Some(2),
        ..a.sessions.lock()[0].clone()
    };
    let _b = b.join(&bus, "b");
    let session = until(&bus, id, copied(20)).await;
    assert_eq!(session.record.runner.as_str(), "b");
    assert_eq!(session.record.generation, 2);
    assert_eq!(session.record.earlier[0].epoch, Epoch(1));
    assert_eq!(session.record.earlier[0].generation, 1);
    // The first runner writes again, and is superseded.
    a.sessions.lock()[0].summary = serde_json::json!({ "id": id, "state": "exited" });
    sleep(Duration::from_secs(30)).await;
    let after = fleet_session(&bus, id).await.unwrap().unwrap();
    assert_eq!(after.record, session.record);
}

#[tokio::test(start_paused = true)]
async fn files_of_a_conversation_are_copied_between_turns() {
    let (folder, bus, daemon) = (
        tempfile::tempdir().unwrap(),
        FakeBus::default(),
        Daemon::default(),
    );
    let id = daemon.add(&folder, 1, 1000);
    let set = |phase: &str| {
        let mut sessions = daemon.sessions.lock();
        sessions[0].conversation = Some(ConversationKey::new("claude", "c"));
        sessions[0].summary = serde_json::json!({ "state": "running", "phase": phase });
    };
    set("running");
    let _member = daemon.join(&bus, "a");
    until(&bus, id, copied(1000)).await;
    sleep(Duration::from_secs(5)).await;
    let name = file_name(id, Epoch(1));
    assert_eq!(bus.file(&name).await, Ok(None));
    set("idle");
    let session = until(&bus, id, |it| it.record.git.is_some()).await;
    assert_eq!(session.record.git, Some(GitState::default()));
    let file = bus.file(&name).await.unwrap().unwrap();
    assert_eq!(file, "\"idle\"");
    // They are there again after the servers lost them.
    bus.cut();
    bus.wipe();
    bus.connect();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(bus.file(&name).await, Ok(Some(file)));
}

/// Waits until a watched list satisfies a condition.
async fn until_listed(
    watch: &mut FleetWatch<FakeBus>,
    condition: impl Fn(&[FleetSession]) -> bool,
) -> Vec<FleetSession> {
    loop {
        let sessions = watch.changed().await;
        if condition(&sessions) {
            return sessions;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn watched_list_has_every_change_and_lapse() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let daemon = Daemon::default();
    let first = daemon.add(&folder, 1, 10);
    let member = daemon.join(&bus, "a");
    until(&bus, first, copied(10)).await;
    let (mut watch, sessions) = FleetWatch::open(bus.clone()).await.unwrap();
    assert_eq!(sessions, fleet_sessions(&bus).await.unwrap());
    // Renewals alone change nothing.
    let quiet = tokio::time::timeout(Duration::from_secs(20), watch.changed()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    let second = daemon.add(&folder, 2, 10);
    let listed = until_listed(&mut watch, |it| it.len() == 2).await;
    assert!(listed.iter().any(|it| it.id == second));
    daemon.sessions.lock()[0].summary = serde_json::json!({ "id": first, "state": "exited" });
    until_listed(&mut watch, |it| it.iter().any(|it| it.record.has_ended())).await;
    // The runner is silent once its lease has lapsed, and live again later.
    drop(member);
    let begin = tokio::time::Instant::now();
    let is_silent = |it: &FleetSession| matches!(it.reach, Reach::Silent { since_ms: Some(_) });
    until_listed(&mut watch, |it| it.iter().all(is_silent)).await;
    let lapsed = begin.elapsed();
    assert!(lapsed <= Duration::from_secs(32), "{lapsed:?}");
    let _member = daemon.join(&bus, "a");
    let is_live = |it: &FleetSession| matches!(it.reach, Reach::Live { .. });
    until_listed(&mut watch, |it| it.iter().all(is_live)).await;
}

#[tokio::test(start_paused = true)]
async fn watch_goes_on_after_the_servers_lost_everything() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let daemon = Daemon::default();
    let id = daemon.add(&folder, 1, 10);
    let _member = daemon.join(&bus, "a");
    until(&bus, id, copied(10)).await;
    let (mut watch, _) = FleetWatch::open(bus.clone()).await.unwrap();
    bus.cut();
    sleep(Duration::from_secs(40)).await;
    bus.wipe();
    bus.connect();
    daemon.add(&folder, 2, 10);
    let is_copied = |it: &FleetSession| it.record.copied.at(StreamId::STDOUT) == 10;
    let listed = until_listed(&mut watch, |it| it.len() == 2 && it.iter().all(is_copied)).await;
    assert_eq!(listed, fleet_sessions(&bus).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn logs_older_than_their_limit_are_not_copied_again() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let daemon = Daemon::default();
    let (old, recent) = (daemon.add(&folder, 1, 10), daemon.add(&folder, 2, 10));
    let day = Duration::from_secs(24 * 60 * 60);
    for (n, days) in [(0, 31), (1, 29)] {
        let ended = std::time::SystemTime::now() - days * day;
        let ended = ended.duration_since(std::time::UNIX_EPOCH).unwrap();
        let mut sessions = daemon.sessions.lock();
        sessions[n].has_ended = true;
        sessions[n].summary["state"] = "exited".into();
        sessions[n].summary["ended_ms"] = (ended.as_millis() as u64).into();
    }
    let mut configuration = Daemon::configuration("a");
    configuration.log_days = Some(30);
    let _member = Member::join(bus.clone(), configuration, daemon);
    until(&bus, recent, copied(10)).await;
    sleep(Duration::from_secs(60)).await;
    // It is listed all the same.
    let session = fleet_session(&bus, old).await.unwrap().unwrap();
    assert_eq!(session.record.copied.total(), 0);
}

#[tokio::test(start_paused = true)]
async fn copy_is_read_again_until_a_server_has_what_was_copied() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let daemon = Daemon::default();
    let id = daemon.add(&folder, 1, 5_000_000);
    let _member = daemon.join(&bus, "a");
    let session = until(&bus, id, copied(5_000_000)).await;
    let end = async || {
        let whole = read_replica(&bus, &session).await.unwrap();
        let part = read_replica_from(&bus, &session, StreamId::STDOUT, 3_500_000).await;
        [whole, part.unwrap()].map(|it| it.end().at(StreamId::STDOUT))
    };
    bus.lag(5, 3);
    assert_eq!(end().await, [5_000_000; 2]);
    // What the stream has lost does not come, and is not waited for without end.
    bus.lose_tail(3);
    let [whole, part] = end().await;
    assert!(whole == part && whole < 5_000_000, "{whole} {part}");
}

#[tokio::test(start_paused = true)]
async fn copy_is_read_from_an_offset_by_the_index() {
    let (folder, bus) = (tempfile::tempdir().unwrap(), FakeBus::default());
    let daemon = Daemon::default();
    let id = daemon.add(&folder, 1, 5_000_000);
    let _member = daemon.join(&bus, "a");
    let session = until(&bus, id, copied(5_000_000)).await;
    let from = 3_500_000;
    let sequence = session.record.index.sequence_for(from);
    assert!(sequence > 1, "{:?}", session.record.index);
    let read = async |session: &FleetSession| {
        let replica = read_replica_from(&bus, session, StreamId::STDOUT, from).await;
        let records = replica.unwrap().take_records();
        (
            records.first().unwrap().offset,
            records.last().unwrap().end(),
        )
    };
    assert_eq!(read(&session).await, (from, 5_000_000));
    // An index of messages that the stream lost since leads nowhere, and all is read.
    let mut stale = session.clone();
    stale.record.index =
        serde_json::from_value(serde_json::json!({ "entries": [[0, 1 << 20]] })).unwrap();
    assert_eq!(read(&stale).await, (0, 5_000_000));
}
