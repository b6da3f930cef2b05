//! A runner in its own process, so that its memory can be measured separately, and the shims of its
//! sessions. All of them are this binary.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bowline_runner::wire::SessionKind;
use bowline_runner::{Certificate, Runner, ServeConfiguration, ServeLimits, SessionInfo};
use bowline_runner::{SessionPhase, ShimProgram, StateDir, Tls};
use bowline_transport::{
    Configuration, Network, Remote, RemoteUrl, SessionId, SessionRequest, TerminalEngine,
    TerminalSession, Token, Trust,
};
use bytes::Bytes;

use super::super::support::{own, within};

/// Serves until its standard input ends. Arguments: folder, attaches per second, address.
pub(in crate::campaign) const MODE: &str = "--daemon";
/// Owns one session.
pub(crate) const SHIM: &str = "--daemon-shim";

/// The allowed origin.
pub(in crate::campaign) const ORIGIN: &str = "https://panel.example";

/// Polling interval for a folder.
const LOOK: Duration = Duration::from_millis(2);

/// A runner on a loopback port. It is killed with all its sessions on drop.
#[derive(Debug)]
pub(super) struct Daemon {
    folder: tempfile::TempDir,
    process: Child,
    address: SocketAddr,
    /// Fingerprint of its certificate, if it is reachable from other machines.
    fingerprint: Option<[u8; 32]>,
    token: String,
}

impl Daemon {
    /// Starts a runner on a free port.
    pub(super) fn start() -> Result<Self, String> {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        Self::serve(loopback, 1_000_000)
    }

