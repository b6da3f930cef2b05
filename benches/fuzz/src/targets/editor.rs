//! The lines of an editor, and the sessions that it opens.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bowline_reducer::{Cursor, End, Meta, Transcript};
use bowline_runner::acp::{
    Attachment, Failure, FailureKind, Input, Intent, ListedSession, Output, PromptEnd, Server,
    SessionPage,
};
use serde::de::IgnoredAny;
use serde_json::Value;
use uuid::Uuid;

use super::whole;
use crate::guided::{Check, Target};
use crate::shipped::jsonl::{Framer, RawJson};

/// Marks a line of the agent's output, which all open sessions have.
const AGENT: u8 = b'<';

/// Bits of the first byte: what fails, whether the draft of version 2 is offered, and whether outcomes come after
/// the next line.
const FAILS: u8 = 1;
const DRAFT: u8 = 2;
const LATE: u8 = 4;

/// The first byte selects outcomes; of the rest, lines that begin with `<` are the agent's, the others the editor's.
pub(super) static EDITOR: Target = Target {
    name: "editor",
    what: "each request of an editor is answered once, and each message to it is one line of JSON",
    longest: 2_000,
    seeds: || Ok(SEEDS.map(<[u8]>::to_vec).to_vec()),
    dictionary: &TOKENS,
    repair: whole,
    check: || Ok(check()),
};

const SEEDS: [&[u8]; 7] = [
    b"\x00{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1,\"clientCapabilities\":{}}}\n{\"id\":1,\"method\":\"session/new\",\"params\":{\"cwd\":\"/p\",\"mcpServers\":[]}}\n{\"id\":2,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"aa==\"}]}}\n{\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"s\"}}\n",
    b"\x04{\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":1,\"clientCapabilities\":{\"elicitation\":{\"form\":{}},\"subagents\":{}}}}\n{\"id\":1,\"method\":\"session/load\",\"params\":{\"sessionId\":\"s\",\"cwd\":\"/p\",\"mcpServers\":[]}}\n<{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\",\"permissionMode\":\"default\"}\n<{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}]},\"uuid\":\"u\"}\n<{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"Bash\",\"input\":{\"command\":\"ls\"},\"tool_use_id\":\"t\"}}\n{\"id\":9,\"result\":{\"outcome\":{\"outcome\":\"selected\",\"optionId\":\"allow\"}}}\n",
    b"\x06{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":2,\"info\":{\"name\":\"e\",\"version\":\"1\"},\"capabilities\":{}}}\n{\"id\":1,\"method\":\"session/resume\",\"params\":{\"sessionId\":\"s\",\"cwd\":\"/p\",\"mcpServers\":[],\"replayFrom\":{\"type\":\"start\"}}}\n{\"id\":2,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"a\"}]}}\n<{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"b\"}]},\"uuid\":\"u\"}\n<{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"b\",\"uuid\":\"v\"}\n",
    b"\x01{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n{\"id\":1,\"method\":\"session/list\",\"params\":{\"cwd\":\"/p\",\"cursor\":\"1 a\"}}\n{\"id\":2,\"method\":\"session/resume\",\"params\":{\"sessionId\":\"s\",\"cwd\":\"/p\",\"mcpServers\":[]}}\n{\"method\":\"$/cancel_request\",\"params\":{\"requestId\":2}}\n",
    b"\x00{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n{\"id\":1,\"method\":\"session/resume\",\"params\":{\"sessionId\":\"s\",\"cwd\":\"/p\",\"mcpServers\":[]}}\n<{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"permissionMode\":\"default\"}\n{\"id\":2,\"method\":\"session/set_mode\",\"params\":{\"sessionId\":\"s\",\"modeId\":\"plan\"}}\n{\"id\":3,\"method\":\"session/set_config_option\",\"params\":{\"sessionId\":\"s\",\"configId\":\"model\",\"value\":\"m\"}}\n",
    b"\x00nonsense\n[]\n{\"id\":1.5,\"method\":\"session/list\"}\n{\"id\":null,\"method\":3}\n{\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}\n{\"id\":1,\"method\":\"authenticate\",\"params\":{\"methodId\":\"x\"}}\n",
    b"\x00{\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1,\"clientCapabilities\":{\"elicitation\":{\"form\":{}}}}}\n{\"id\":1,\"method\":\"session/load\",\"params\":{\"sessionId\":\"s\",\"cwd\":\"/p\",\"mcpServers\":[]}}\n<{\"type\":\"control_request\",\"request_id\":\"r\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"AskUserQuestion\",\"tool_use_id\":\"t\",\"input\":{\"questions\":[{\"question\":\"q\",\"header\":\"h\",\"options\":[{\"label\":\"a\",\"description\":\"b\"}],\"multiSelect\":false}]}}}\n{\"id\":3,\"result\":{\"action\":\"accept\",\"content\":{\"q\":\"a\"}}}\n",
];

