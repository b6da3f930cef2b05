//! The list of sessions as a file: replaced as a whole, owned by one host, never thrown away.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_shell::{SessionExit, SessionState};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::timeout;

use super::lease::{Held, Lease};
use super::table::Table;
use super::{EndReason, ManagerError, SessionEnd, SessionInfo, StateWarning, Timestamp};

const LIST: &str = "state.json";

/// The shape of the file. Another number is another shape.
const SCHEMA: u32 = 1;

#[derive(Serialize, Deserialize)]
struct File1 {
    schema: u32,
    sessions: Vec<SessionInfo>,
}

#[derive(Deserialize)]
struct AnySchema {
    schema: u32,
}

/// Keeps other hosts from the list.
pub(super) fn own(folder: &Path) -> Result<Lease, ManagerError> {
    let path = folder.join("owner.lock");
    let holder = format!("process {}", std::process::id());
    match Lease::take(&path, &holder).map_err(ManagerError::state("lock the list", &path))? {
        Ok(lease) => Ok(lease),
        Err(Held(holder)) => Err(ManagerError::StateInUse {
            folder: folder.to_path_buf(),
            holder,
        }),
    }
}

/// The sessions of the last host. Those that it left alive have ended with it.
pub(super) fn load(folder: &Path) -> Result<(Vec<SessionInfo>, Vec<StateWarning>), ManagerError> {
    let path = folder.join(LIST);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(ManagerError::state("read the list", path)(error)),
    };
    match parse(&bytes) {
        Ok(sessions) => Ok((sessions.into_iter().map(mark_ended).collect(), Vec::new())),
        Err(reason) => Ok((Vec::new(), vec![set_aside(&path, reason)?])),
    }
}

fn parse(bytes: &[u8]) -> Result<Vec<SessionInfo>, String> {
    let AnySchema { schema } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if schema != SCHEMA {
        return Err(format!("schema {schema}, this version knows {SCHEMA}"));
    }
    let list: File1 = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(list.sessions)
}

fn mark_ended(mut info: SessionInfo) -> SessionInfo {
    info.pid = None;
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
    let aside = PathBuf::from(name);
    std::fs::rename(path, &aside).map_err(ManagerError::state("set the list aside", path))?;
    tracing::warn!(path = %aside.display(), reason, "the list of sessions was set aside");
    Ok(StateWarning::SetAside {
        path: aside,
        reason,
    })
}

/// Replaces the list as a whole: a reader, or a host after a power cut, finds the old or the new.
fn write(folder: &Path, sessions: Vec<SessionInfo>) -> io::Result<()> {
    let list = File1 {
        schema: SCHEMA,
        sessions,
    };
    let mut bytes = serde_json::to_vec_pretty(&list)?;
    bytes.push(b'\n');
    let new = folder.join(format!("{LIST}.new"));
    // A host that exited during a write leaves the file.
    let _ = std::fs::remove_file(&new);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, folder.join(LIST))?;
    File::open(folder)?.sync_all()
}

/// Minimum time between two writes without a waiting caller: the list is written as a whole, and a
/// thousand sessions may be created at once.
const PAUSE: Duration = Duration::from_millis(200);

/// How far the list on disk is.
#[derive(Clone, Debug, Default)]
struct Written {
    version: u64,
    failure: Option<(io::ErrorKind, String)>,
}

/// Writes the list soon after each change, however many come at once.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    written: watch::Receiver<Written>,
    /// Notified when a caller waits for the list.
    hurry: Arc<Notify>,
    writer: AbortHandle,
}

impl Drop for Store {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

impl Store {
    pub(super) fn start(folder: &Path, table: &Arc<Table>) -> Self {
        let (progress, written) = watch::channel(Written::default());
        let hurry = Arc::new(Notify::new());
        let writer = Writer {
            folder: folder.to_path_buf(),
            table: Arc::downgrade(table),
            progress,
            hurry: Arc::clone(&hurry),
        };
        Self {
            folder: folder.to_path_buf(),
            written,
            hurry,
            writer: tokio::spawn(writer.run(table.versions())).abort_handle(),
        }
    }

    pub(super) async fn flush(&self, table: &Table) -> Result<(), ManagerError> {
        let wanted = table.version();
        let mut written = self.written.clone();
        self.hurry.notify_one();
        let done = written.wait_for(|written| written.version >= wanted).await;
        let failure = match &done {
            Ok(written) => written.failure.clone(),
            Err(_) => Some((
                io::ErrorKind::Other,
                "the writer is gone with its runtime".to_owned(),
            )),
        };
        match failure {
            None => Ok(()),
            Some((kind, text)) => {
                let path = self.folder.join(LIST);
                Err(ManagerError::state("write the list", path)(io::Error::new(
                    kind, text,
                )))
            }
        }
    }
}

struct Writer {
    folder: PathBuf,
    table: Weak<Table>,
    progress: watch::Sender<Written>,
    hurry: Arc<Notify>,
}

impl Writer {
    async fn run(self, mut versions: watch::Receiver<u64>) {
        while versions.changed().await.is_ok() {
            let version = *versions.borrow_and_update();
            let Some(sessions) = self.table.upgrade().map(|table| table.infos()) else {
                return;
            };
            let folder = self.folder.clone();
            let result = spawn_blocking(move || write(&folder, sessions)).await;
            let failure = match result {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some((error.kind(), error.to_string())),
                Err(error) => Some((io::ErrorKind::Other, error.to_string())),
            };
            if let Some((_, error)) = &failure {
                tracing::warn!(error, "the list of sessions could not be written");
            }
            self.progress.send_replace(Written { version, failure });
            let _ = timeout(PAUSE, self.hurry.notified()).await;
        }
    }
}
