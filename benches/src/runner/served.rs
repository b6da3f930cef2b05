//! A runner in this process with separate shims, and its endpoints.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use bowline_runner::wire::SessionKind;
use bowline_runner::{Runner, ServeConfiguration, ServeLimits, ShimProgram, StateDir};
use bowline_transport::{
    Attachment, Configuration, PtyMode, Remote, RemoteUrl, SessionId, SessionRequest, Stdio,
    TerminalEngine, TerminalSession, Token, WindowSize,
};

use super::http::Client;

/// Argument for the shim, which owns one session.
pub(super) const SHIM: &str = "--runner-shim";

/// An endpoint through which a session is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// The socket of the session's shim, without a runner in between.
    Shim,
    WebSocket,
    Grpc,
}

impl Endpoint {
    pub(super) const ALL: [Self; 3] = [Self::Shim, Self::WebSocket, Self::Grpc];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Shim => "bowline, shim's socket",
            Self::WebSocket => "bowline, WebSocket",
            Self::Grpc => "bowline, gRPC",
        }
    }
}

pub(super) struct Served {
    runner: Runner,
    folder: tempfile::TempDir,
    address: SocketAddr,
    token: String,
}

impl Served {
    pub(super) async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let token_file = folder.path().join("token");
        let runner = Runner::start(ServeConfiguration {
            state: StateDir::at(folder.path().join("s"))?,
            shim: ShimProgram {
                path: std::env::current_exe()?,
                args: vec![SHIM.into()],
            },
            socket: None,
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            token_file: token_file.clone(),
            hosts: Vec::new(),
            origins: Vec::new(),
            tls: None,
            limits: ServeLimits {
                attaches_per_second: 1_000_000,
                ..ServeLimits::default()
            },
            policy: Default::default(),
        })
        .await?;
        let token = std::fs::read_to_string(token_file)?.trim().to_owned();
        let address = *runner.addresses().first().context("an address")?;
        Ok(Self {
            runner,
            folder,
            address,
            token,
        })
    }

    pub(super) async fn stop(self) {
        self.runner.stop().await;
    }

    pub(super) fn client(&self) -> Client {
        Client {
            address: self.address,
            token: self.token.clone(),
        }
    }

    /// Returns the folder of the sessions' folders.
    pub(super) fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("s/sessions")
    }

    fn remote(&self) -> Result<Remote> {
        let remote = Remote::new(format!("http://{}", self.address).parse()?);
        Ok(remote.with_credentials(Token::new(&self.token)))
    }

    /// Starts a session without clients.
    pub(super) async fn make(&self, what: Configuration, journal: bool) -> Result<SessionId> {
        // A dialogue blocks its child when the log is full; a terminal drops the oldest bytes.
        let kind = match what.stdio {
            Stdio::Pipes => SessionKind::Dialogue,
            Stdio::Pty { .. } => SessionKind::Terminal,
        };
        let mut order = SessionRequest::new(kind, what);
        order.journal = journal;
        let remote = self.remote()?;
        let session = TerminalEngine.make_remote(&remote, &order).await?;
        session.detach();
        Ok(session.id())
    }

    /// Attaches to a session through an endpoint.
    pub(super) async fn join(
        &self,
        endpoint: Endpoint,
        session: SessionId,
        attachment: Attachment,
    ) -> Result<TerminalSession> {
        let remote = match endpoint {
            Endpoint::WebSocket => self.remote()?,
            Endpoint::Shim => {
                let state = StateDir::at(self.folder.path().join("s"))?;
                Remote::new(RemoteUrl::Shim(state.session(session).socket()))
            }
            Endpoint::Grpc => {
                let mut remote = self.remote()?;
                remote.url = format!("grpc://{}", self.address).parse()?;
                remote
            }
        };
        let joined = TerminalEngine.attach_remote(&remote, session, attachment);
        Ok(joined.await?)
    }
}

/// Returns the configuration of this program in a hidden mode.
pub(super) fn hidden(words: &[&str]) -> Result<Configuration> {
    let mut configuration = Configuration::new(std::env::current_exe()?);
    configuration.args = words.iter().map(Into::into).collect();
    Ok(configuration)
}

pub(super) fn on_terminal(mut configuration: Configuration) -> Configuration {
    configuration.stdio = Stdio::Pty {
        size: WindowSize::default(),
        mode: PtyMode::Raw,
    };
    configuration
}