    /// Starts a runner with a limit of attaches per second and session.
    pub(super) fn serve(address: SocketAddr, attaches: u32) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut command = Command::new(own());
        command.args(words(folder.path(), attaches, address));
        Self::run(command, folder)
    }

    /// Starts a runner with a limit of descriptors (`ulimit -n`).
    pub(super) fn serve_with_descriptors(descriptors: u64) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let script = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).arg(own());
        command.args(words(folder.path(), 1_000_000, loopback));
        Self::run(command, folder)
    }

    /// Starts a runner in a network namespace.
    pub(super) fn serve_in(namespace: &str, address: SocketAddr) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(own());
        command.args(words(folder.path(), 1_000_000, address));
        Self::run(command, folder)
    }

    /// Runs a command that becomes a runner.
    fn run(mut command: Command, folder: tempfile::TempDir) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let stdout = process.stdout.take().ok_or("no stdout")?;
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(|error| error.to_string())?;
        let (address, fingerprint) = line.split_once(' ').unwrap_or_default();
        let address = address.parse();
        let fingerprint = hash(fingerprint.trim());
        let address = address.map_err(|_| format!("the runner does not start: {line:?}"))?;
        let token = std::fs::read_to_string(token_file(folder.path()));
        let token = token.map_err(|error| error.to_string())?.trim().to_owned();
        Ok(Self {
            folder,
            process,
            address,
            fingerprint,
            token,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The runner's address for hosts.
    pub(super) fn remote(&self) -> Remote {
        let scheme = self.fingerprint.map_or("http", |_| "https");
        let url = format!("{scheme}://{}", self.address).parse();
        let url = url.expect("an address makes a URL");
        let mut remote = Remote::new(url).with_credentials(Token::new(&self.token));
        if let Some(fingerprint) = self.fingerprint {
            remote.trust = Trust::Certificates(vec![fingerprint]);
        }
        remote
    }

    /// Its address for the owner: the Unix socket, which is reachable from every network namespace.
    pub(super) fn owner(&self) -> Remote {
        Remote::new(RemoteUrl::Unix(socket(self.folder.path())))
    }

    /// Reads one of its metrics as the owner.
    pub(super) async fn metric(&self, name: &str) -> Result<u64, String> {
        let remote = self.owner();
        let response = within("metrics", remote.ask("GET", "/metrics", Bytes::new())).await?;
        let (_, text) = response.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|line| line.trim().parse().ok());
        value.ok_or_else(|| format!("there is no {name} in the metrics"))
    }

    /// The same runner, reached over another network.
    pub(super) fn remote_over(&self, network: Arc<dyn Network>) -> Remote {
        let mut remote = self.remote();
        remote.network = network;
        remote
    }

    /// Starts a session and attaches to it.
    pub(super) async fn make(&self, what: Configuration) -> Result<TerminalSession, String> {
        let order = SessionRequest::new(SessionKind::Terminal, what);
        self.make_with(&order).await
    }

    /// Starts a session and attaches to it.
    pub(super) async fn make_with(
        &self,
        order: &SessionRequest,
    ) -> Result<TerminalSession, String> {
        let remote = self.remote();
        let made = within("a session", TerminalEngine.make_remote(&remote, order)).await?;
        made.map_err(|error| error.to_string())
    }

    /// Starts a session without attaching.
    pub(super) async fn leave(&self, what: Configuration) -> Result<SessionId, String> {
        let session = self.make(what).await?;
        session.detach();
        Ok(session.id())
    }

    /// Contents of a session's folder, for messages.
    pub(super) fn info(&self, session: SessionId) -> Option<SessionInfo> {
        let state = StateDir::at(state_folder(self.folder.path())).ok()?;
        state.session(session).info().ok().flatten()
    }

    /// Waits until a session's shim has exited, which it does once its exit was acknowledged.
    pub(super) async fn buried(&self, session: SessionId) -> Result<(), String> {
        let look = async {
            let is_buried = |it: SessionInfo| it.phase == SessionPhase::Closed;
            while !self.info(session).is_some_and(is_buried) {
                tokio::time::sleep(LOOK).await;
            }
        };
        within("the end of a shim", look).await
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // No process may be left, whatever state it is in.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let Ok(state) = StateDir::at(state_folder(self.folder.path())) else {
            return;
        };
        for id in state.sessions().unwrap_or_default() {
            let info = state.session(id).info().ok().flatten();
            let info = info.filter(|it| it.phase != SessionPhase::Closed);
            let pid = info.and_then(|it| rustix::process::Pid::from_raw(it.shim_pid as i32));
            if let Some(pid) = pid.filter(|pid| is_shim(pid.as_raw_nonzero().get())) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// The arguments of a runner.
fn words(folder: &Path, attaches: u32, address: SocketAddr) -> [OsString; 4] {
    let (attaches, address) = (attaches.to_string(), address.to_string());
    [MODE.into(), folder.into(), attaches.into(), address.into()]
}

/// Whether a process id still belongs to one of our shims.
fn is_shim(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0)
        .any(|word| word == SHIM.as_bytes())
}

fn state_folder(folder: &Path) -> PathBuf {
    folder.join("s")
}

fn socket(folder: &Path) -> PathBuf {
    state_folder(folder).join("runner.sock")
}

fn own_certificate(folder: &Path, address: SocketAddr) -> Tls {
    Tls {
        certificate: Certificate::Own {
            folder: folder.to_owned(),
            names: vec![address.ip().to_string()],
        },
        client_authorities: None,
    }
}

/// Decodes a hexadecimal fingerprint.
fn hash(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(hash)
}

fn token_file(folder: &Path) -> PathBuf {
    folder.join("token")
}

/// Serves until the standard input ends.
pub(in crate::campaign) fn run(folder: &str, attaches: u32, address: SocketAddr) -> ExitCode {
    let folder = Path::new(folder);
    let runtime = bowline_runner::runtime();
    let runtime = runtime.map_err(|error| error.to_string());
    let served = runtime.and_then(|runtime| runtime.block_on(serve(folder, attaches, address)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr().lock(), "failed to serve: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(folder: &Path, attaches: u32, address: SocketAddr) -> Result<(), String> {
    let runner = Runner::start(configuration(folder, attaches, address)?).await;
    let runner = runner.map_err(|error| error.to_string())?;
    let address = runner.addresses().first().copied().ok_or("no address")?;
    let fingerprint = runner.fingerprint().unwrap_or_default();
    let written = writeln!(io::stdout().lock(), "{address} {fingerprint}");
    written.map_err(|error| error.to_string())?;
    let end = tokio::task::spawn_blocking(|| io::stdin().read(&mut [0]));
    let _ = end.await;
    runner.stop().await;
    Ok(())
}

fn configuration(
    folder: &Path,
    attaches: u32,
    address: SocketAddr,
) -> Result<ServeConfiguration, String> {
    let state = StateDir::at(state_folder(folder)).map_err(|error| error.to_string())?;
    let shim = ShimProgram {
        path: own(),
        args: vec![SHIM.into()],
    };
    Ok(ServeConfiguration {
        state,
        shim,
        socket: Some(socket(folder)),
        listen: vec![address],
        token_file: token_file(folder),
        hosts: Vec::new(),
        origins: vec![ORIGIN.to_owned()],
        tls: (!address.ip().is_loopback()).then(|| own_certificate(folder, address)),
        limits: ServeLimits {
            attaches_per_second: attaches,
            goodbye: Duration::from_millis(200),
            ..ServeLimits::default()
        },
        policy: Default::default(),
    })
}