const TOKENS: [&[u8]; 34] = [
    b"\n",
    b"\n<",
    b"{}",
    b"[]",
    b"null",
    b"0",
    b"1",
    b"-1",
    b"\"s\"",
    b"\"\"",
    b"\\ud83d",
    b"\\u001b",
    b"\"id\":1,",
    b"\"id\":\"a\",",
    b"\"method\":\"session/new\",",
    b"\"method\":\"session/load\",",
    b"\"method\":\"session/resume\",",
    b"\"method\":\"session/list\",",
    b"\"method\":\"session/prompt\",",
    b"\"method\":\"session/cancel\",",
    b"\"method\":\"session/set_mode\",",
    b"\"method\":\"initialize\",",
    b"\"protocolVersion\":2,",
    b"\"params\":{\"sessionId\":\"s\"}",
    b"{\"id\":2,\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}}\n",
    b"{\"id\":3,\"result\":{\"action\":\"decline\"}}\n",
    b"\"error\":{\"code\":1,\"message\":\"m\"}",
    b"{\"type\":\"resource_link\",\"uri\":\"file:///a\",\"name\":\"n\"}",
    b"{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\",\"text\":\"t\"}}",
    b"\n<{\"type\":\"result\",\"subtype\":\"success\",\"uuid\":\"v\"}\n",
    b"\n<{\"type\":\"control_cancel_request\",\"request_id\":\"r\"}\n",
    b"\"parent_tool_use_id\":\"t\",",
    b"\"type\":\"tool_result\",\"tool_use_id\":\"t\",",
    b"{\"type\":\"stdio\",\"name\":\"n\",\"command\":\"/c\",\"args\":[],\"env\":[]}",
];

fn check() -> Check {
    Box::new(|input| {
        let Some((&selector, lines)) = input.split_first() else {
            return Ok(());
        };
        let mut editor = Editor::new(selector);
        for line in lines.split(|&byte| byte == b'\n') {
            match line.strip_prefix(&[AGENT]) {
                Some(output) => editor.output(output)?,
                None => editor.line(&String::from_utf8_lossy(line))?,
            }
        }
        editor.end()
    })
}

/// A connection, with sessions that all have one transcript.
struct Editor {
    server: Server,
    selector: u8,
    transcript: Transcript,
    framer: Framer,
    /// The sessions that are followed, each with what it has of the transcript.
    followed: Vec<(Attachment, Cursor)>,
    waiting: VecDeque<Intent>,
    /// The number of requests without an answer, by id.
    unanswered: BTreeMap<String, u32>,
    /// The errors that name no request.
    anonymous: u32,
    /// The agent's requests that were answered, by the attachment.
    decided: BTreeSet<String>,
}

impl Editor {
    fn new(selector: u8) -> Self {
        let server = Server::new(Uuid::from_u128(7 << 64));
        Self {
            server: if selector & DRAFT == 0 {
                server
            } else {
                server.offering_draft()
            },
            selector,
            transcript: Transcript::new(),
            framer: Framer::default(),
            followed: Vec::new(),
            waiting: VecDeque::new(),
            unanswered: BTreeMap::new(),
            anonymous: 0,
            decided: BTreeSet::new(),
        }
    }

    /// Receives a line of the editor. It is refused without an id, or a request with one is counted.
    fn line(&mut self, line: &str) -> Result<(), String> {
        let parsed = RawJson::parse(line);
        if parsed.is_none() && serde_json::from_str::<IgnoredAny>(line).is_ok() {
            // It nests deeper than what tells here whether it is a request.
            return Ok(());
        }
        let (before, id) = (self.anonymous, parsed.and_then(request_id));
        if let Some(id) = &id {
            *self.unanswered.entry(id.clone()).or_default() += 1;
        }
        self.server.receive(line);
        self.read()?;
        if let Some(id) = id.filter(|_| self.anonymous > before) {
            self.answered(&id)?;
        }
        if self.selector & LATE == 0 {
            self.carry_out()?;
        } else if let Some(intent) = self.waiting.pop_front() {
            self.outcome(intent)?;
        }
        Ok(())
    }

