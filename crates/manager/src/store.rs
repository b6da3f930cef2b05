//! The list of sessions as a file: replaced as a whole, used by one host at a time, never deleted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_shell::{SessionExit, SessionState};
use bowline_transport::sync_file;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;

use crate::error::{ManagerError, StateWarning};
use crate::info::{EndReason, SessionEnd, SessionInfo};
use crate::lease::{Lease, LeaseHeld};
use crate::table::Table;
use crate::time::Timestamp;

const LIST: &str = "state.json";

/// The version of the file's schema.
const SCHEMA: u32 = 1;

#[derive(Serialize, Deserialize)]
struct ListFile {
    schema: u32,
    sessions: Vec<SessionInfo>,
}

#[derive(Deserialize)]
struct AnySchema {
    schema: u32,
}

/// Locks the list, so that no other host uses it.
pub(super) fn lock(directory: &Path) -> Result<Lease, ManagerError> {
    let path = directory.join("owner.lock");
    let holder = format!("process {}", std::process::id());
    match Lease::take(&path, &holder).map_err(ManagerError::state("lock the list", &path))? {
        Ok(lease) => Ok(lease),
        Err(LeaseHeld(holder)) => Err(ManagerError::StateInUse {
            directory: directory.to_path_buf(),
            holder,
        }),
    }
}

/// Reads the sessions of the last host. Those that it left running have ended with it, except at runners.
pub(super) fn load(
    directory: &Path,
) -> Result<(Vec<SessionInfo>, Vec<StateWarning>), ManagerError> {
    let path = directory.join(LIST);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(ManagerError::state("read the list", path)(error)),
    };
    match parse(&bytes) {
        Ok(sessions) => Ok((sessions.into_iter().map(mark_left).collect(), Vec::new())),
        Err(reason) => Ok((Vec::new(), vec![set_aside(&path, reason)?])),
    }
}

fn parse(bytes: &[u8]) -> Result<Vec<SessionInfo>, String> {
    let AnySchema { schema } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if schema != SCHEMA {
        return Err(format!("schema {schema}; this version supports {SCHEMA}"));
    }
    let list: ListFile = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(list.sessions)
}

/// Marks a session that the last host had as ended, or as detached.
fn mark_left(mut info: SessionInfo) -> SessionInfo {
    info.pid = None;
    if info.runner.is_some() && info.end.is_none() {
        info.state = SessionState::Detached;
        return info;
    }
    info.state = SessionState::Terminated;
    info.end.get_or_insert_with(|| SessionEnd {
        at: Timestamp::now(),
        exit: SessionExit::default(),
        reason: EndReason::HostLost,
    });
    info
}

fn set_aside(path: &Path, reason: String) -> Result<StateWarning, ManagerError> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".broken-{}", Timestamp::now().unix_ms()));
    let renamed = PathBuf::from(name);
    std::fs::rename(path, &renamed).map_err(ManagerError::state("rename the list", path))?;
    tracing::warn!(path = %renamed.display(), reason, "the list of sessions is not valid and was renamed");
    Ok(StateWarning::SetAside {
        path: renamed,
        reason,
    })
}

fn write(directory: &Path, sessions: Vec<SessionInfo>) -> io::Result<()> {
    let list = ListFile {
        schema: SCHEMA,
        sessions,
    };
    let mut bytes = serde_json::to_vec_pretty(&list)?;
    bytes.push(b'\n');
    replace_file(directory, LIST, &bytes)
}

/// Replaces a file as a whole: a reader, and a host after a power failure, finds the old or the new one.
pub(super) fn replace_file(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let new = directory.join(format!("{name}.new"));
    // A host that exited during a write leaves the file.
    let _ = std::fs::remove_file(&new);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(bytes)?;
    sync_file(&file)?;
    std::fs::rename(&new, directory.join(name))?;
    sync_file(&File::open(directory)?)
}

/// Minimum time between two writes without a waiting caller: the list is written as a whole, and a
/// thousand sessions may be created at once.
const WRITE_INTERVAL: Duration = Duration::from_millis(200);

/// The last write of the list.
#[derive(Clone, Debug, Default)]
struct Written {
    version: u64,
    failure: Option<(io::ErrorKind, String)>,
}

/// Writes the list soon after each change; one write covers all changes since the last.
#[derive(Debug)]
pub(super) struct Store {
    directory: PathBuf,
    written: watch::Receiver<Written>,
    /// Notified when a caller waits for the list.
    flush_requested: Arc<Notify>,
    writer: AbortHandle,
}

impl Drop for Store {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

impl Store {
    pub(super) fn start(directory: &Path, table: &Arc<Table>) -> Self {
        let (progress, written) = watch::channel(Written::default());
        let flush_requested = Arc::new(Notify::new());
        let writer = Writer {
            directory: directory.to_path_buf(),
            table: Arc::downgrade(table),
            progress,
            flush_requested: Arc::clone(&flush_requested),
        };
        Self {
            directory: directory.to_path_buf(),
            written,
            flush_requested,
            writer: tokio::spawn(writer.run(table.versions())).abort_handle(),
        }
    }

    pub(super) async fn flush(&self, table: &Table) -> Result<(), ManagerError> {
        let wanted = table.version();
        let mut written = self.written.clone();
        self.flush_requested.notify_one();
        let done = written.wait_for(|written| written.version >= wanted).await;
        let failure = match &done {
            Ok(written) => written.failure.clone(),
            Err(_) => Some((
                io::ErrorKind::Other,
                "the runtime of the manager was dropped".to_owned(),
            )),
        };
        match failure {
            None => Ok(()),
            Some((kind, text)) => {
                let path = self.directory.join(LIST);
                Err(ManagerError::state("write the list", path)(io::Error::new(
                    kind, text,
                )))
            }
        }
    }
}

struct Writer {
    directory: PathBuf,
    table: Weak<Table>,
    progress: watch::Sender<Written>,
    flush_requested: Arc<Notify>,
}

impl Writer {
    async fn run(self, mut versions: watch::Receiver<u64>) {
        while versions.changed().await.is_ok() {
            let version = *versions.borrow_and_update();
            let Some(sessions) = self.table.upgrade().map(|table| table.infos()) else {
                return;
            };
            let directory = self.directory.clone();
            let result = spawn_blocking(move || write(&directory, sessions)).await;
            let failure = match result {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some((error.kind(), error.to_string())),
                Err(error) => Some((io::ErrorKind::Other, error.to_string())),
            };
            if let Some((_, error)) = &failure {
                tracing::warn!(error, "the list of sessions could not be written");
            }
            self.progress.send_replace(Written { version, failure });
            let _ = timeout(WRITE_INTERVAL, self.flush_requested.notified()).await;
        }
    }
}
