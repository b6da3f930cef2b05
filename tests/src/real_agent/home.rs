//! A fresh home for one run of the agent.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use super::MessagesApi;

/// Environment variable that tells scripted tools the port of the [`MessagesApi`].
pub const RIG_PORT: &str = "BOWLINE_RIG_PORT";

/// Looks like a key, opens nothing.
const DUMMY_KEY: &str = "sk-ant-api03-scripted-0000000000000000000000000000";

/// The agent remembers an approved key by its last twenty characters.
const KEY_TAIL: &str = "00000000000000000000";

/// A home, a configuration folder and a project folder in a temporary place, removed on drop.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
}

impl Home {
    /// Makes the folders, with the questions of a first start already answered.
    ///
    /// # Errors
    ///
    /// When the temporary folder cannot be written.
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
            "projects": {project: {"hasTrustDialogAccepted": true}},
        });
        fs::write(home.config().join(".claude.json"), state.to_string())?;
        Ok(home)
    }

    /// What all of it is in.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// `HOME`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// `CLAUDE_CONFIG_DIR`: settings, and the agent's own record of its sessions.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root.path().join("config")
    }

    /// The working directory for the agent.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn temporary(&self) -> PathBuf {
        self.root.path().join("tmp")
    }

    /// The whole environment for an agent that talks to `api` only.
    ///
    /// It replaces the inherited environment; nothing of the host's is passed on.
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
        let paths = paths.map(|(name, path)| (name.into(), path.into()));
        let texts = texts.map(|(name, text)| (name.into(), text.into()));
        let fixed = FIXED
            .iter()
            .map(|&(name, value)| (name.into(), value.into()));
        paths.into_iter().chain(texts).chain(fixed).collect()
    }

    /// Whether the agent has kept a record of this session.
    #[must_use]
    pub fn has_session(&self, session_id: &str) -> bool {
        let file = format!("{session_id}.jsonl");
        let projects = fs::read_dir(self.config().join("projects"));
        projects.is_ok_and(|mut folders| {
            folders.any(|folder| folder.is_ok_and(|folder| holds(&folder.path(), &file)))
        })
    }
}

fn holds(folder: &Path, file: &str) -> bool {
    folder.join(file).is_file()
}

/// Variables that do not depend on the run. The names are those of the agent's settings page;
/// `CLAUDE_CODE_MAX_RETRIES` bounds how long a scripted failure takes.
const FIXED: &[(&str, &str)] = &[
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("SHELL", "/bin/bash"),
    ("LANG", "C.UTF-8"),
    ("ANTHROPIC_API_KEY", DUMMY_KEY),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
];
