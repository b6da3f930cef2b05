//! A door in front of a runner's socket: open at first, shut when a test wants it.

use std::io::{Read as _, Write as _, copy};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

use tempfile::TempDir;

/// What is behind the door, and who has come through.
struct State {
    socket: PathBuf,
    /// What everybody hears once it is shut; nothing is a connection that is closed.
    answer: Option<String>,
    through: Vec<UnixStream>,
}

pub(crate) struct Door {
    folder: TempDir,
    state: Arc<Mutex<State>>,
}

impl Door {
    pub(crate) fn before(socket: &Path) -> Self {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = Arc::new(Mutex::new(State {
            socket: socket.to_owned(),
            answer: None,
            through: Vec::new(),
        }));
        let door = Self { folder, state };
        let listener = UnixListener::bind(door.path()).unwrap();
        let state = Arc::clone(&door.state);
        spawn(move || {
            for client in listener.incoming() {
                come(client.unwrap(), &state);
            }
        });
        door
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("door.sock")
    }

    pub(crate) fn url(&self) -> String {
        format!("unix:{}", self.path().display())
    }

    /// Cuts every connection. Whoever comes from now on is turned away without a word.
    pub(crate) fn shut(&self) {
        self.answer("");
    }

    /// The same, with a status of HTTP.
    pub(crate) fn refuse(&self, status: &str) {
        self.answer(&format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"));
    }

    fn answer(&self, answer: &str) {
        let mut state = self.state.lock().unwrap();
        state.answer = Some(answer.to_owned());
        for stream in state.through.drain(..) {
            // One side may have closed it already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn come(client: UnixStream, state: &Mutex<State>) {
    let mut state = state.lock().unwrap();
    if let Some(answer) = &state.answer {
        return turn_away(client, answer);
    }
    let runner = UnixStream::connect(&state.socket).unwrap();
    for (from, to) in [(&client, &runner), (&runner, &client)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        spawn(move || {
            // A connection that is cut ends it as well.
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
    state.through.extend([client, runner]);
}

/// Answers a request. Unread, it would take the answer away with it.
fn turn_away(mut client: UnixStream, answer: &str) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|length| length > 0) {
        head.push(byte[0]);
    }
    // Whoever asked may be gone.
    let _ = client.write_all(answer.as_bytes());
}
