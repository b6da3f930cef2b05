//! A conversation's file as the lines that the agent printed for it.

use std::collections::{HashMap, HashSet, VecDeque};

use bowline_jsonl::RawJson;

use super::agents::{AgentFile, Agents};
use super::line::{Line, lines};
use super::prompt::content_text;
use super::summary::{model, title};
use super::system::system;
use super::tree::branch;
use crate::lines::{Lines, is_set, text};
use crate::stream::StreamWriter;

/// Deepest nesting of sub-agents. The agent allows fewer; a damaged folder may name each other.
const DEEPEST: usize = 32;

const TOO_DEEP: &str = "it is nested more than 32 levels deep";
const NO_FILE: &str = "it has no transcript";

/// Types of lines that hold no part of the conversation: bookkeeping of the agent, its requests, and
/// what it restores when it resumes. Titles are read apart.
const SILENT: &[&str] = &[
    "agent-color",
    "agent-name",
    "agent-setting",
    "agent_metadata",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-resumed",
    "api-request-shape",
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
    "atis-latch",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "continued-in",
    "cost-state",
    "custom-title",
    "data-flow-incomplete",
    "data-flow-records",
    "derived-from",
    "dev-mods",
    "ended-by-model",
    "file-history-delta",
    "file-history-snapshot",
    "fork-context-ref",
    "frame-link",
    "history-suppression",
    "host-row",
    "hybrid-organization",
    "isolation-latch",
    "last-prompt",
    "memory-mode",
    "mode",
    "observer-ref",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "repl-mode",
    "resume-head-vouch",
    "session-owner",
    "summary",
    "tag",
    "tools-used",
    "worktree-state",
];

/// Writes a conversation with its sub-agents, each after the call that started it.
pub(super) fn conversation(data: &[u8], agents: &Agents, out: &mut StreamWriter) {
    let lines = lines(data);
    init(data, &lines, out);
    if let Some(title) = title(Lines(data)) {
        let session = session_id(&lines);
        out.line("system")
            .text("subtype", Some("session_title_changed"))
            .text("title", Some(&title))
            .raw("session_id", session);
    }
    let mut converter = Converter {
        agents,
        begun: HashSet::new(),
        out,
    };
    converter.thread(&lines, None, 0);
    if let Some(reason) = &agents.unlisted {
        let line = format!("sub-agents are missing: {reason}");
        converter.out.copy(line.as_bytes());
    }
}

/// Writes what the first line of a run says, as far as the file has it.
fn init(data: &[u8], lines: &[Line<'_>], out: &mut StreamWriter) {
    let messages = || lines.iter().filter(|line| line.uuid.is_some());
    let first = |key| messages().find_map(|line| line.object?.get(key));
    let last = |key| messages().rev().find_map(|line| line.object?.get(key));
    out.line("system")
        .text("subtype", Some("init"))
        .raw("session_id", session_id(lines))
        .raw("cwd", first("cwd"))
        .text("model", model(Lines(data)).as_deref())
        .raw("permissionMode", last("permissionMode"))
        .raw("claude_code_version", last("version"));
}

fn session_id<'a>(lines: &[Line<'a>]) -> Option<RawJson<'a>> {
    lines
        .iter()
        .rev()
        .find_map(|line| line.object?.get("sessionId"))
}

/// The call that a thread belongs to, and its sub-agent.
#[derive(Clone, Copy)]
struct Parent<'a> {
    call: &'a str,
    agent: Option<&'a AgentFile>,
}

struct Converter<'a, 'o> {
    agents: &'a Agents,
    /// Ids of the sub-agents that were written: a damaged file may name one twice.
    begun: HashSet<&'a str>,
    out: &'o mut StreamWriter,
}

