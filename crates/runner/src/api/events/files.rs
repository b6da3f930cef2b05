//! Changes of the files in a session's directory, as events.
//!
//! Each directory that the ignore rules admit is watched by itself, up to a limit: the rules of `.gitignore`,
//! `.ignore` and `.git/info/exclude` apply as in git(1), and `.git` is left out.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use notify::event::{CreateKind, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Maximal number of directories that are watched.
const MAX_DIRECTORIES: usize = 4_096;

/// Maximal number of changes that wait to be read. Further ones are only reported as more.
const QUEUE: usize = 1_024;

/// Maximal number of paths in an event.
const MAX_PATHS: usize = 256;

/// Shortest time between two events.
const PACE: Duration = Duration::from_millis(250);

/// The rules of one directory.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// Paths that have changed.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "files")]
struct FilesEvent<'a> {
    /// Relative to the session's directory, in order.
    paths: Vec<&'a str>,
    /// Whether others have changed, too.
    more: bool,
}

/// Watches the files of a directory.
#[derive(Debug)]
pub(super) struct FileWatch {
    tree: WatchedTree,
    changes: mpsc::Receiver<notify::Result<notify::Event>>,
    overflow: Arc<AtomicBool>,
    pending: BTreeSet<PathBuf>,
    has_more: bool,
    /// When the next event may be returned.
    due: Instant,
}

impl FileWatch {
    /// Watches a directory; blocks while it is read.
    ///
    /// # Errors
    ///
    /// The directory cannot be watched.
    pub(super) fn new(root: &Path) -> notify::Result<Self> {
        let (sender, changes) = mpsc::channel(QUEUE);
        let overflow = Arc::new(AtomicBool::new(false));
        let is_full = Arc::clone(&overflow);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading a file changes nothing.
            let is_access = |event: &notify::Event| matches!(event.kind, EventKind::Access(_));
            if !event.as_ref().is_ok_and(is_access) && sender.try_send(event).is_err() {
                is_full.store(true, Ordering::Relaxed);
            }
        })?;
        let root = root.canonicalize().map_err(notify::Error::io)?;
        let mut tree = WatchedTree {
            watcher,
            root: root.clone(),
            rules: HashMap::new(),
            is_complete: true,
        };
        tree.add(&root);
        if tree.rules.is_empty() {
            return Err(notify::Error::path_not_found().add_path(root));
        }
        Ok(Self {
            has_more: !tree.is_complete,
            tree,
            changes,
            overflow,
            pending: BTreeSet::new(),
            due: Instant::now(),
        })
    }

    /// Waits for changes, and returns them as JSON.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Bytes {
        loop {
            let is_pending = !self.pending.is_empty() || self.has_more;
            tokio::select! {
                biased;
                Some(change) = self.changes.recv() => self.take(change),
                () = sleep_until(self.due), if is_pending => return self.event(),
                else => std::future::pending().await,
            }
        }
    }

    fn take(&mut self, change: notify::Result<notify::Event>) {
        let Ok(change) = change else {
            self.has_more = true;
            return;
        };
        self.has_more |= change.need_rescan();
        let is_new = matches!(
            change.kind,
            EventKind::Create(CreateKind::Folder | CreateKind::Any)
                | EventKind::Modify(ModifyKind::Name(_))
        );
        for path in change.paths {
            let is_directory = path.is_dir();
            if !self.tree.admits(&path, is_directory) {
                continue;
            }
            if is_new && is_directory {
                self.tree.add(&path);
                self.has_more |= !self.tree.is_complete;
            }
            if self.tree.is_rules(&path) {
                self.tree.read_rules(&path);
            }
            if self.pending.len() < MAX_PATHS {
                self.pending.insert(path);
            } else {
                self.has_more = true;
            }
        }
    }

    fn event(&mut self) -> Bytes {
        let pending = std::mem::take(&mut self.pending);
        let overflowed = self.overflow.swap(false, Ordering::Relaxed);
        let more = std::mem::take(&mut self.has_more) || overflowed;
        self.due = Instant::now() + PACE;
        let paths: Vec<_> = pending
            .iter()
            .filter_map(|path| path.strip_prefix(&self.tree.root).ok())
            .map(Path::to_string_lossy)
            .collect();
        let event = FilesEvent {
            paths: paths.iter().map(AsRef::as_ref).collect(),
            more,
        };
        serde_json::to_vec(&event).unwrap_or_default().into()
    }
}

/// The directories that are watched.
#[derive(Debug)]
struct WatchedTree {
    watcher: RecommendedWatcher,
    root: PathBuf,
    /// The rules of each directory.
    rules: HashMap<PathBuf, Gitignore>,
    /// Whether each directory is watched.
    is_complete: bool,
}

