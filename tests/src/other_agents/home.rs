//! A fresh home for one run of an agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ModelApi, OtherAgent};
use crate::campaign::{describe, marked};
use crate::real_agent::search_path;

/// A temporary home with a configuration and a project folder, removed on drop.
#[derive(Debug)]
pub struct AgentHome {
    agent: OtherAgent,
    root: TempDir,
}

impl AgentHome {
    /// Creates the folders, and a configuration whose model is the scripted API.
    ///
    /// # Errors
    ///
    /// The temporary folder cannot be written.
    pub fn new(agent: OtherAgent, api: &ModelApi) -> io::Result<Self> {
        let root = tempfile::Builder::new()
            .prefix("bowline-agent-")
            .tempdir()?;
        let home = Self { agent, root };
        fs::create_dir_all(home.project())?;
        let (file, settings) = match agent {
            OtherAgent::Codex => (".codex/config.toml", codex(api)),
            OtherAgent::Gemini => (".gemini/settings.json", gemini().to_string()),
            OtherAgent::Opencode => (".config/opencode/opencode.json", opencode(api).to_string()),
        };
        let file = home.path().join(file);
        fs::create_dir_all(file.parent().unwrap_or_else(|| home.path()))?;
        fs::write(file, settings)?;
        Ok(home)
    }

    /// Returns `HOME`.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Returns the agent's working directory.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// Returns the complete environment for an agent that connects to `api` only.
    #[must_use]
    pub fn environment(&self, api: &ModelApi) -> Vec<(OsString, OsString)> {
        let url = format!("http://{}", api.address());
        let fixed = match self.agent {
            OtherAgent::Codex => CODEX,
            OtherAgent::Gemini => GEMINI,
            OtherAgent::Opencode => OPENCODE,
        };
        let fixed = fixed.iter().chain(ALWAYS);
        let fixed = fixed.map(|&(name, value)| (name.into(), value.into()));
        let own = [
            ("HOME", self.path().into()),
            ("PATH", search_path()),
            ("GOOGLE_GEMINI_BASE_URL", url.clone().into()),
            // opencode asks the registry for its plug-ins.
            ("NPM_CONFIG_REGISTRY", url.into()),
        ];
        let own = own.map(|(name, value)| (name.into(), value));
        own.into_iter().chain(fixed).collect()
    }

    /// Dates the conversations to an earlier minute.
    ///
    /// Gemini CLI 0.61.0 names the file of a conversation after the minute of its start, and empties the file of
    /// this name before it loads one: it cannot resume within the minute.
    ///
    /// # Errors
    ///
    /// A file cannot be renamed.
    pub fn age_conversations(&self) -> io::Result<()> {
        if self.agent != OtherAgent::Gemini {
            return Ok(());
        }
        for file in fs::read_dir(self.path().join(".gemini/tmp/project/chats"))? {
            let file = file?.path();
            let name = file.to_string_lossy();
            let (_, id) = name.rsplit_once('-').unwrap_or_default();
            fs::rename(
                &file,
                file.with_file_name(format!("session-2026-01-01T00-00-{id}")),
            )?;
        }
        Ok(())
    }

    /// Describes the processes that run with this home; empty if there are none.
    #[must_use]
    pub fn processes(&self) -> String {
        describe(&marked(&self.path().display().to_string()))
    }
}

const ALWAYS: &[(&str, &str)] = &[("SHELL", "/bin/sh"), ("LANG", "C.UTF-8")];

const CODEX: &[(&str, &str)] = &[("SCRIPTED_KEY", "none")];

const GEMINI: &[(&str, &str)] = &[
    ("GEMINI_API_KEY", "none"),
    ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
];

const OPENCODE: &[(&str, &str)] = &[
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
];

/// Commands run without a sandbox, which would depend on the machine.
fn codex(api: &ModelApi) -> String {
    let url = format!("http://{}/v1", api.address());
    format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\nsandbox_mode = \"danger-full-access\"\n\
         check_for_update_on_startup = false\n[analytics]\nenabled = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}\"\nwire_api = \"responses\"\n\
         env_key = \"SCRIPTED_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n"
    )
}

fn gemini() -> Value {
    json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
        "model": {"name": "gemini-2.5-flash"},
    })
}

fn opencode(api: &ModelApi) -> Value {
    let model = json!({"name": "Scripted", "limit": {"context": 200_000, "output": 8000}});
    json!({
        "autoupdate": false, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
        "enabled_providers": ["scripted"],
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
            "options": {"baseURL": format!("http://{}/v1", api.address()), "apiKey": "none"},
            "models": {"scripted": model},
        }},
        "permission": {"bash": "ask", "edit": "ask"},
    })
}
