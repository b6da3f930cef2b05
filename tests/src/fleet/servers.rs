//! NATS servers on loopback: the program that `BOWLINE_NATS_SERVER` names, as `.ci/nats` sets it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::iter;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bowline_fleet::{ConnectError, Connection, FleetUrl, NatsCredentials};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::sleep;

use super::disk::{LoopDisk, cut};

/// Pause before servers that are not ready are asked again.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Ports of servers. Systems give higher ones to connections: Linux from 32768 on (`ip_local_port_range` in ip(7)), macOS
/// from 49152. So a port that is free stays free while its server starts, or starts again.
const PORTS: Range<u16> = 20_000..32_768;

/// Distance between the first ports of processes with adjacent ids.
const PORTS_PER_PROCESS: usize = 32;

/// Servers: one, or a cluster. Dropping them kills them and removes what they stored.
#[derive(Debug)]
pub struct NatsServers {
    nodes: Vec<NatsNode>,
    extra: String,
    /// When a server syncs what it stored.
    sync_interval: &'static str,
    has_jetstream: bool,
    folder: TempDir,
}

#[derive(Debug)]
struct NatsNode {
    child: Option<Child>,
    port: u16,
    route: u16,
    disk: Option<LoopDisk>,
}

impl NatsServers {
    /// Starts servers that sync each message. `extra` is added to each configuration.
    ///
    /// # Errors
    ///
    /// There is no program, or it cannot be started.
    pub fn start(count: usize, extra: &str) -> Result<Self, String> {
        Self::start_with(count, extra, true, |_, _| Ok(None))
    }

    /// Starts a server that stores nothing.
    ///
    /// # Errors
    ///
    /// There is no program, or it cannot be started.
    pub fn start_without_jetstream() -> Result<Self, String> {
        Self::start_with(1, "", false, |_, _| Ok(None))
    }