impl WatchedTree {
    /// Watches a directory and those in it.
    fn add(&mut self, directory: &Path) {
        let walk = WalkBuilder::new(directory)
            .hidden(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git")
            .build();
        let directories = walk.flatten();
        for entry in directories.filter(|it| it.file_type().is_some_and(|it| it.is_dir())) {
            let path = entry.path();
            if self.rules.contains_key(path) {
                continue;
            }
            let has_room = self.rules.len() < MAX_DIRECTORIES;
            let is_watched = has_room
                && self
                    .watcher
                    .watch(path, RecursiveMode::NonRecursive)
                    .is_ok();
            if !is_watched {
                self.is_complete = false;
                return;
            }
            let rules = rules_of(path, path == self.root);
            self.rules.insert(path.to_owned(), rules);
        }
    }

    fn is_rules(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| RULES.iter().any(|rules| name == *rules))
    }

    /// Reads the rules of a directory again.
    fn read_rules(&mut self, file: &Path) {
        if let Some(directory) = file.parent() {
            let rules = rules_of(directory, directory == self.root);
            self.rules.insert(directory.to_owned(), rules);
        }
    }

    /// Returns whether the rules admit a path. Those of the closest directory count first.
    fn admits(&self, path: &Path, is_directory: bool) -> bool {
        let Ok(below) = path.strip_prefix(&self.root) else {
            return false;
        };
        if below.components().any(|part| part.as_os_str() == ".git") {
            return false;
        }
        let directories = path.ancestors().skip(1);
        for directory in directories.take_while(|it| it.starts_with(&self.root)) {
            let matched = self
                .rules
                .get(directory)
                .map(|rules| rules.matched_path_or_any_parents(path, is_directory));
            match matched {
                Some(found) if found.is_ignore() => return false,
                Some(found) if found.is_whitelist() => return true,
                _ => {}
            }
        }
        true
    }
}

fn rules_of(directory: &Path, is_root: bool) -> Gitignore {
    let mut builder = GitignoreBuilder::new(directory);
    if is_root {
        let _ = builder.add(directory.join(".git/info/exclude"));
    }
    for name in RULES {
        // Errors of a rule leave it out.
        let _ = builder.add(directory.join(name));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};
    use tokio::time::timeout;

    use super::*;

    /// Collects changed paths until a path is among them.
    async fn until(watch: &mut FileWatch, wanted: &str) -> Vec<String> {
        let mut paths = Vec::new();
        while !paths.iter().any(|path| path == wanted) {
            let event = timeout(Duration::from_secs(30), watch.next()).await;
            let event: Value = serde_json::from_slice(&event.expect(wanted)).unwrap();
            assert_eq!(event["more"], false);
            let changed = event["paths"].as_array().unwrap();
            paths.extend(changed.iter().map(|it| it.as_str().unwrap().to_owned()));
        }
        paths
    }

    #[tokio::test]
    async fn changes_follow_the_ignore_rules() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir_all(root.join("target/debug")).unwrap();
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        fs::write(root.join(".gitignore"), "target\n*.log\n!keep.log\n").unwrap();
        fs::write(root.join("src/.gitignore"), "*.tmp\n").unwrap();
        let mut watch = FileWatch::new(root).unwrap();
        for path in [
            "target/debug/out",
            ".git/objects/x",
            "src/a.tmp",
            "b.log",
            "keep.log",
            "src/deep/main.rs",
            "z",
        ] {
            fs::write(root.join(path), "x").unwrap();
        }
        let mut paths = until(&mut watch, "z").await;
        paths.sort();
        paths.dedup();
        assert_eq!(paths, ["keep.log", "src/deep/main.rs", "z"]);

        // A directory that is new, a removal, and new rules.
        fs::create_dir(root.join("new")).unwrap();
        until(&mut watch, "new").await;
        fs::write(root.join("new/file"), "x").unwrap();
        until(&mut watch, "new/file").await;
        fs::remove_file(root.join("z")).unwrap();
        until(&mut watch, "z").await;
        fs::write(root.join(".gitignore"), "new\n").unwrap();
        until(&mut watch, ".gitignore").await;
        fs::write(root.join("new/other"), "x").unwrap();
        fs::write(root.join("b.log"), "y").unwrap();
        let paths = until(&mut watch, "b.log").await;
        assert!(!paths.iter().any(|path| path.starts_with("new/")));
    }

    #[tokio::test]
    async fn many_changes_are_bounded() {
        let scratch = tempfile::tempdir().unwrap();
        let mut watch = FileWatch::new(scratch.path()).unwrap();
        for number in 0..MAX_PATHS * 2 {
            fs::write(scratch.path().join(number.to_string()), "x").unwrap();
        }
        let (mut most, mut has_more) = (0, false);
        while !has_more {
            let event = timeout(Duration::from_secs(30), watch.next()).await;
            let event: Value = serde_json::from_slice(&event.unwrap()).unwrap();
            most = most.max(event["paths"].as_array().unwrap().len());
            has_more = event["more"] == json!(true);
        }
        assert!(most <= MAX_PATHS, "{most} paths");
    }

    #[test]
    fn missing_directory_is_an_error() {
        let scratch = tempfile::tempdir().unwrap();
        assert!(FileWatch::new(&scratch.path().join("none")).is_err());
    }
}
