//! A proxy in front of a runner's socket that can cut its connections.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::{park, spawn};

use tempfile::TempDir;

struct State {
    socket: PathBuf,
    /// The answer to new connections once the proxy is closed.
    answer: Option<String>,
    /// While set, nothing is forwarded.
    stalled: Arc<AtomicBool>,
    streams: Vec<UnixStream>,
}

pub(crate) struct SocketProxy {
    folder: TempDir,
    state: Arc<Mutex<State>>,
}

impl SocketProxy {
    /// Forwards connections to `socket`.
    pub(crate) fn of(socket: &Path) -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = Arc::new(Mutex::new(State {
            socket: socket.to_owned(),
            answer: None,
            stalled: Arc::default(),
            streams: Vec::new(),
        }));
        let proxy = Self { folder, state };
        let listener = UnixListener::bind(proxy.path()).unwrap();
        let state = Arc::clone(&proxy.state);
        spawn(move || {
            for client in listener.incoming() {
                accept(client.unwrap(), &state);
            }
        });
        proxy
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("proxy.sock")
    }

    pub(crate) fn url(&self) -> String {
        format!("unix:{}", self.path().display())
    }

    /// Cuts every connection and closes new ones without an answer.
    pub(crate) fn close(&self) {
        self.close_with("");
    }

    /// Cuts every connection and answers new ones with an HTTP status.
    pub(crate) fn refuse(&self, status: &str) {
        self.close_with(&format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"));
    }

    /// Keeps every connection open and forwards nothing more.
    pub(crate) fn stall(&self) {
        self.state.lock().unwrap().stalled.store(true, Relaxed);
    }

    fn close_with(&self, answer: &str) {
        let mut state = self.state.lock().unwrap();
        state.answer = Some(answer.to_owned());
        for stream in state.streams.drain(..) {
            // Fails if one side has closed it.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(client: UnixStream, state: &Mutex<State>) {
    let mut state = state.lock().unwrap();
    if let Some(answer) = &state.answer {
        return answer_request(client, answer);
    }
    let runner = UnixStream::connect(&state.socket).unwrap();
    for (from, to) in [(&client, &runner), (&runner, &client)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        let stalled = Arc::clone(&state.stalled);
        spawn(move || {
            // Fails if the connection is cut.
            let _ = forward(&mut from, &mut to, &stalled);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    state.streams.extend([client, runner]);
}

fn forward(from: &mut UnixStream, to: &mut UnixStream, stalled: &AtomicBool) -> io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        let length = from.read(&mut bytes)?;
        while stalled.load(Relaxed) {
            park();
        }
        if length == 0 {
            return Ok(());
        }
        to.write_all(&bytes[..length])?;
    }
}

/// Reads a request and answers it. Closing a socket with unread data would discard the answer.
fn answer_request(mut client: UnixStream, answer: &str) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|length| length > 0) {
        head.push(byte[0]);
    }
    // Fails if the client is gone.
    let _ = client.write_all(answer.as_bytes());
}
