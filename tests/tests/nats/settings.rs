//! What `bowline fleet init` was asked for, at real servers: limits, replicas, rights, and what lacks them.

use bowline_fleet::{
    BusError, FleetFile, FleetPlan, KeyStore as _, LogLimits, LogStore as _, NatsCredentials,
    Positions, SetupError, provision, renew,
};
use bowline_tests::fleet::NatsServers;

use super::{SUBJECT, collect};

/// Returns credentials with a new key and settings of the fleet, and the authorization for them.
fn with_settings(folder: &std::path::Path, settings: &str) -> (NatsCredentials, String) {
    let key = nkeys::KeyPair::new_user();
    let path = folder.join("settings.creds");
    let seed = key.seed().expect("a seed");
    std::fs::write(&path, format!("nkey {seed}\n{settings}")).expect("a file");
    let public = key.public_key();
    let authorization = format!("authorization {{ users: [ {{ nkey: {public} }} ] }}\n");
    let credentials = NatsCredentials::read(&path).expect("credentials");
    (credentials, authorization)
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn full_stream_takes_no_more_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let (credentials, users) = with_settings(folder.path(), "log-days 7\nlog-bytes 50000\n");
    let servers = NatsServers::start(1, &users).unwrap();
    let connection = servers.connect(Some(&credentials)).await;
    let layout = connection.set_up(None).await.unwrap();
    let limits = LogLimits {
        days: Some(7),
        bytes: Some(50_000),
    };
    assert_eq!(layout.limits, limits);
    let begin = Positions::default();
    let (mut last, mut stored) = (0, 0);
    let refused = loop {
        let body = vec![b'x'; 8_000].into();
        match connection.append(SUBJECT, last, &begin, body).await {
            Ok(sequence) => (last, stored) = (sequence, stored + 1),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, BusError::Full);
    assert_eq!(
        refused.to_string(),
        "the stream BL_LOG is full; raise its limit (`nats stream edit BL_LOG --max-bytes`), or wait until old logs expire"
    );
    assert_eq!(stored, 6);
    let kept = collect(connection.read(SUBJECT, 0).await.unwrap()).await;
    assert_eq!(kept.len(), stored);
    assert!(connection.layout().await.unwrap().bytes > 48_000);
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn fewer_replicas_than_asked_for_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (credentials, users) = with_settings(folder.path(), "replicas 3\n");
    let servers = NatsServers::start(1, &users).unwrap();
    let connection = servers.connect(Some(&credentials)).await;
    connection.set_up(Some(1)).await.unwrap();
    let refused = connection.set_up(None).await.unwrap_err();
    let is_typed = matches!(
        refused,
        SetupError::Replicas {
            found: 1,
            wanted: 3
        }
    );
    assert!(is_typed, "{refused:?}");
    assert_eq!(
        refused.to_string(),
        "the stream BL_LOG has 1 replicas, and 3 are asked for; `nats stream edit BL_LOG --replicas 3` adds them"
    );
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn server_without_jetstream_is_refused() {
    let servers = NatsServers::start_without_jetstream().unwrap();
    let connection = servers.connect(None).await;
    let refused = connection.set_up(None).await.unwrap_err();
    assert!(matches!(refused, SetupError::NoJetStream), "{refused:?}");
    assert_eq!(
        refused.to_string(),
        "the NATS servers have no JetStream for this account; enable it, as in the configuration of `bowline fleet init`"
    );
    let entries = connection.entries(bowline_fleet::Bucket::Sessions).await;
    assert!(matches!(entries, Err(BusError::NoStream(_))), "{entries:?}");
}

/// Returns the accounts of the only configuration.
pub(super) fn accounts(files: &[FleetFile]) -> String {
    let found = files.iter().find(|it| it.name == "fleet-1.conf");
    let text = &found.expect("a configuration").text;
    let (_, accounts) = text.split_once("accounts").expect("accounts");
    format!("accounts{accounts}")
}

#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn rights_of_an_earlier_version_are_found_and_renewed() {
    let plan = FleetPlan {
        nodes: vec!["127.0.0.1".to_owned()],
        runners: vec!["a".to_owned()],
        hosts: vec!["laptop".to_owned()],
        log: LogLimits::default(),
    };
    let mut files = provision(&plan).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for file in &files {
        std::fs::write(folder.path().join(&file.name), &file.text).unwrap();
    }
    for file in &mut files {
        for right in [
            "\"$SRV.>\", ",
            "\"$SRV.*.bowline\", ",
            "\"bl.sessions.a\", ",
        ] {
            file.text = file.text.replace(right, "");
        }
    }
    let mut servers = NatsServers::start(1, &accounts(&files)).unwrap();
    let credentials = |name: &str| {
        let path = folder.path().join(format!("{name}.creds"));
        NatsCredentials::read(&path).unwrap()
    };
    let runner = servers.connect(Some(&credentials("a"))).await;
    runner.set_up(None).await.unwrap();
    let asked = "publish to $SRV.PING.bowline.doctor";
    let expected = [
        asked,
        "subscribe to $SRV.PING.bowline",
        "subscribe to bl.sessions.a",
    ];
    assert_eq!(runner.missing_rights().await.unwrap(), expected);
    let host = servers.connect(Some(&credentials("laptop"))).await;
    assert_eq!(host.missing_rights().await.unwrap(), [asked]);
    let renewed = renew(&files, &FleetPlan::default()).unwrap();
    servers.reload(0, &accounts(&renewed)).unwrap();
    for name in ["a", "laptop"] {
        // The servers close connections whose rights have changed.
        loop {
            let again = servers.connect_after_reload(&credentials(name)).await;
            if again.missing_rights().await.is_ok_and(|it| it.is_empty()) {
                break;
            }
        }
    }
}
