//! The real agent at a runner, over a link that is cut five times per second; the transcript equals
//! that of a local dialogue.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::{AgentLocation, Remote};
use bowline_runner::{Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir};
use bowline_tests::chaos::{Address, ChaosProxy, Faults, Impatient};
use bowline_tests::normalize::same;
use bowline_tests::real_agent::scenario::{long_text, nested_agents};
use bowline_tests::real_agent::{Agent, Home, Scenario, normalized_agent};
use bowline_tests::session::within;
use bowline_transport::SystemNetwork;
use serde_json::Value;

use super::rig::Rig;

/// Interval between the cuts of every connection.
const CUT_EVERY: Duration = Duration::from_millis(200);

/// A text that takes the model some seconds.
fn long() -> Scenario {
    long_text(120, Duration::from_millis(6))
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn transcript_is_same_over_cut_link() {
    let agent = Agent::for_test();
    let scenarios: [fn() -> Scenario; 2] = [long, nested_agents];
    for scenario in scenarios {
        let expected = transcript_of(&agent, scenario(), AgentLocation::Local, None).await;
        let folder = tempfile::tempdir().expect("a folder");
        let runner = runner(folder.path()).await;
        let socket = runner.socket().expect("it has one").to_owned();
        let proxy = ChaosProxy::start(Address::Unix(socket), 1, Faults::default()).await;
        let proxy = proxy.expect("a proxy");
        // Only the explicit cuts disturb this link.
        proxy.be_kind();
        let url = format!("http://{}", proxy.address());
        let mut remote = Remote::new(url.parse().expect("a URL"));
        remote.network = Arc::new(Impatient::new(Arc::new(SystemNetwork)));
        let place = AgentLocation::Runner(remote);
        let interrupted = transcript_of(&agent, scenario(), place, Some(&proxy)).await;
        same(&interrupted, &expected, "transcript");
        let cuts = proxy.severed();
        assert!(cuts >= 3, "only {cuts} connections were cut");
        within("the runner's end", runner.stop()).await;
    }
}

/// Normalized transcript of a scenario at the given place.
async fn transcript_of(
    agent: &Agent,
    scenario: Scenario,
    location: AgentLocation,
    proxy: Option<&ChaosProxy>,
) -> Value {
    let home = Home::new().expect("a temporary home");
    let root = home.root().to_owned();
    let is_partial = scenario.args.contains(&"--include-partial-messages");
    let rig = Rig::start_in(agent, home, scenario, |configuration| {
        configuration.location = location;
        configuration.partial_messages = is_partial;
    })
    .await;
    // The request that creates the session is not retried, so the cuts start after it.
    let cutting = async {
        let mut times = tokio::time::interval(CUT_EVERY);
        loop {
            times.tick().await;
            match proxy {
                Some(proxy) => proxy.cut_all(),
                None => std::future::pending().await,
            }
        }
    };
    let (transcript, _) = tokio::select! {
        transcript_of = rig.one_turn() => transcript_of,
        () = cutting => unreachable!("the cuts have no end"),
    };
    normalized_agent(&transcript, &root)
}

async fn runner(folder: &Path) -> Runner {
    let limits = ServeLimits {
        // Links are cut more often here than in production.
        attaches_per_second: 10_000,
        goodbye: Duration::from_millis(200),
        ..ServeLimits::default()
    };
    let configuration = ServeConfiguration {
        state: StateDir::at(folder.join("s")).expect("a state folder"),
        shim: ShimProgram {
            path: env!("CARGO_BIN_EXE_shim").into(),
            args: vec!["shim".into()],
        },
        socket: Some(folder.join("s/runner.sock")),
        listen: Vec::new(),
        token_file: folder.join("token"),
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        limits,
        policy: Default::default(),
    };
    let runner = within("a runner", Runner::start(configuration)).await;
    runner.expect("it starts")
}