    /// Returns why [`start_on_disks`](Self::start_on_disks) is not possible here; `None` if it is.
    #[must_use]
    pub fn disks_missing() -> Option<String> {
        let folder = match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(error) => return Some(error.to_string()),
        };
        LoopDisk::new(folder.path(), "probe").err()
    }

    /// Starts servers with a file system each, whose power can be cut.
    ///
    /// # Errors
    ///
    /// The same, or the system does not permit to mount file systems.
    pub fn start_on_disks(count: usize) -> Result<Self, String> {
        Self::start_with(count, "", true, |folder, n| {
            LoopDisk::new(folder.path(), &format!("n{n}")).map(Some)
        })
    }

    fn start_with(
        count: usize,
        extra: &str,
        has_jetstream: bool,
        disk: impl Fn(&TempDir, usize) -> Result<Option<LoopDisk>, String>,
    ) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let ports = free_ports(2 * count)?;
        let node = |(n, ports): (usize, &[u16])| {
            Ok(NatsNode {
                child: None,
                port: ports[0],
                route: ports[1],
                disk: disk(&folder, n)?,
            })
        };
        let nodes = ports.chunks(2).enumerate().map(node);
        let mut servers = Self {
            nodes: nodes.collect::<Result<_, String>>()?,
            extra: extra.to_owned(),
            sync_interval: "always",
            has_jetstream,
            folder,
        };
        for n in 0..count {
            servers.run(n)?;
        }
        Ok(servers)
    }

    /// Starts a server that does not run, with what it stored.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub fn run(&mut self, n: usize) -> Result<(), String> {
        let program = std::env::var_os("BOWLINE_NATS_SERVER");
        let program = program.ok_or("BOWLINE_NATS_SERVER names no nats-server; prefix .ci/nats")?;
        let file = |end: &str| self.folder.path().join(format!("n{n}.{end}"));
        let failed = |error: std::io::Error| error.to_string();
        fs::write(file("conf"), self.configuration(n)).map_err(failed)?;
        let log = File::options().append(true).create(true).open(file("log"));
        let mut command = Command::new(program);
        command.arg("-c").arg(file("conf")).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(log.map_err(failed)?);
        self.nodes[n].child = Some(command.spawn().map_err(failed)?);
        Ok(())
    }

    /// Replaces what is added to the configurations, and has a server read its own again.
    ///
    /// # Errors
    ///
    /// The configuration cannot be written.
    pub fn reload(&mut self, n: usize, extra: &str) -> Result<(), String> {
        extra.clone_into(&mut self.extra);
        let file = self.folder.path().join(format!("n{n}.conf"));
        fs::write(file, self.configuration(n)).map_err(|error| error.to_string())?;
        self.signal(n, Signal::HUP);
        Ok(())
    }

    /// Lets servers that are started from now on sync every two minutes, as they do by default.
    pub fn sync_rarely(&mut self) {
        self.sync_interval = "2m";
    }

    fn configuration(&self, n: usize) -> String {
        let node = &self.nodes[n];
        let (port, store, sync) = (node.port, self.store(n), self.sync_interval);
        let mut text = format!("server_name: n{n}\nlisten: \"127.0.0.1:{port}\"\n");
        if self.has_jetstream {
            text.push_str(&format!(
                "jetstream {{ store_dir: {store:?}, sync_interval: {sync}, max_file_store: 10GB }}\n"
            ));
        }
        if self.nodes.len() > 1 {
            let routes = self.nodes.iter().map(|it| it.route);
            let routes = routes.map(|it| format!("\"nats://127.0.0.1:{it}\""));
            let routes = routes.collect::<Vec<_>>().join(", ");
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "cluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [{routes}] }}",
                node.route
            );
        }
        text + &self.extra
    }

    fn store(&self, n: usize) -> PathBuf {
        match &self.nodes[n].disk {
            Some(disk) => disk.path().join("store"),
            None => self.folder.path().join(format!("store{n}")),
        }
    }

    /// The number of servers.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Ids of the processes that run.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        let children = self.nodes.iter().filter_map(|it| it.child.as_ref());
        children.map(Child::id).collect()
    }

    /// Sends a signal to a server that runs.
    pub fn signal(&self, n: usize, signal: Signal) {
        let child = self.nodes[n].child.as_ref();
        if let Some(pid) = child.and_then(|it| Pid::from_raw(it.id().cast_signed())) {
            // It may have exited by itself.
            let _ = kill_process(pid, signal);
        }
    }

    /// Ends a server by a signal, and waits for its exit.
    pub fn end(&mut self, n: usize, signal: Signal) {
        self.signal(n, signal);
        if let Some(mut child) = self.nodes[n].child.take() {
            // The system has no other error than an interruption here.
            let _ = child.wait();
        }
    }

    /// Kills a server by SIGKILL.
    pub fn kill(&mut self, n: usize) {
        self.end(n, Signal::KILL);
    }

    /// Removes what a server stored, which does not run.
    ///
    /// # Errors
    ///
    /// The folder cannot be removed.
    pub fn wipe(&self, n: usize) -> Result<(), String> {
        fs::remove_dir_all(self.store(n)).map_err(|error| error.to_string())
    }

    /// Cuts the power of all servers with file systems of their own at once. They do not run afterwards.
    ///
    /// # Errors
    ///
    /// The system does not permit it.
    pub fn cut_power(&mut self) -> Result<(), String> {
        let disks = self.nodes.iter().filter_map(|it| it.disk.as_ref());
        let open = disks.map(|it| it.open().map_err(|error| error.to_string()));
        for disk in &open.collect::<Result<Vec<_>, _>>()? {
            cut(disk).map_err(|error| error.to_string())?;
        }
        for n in 0..self.nodes.len() {
            self.kill(n);
        }
        for disk in self.nodes.iter().filter_map(|it| it.disk.as_ref()) {
            disk.unmount()?;
            disk.mount()?;
        }
        Ok(())
    }

    /// The addresses of all.
    ///
    /// # Panics
    ///
    /// Never: the addresses are valid.
    #[must_use]
    pub fn url(&self) -> FleetUrl {
        let urls = self.nodes.iter().map(|it| it.port);
        let urls: Vec<_> = urls.map(|it| format!("nats://127.0.0.1:{it}")).collect();
        urls.join(",").parse().expect("addresses")
    }

    /// The address of one.
    #[must_use]
    pub fn address(&self, n: usize) -> SocketAddr {
        ([127, 0, 0, 1], self.nodes[n].port).into()
    }

    /// Connects once a server accepts connections.
    ///
    /// # Panics
    ///
    /// A server refuses.
    pub async fn connect(&self, credentials: Option<&NatsCredentials>) -> Connection {
        connect(&self.url(), credentials).await
    }

    /// Connects once a server accepts the credentials: one that reads its configuration again also closes connections
    /// that are being made, as refused.
    pub async fn connect_after_reload(&self, credentials: &NatsCredentials) -> Connection {
        loop {
            match Connection::open(&self.url(), Some(credentials), "test").await {
                Ok(connection) => return connection,
                Err(_) => sleep(RETRY_AFTER).await,
            }
        }
    }

    /// Connects and creates the stream and the buckets, once the servers have a leader.
    ///
    /// # Panics
    ///
    /// A server refuses.
    pub async fn set_up(&self) -> Connection {
        let connection = self.connect(None).await;
        while connection.set_up(Some(self.count())).await.is_err() {
            sleep(RETRY_AFTER).await;
        }
        connection
    }

    /// Returns the server that leads the stream of logs, once there is one.
    pub async fn leader(&self, connection: &Connection) -> usize {
        loop {
            let layout = connection.layout().await.ok();
            let leader = layout.and_then(|it| it.leader);
            let number = leader.and_then(|it| it.strip_prefix('n')?.parse().ok());
            match number {
                Some(number) if number < self.count() => return number,
                _ => sleep(RETRY_AFTER).await,
            }
        }
    }
}

/// Connects once a server accepts connections.
pub(crate) async fn connect(url: &FleetUrl, credentials: Option<&NatsCredentials>) -> Connection {
    loop {
        match Connection::open(url, credentials, "test").await {
            Ok(connection) => return connection,
            Err(ConnectError::Unreachable { .. }) => sleep(RETRY_AFTER).await,
            Err(error) => panic!("{error}"),
        }
    }
}

impl Drop for NatsServers {
    fn drop(&mut self) {
        for n in 0..self.nodes.len() {
            self.kill(n);
        }
    }
}

/// Returns ports on which nothing listens, other ones at each call.
fn free_ports(count: usize) -> Result<Vec<u16>, String> {
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    let start = std::process::id() as usize * PORTS_PER_PROCESS;
    let next = || {
        PORTS
            .clone()
            .nth((start + TRIED.fetch_add(1, Relaxed)) % PORTS.len())
    };
    let tried = iter::repeat_with(next).flatten().take(PORTS.len());
    let free = tried.filter(|&it| TcpListener::bind((Ipv4Addr::LOCALHOST, it)).is_ok());
    let free: Vec<_> = free.take(count).collect();
    match free.len() == count {
        true => Ok(free),
        false => Err(format!("fewer than {count} ports of {PORTS:?} are free")),
    }
}
