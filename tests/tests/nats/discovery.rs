//! Discovery by programs that know micro-services of NATS, and not Bowline.

use bowline_fleet::{
    Advertisement, BusError, FleetPlan, LinkOpening, LocalFiles, LocalRunner, LocalSession,
    LogLimits, Messages as _, NatsCredentials, advertise, provision,
};
use bowline_tests::fleet::NatsServers;
use bowline_transport::SessionId;
use bowline_transport::wire::Epoch;
use serde_json::{Value, json};
use tokio::io::DuplexStream;

/// A runner with one session.
struct Daemon(SessionId);

impl LocalRunner for Daemon {
    async fn sessions(&self) -> Option<Vec<LocalSession>> {
        Some(vec![LocalSession {
            id: self.0,
            epoch: Epoch(1),
            has_ended: false,
            journal: std::path::PathBuf::new(),
            summary: json!({ "id": self.0, "state": "running", "labels": {} }),
            conversation: None,
            generation: None,
        }])
    }

    async fn files(&self, _: &LocalSession) -> Option<LocalFiles> {
        None
    }

    async fn serve(&self, _: DuplexStream, _: LinkOpening) {}
}

/// The protocol is that of micro-services (NATS ADR-32).
#[tokio::test]
#[ignore = "needs a NATS server: .ci/nats"]
async fn runner_is_discovered_and_lists_its_sessions() {
    let plan = FleetPlan {
        nodes: vec!["127.0.0.1".to_owned()],
        runners: vec!["a".to_owned(), "b".to_owned()],
        hosts: vec!["stranger".to_owned()],
        log: LogLimits::default(),
    };
    let files = provision(&plan).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for file in &files {
        std::fs::write(folder.path().join(&file.name), &file.text).unwrap();
    }
    let servers = NatsServers::start(1, &super::settings::accounts(&files)).unwrap();
    let credentials = |name: &str| {
        let path = folder.path().join(format!("{name}.creds"));
        NatsCredentials::read(&path).unwrap()
    };
    let stranger = servers.connect(Some(&credentials("stranger"))).await;
    let silent = stranger.request("$SRV.PING", "".into()).await;
    assert_eq!(silent, Err(BusError::NoResponders("$SRV.PING".to_owned())));
    let runner = servers.connect(Some(&credentials("a"))).await;
    let session = SessionId::random();
    let advertisement = Advertisement {
        runner: "a".parse().unwrap(),
        name: "tower".to_owned(),
        version: "1.2.3".to_owned(),
    };
    tokio::spawn(advertise(runner, advertisement, Daemon(session)));
    let ask = async |subject: &str| {
        loop {
            match stranger.request(subject, "".into()).await {
                // The runner is not there yet.
                Err(BusError::NoResponders(_)) => tokio::task::yield_now().await,
                reply => break serde_json::from_slice::<Value>(&reply.unwrap()).unwrap(),
            }
        }
    };
    let listed = ask("bl.sessions.a").await;
    assert_eq!(listed["sessions"][0]["id"], json!(session));
    assert_eq!(listed["next"], Value::Null);
    let ping = ask("$SRV.PING").await;
    assert_eq!(ping["type"], "io.nats.micro.v1.ping_response");
    let metadata = json!({ "runner": "a", "machine": "tower" });
    let identity = |reply: &Value| {
        let fields = ["name", "version", "metadata"].map(|it| reply[it].clone());
        assert_eq!(fields, [json!("bowline"), json!("1.2.3"), metadata.clone()]);
    };
    identity(&ping);
    let info = ask("$SRV.INFO.bowline").await;
    assert_eq!(info["type"], "io.nats.micro.v1.info_response");
    identity(&info);
    assert_eq!(info["endpoints"][0]["name"], "sessions");
    assert_eq!(info["endpoints"][0]["subject"], "bl.sessions.a");
    let id = ping["id"].as_str().unwrap();
    let stats = ask(&format!("$SRV.STATS.bowline.{id}")).await;
    assert_eq!(stats["type"], "io.nats.micro.v1.stats_response");
    assert_eq!(stats["endpoints"][0]["num_requests"], 1);
    // Another runner may not answer for it.
    let other = servers.connect(Some(&credentials("b"))).await;
    let mut refused = other.subscribe("bl.sessions.a").await.unwrap();
    assert_eq!(refused.recv().await, None);
}
