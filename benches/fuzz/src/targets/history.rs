//! The files in which agents keep past conversations.

use std::fs;
use std::path::{Path, PathBuf};

use bowline_history::{AgentFolders, History, Query};
use bowline_reducer::{End, Meta};
use tempfile::TempDir;

use super::reducer::{json, nothing_is_open};
use super::{same, whole};
use crate::guided::{Check, Target};
use crate::shipped::jsonl::RawJson;

/// Separates the files of an input.
const NEXT_FILE: u8 = 0;

/// Values of the first byte for conversations of Codex; all others are of Claude Code.
const CODEX: u8 = b'x';

/// The first byte selects the agent. Then come, after a NUL byte each, a conversation, the conversation of a
/// sub-agent, and what describes that.
pub(super) static HISTORY: Target = Target {
    name: "history",
    what: "a conversation that is listed can be opened, is not longer than its files allow, and leaves nothing open",
    longest: 2_500,
    seeds,
    dictionary: &TOKENS,
    repair: whole,
    check,
};

/// Folder of the recordings.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/history");

/// Longest line of a seed, in bytes.
const LONGEST: usize = 700;

/// Bytes of a file after which a seed gets no further line.
const FILE: usize = 900;

const ID: &str = "01a20984-2770-7e83-b282-3392f700abf9";

const TOKENS: [&[u8]; 32] = [
    b"\n",
    b"\0",
    b"null",
    b"{}",
    b"[]",
    b"\"\"",
    b"\\ud83d",
    b"\"uuid\":\"a\",",
    b"\"parentUuid\":\"a\",",
    b"\"isSidechain\":true,",
    b"\"sessionId\":\"01a20984-2770-7e83-b282-3392f700abf9\",",
    b"\"type\":\"user\",",
    b"\"type\":\"assistant\",",
    b"\"type\":\"system\",",
    b"\"type\":\"attachment\",",
    b"\"type\":\"summary\",",
    b"\"subtype\":\"compact_boundary\",",
    b"\"message\":{\"content\":\"a\"},",
    b"{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Agent\",\"input\":{\"prompt\":\"a\"}}",
    b"{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"c\"}",
    b"\"toolUseResult\":{\"agentId\":\"a\"},",
    b"{\"toolUseId\":\"t\",\"agentType\":\"k\"}",
    b"\"attachment\":{\"type\":\"queued_command\",\"prompt\":\"a\"},",
    b"\"timestamp\":\"2026-11-23T17:46:24.000Z\",",
    b"\"type\":\"response_item\",",
    b"\"type\":\"event_msg\",",
    b"\"type\":\"session_meta\",",
    b"\"payload\":{\"type\":\"",
    b"\"type\":\"function_call\",\"call_id\":\"c\",",
    b"\"type\":\"function_call_output\",\"call_id\":\"c\",",
    b"\"name\":\"spawn_agent\",",
    b"\"arguments\":\"{}\"",
];

/// The beginnings of the recorded conversations, those of sub-agents as such.
fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let mut folders = vec![PathBuf::from(RECORDINGS)];
    let (mut main, mut agents) = (Vec::new(), Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".jsonl") && name != "session_index.jsonl" {
                let is_agent = name.starts_with("agent-");
                let kind = if name.starts_with("rollout-") {
                    CODEX
                } else {
                    b'c'
                };
                let list = if is_agent { &mut agents } else { &mut main };
                list.extend(parts(&fs::read(&path)?).map(|part| (kind, part)));
            }
        }
    }
    main.sort();
    agents.sort();
    let seeds = main.iter().enumerate().map(|(number, (kind, file))| {
        let agent = agents.get(number % agents.len().max(1));
        let agent = agent.map_or(&[][..], |(_, agent)| agent);
        let about = b"{\"toolUseId\":\"t\",\"agentType\":\"k\"}";
        [
            &[*kind],
            &file[..],
            &[NEXT_FILE],
            agent,
            &[NEXT_FILE],
            about,
        ]
        .concat()
    });
    Ok(seeds.collect())
}

