//! A key at a terminal that is attached to a session: from the key press to its echo on the screen, through
//! `bowline attach`, tmux(1), ssh(1) and tmux in ssh, each on this machine.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;

use super::echo::figure;
use super::{Plan, Row};

/// How long a program may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// The program on the terminal: echoes each key, unchanged and at once. A screen that is drawn anew has its last
/// character apart from the others, which is the full stop.
const ECHO: &str = "stty raw -echo; printf READY.; exec cat";

/// Measures all programs that this machine has; what is missing is a row without a figure.
pub(super) fn rows(plan: &Plan) -> Vec<Row> {
    type Measure = fn(usize) -> Result<Vec<Duration>>;
    let programs: [(&'static str, Measure); 5] = [
        ("no program in between", direct),
        ("bowline attach", attach),
        ("tmux", tmux),
        ("ssh", ssh),
        ("ssh, tmux in it", ssh_with_tmux),
    ];
    let row = |(contender, measure): (&'static str, Measure)| Row {
        what: "key press to echo, attached",
        contender,
        figure: match measure(plan.keys) {
            Ok(times) => figure(&times),
            Err(error) => format!("left out: {error:#}"),
        },
        ratio: None,
        goal: None,
    };
    programs.into_iter().map(row).collect()
}

fn direct(keys: usize) -> Result<Vec<Duration>> {
    let mut command = CommandBuilder::new("/bin/sh");
    command.args(["-c", ECHO]);
    Screen::start(command)?.keys(keys)
}

fn attach(keys: usize) -> Result<Vec<Duration>> {
    let program = std::env::current_exe()?.with_file_name("bowline");
    ensure!(
        program.exists(),
        "no bowline beside this program; build it with `cargo build --release -p bowline-cli`"
    );
    let folder = tempfile::tempdir()?;
    // The runner makes it, readable by this user only.
    let state = folder.path().join("state");
    let mut served = Command::new(&program);
    served
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env("BOWLINE_STATE_DIR", &state)
        .stdout(Stdio::null());
    let _served = Running(served.spawn()?);
    let socket = state.join("runner.sock");
    wait_for("the runner", || socket.exists())?;
    let id = create(&socket)?;
    let mut command = CommandBuilder::new(&program);
    command.args(["attach", &id]);
    command.env("BOWLINE_STATE_DIR", &state);
    let times = Screen::start(command)?.keys(keys);
    let ended = Command::new(&program)
        .args(["kill", &id])
        .env("BOWLINE_STATE_DIR", &state)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(ended.success(), "the session was not ended");
    times
}

/// Creates a session at the runner, and returns its id.
fn create(socket: &Path) -> Result<String> {
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    let body = serde_json::json!({
        "kind": "terminal", "program": "/bin/sh", "args": ["-c", ECHO], "stdio": {"type": "pty"},
    })
    .to_string();
    write!(
        stream,
        "POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    let (_, rest) = response.split_once("\"id\":\"").context("no id")?;
    let (id, _) = rest.split_once('"').context("no id")?;
    Ok(id.to_owned())
}

fn tmux(keys: usize) -> Result<Vec<Duration>> {
    let server = TmuxServer::new()?;
    let mut command = server.command();
    command.args(["new-session", ECHO]);
    command.env("TERM", "xterm-256color");
    Screen::start(command)?.keys(keys)
}

fn ssh(keys: usize) -> Result<Vec<Duration>> {
    over_ssh(ECHO, keys)
}

/// What `bowline attach` is in place of: a session that outlives its connection, at another host.
fn ssh_with_tmux(keys: usize) -> Result<Vec<Duration>> {
    let server = TmuxServer::new()?;
    let words = server.command().get_argv().to_vec();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let line = format!(
        "TERM=xterm-256color exec {} new-session '{ECHO}'",
        words.join(" ")
    );
    over_ssh(&line, keys)
}

/// A tmux server with a socket and a configuration of its own, which ends with this value.
struct TmuxServer {
    program: PathBuf,
    folder: TempDir,
}

impl TmuxServer {
    fn new() -> Result<Self> {
        let (program, folder) = (found("tmux")?, tempfile::tempdir()?);
        let configuration = "set -g status off\nset -s escape-time 0\n";
        fs::write(folder.path().join("tmux.conf"), configuration)?;
        Ok(Self { program, folder })
    }

    /// Returns a client's command, without the server's command.
    fn command(&self) -> CommandBuilder {
        let mut command = CommandBuilder::new(&self.program);
        let folder = self.folder.path();
        command.args([OsStr::new("-f"), folder.join("tmux.conf").as_os_str()]);
        command.args([OsStr::new("-S"), folder.join("socket").as_os_str()]);
        command
    }
}

impl Drop for TmuxServer {
    fn drop(&mut self) {
        // It may not have started.
        let _ = Command::new(&self.program)
            .arg("-S")
            .arg(self.folder.path().join("socket"))
            .arg("kill-server")
            .stderr(Stdio::null())
            .status();
    }
}

/// Measures a command on a terminal at an SSH server of its own.
fn over_ssh(line: &str, keys: usize) -> Result<Vec<Duration>> {
    let client = found("ssh")?;
    let server = found("sshd")?;
    let folder = tempfile::tempdir()?;
    let port = free_port()?;
    let key = make_keys(&folder)?;
    let mut served = Command::new(server);
    served
        .args(["-D", "-e", "-f"])
        .arg(server_configuration(&folder, port)?)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _served = Running(served.spawn()?);
    wait_for("sshd", || {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
    })?;
    let mut command = CommandBuilder::new(client);
    command.args(["-F", "none", "-t", "-o", "StrictHostKeyChecking=no"]);
    command.args(["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]);
    command.args(["-p", &port.to_string()]);
    command.args([OsStr::new("-i"), key.as_os_str()]);
    command.args(["127.0.0.1", line]);
    Screen::start(command)?.keys(keys)
}

/// Makes the keys of the server and of the client, and returns the client's.
fn make_keys(folder: &TempDir) -> Result<PathBuf> {
    for name in ["host", "user"] {
        let made = Command::new(found("ssh-keygen")?)
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(folder.path().join(name))
            .status()?;
        ensure!(made.success(), "ssh-keygen has failed");
    }
    let user = folder.path().join("user");
    fs::copy(user.with_extension("pub"), folder.path().join("authorized"))?;
    Ok(user)
}

fn server_configuration(folder: &TempDir, port: u16) -> Result<PathBuf> {
    let path = folder.path().join("sshd_config");
    let at = folder.path().display();
    let text = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
         PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
    );
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    // Needed by sshd(8) of Debian.
    let _ = fs::create_dir_all("/run/sshd");
    Ok(path)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Returns the path of a program.
fn found(name: &str) -> Result<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin"]);
    let mut paths = folders.map(|folder| Path::new(folder).join(name));
    let found = paths.find(|path| path.is_file());
    found.with_context(|| format!("{name} is not installed"))
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) -> Result<()> {
    let started = Instant::now();
    while !is_there() {
        if started.elapsed() > START_TIMEOUT {
            bail!("{what} did not start");
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program on a terminal.
struct Screen {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    reader: Box<dyn std::io::Read + Send>,
    writer: Box<dyn std::io::Write + Send>,
    /// Keeps the terminal open.
    _master: Box<dyn MasterPty + Send>,
}

impl Screen {
    fn start(command: CommandBuilder) -> Result<Self> {
        let pair = native_pty_system().openpty(PtySize::default())?;
        let child = pair.slave.spawn_command(command)?;
        drop(pair.slave);
        let mut screen = Self {
            child,
            reader: pair.master.try_clone_reader()?,
            writer: pair.master.take_writer()?,
            _master: pair.master,
        };
        // It is shown once the program reads keys.
        screen.until(b"READY")?;
        Ok(screen)
    }

    /// Reads until the output contains this.
    fn until(&mut self, wanted: &[u8]) -> Result<()> {
        let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
        loop {
            let length = self.reader.read(&mut bytes)?;
            ensure!(
                length > 0,
                "the program has ended: {}",
                String::from_utf8_lossy(&seen)
            );
            seen.extend_from_slice(&bytes[..length]);
            if memchr::memmem::find(&seen, wanted).is_some() {
                return Ok(());
            }
        }
    }

    /// Presses keys one after the other, each once the one before is shown.
    fn keys(mut self, keys: usize) -> Result<Vec<Duration>> {
        // What follows the first screen, such as a resize.
        sleep(Duration::from_millis(500));
        let mut times = Vec::with_capacity(keys);
        for (key, _) in (b'a'..=b'z').cycle().zip(0..keys) {
            let started = Instant::now();
            self.writer.write_all(&[key])?;
            self.until(&[key])?;
            times.push(started.elapsed());
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(times)
    }
}
