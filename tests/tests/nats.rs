//! The connection against real servers: one alone, and three.

#[path = "nats/discovery.rs"]
mod discovery;
#[path = "nats/settings.rs"]
mod settings;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bowline_fleet::{
    Bucket, Bus as _, BusError, ConnectError, Connection, FileStore as _, FleetPlan, KeyStore as _,
    LinkError, LocalJournal, LogLimits, LogStore as _, Messages as _, NatsCredentials, Positions,
    Replica, ReplicaState, SetupError, StoredMessage, accept_link, log_subject, open_link,
    provision, replicate,
};
use bowline_tests::fleet::NatsServers;
use bowline_transport::SessionId;
use bowline_transport::journal::{Arrival, Folder, JournalLimits, JournalTail, JournalWriter};
use bowline_transport::wire::{Epoch, StreamId};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};

const SUBJECT: &str =
    "bl.log.00000000-0000-4000-8000-00000000000a.00000000000000000000000000000001";

async fn collect(
    mut messages: mpsc::Receiver<Result<StoredMessage, BusError>>,
) -> Vec<StoredMessage> {
    let mut all = Vec::new();
    while let Some(message) = messages.recv().await {
        all.push(message.expect("a message"));
    }
    all
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn append_is_fenced_by_the_last_sequence() {
    let servers = NatsServers::start(1, "").unwrap();
    let connection = servers.set_up().await;
    assert_eq!(connection.last(SUBJECT).await, Ok(None));
    let begin: Positions = "1:0".parse().unwrap();
    let append = |expected, body: &'static str| {
        let (connection, begin) = (connection.clone(), begin.clone());
        async move {
            connection
                .append(SUBJECT, expected, &begin, body.into())
                .await
        }
    };
    let first = append(0, "a").await.unwrap();
    assert_eq!(append(0, "x").await, Err(BusError::WrongLast));
    let second = append(first, "b").await.unwrap();
    let last = connection.last(SUBJECT).await.unwrap().unwrap();
    assert_eq!((last.sequence, &last.body[..]), (second, &b"b"[..]));
    assert_eq!(last.begin, Some(begin.clone()));
    let all = collect(connection.read(SUBJECT, 0).await.unwrap()).await;
    let bodies: Vec<_> = all.iter().map(|it| &it.body[..]).collect();
    assert_eq!(bodies, [b"a", b"b"]);
    let filter = SUBJECT.rsplit_once('.').unwrap().0.to_owned() + ".>";
    let later = collect(connection.read(&filter, second).await.unwrap()).await;
    assert_eq!(later, all[1..]);
    let none = collect(connection.read("bl.log.other.>", 0).await.unwrap()).await;
    assert!(none.is_empty());
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn copy_is_read_in_pieces_that_the_server_can_hold() {
    // Half of the default, and a third of the copy.
    let servers = NatsServers::start(1, "max_pending: 32MB\n").unwrap();
    let connection = servers.set_up().await;
    let body = Bytes::from(vec![0; 250 << 10]);
    let mut last = 0;
    for _ in 0..400 {
        let begin = Positions::default();
        let stored = connection.append(SUBJECT, last, &begin, body.clone());
        last = stored.await.unwrap();
    }
    let all = collect(connection.read(SUBJECT, 0).await.unwrap()).await;
    assert_eq!(all.len(), 400);
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn keys_are_replaced_by_comparing_revisions() {
    let servers = NatsServers::start(1, "").unwrap();
    let connection = servers.set_up().await;
    let bucket = Bucket::Sessions;
    assert_eq!(connection.get(bucket, "a").await, Ok(None));
    assert_eq!(connection.entries(bucket).await, Ok(Vec::new()));
    let mut watch = connection.watch(bucket).await.unwrap();
    let first = connection.cas(bucket, "a", 0, "1".into()).await.unwrap();
    let again = connection.cas(bucket, "a", 0, "2".into()).await;
    assert_eq!(again, Err(BusError::WrongLast));
    let second = connection
        .cas(bucket, "a", first, "2".into())
        .await
        .unwrap();
    connection.cas(bucket, "b", 0, "3".into()).await.unwrap();
    let entry = connection.get(bucket, "a").await.unwrap().unwrap();
    assert_eq!(
        (entry.revision, entry.value),
        (second, Some(Bytes::from_static(b"2")))
    );
    assert!(entry.written_ms > 1_700_000_000_000);
    let keys: Vec<_> = connection.entries(bucket).await.unwrap();
    let keys: Vec<_> = keys.into_iter().map(|it| it.key).collect();
    assert_eq!(keys, ["a", "b"]);
    connection.delete(bucket, "a", second).await.unwrap();
    let deleted = connection.get(bucket, "a").await.unwrap().unwrap();
    assert_eq!(deleted.value, None);
    assert_eq!(connection.entries(bucket).await.unwrap().len(), 1);
    connection
        .cas(bucket, "a", deleted.revision, "4".into())
        .await
        .unwrap();
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(watch.recv().await.unwrap());
    }
    let seen: Vec<_> = seen
        .iter()
        .map(|it| (it.key.as_str(), it.value.as_deref()))
        .collect();
    let expected: [(&str, Option<&[u8]>); 5] = [
        ("a", Some(b"1")),
        ("a", Some(b"2")),
        ("b", Some(b"3")),
        ("a", None),
        ("a", Some(b"4")),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn requests_are_answered_or_nothing_listens() {
    let servers = NatsServers::start(1, "").unwrap();
    let (a, b) = (servers.connect(None).await, servers.connect(None).await);
    let unheard = a.request("bl.link.x", "hello".into()).await;
    assert_eq!(unheard, Err(BusError::NoResponders("bl.link.x".into())));
    let mut requests = b.subscribe("bl.link.x").await.unwrap();
    // The server has the subscription once it answers on the same connection.
    let _ = b.request("bl.link.y", "ping".into()).await;
    tokio::spawn(async move {
        let request = requests.recv().await.unwrap();
        b.publish(&request.reply.unwrap(), request.payload)
            .await
            .unwrap();
    });
    assert_eq!(
        a.request("bl.link.x", "hello".into()).await,
        Ok("hello".into())
    );
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn refused_rights_are_told_at_once() {
    let accounts = "authorization { users: [ { user: u, password: p, permissions: { \
        publish: { deny: [\"bl.log.>\", \"$JS.API.STREAM.MSG.GET.BL_LOG\", \"$KV.BL_CLAIMS.>\", \
        \"$JS.API.CONSUMER.CREATE.KV_BL_CLAIMS.>\"] }, subscribe: { deny: [\"bl.link.>\"] } } } ] }\n\
        no_auth_user: u\n";
    let servers = NatsServers::start(1, accounts).unwrap();
    let connection = servers.set_up().await;
    let begin = Positions::default();
    let denied = |subject: &str| BusError::Denied(format!("publish to {subject}"));
    let append = connection.append(SUBJECT, 0, &begin, "a".into()).await;
    assert_eq!(append, Err(denied(SUBJECT)));
    let last = connection.last(SUBJECT).await;
    assert_eq!(last, Err(denied("$JS.API.STREAM.MSG.GET.BL_LOG")));
    let claim = connection.cas(Bucket::Claims, "a.b", 0, "1".into()).await;
    assert_eq!(claim, Err(denied("$KV.BL_CLAIMS.a.b")));
    assert!(matches!(
        connection.entries(Bucket::Claims).await,
        Err(BusError::Denied(_))
    ));
    let mut refused = connection.subscribe("bl.link.x").await.unwrap();
    assert_eq!(refused.recv().await, None);
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn wiped_server_is_filled_again_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let disk = Folder::make(&path).unwrap();
    let mut writer = JournalWriter::create(disk, JournalLimits::default(), Epoch(3), 9).unwrap();
    let mut write = |count: usize| {
        for n in 0..count {
            let at = writer.end(StreamId::STDOUT);
            let bytes = vec![n as u8; 3000].into();
            writer
                .append(
                    StreamId::STDOUT,
                    at,
                    bytes,
                    Arrival::at(at + 1),
                    Instant::now(),
                )
                .unwrap();
        }
        writer.end(StreamId::STDOUT)
    };
    let mut servers = NatsServers::start(1, "").unwrap();
    let connection = servers.set_up().await;
    let session = SessionId::random();
    let journal = LocalJournal {
        session,
        path: path.clone(),
    };
    let (state, (ended, has_ended)) = (
        watch::Sender::new(ReplicaState::default()),
        watch::channel(false),
    );
    let (bus, updates) = (connection.clone(), state.clone());
    let running = tokio::spawn(async move { replicate(&bus, journal, &updates, has_ended).await });
    let copied = async |end: u64| {
        let mut state = state.subscribe();
        state
            .wait_for(|it| it.copied.at(StreamId::STDOUT) == end)
            .await
            .unwrap();
    };
    copied(write(500)).await;
    servers.kill(0);
    servers.wipe(0).unwrap();
    let end = write(100);
    servers.run(0).unwrap();
    while connection.set_up(Some(1)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    copied(end).await;
    ended.send_replace(true);
    running.await.unwrap().unwrap();
    let mut replica = Replica::default();
    let subject = log_subject(session, Epoch(3));
    for message in collect(connection.read(&subject, 0).await.unwrap()).await {
        replica.take(message.sequence, &message.body);
    }
    replica.finish();
    let mut tail = JournalTail::new(Folder::at(path), BTreeMap::new());
    let records: Vec<_> = std::iter::from_fn(|| tail.next_record().unwrap()).collect();
    assert_eq!(replica.take_records(), records);
}

/// How often a log is read until it has all messages.
const READS: usize = 200;

#[tokio::test]
#[ignore = "needs three NATS servers: .ci/nats"]
async fn acknowledged_messages_survive_the_leader() {
    let mut servers = NatsServers::start(3, "").unwrap();
    let connection = servers.set_up().await;
    assert_eq!(connection.layout().await.unwrap().replicas, 3);
    let mut connects = connection.connects();
    let begin = Positions::default();
    let (mut last, mut acknowledged) = (0, Vec::new());
    for n in 0..60_u64 {
        if n == 20 {
            servers.kill(0);
        }
        if n == 40 {
            servers.run(0).unwrap();
        }
        let body = Bytes::from(n.to_string());
        loop {
            match connection.append(SUBJECT, last, &begin, body.clone()).await {
                Ok(sequence) => {
                    last = sequence;
                    break;
                }
                // Its reply was lost, or another one took its place.
                Err(_) => match connection.last(SUBJECT).await {
                    Ok(Some(found)) if found.body == body => {
                        last = found.sequence;
                        break;
                    }
                    Ok(found) => last = found.map_or(0, |it| it.sequence),
                    Err(_) => {
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        acknowledged.push(body);
    }
    let mut all = Vec::new();
    // The reader's consumer can be on the server that came back, which lacks what it has not caught up with.
    for _ in 0..READS {
        if let Ok(messages) = connection.read(SUBJECT, 0).await {
            all = collect(messages).await;
        }
        if all.last().is_some_and(|it| it.sequence == last) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let bodies: Vec<_> = all.into_iter().map(|it| it.body).collect();
    assert_eq!(bodies, acknowledged);
    assert!(*connects.borrow_and_update() >= 1);
}

/// Two runners and a host with the rights of a generated configuration.
#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn generated_rights_are_enough_and_no_more() {
    let plan = FleetPlan {
        nodes: vec!["127.0.0.1".to_owned()],
        runners: vec!["a".to_owned(), "b".to_owned()],
        hosts: vec!["laptop".to_owned()],
        log: LogLimits::default(),
    };
    let files = provision(&plan).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for file in &files {
        std::fs::write(folder.path().join(&file.name), &file.text).unwrap();
    }
    let credentials = |name: &str| {
        let path = folder.path().join(format!("{name}.creds"));
        NatsCredentials::read(&path).unwrap()
    };
    let text = &files
        .iter()
        .find(|it| it.name == "fleet-1.conf")
        .unwrap()
        .text;
    let accounts = text.split_once("accounts").unwrap().1;
    let servers = NatsServers::start(1, &format!("accounts{accounts}")).unwrap();
    let a = servers.connect(Some(&credentials("a"))).await;
    let b = servers.connect(Some(&credentials("b"))).await;
    let laptop = servers.connect(Some(&credentials("laptop"))).await;
    assert_eq!(a.set_up(None).await.unwrap().replicas, 1);
    b.set_up(None).await.unwrap();
    // A runner writes its own record and logs, and not another one's record.
    a.cas(Bucket::Runners, "a", 0, "{}".into()).await.unwrap();
    let other = a.cas(Bucket::Runners, "b", 0, "{}".into()).await;
    assert!(matches!(other, Err(BusError::Denied(_))), "{other:?}");
    assert_eq!(a.last(SUBJECT).await, Ok(None));
    a.append(SUBJECT, 0, &Positions::default(), "x".into())
        .await
        .unwrap();
    // A host reads and writes nothing.
    assert_eq!(
        collect(laptop.read(SUBJECT, 0).await.unwrap()).await.len(),
        1
    );
    assert_eq!(laptop.entries(Bucket::Runners).await.unwrap().len(), 1);
    let append = laptop
        .append(SUBJECT, 1, &Positions::default(), "x".into())
        .await;
    assert!(matches!(append, Err(BusError::Denied(_))), "{append:?}");
    let record = laptop.cas(Bucket::Sessions, "x", 0, "{}".into()).await;
    assert!(matches!(record, Err(BusError::Denied(_))), "{record:?}");
    // Files pass between runners only, and a later one replaces an earlier one.
    let content: Bytes = (0..3_000_000_u32).map(|n| (n >> 7) as u8).collect();
    a.put_file("s/1", "old".into()).await.unwrap();
    a.put_file("s/1", content.clone()).await.unwrap();
    let read = b.file("s/1").await.unwrap();
    assert!(read == Some(content), "another content");
    assert_eq!(b.file("s/2").await, Ok(None));
    assert!(laptop.put_file("s/1", "x".into()).await.is_err());
    let mut listen = laptop.subscribe("bl.link.a").await.unwrap();
    assert_eq!(listen.recv().await, None);
    // A link between them.
    let mut requests = a.subscribe("bl.link.a").await.unwrap();
    let _ = a.request("bl.link.b", "ping".into()).await;
    tokio::spawn(async move {
        let request = requests.recv().await.unwrap();
        let (mut stream, _) = accept_link(&a, &request).await.unwrap().unwrap();
        stream.write_all(b"ahoy").await.unwrap();
    });
    let mut link = open_link(&laptop, "bl.link.a", "laptop", "own")
        .await
        .unwrap();
    let mut text = String::new();
    link.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "ahoy");
    // A client without a key of the fleet is refused.
    let stranger = provision(&plan).unwrap();
    std::fs::write(folder.path().join("x.creds"), &stranger[0].text).unwrap();
    let refused = Connection::open(&servers.url(), Some(&credentials("x")), "x").await;
    assert!(
        matches!(refused, Err(ConnectError::Refused(_))),
        "{refused:?}"
    );
    let system = servers.connect(Some(&credentials("system"))).await;
    assert_server_is_reported(&system, &b).await;
}

/// Asserts that one server reports that it syncs always, to the system account and to a runner in its way.
async fn assert_server_is_reported(system: &Connection, runner: &Connection) {
    for reported in [system.servers_as_system().await, runner.servers().await] {
        let reported: Vec<_> = reported.iter().map(|it| it.is_sync_always).collect();
        assert_eq!(reported, [true]);
    }
    assert_eq!(runner.servers_as_system().await, []);
    // One server that syncs has no other that outlives it.
    assert!(!runner.is_durable().await);
}

/// What is copied is called durable only where three replicas and syncing servers were seen.
#[tokio::test]
#[ignore = "needs three NATS servers: .ci/nats"]
async fn durability_is_learned_from_the_servers() {
    let plan = FleetPlan {
        nodes: ["a", "b", "c"].map(str::to_owned).to_vec(),
        runners: vec!["a".to_owned()],
        hosts: Vec::new(),
        log: LogLimits::default(),
    };
    let folder = tempfile::tempdir().unwrap();
    let files = provision(&plan).unwrap();
    let find = |name: &str| files.iter().find(|it| it.name == name).unwrap();
    let path = folder.path().join("a.creds");
    std::fs::write(&path, &find("a.creds").text).unwrap();
    let credentials = NatsCredentials::read(&path).unwrap();
    let accounts = find("fleet-1.conf").text.split_once("accounts").unwrap().1;
    let mut servers = NatsServers::start(3, &format!("accounts{accounts}")).unwrap();
    let a = servers.connect(Some(&credentials)).await;
    while a.set_up(Some(3)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (known, mut is_durable) = watch::channel(false);
    let keeping = a.clone();
    let keeping = tokio::spawn(async move { keeping.keep_durability(&known).await });
    let wait = is_durable.wait_for(|it| *it);
    tokio::time::timeout(Duration::from_secs(120), wait)
        .await
        .expect("durable")
        .unwrap();
    // A server that syncs now and then only.
    servers.kill(0);
    servers.sync_rarely();
    servers.run(0).unwrap();
    let wait = is_durable.wait_for(|it| !*it);
    tokio::time::timeout(Duration::from_secs(120), wait)
        .await
        .expect("copied only")
        .unwrap();
    keeping.abort();
    let reported = loop {
        let reported = a.servers().await;
        if reported.len() == 3 {
            break reported;
        }
    };
    let lazy: Vec<_> = reported.iter().filter(|it| !it.is_sync_always).collect();
    assert_eq!(lazy.len(), 1, "{reported:?}");
    assert!(!a.is_durable().await);
    // Servers that do not say how they sync.
    let silent = NatsServers::start(1, "").unwrap();
    let silent = silent.set_up().await;
    assert_eq!(silent.servers().await, []);
    assert!(!silent.is_durable().await);
}

/// A tenant has an account of its own, and a third one has no JetStream.
const TENANTS: &str = "accounts {
    A { jetstream: enabled, users: [ { nkey: A_KEY } ] }
    B { jetstream: enabled, users: [ { nkey: B_KEY } ] }
    C { users: [ { nkey: C_KEY } ] }
}
";

/// Returns credentials with a new key, and its public part.
fn new_credentials(folder: &std::path::Path, name: &str) -> (NatsCredentials, String) {
    let key = nkeys::KeyPair::new_user();
    let path = folder.join(name);
    let seed = key.seed().expect("a seed");
    std::fs::write(&path, format!("nkey {seed}\n")).expect("a file");
    let credentials = NatsCredentials::read(&path).expect("credentials");
    (credentials, key.public_key())
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn hosts_of_other_accounts_get_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let users = ["A", "B", "C"].map(|name| (name, new_credentials(folder.path(), name)));
    let mut accounts = TENANTS.to_owned();
    for (name, (_, public)) in &users {
        accounts = accounts.replace(&format!("{name}_KEY"), public);
    }
    let servers = NatsServers::start(1, &accounts).unwrap();
    let [a, b, c] = users.map(|(_, (credentials, _))| credentials);
    let a = servers.connect(Some(&a)).await;
    let (b, c) = (
        servers.connect(Some(&b)).await,
        servers.connect(Some(&c)).await,
    );
    a.set_up(Some(1)).await.unwrap();
    a.append(SUBJECT, 0, &Positions::default(), "secret".into())
        .await
        .unwrap();
    let _links = a.subscribe("bl.link.a").await.unwrap();
    // The other tenant's host, before and after its own fleet is set up.
    let missing = b.read(SUBJECT, 0).await.unwrap_err();
    assert!(matches!(missing, BusError::NoStream(_)), "{missing:?}");
    b.set_up(Some(1)).await.unwrap();
    assert!(collect(b.read(SUBJECT, 0).await.unwrap()).await.is_empty());
    assert_eq!(b.last(SUBJECT).await, Ok(None));
    assert_eq!(b.entries(Bucket::Sessions).await, Ok(Vec::new()));
    let link = open_link(&b, "bl.link.a", "b", "own").await;
    assert!(matches!(link, Err(LinkError::Away)), "{link:?}");
    // The wrong account.
    let none = c.set_up(None).await;
    assert!(matches!(none, Err(SetupError::NoJetStream)), "{none:?}");
    for refused in [
        c.read(SUBJECT, 0).await.map(drop),
        c.last(SUBJECT).await.map(drop),
        c.entries(Bucket::Sessions).await.map(drop),
    ] {
        assert!(matches!(refused, Err(BusError::NoStream(_))), "{refused:?}");
    }
    let link = open_link(&c, "bl.link.a", "c", "own").await;
    assert!(matches!(link, Err(LinkError::Away)), "{link:?}");
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn revoked_host_gets_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let (runner, runner_key) = new_credentials(folder.path(), "runner");
    let (host, host_key) = new_credentials(folder.path(), "host");
    let users = |users: &[&String]| {
        let users: Vec<_> = users.iter().map(|it| format!("{{ nkey: {it} }}")).collect();
        format!("authorization {{ users: [ {} ] }}\n", users.join(", "))
    };
    let mut servers = NatsServers::start(1, &users(&[&runner_key, &host_key])).unwrap();
    let runner = servers.connect(Some(&runner)).await;
    runner.set_up(Some(1)).await.unwrap();
    let revoked = servers.connect(Some(&host)).await;
    // A link that is open.
    let mut requests = runner.subscribe("bl.link.a").await.unwrap();
    let _ = runner.request("bl.link.b", "ping".into()).await;
    let accepting = runner.clone();
    let accepted = tokio::spawn(async move {
        let request = requests.recv().await.unwrap();
        accept_link(&accepting, &request).await.unwrap().unwrap().0
    });
    let mut link = open_link(&revoked, "bl.link.a", "host", "own")
        .await
        .unwrap();
    let mut other_end = accepted.await.unwrap();
    servers.reload(0, &users(&[&runner_key])).unwrap();
    // The link ends, and nothing that is written to it arrives.
    let mut received = Vec::new();
    let _ = link.read_to_end(&mut received).await;
    let _ = other_end.write_all(b"secret").await;
    assert_eq!(received, b"");
    let begin = Positions::default();
    let append = revoked.append(SUBJECT, 0, &begin, "x".into()).await;
    assert_eq!(append, Err(BusError::Refused));
    assert_eq!(revoked.last(SUBJECT).await, Err(BusError::Refused));
    let read = revoked.read(SUBJECT, 0).await;
    assert_eq!(read.map(drop), Err(BusError::Refused));
    let entries = revoked.entries(Bucket::Sessions).await;
    assert_eq!(entries.map(drop), Err(BusError::Refused));
    let again = Connection::open(&servers.url(), Some(&host), "host").await;
    assert!(matches!(again, Err(ConnectError::Refused(_))), "{again:?}");
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn large_stream_passes_a_link() {
    let servers = NatsServers::start(1, "").unwrap();
    let (a, b) = (servers.connect(None).await, servers.connect(None).await);
    let mut requests = a.subscribe("bl.link.a").await.unwrap();
    let _ = a.request("bl.link.y", "ping".into()).await;
    let bytes: Vec<u8> = (0..20_000_000_u32).map(|n| (n >> 7) as u8).collect();
    let sent = bytes.clone();
    tokio::spawn(async move {
        let request = requests.recv().await.unwrap();
        let (mut stream, _) = accept_link(&a, &request).await.unwrap().unwrap();
        stream.write_all(&sent).await.unwrap();
    });
    let mut link = open_link(&b, "bl.link.a", "b", "own").await.unwrap();
    let mut received = Vec::new();
    link.read_to_end(&mut received).await.unwrap();
    assert!(received == bytes);
}
