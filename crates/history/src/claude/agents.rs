//! The files of sub-agents.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::files::AGENT_PREFIX;
use crate::lines::{parse, text};

/// The transcript of a sub-agent.
#[derive(Debug)]
pub(super) struct AgentFile {
    pub(super) id: String,
    /// The kind of agent, such as `general-purpose`.
    pub(super) kind: Option<String>,
    pub(super) data: Vec<u8>,
}

/// The sub-agents of a conversation.
#[derive(Debug, Default)]
pub(super) struct Agents {
    files: Vec<AgentFile>,
    by_id: HashMap<String, usize>,
    /// By the tool call that started them, where a file beside the transcript says so.
    by_call: HashMap<String, usize>,
}

impl Agents {
    /// Returns the sub-agent that a tool call started: by the call, or by the id in its result.
    pub(super) fn of(&self, call: &str, agent: Option<&str>) -> Option<&AgentFile> {
        let number = self.by_call.get(call).or_else(|| self.by_id.get(agent?))?;
        self.files.get(*number)
    }

    fn add(&mut self, path: &Path) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let (Some(id), Ok(data)) = (stem.strip_prefix(AGENT_PREFIX), fs::read(path)) else {
            return;
        };
        let number = self.files.len();
        let meta = fs::read(path.with_extension("meta.json")).unwrap_or_default();
        let of_meta = |key| text(parse(&meta)?, key);
        self.by_id.insert(id.to_owned(), number);
        if let Some(call) = of_meta("toolUseId") {
            self.by_call.insert(call, number);
        }
        self.files.push(AgentFile {
            id: id.to_owned(),
            kind: of_meta("agentType"),
            data,
        });
    }
}

/// Reads the sub-agents of the conversation in `path`. Older agents keep those of all conversations
/// of a project in one folder.
pub(super) fn load(path: &Path) -> Agents {
    let mut agents = Agents::default();
    for file in agent_files(&path.with_extension("").join("subagents")) {
        agents.add(&file);
    }
    let session = path.file_stem().unwrap_or_default().to_string_lossy();
    let session = format!(r#""sessionId":"{session}""#);
    for file in path.parent().map(agent_files).unwrap_or_default() {
        let is_own = |data: Vec<u8>| memmem::find(&data, session.as_bytes()).is_some();
        if fs::read(&file).is_ok_and(is_own) {
            agents.add(&file);
        }
    }
    agents
}

/// Returns the files of sub-agents in a folder, by name.
fn agent_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(AGENT_PREFIX) && name.ends_with(".jsonl")
        })
        .collect();
    files.sort();
    files
}
