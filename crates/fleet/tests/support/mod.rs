//! NATS servers for tests: the program that `BOWLINE_NATS_SERVER` names, as `.ci/nats` sets it.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bowline_fleet::{Connection, FleetUrl, NatsCredentials};

/// Servers on loopback: one, or a cluster.
pub(crate) struct NatsServers {
    folder: tempfile::TempDir,
    children: Vec<Option<Child>>,
    ports: Vec<u16>,
    routes: Vec<u16>,
    extra: String,
}

impl NatsServers {
    /// Starts this number of servers. `extra` is added to each configuration.
    pub(crate) fn start(count: usize, extra: &str) -> Self {
        let mut servers = Self {
            folder: tempfile::tempdir().expect("a folder"),
            children: (0..count).map(|_| None).collect(),
            ports: free_ports(count),
            routes: free_ports(count),
            extra: extra.to_owned(),
        };
        for n in 0..count {
            servers.run(n);
        }
        servers
    }

    /// Starts a server that does not run, with what it stored.
    pub(crate) fn run(&mut self, n: usize) {
        let program = std::env::var_os("BOWLINE_NATS_SERVER");
        let program = program.expect("BOWLINE_NATS_SERVER names a nats-server; run .ci/nats");
        let configuration = self.write_configuration(n);
        let log = fs::File::create(self.folder.path().join(format!("n{n}.log"))).expect("a log");
        let mut command = Command::new(program);
        command
            .arg("-c")
            .arg(configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        self.children[n] = Some(command.spawn().expect("a server"));
    }

    fn write_configuration(&self, n: usize) -> std::path::PathBuf {
        let store = self.store(n);
        let mut text = format!(
            "server_name: n{n}\nlisten: \"127.0.0.1:{}\"\njetstream {{ store_dir: {:?}, sync_interval: always }}\n",
            self.ports[n], store
        );
        if self.ports.len() > 1 {
            let _ = write!(
                text,
                "cluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [",
                self.routes[n]
            );
            for route in &self.routes {
                let _ = write!(text, "\"nats://127.0.0.1:{route}\",");
            }
            text.push_str("] }\n");
        }
        text.push_str(&self.extra);
        let configuration = self.folder.path().join(format!("n{n}.conf"));
        fs::write(&configuration, text).expect("a configuration");
        configuration
    }

    /// Replaces what is added to the configurations, and has a server read its own again.
    pub(crate) fn reload(&mut self, n: usize, extra: &str) {
        extra.clone_into(&mut self.extra);
        self.write_configuration(n);
        let child = self.children[n].as_ref().expect("a server");
        let pid = child.id().to_string();
        let signal = Command::new("kill").args(["-HUP", &pid]).status();
        assert!(signal.expect("a signal").success());
    }

    /// Kills a server by SIGKILL.
    pub(crate) fn kill(&mut self, n: usize) {
        if let Some(mut child) = self.children[n].take() {
            child.kill().expect("a signal");
            child.wait().expect("an exit");
        }
    }

    /// Removes what a server stored.
    pub(crate) fn wipe(&self, n: usize) {
        fs::remove_dir_all(self.store(n)).expect("a store");
    }

    fn store(&self, n: usize) -> std::path::PathBuf {
        Path::new(self.folder.path()).join(format!("store{n}"))
    }

    /// The addresses of all.
    pub(crate) fn url(&self) -> FleetUrl {
        let urls: Vec<_> = self
            .ports
            .iter()
            .map(|it| format!("nats://127.0.0.1:{it}"))
            .collect();
        urls.join(",").parse().expect("addresses")
    }

    /// Connects once a server accepts connections.
    pub(crate) async fn connect(&self, credentials: Option<&NatsCredentials>) -> Connection {
        loop {
            match Connection::open(&self.url(), credentials, "test").await {
                Ok(connection) => return connection,
                Err(bowline_fleet::ConnectError::Unreachable { .. }) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Connects and creates the stream and the buckets, once the servers have a leader.
    pub(crate) async fn set_up(&self) -> Connection {
        let connection = self.connect(None).await;
        let replicas = self.ports.len();
        while connection.set_up(Some(replicas)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        connection
    }
}

impl Drop for NatsServers {
    fn drop(&mut self) {
        for n in 0..self.children.len() {
            self.kill(n);
        }
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<_> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .collect();
    listeners
        .iter()
        .map(|it| it.local_addr().expect("a port").port())
        .collect()
}
