//! A fresh home for one run of the agent.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::MessagesApi;

/// Environment variable with the port of the [`MessagesApi`], for scripted tools.
pub const RIG_PORT: &str = "BOWLINE_RIG_PORT";

/// Has the form of a key, and is none.
const DUMMY_KEY: &str = "sk-ant-api03-scripted-0000000000000000000000000000";

/// The agent reports no save, so its files are read again.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The last twenty characters, by which the agent stores an approved key.
const KEY_TAIL: &str = "00000000000000000000";

/// A temporary home with a configuration and a project folder, removed on drop.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
}

impl Home {
    /// Creates the folders, with the questions of the first start answered.
    ///
    /// # Errors
    ///
    /// The temporary folder cannot be written.
    pub fn new() -> io::Result<Self> {
        let home = Self {
            root: tempfile::Builder::new()
                .prefix("bowline-agent-")
                .tempdir()?,
        };
        for folder in [home.path(), home.config(), home.project(), home.temporary()] {
            fs::create_dir_all(folder)?;
        }
        let project = home.project().display().to_string();
        let state = json!({
            "hasCompletedOnboarding": true,
            "customApiKeyResponses": {"approved": [KEY_TAIL], "rejected": []},
            "projects": {project: {"hasTrustDialogAccepted": true, "allowedTools": []}},
        });
        fs::write(home.config().join(".claude.json"), state.to_string())?;
        Ok(home)
    }

    /// Returns the folder that contains all others.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns `HOME`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Returns `CLAUDE_CONFIG_DIR`: the agent's settings and conversations.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.path().join("config")
    }

    /// Returns the agent's working directory.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn temporary(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    /// Returns the complete environment for an agent that connects to `api` only.
    ///
    /// It replaces the inherited environment, of which only the folder of Node is kept, for older
    /// agents, which are scripts.
    #[must_use]
    pub fn environment(&self, api: &MessagesApi) -> Vec<(OsString, OsString)> {
        let paths = [
            ("HOME", self.path()),
            ("CLAUDE_CONFIG_DIR", self.config()),
            ("TMPDIR", self.temporary()),
            ("CLAUDE_CODE_TMPDIR", self.temporary()),
        ];
        let texts = [
            ("ANTHROPIC_BASE_URL", format!("http://{}", api.address())),
            (RIG_PORT, api.address().port().to_string()),
        ];
        let paths = paths.map(|(name, path)| (OsString::from(name), path.into_os_string()));
        let paths = paths.into_iter().chain([("PATH".into(), search_path())]);
        let texts = texts.map(|(name, text)| (name.into(), text.into()));
        let fixed = FIXED
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        paths.chain(texts).chain(fixed).collect()
    }

    /// Returns whether the agent has stored this conversation.
    #[must_use]
    pub fn has_session(&self, session_id: &str) -> bool {
        self.stored(session_id).is_some()
    }

    /// Waits until the agent has stored `text` in this conversation, which it does some time after
    /// it has acted on it.
    pub async fn session_holds(&self, session_id: &str, text: &str) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        while !self.stored(session_id).is_some_and(|it| it.contains(text)) {
            looks.tick().await;
        }
    }

    /// Returns what the agent has stored of this conversation.
    fn stored(&self, session_id: &str) -> Option<String> {
        let file = format!("{session_id}.jsonl");
        let projects = fs::read_dir(self.config().join("projects")).ok()?;
        let mut files = projects.flatten().map(|it| it.path().join(&file));
        files.find_map(|it| fs::read_to_string(it).ok())
    }
}

/// Returns the `PATH` of the agent: the system's folders, after that of Node if it is elsewhere.
pub(crate) fn search_path() -> OsString {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let node = env::split_paths(&inherited).find(|folder| folder.join("node").is_file());
    let node = node.filter(|folder| !SYSTEM_PATH.iter().any(|it| folder == Path::new(it)));
    let system = SYSTEM_PATH.iter().map(PathBuf::from);
    let joined = env::join_paths(node.into_iter().chain(system));
    joined.unwrap_or_default()
}

const SYSTEM_PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Variables that do not depend on the run. `CLAUDE_CODE_MAX_RETRIES` limits the duration of a scripted
/// failure.
const FIXED: &[(&str, &str)] = &[
    ("SHELL", "/bin/bash"),
    ("LANG", "C.UTF-8"),
    ("ANTHROPIC_API_KEY", DUMMY_KEY),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
];
