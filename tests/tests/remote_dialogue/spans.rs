//! Tracing spans of a dialogue at a runner, of the host and of the runner, and their secrecy. Names and fields
//! follow OpenTelemetry's conventions.

use std::sync::Mutex;

use bowline_lifecycle::{AgentLocation, DialogueSession};
use bowline_runner::StateDir;
use bowline_tests::runner::runner_token;
use bowline_tests::session::{answered, terminate, within};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use super::rig::Rig;

#[tokio::test]
async fn spans_cover_link_attach_and_request() {
    let log = tempfile::NamedTempFile::new().expect("a file for the log");
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(Mutex::new(log.reopen().expect("the file opens again")))
        .finish();
    // Whether an event is logged is cached for all threads, so a subscriber of this one would miss some.
    tracing::subscriber::set_global_default(subscriber).expect("the only subscriber");

    let mut rig = Rig::new().await;
    let mut configuration = rig.configuration();
    configuration.location = AgentLocation::Runner(rig.http());
    let started = within("a start", DialogueSession::start(configuration)).await;
    let first = started.expect("the understudy starts");
    answered(&first, "CANARY-prompt").await;
    let id = first.id();
    let second = rig.attach(id).await.expect("another host");
    let pid = second.pid().expect("a process");
    terminate(&second).await;
    drop(first);
    let socket = rig.socket();
    let address = rig.address();
    rig.stop().await;

    let log = std::fs::read_to_string(log.path()).expect("a log in UTF-8");
    let span = format!("link{{otel.kind=\"client\" session.id={id} server.address=");
    let (host, port) = (address.ip(), address.port());
    let socket = socket.display();
    for wanted in [
        "start{process.executable.name=stand-in".to_owned(),
        format!("attach{{session.id={id}}}"),
        format!(
            "{span}\"{host}\" server.port={port} network.transport=\"tcp\" network.protocol.name=\"websocket\"}}"
        ),
        format!(
            "{span}\"{socket}\" network.transport=\"unix\" network.protocol.name=\"websocket\"}}"
        ),
        "}:connect{bowline.connection.number=1".to_owned(),
        format!("session{{session.id={id} process.pid={pid}"),
        "http.request.method=\"POST\" http.route=\"/api/sessions\"".to_owned(),
        "http.response.status_code=201".to_owned(),
        format!("attach{{endpoint=\"frames\" session.id={id} request.id="),
        format!("shim_link{{session.id={id}}}"),
    ] {
        assert!(log.contains(&wanted), "no {wanted} in {log}");
    }
    let token = std::fs::read_to_string(runner_token(rig.folder.path())).expect("a token");
    assert!(!log.contains(token.trim()), "the token is in the log");
    assert!(!log.contains("CANARY"), "{log}");

    let state = StateDir::at(rig.folder.path().join("state")).expect("a state folder");
    let shim = std::fs::read_to_string(state.session(id).log_path()).expect("the shim's log");
    let span = format!("session{{session.id={id} process.pid={pid}}}: ");
    assert!(shim.contains(&span), "no {span} in {shim}");
}
