//! The files of sub-agents.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::files::AGENT_PREFIX;
use crate::file::read;
use crate::lines::{parse, text};

/// The transcript of a sub-agent.
#[derive(Debug)]
pub(super) struct AgentFile {
    pub(super) id: String,
    /// The kind of agent, such as `general-purpose`.
    pub(super) kind: Option<String>,
    /// The lines, or why they could not be read.
    pub(super) data: Result<Vec<u8>, String>,
}

/// The sub-agents of a conversation.
#[derive(Debug, Default)]
pub(super) struct Agents {
    files: Vec<AgentFile>,
    by_id: HashMap<String, usize>,
    /// By the tool call that started them, where a file beside the transcript says so.
    by_call: HashMap<String, usize>,
    /// Why a folder of sub-agents could not be listed.
    pub(super) unlisted: Option<String>,
}

impl Agents {
    /// Returns the sub-agent that a tool call started: by the call, or by the id in its result.
    pub(super) fn of(&self, call: &str, agent: Option<&str>) -> Option<&AgentFile> {
        let number = self.by_call.get(call).or_else(|| self.by_id.get(agent?))?;
        self.files.get(*number)
    }

    fn add(&mut self, path: &Path, data: io::Result<Vec<u8>>) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let Some(id) = stem.strip_prefix(AGENT_PREFIX) else {
            return;
        };
        let number = self.files.len();
        let meta = read(&path.with_extension("meta.json")).unwrap_or_default();
        let of_meta = |key| text(parse(&meta)?, key);
        self.by_id.insert(id.to_owned(), number);
        if let Some(call) = of_meta("toolUseId") {
            self.by_call.insert(call, number);
        }
        self.files.push(AgentFile {
            id: id.to_owned(),
            kind: of_meta("agentType"),
            data: data.map_err(|error| error.to_string()),
        });
    }

    /// Returns the files of sub-agents in a folder, by name, also that of one of which only the description is
    /// left. Most conversations have no folder of their own.
    fn list(&mut self, folder: &Path) -> Vec<PathBuf> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.unlisted = Some(error.to_string());
                }
                return Vec::new();
            }
        };
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let stem = name
                    .strip_suffix(".meta.json")
                    .or_else(|| name.strip_suffix(".jsonl"))?;
                let is_agent = stem.starts_with(AGENT_PREFIX);
                is_agent.then(|| folder.join(format!("{stem}.jsonl")))
            })
            .collect();
        files.sort();
        files.dedup();
        files
    }
}

/// Reads the sub-agents of the conversation in `path`. Older agents keep those of all conversations
/// of a project in one folder.
pub(super) fn load(path: &Path) -> Agents {
    let mut agents = Agents::default();
    for file in agents.list(&path.with_extension("").join("subagents")) {
        agents.add(&file, read(&file));
    }
    let session = path.file_stem().unwrap_or_default().to_string_lossy();
    let session = format!(r#""sessionId":"{session}""#);
    let beside = path.parent().map(|folder| agents.list(folder));
    for file in beside.unwrap_or_default() {
        // One that cannot be read may be of another conversation: it is missing only where a call names it.
        let data = read(&file);
        if data.as_ref().map_or(true, |data| {
            memmem::find(data, session.as_bytes()).is_some()
        }) {
            agents.add(&file, data);
        }
    }
    agents
}
