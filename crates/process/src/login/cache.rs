//! Cache of captured login environments.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::{LoginEnvironment, LoginShell};

/// Cache key: the shell and its inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CacheKey {
    shell: PathBuf,
    env: BTreeMap<OsString, OsString>,
    timeout: Duration,
}

/// Modification time and size of a file; `None` if it does not exist.
type Stamp = (PathBuf, Option<(SystemTime, u64)>);

#[derive(Debug)]
struct Entry {
    stamps: Vec<Stamp>,
    answer: Arc<OnceCell<LoginEnvironment>>,
}

static ENTRIES: LazyLock<Mutex<HashMap<CacheKey, Entry>>> = LazyLock::new(Mutex::default);

/// Returns the cached environment, or captures it if a start-up file has changed. Concurrent
/// callers share one capture.
pub(super) async fn environment(login: &LoginShell) -> LoginEnvironment {
    let answer = entry(login);
    answer.get_or_init(|| login.capture()).await.clone()
}

fn entry(login: &LoginShell) -> Arc<OnceCell<LoginEnvironment>> {
    let key = CacheKey {
        shell: login.shell.clone(),
        env: login.env.resolve(),
        timeout: login.timeout,
    };
    let stamps: Vec<Stamp> = login.files().into_iter().map(stamp).collect();
    let mut entries = ENTRIES.lock();
    let entry = entries.entry(key).or_insert_with(|| Entry {
        stamps: Vec::new(),
        answer: Arc::default(),
    });
    if entry.stamps != stamps {
        entry.stamps = stamps;
        entry.answer = Arc::default();
    }
    Arc::clone(&entry.answer)
}

fn stamp(path: PathBuf) -> Stamp {
    let data = fs::metadata(&path).ok();
    let seen = data.and_then(|data| Some((data.modified().ok()?, data.len())));
    (path, seen)
}