/// Consecutive lines of a file that are short.
fn parts(file: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    let lines = file.split_inclusive(|&byte| byte == b'\n');
    for line in lines.filter(|line| line.len() <= LONGEST) {
        if part.len() + line.len() > FILE {
            parts.push(std::mem::take(&mut part));
        }
        part.extend_from_slice(line);
    }
    parts.push(part);
    parts.into_iter()
}

/// The folders of both agents, with one conversation and one sub-agent each.
struct Folders {
    root: TempDir,
}

impl Folders {
    fn make() -> std::io::Result<Self> {
        let it = Self {
            root: tempfile::tempdir()?,
        };
        for file in it.claude().iter().chain(&it.codex()) {
            fs::create_dir_all(file.parent().unwrap_or_else(|| Path::new("/")))?;
        }
        Ok(it)
    }

    /// The conversation, its sub-agent and what describes that.
    fn claude(&self) -> [PathBuf; 3] {
        let project = self.root.path().join("claude/projects/-p");
        [
            project.join(format!("{ID}.jsonl")),
            project.join(format!("{ID}/subagents/agent-a.jsonl")),
            project.join(format!("{ID}/subagents/agent-a.meta.json")),
        ]
    }

    /// The conversation, its sub-agent and the names that the user gave.
    fn codex(&self) -> [PathBuf; 3] {
        let home = self.root.path().join("codex");
        let day = home.join("sessions/2026/11/23");
        let agent = "01a20984-253e-73b1-b3fd-772ec870c1b6";
        [
            day.join(format!("rollout-2026-11-23T17-46-25-{ID}.jsonl")),
            day.join(format!("rollout-2026-11-23T17-46-24-{agent}.jsonl")),
            home.join("session_index.jsonl"),
        ]
    }

    fn history(&self) -> History {
        History::new(AgentFolders {
            claude: self.root.path().join("claude"),
            codex: self.root.path().join("codex"),
        })
    }
}

fn check() -> Result<Check, String> {
    let folders = Folders::make().map_err(|error| error.to_string())?;
    let history = folders.history();
    let mut last = Vec::new();
    Ok(Box::new(move |input| {
        let Some((&kind, rest)) = input.split_first() else {
            return Ok(());
        };
        let files = match kind {
            CODEX => folders.codex(),
            _ => folders.claude(),
        };
        for file in last.drain(..) {
            fs::remove_file(file).map_err(|error| error.to_string())?;
        }
        let contents = rest.splitn(files.len(), |&byte| byte == NEXT_FILE);
        for (file, content) in files.into_iter().zip(contents) {
            fs::write(&file, content).map_err(|error| error.to_string())?;
            last.push(file);
        }
        conversations(&history, rest)
    }))
}

/// Lists what is there, and opens all of it.
fn conversations(history: &History, files: &[u8]) -> Result<(), String> {
    let query = Query {
        search: Some("a".to_owned()),
        ..Query::default()
    };
    history.list(&query).map_err(|error| error.to_string())?;
    let listed = history.list(&Query::default());
    let listed = listed.map_err(|error| error.to_string())?;
    for conversation in &listed.conversations {
        let past = history.open(&conversation.id);
        let past = past.map_err(|error| error.to_string())?;
        same("an opened conversation", &past.conversation, conversation)?;
        let (length, most) = (past.stream.len(), 2_000 + 20 * files.len());
        if length > most {
            return Err(format!("{length} bytes of {}", files.len()));
        }
        let wrong = |stream: &[u8]| {
            stream
                .split(|&it| it == b'\n')
                .filter(|it| is_wrong(it))
                .count()
        };
        let [made, had] = [&past.stream[..], files].map(wrong);
        // The files end in the middle of lines, and a sub-agent can be missing.
        let missing = past
            .stream
            .windows(11)
            .filter(|it| **it == *b" is missing")
            .count();
        if made > had + 3 + missing {
            return Err(format!("{made} damaged lines of {had}"));
        }
        let mut transcript = past.transcript();
        transcript.end(End::Recording, Meta::default());
        nothing_is_open(&json(&transcript)?)?;
    }
    Ok(())
}

fn is_wrong(line: &[u8]) -> bool {
    let object = std::str::from_utf8(line).ok().and_then(RawJson::parse);
    !line.is_empty() && !object.is_some_and(|it| it.text().starts_with('{'))
}
