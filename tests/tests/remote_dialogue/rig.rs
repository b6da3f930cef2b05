//! A runner in this process, with separate shims, and its hosts.

use std::path::PathBuf;
use std::time::Duration;

use bowline_lifecycle::{
    AgentLocation, DialogueConfiguration, DialogueSession, Remote, RemoteUrl, SessionId,
    StartError, TerminationPolicy, TokenFile,
};
use bowline_runner::Runner;
use bowline_tests::normalize::normalized;
use bowline_tests::runner::{runner_socket, runner_token, start_runner};
use bowline_tests::session::{converse, terminate, transcript, within};
use serde_json::Value;

pub(crate) struct Rig {
    pub(crate) folder: tempfile::TempDir,
    runner: Option<Runner>,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rig = Self {
            folder,
            runner: None,
        };
        rig.restart().await;
        rig
    }

    pub(crate) fn socket(&self) -> PathBuf {
        runner_socket(self.folder.path())
    }

    /// Stops the runner, if there is one.
    pub(crate) async fn stop(&mut self) {
        if let Some(runner) = self.runner.take() {
            within("the runner's end", runner.stop()).await;
        }
    }

    /// The address of the runner's port.
    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.runner.as_ref().expect("it runs").addresses()[0]
    }

    /// Stops the runner, if there is one, and starts another one in the same folder.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        let shim = env!("CARGO_BIN_EXE_shim");
        self.runner = Some(start_runner(self.folder.path(), shim, Vec::new()).await);
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::new(RemoteUrl::Unix(self.socket()))
    }

    /// The same runner over gRPC, with the token in its file.
    pub(crate) fn grpc(&self) -> Remote {
        self.at_port("grpc")
    }

    /// The same runner over WebSocket, with the token in its file.
    pub(crate) fn http(&self) -> Remote {
        self.at_port("http")
    }

    fn at_port(&self, scheme: &str) -> Remote {
        let url = format!("{scheme}://{}", self.address());
        let token = TokenFile(runner_token(self.folder.path()));
        Remote::new(url.parse().expect("a URL")).with_credentials(token)
    }

    /// Configuration of the understudy at the runner.
    pub(crate) fn configuration(&self) -> DialogueConfiguration {
        DialogueConfiguration {
            program: env!("CARGO_BIN_EXE_stand-in").into(),
            args: vec!["--pace".into(), "0".into()],
            location: AgentLocation::Runner(self.remote()),
            termination: TerminationPolicy {
                eof_grace: Duration::from_millis(200),
                term_grace: Duration::from_millis(200),
                ..TerminationPolicy::default()
            },
            ..DialogueConfiguration::default()
        }
    }

    pub(crate) async fn start(&self) -> DialogueSession {
        let started = within("a start", DialogueSession::start(self.configuration())).await;
        started.expect("the understudy starts")
    }
}

impl Rig {
    /// Attaches another host to a dialogue.
    pub(crate) async fn attach(&self, id: SessionId) -> Result<DialogueSession, StartError> {
        let remote = self.remote();
        let attached = DialogueSession::attach(&remote, id, self.configuration());
        within("another host", attached).await
    }
}

/// The transcript of a complete conversation.
pub(crate) async fn transcript_of(started: Result<DialogueSession, StartError>) -> Value {
    let session = started.expect("the understudy starts");
    converse(&session).await;
    let transcript_of = normalized(transcript(&session).await);
    terminate(&session).await;
    transcript_of
}