    /// Folds a line of the agent, which all followers see.
    fn output(&mut self, line: &[u8]) -> Result<(), String> {
        self.framer.push([line, b"\n"].concat().into());
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                self.transcript.apply(&item, Meta::default());
            }
        }
        self.show()
    }

    /// Ends the sessions. Then every request has an answer.
    fn end(mut self) -> Result<(), String> {
        self.carry_out()?;
        self.transcript.end(End::Recording, Meta::default());
        self.show()?;
        for (attachment, _) in std::mem::take(&mut self.followed) {
            let reason = "over".to_owned();
            self.server.input(Input::Ended { attachment, reason });
            self.read()?;
        }
        self.carry_out()?;
        self.server.disconnect();
        match self.unanswered.iter().find(|(_, count)| **count > 0) {
            Some((id, count)) => Err(format!("request {id} lacks {count} answers")),
            None => Ok(()),
        }
    }

    /// Hands each follower what has changed for it.
    fn show(&mut self) -> Result<(), String> {
        for (attachment, mut cursor) in std::mem::take(&mut self.followed) {
            self.changes(attachment, &mut cursor)?;
            self.followed.push((attachment, cursor));
        }
        Ok(())
    }

    fn changes(&mut self, attachment: Attachment, cursor: &mut Cursor) -> Result<(), String> {
        let changes = self.transcript.changes_since(*cursor);
        *cursor = changes.cursor();
        self.server.input(Input::Changes {
            attachment,
            changes: changes.iter().map(Into::into).collect(),
            has_more: false,
        });
        self.read()
    }

    fn carry_out(&mut self) -> Result<(), String> {
        while let Some(intent) = self.waiting.pop_front() {
            self.outcome(intent)?;
        }
        Ok(())
    }

    fn outcome(&mut self, intent: Intent) -> Result<(), String> {
        let input = match intent {
            Intent::List { ticket, .. } => Input::Listed {
                ticket,
                result: self.or_failure(page()),
            },
            Intent::Start { ticket, .. } => Input::Started {
                ticket,
                result: self.or_failure("s".to_owned()),
            },
            Intent::Attach { attachment, .. } => match self.or_failure(()) {
                Ok(()) => {
                    let mut cursor = Cursor::default();
                    self.changes(attachment, &mut cursor)?;
                    self.followed.push((attachment, cursor));
                    return Ok(());
                }
                Err(failure) => Input::AttachFailed {
                    attachment,
                    failure,
                },
            },
            Intent::Prompt { attachment, prompt } => Input::PromptEnded {
                attachment,
                uuid: prompt.uuid.unwrap_or_default(),
                end: self
                    .or_failure(PromptEnd::Answered)
                    .unwrap_or_else(PromptEnd::Failed),
            },
            Intent::SetOption { ticket, .. } => Input::OptionSet {
                ticket,
                result: self.or_failure(()),
            },
            _ => return Ok(()),
        };
        self.server.input(input);
        self.read()
    }

    fn or_failure<T>(&self, value: T) -> Result<T, Failure> {
        if self.selector & FAILS == 0 {
            return Ok(value);
        }
        let kind = match self.selector >> 4 & 3 {
            0 => FailureKind::NotFound,
            1 => FailureKind::Ended,
            2 => FailureKind::AuthRequired,
            _ => FailureKind::Failed,
        };
        Err(Failure::new(kind, "why"))
    }

    /// Reads what the server has for the editor and for the sessions.
    fn read(&mut self) -> Result<(), String> {
        while let Some(output) = self.server.poll() {
            match output {
                Output::Line(line) => self.message(&line)?,
                Output::Intent(Intent::Detach { attachment }) => {
                    self.followed.retain(|(it, _)| *it != attachment);
                }
                Output::Intent(Intent::Answer {
                    attachment,
                    request_id,
                    ..
                }) => {
                    let request = format!("{attachment:?} {request_id}");
                    if !self.decided.insert(request) {
                        return Err(format!("{request_id} is answered twice"));
                    }
                }
                Output::Intent(intent) => self.waiting.push_back(intent),
                other => return Err(format!("{other:?}")),
            }
        }
        Ok(())
    }

    fn message(&mut self, line: &str) -> Result<(), String> {
        let message = serde_json::from_str::<Value>(line).map_err(|error| error.to_string())?;
        if line.contains('\n') || message["jsonrpc"] != "2.0" {
            return Err(format!("a message like {line:?}"));
        }
        match (&message["method"], &message["id"]) {
            (Value::Null, Value::Null) => self.anonymous += 1,
            (Value::Null, id) => return self.answered(&id.to_string()),
            _ => {}
        }
        Ok(())
    }

    fn answered(&mut self, id: &str) -> Result<(), String> {
        let left = self.unanswered.get_mut(id).filter(|left| **left > 0);
        *left.ok_or_else(|| format!("an answer to {id}, which has none to come"))? -= 1;
        Ok(())
    }
}

fn page() -> SessionPage {
    let session = ListedSession {
        id: "s".to_owned(),
        cwd: "/p".into(),
        ..ListedSession::default()
    };
    SessionPage {
        sessions: vec![session],
        next: Some("1 s".to_owned()),
    }
}

/// Returns the id of a request (JSON-RPC 2.0, section 4), as JSON.
fn request_id(line: RawJson<'_>) -> Option<String> {
    line.get("method")?.as_str()?;
    let id = line.get("id")?;
    match id.as_str() {
        Some(text) => Some(Value::from(text.decode()).to_string()),
        None => id.text().parse::<i64>().ok().map(|it| it.to_string()),
    }
}
