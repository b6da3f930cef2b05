//! The scenarios at a runner, over a link that is cut five times a second.

use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::{Remote, TokenFile};
use bowline_runner::Runner;
use bowline_tests::chaos::{Address, ChaosProxy, Faults, Impatient};
use bowline_tests::normalize::same;
use bowline_tests::other_agents::{OtherAgent, normalized};
use bowline_tests::runner::{runner_socket, runner_token, start_runner};
use bowline_tests::session::within;
use bowline_transport::SystemNetwork;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::rig::Rig;
use crate::scenarios;

/// Time between two cuts.
const INTERVAL: Duration = Duration::from_millis(200);

/// A runner, and a link to it whose connections are cut at intervals.
pub(crate) struct CutLink {
    folder: tempfile::TempDir,
    runner: Runner,
    proxy: Arc<ChaosProxy>,
    is_paused: watch::Sender<bool>,
    cuts: watch::Receiver<u64>,
    cutter: JoinHandle<()>,
}

impl CutLink {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let to = Address::Unix(runner_socket(folder.path()));
        let proxy = ChaosProxy::start(to, 0, Faults::default()).await;
        let proxy = Arc::new(proxy.expect("a proxy"));
        proxy.be_kind();
        let hosts = vec![proxy.address().to_string()];
        let runner = start_runner(folder.path(), env!("CARGO_BIN_EXE_shim"), hosts).await;
        let is_paused = watch::Sender::new(true);
        let (counted, cuts) = watch::channel(0);
        let cutter = tokio::spawn(cut(Arc::clone(&proxy), is_paused.subscribe(), counted));
        Self {
            folder,
            runner,
            proxy,
            is_paused,
            cuts,
            cutter,
        }
    }

    /// Returns the runner over the link.
    pub(crate) fn remote(&self) -> Remote {
        let url = format!("http://{}", self.proxy.address());
        let token = TokenFile(runner_token(self.folder.path()));
        let mut remote = Remote::new(url.parse().expect("a URL")).with_credentials(token);
        remote.network = Arc::new(Impatient::new(Arc::new(SystemNetwork)));
        remote
    }

    pub(crate) fn pause(&self) {
        self.is_paused.send_replace(true);
    }

    pub(crate) fn resume(&self) {
        self.is_paused.send_replace(false);
    }

    /// Waits for the next cut.
    async fn cut(&self) {
        let mut cuts = self.cuts.clone();
        cuts.mark_unchanged();
        within("a cut", cuts.changed()).await.expect("it cuts");
    }

    pub(crate) async fn close(self) {
        self.cutter.abort();
        within("the runner's end", self.runner.stop()).await;
    }
}

/// Cuts all connections at intervals, and counts the times that there was one.
async fn cut(
    proxy: Arc<ChaosProxy>,
    mut is_paused: watch::Receiver<bool>,
    cuts: watch::Sender<u64>,
) {
    let mut ticks = tokio::time::interval(INTERVAL);
    while is_paused.wait_for(|it| !it).await.is_ok() {
        ticks.tick().await;
        if *is_paused.borrow() {
            continue;
        }
        proxy.cut_all();
        let severed = proxy.severed();
        cuts.send_if_modified(|it| std::mem::replace(it, severed) != severed);
    }
}

/// Has a conversation of all scenarios; returns its transcripts, before and after it was resumed.
async fn converse(rig: &mut Rig) -> [Value; 2] {
    macro_rules! each {
        ($($name:ident),+) => {
            $(
                if let Some(link) = &rig.link {
                    link.cut().await;
                }
                scenarios::$name(rig).await;
            )+
        };
    }
    scenarios::for_each!(each!());
    let before = normalized(rig.now().await, rig.home.path());
    each!(resumed_conversation_knows_its_past);
    [before, normalized(rig.now().await, rig.home.path())]
}

pub(crate) async fn transcript_is_same_over_cut_links(agent: OtherAgent) {
    let mut local = Rig::start(agent, None).await;
    let expected = converse(&mut local).await;
    local.finish().await;

    let mut remote = Rig::start(agent, Some(CutLink::new().await)).await;
    let seen = converse(&mut remote).await;
    let cuts = remote.link.as_ref().map_or(0, |link| *link.cuts.borrow());
    remote.finish().await;
    for ((seen, expected), what) in seen.iter().zip(&expected).zip(["before", "resumed"]) {
        same(seen, expected, what);
    }
    assert!(cuts >= 9, "only {cuts} connections were cut");
}