impl<'a> Converter<'a, '_> {
    fn thread(&mut self, lines: &[Line<'_>], parent: Option<Parent<'_>>, depth: usize) {
        let chosen = branch(lines, parent.is_some());
        let started = started_agents(lines);
        let owners = sidechain_owners(lines, &chosen, parent.is_some());
        let written: HashSet<&str> = owners.iter().flatten().copied().collect();
        for ((line, chosen), owner) in lines.iter().zip(chosen).zip(owners) {
            let inline = owner.map(|call| Parent { call, agent: None });
            if !chosen && inline.is_none() {
                continue;
            }
            self.line(line, inline.or(parent));
            for call in &line.calls {
                let named = started.get(call).copied();
                match self.agents.of(call, named) {
                    Some(agent) => self.sub_agent(call, agent, depth + 1),
                    None if written.contains(call) => {}
                    None => named
                        .iter()
                        .for_each(|id| self.out.missing_agent(id, NO_FILE)),
                }
            }
        }
    }

    fn sub_agent(&mut self, call: &str, agent: &'a AgentFile, depth: usize) {
        if !self.begun.insert(&agent.id) {
            return;
        }
        match &agent.data {
            Ok(_) if depth > DEEPEST => self.out.missing_agent(&agent.id, TOO_DEEP),
            Ok(data) => {
                let agent = Some(agent);
                self.thread(&lines(data), Some(Parent { call, agent }), depth);
            }
            Err(reason) => self.out.missing_agent(&agent.id, reason),
        }
    }

    fn line(&mut self, line: &Line<'_>, parent: Option<Parent<'_>>) {
        let Some(object) = line.object else {
            return self.out.copy(line.bytes);
        };
        match line.kind {
            "assistant" | "user" => self.message(line.kind, object, parent),
            "attachment" => self.attachment(object, parent),
            "system" => system(object, self.out),
            kind if SILENT.contains(&kind) => {}
            _ => self.out.copy(line.bytes),
        }
    }

    fn message(&mut self, kind: &str, object: RawJson<'_>, parent: Option<Parent<'_>>) {
        let mut line = self.out.line(kind);
        let is_synthetic = is_set(object, "isMeta") || is_set(object, "isCompactSummary");
        line.raw("message", object.get("message"))
            .text("parent_tool_use_id", parent.map(|parent| parent.call))
            .raw("session_id", object.get("sessionId"))
            .raw("uuid", object.get("uuid"))
            .raw("timestamp", object.get("timestamp"))
            .raw("tool_use_result", object.get("toolUseResult"))
            .raw("request_id", object.get("requestId"))
            .flag("isSynthetic", is_synthetic);
        if is_set(object, "isApiErrorMessage") {
            line.raw("error", object.get("error"));
        }
        let agent = parent.and_then(|parent| parent.agent);
        if let Some(agent) = agent {
            line.text("agent_id", Some(&agent.id))
                .text("subagent_type", agent.kind.as_deref());
        }
    }

    /// A prompt that the agent took in during a turn is an attachment of the turn; others are made by
    /// the agent for the model.
    fn attachment(&mut self, object: RawJson<'_>, parent: Option<Parent<'_>>) {
        let Some(attachment) = object.get("attachment") else {
            return;
        };
        if text(attachment, "type").as_deref() != Some("queued_command") {
            return;
        }
        let Some(prompt) = attachment.get("prompt") else {
            return;
        };
        let is_prompt = text(attachment, "commandMode").is_none_or(|mode| mode == "prompt");
        let uuid = attachment.get("source_uuid");
        let message = serde_json::json!({ "role": "user", "content": content_text(prompt) });
        self.out
            .line("user")
            .value("message", &message)
            .text("parent_tool_use_id", parent.map(|parent| parent.call))
            .raw("session_id", object.get("sessionId"))
            .raw("uuid", uuid.or_else(|| object.get("uuid")))
            .raw("timestamp", object.get("timestamp"))
            .flag("isSynthetic", !is_prompt);
    }
}

/// The sub-agents that results name, by the call.
fn started_agents<'a>(lines: &[Line<'a>]) -> HashMap<&'a str, &'a str> {
    let named = lines
        .iter()
        .filter_map(|line| Some((*line.results.first()?, line.agent?)));
    named.collect()
}

/// Returns for each line the call of the sub-agent that wrote it, if it is in the file of the main
/// conversation.
///
/// Agents before 2.0 write so, and do not name the call: it is the first one with the sub-agent's
/// prompt that has none yet.
fn sidechain_owners<'a>(
    lines: &[Line<'a>],
    chosen: &[bool],
    is_agent: bool,
) -> Vec<Option<&'a str>> {
    let mut owners = vec![None; lines.len()];
    if is_agent || !lines.iter().any(|line| line.is_sidechain) {
        return owners;
    }
    let mut waiting: HashMap<String, VecDeque<&str>> = HashMap::new();
    let mut by_uuid: HashMap<&str, &str> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        if !line.is_sidechain {
            if chosen.get(number) == Some(&true) {
                for (call, prompt) in agent_prompts(line) {
                    waiting.entry(prompt).or_default().push_back(call);
                }
            }
            continue;
        }
        let known = line.parent.and_then(|parent| by_uuid.get(parent)).copied();
        let owner = known.or_else(|| {
            let prompt = content_text(line.object?.get("message")?.get("content")?);
            waiting.get_mut(&prompt)?.pop_front()
        });
        if let (Some(owner), Some(uuid)) = (owner, line.uuid) {
            by_uuid.insert(uuid, owner);
        }
        owners[number] = owner;
    }
    owners
}

/// The calls of a line that have a prompt, and the prompt.
fn agent_prompts<'a>(line: &Line<'a>) -> Vec<(&'a str, String)> {
    let content = line
        .object
        .and_then(|line| line.get("message")?.get("content"));
    let blocks = content.into_iter().flat_map(RawJson::elements);
    let inputs = blocks.filter_map(|block| block.get("input").zip(block.get("id")?.as_str()));
    let prompts = inputs.filter_map(|(input, id)| Some((id.raw(), text(input, "prompt")?)));
    prompts.collect()
}
