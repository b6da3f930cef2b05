//! The Agent Client Protocol, version 1 (`crates/jsonl/PROTOCOL-acp.md`).
//!
//! | line | effect |
//! |---|---|
//! | `session/prompt` of the host | a prompt, and a turn |
//! | its response | the end of the turn |
//! | chunks | text and reasoning of the open message, or of the named one |
//! | `tool_call`, `tool_call_update`, the call of a permission request | a call, added by the first of them |
//! | requests of the agent, and the host's answers | requests |
//! | a sub-agent's session | a thread, held by the call that its first message stands for |
//! | all between `session/load` and the next prompt | history |
//!
//! Without the input, a turn begins with the first chunk or call, and ends with a response that has a
//! stop reason or is an error.

mod call;
mod host;
mod prompts;
mod request;
mod response;
mod settings;
mod subagent;
mod update;

use std::collections::{BTreeMap, BTreeSet};

use bowline_jsonl::acp::{AgentMessage, HostMessage};
use bowline_jsonl::rpc::{Id, Message};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::acp::prompts::OpenPrompts;
use crate::dialect::acp::settings::Settings;
use crate::record::ThreadId;
use crate::transcript::{Dialect, Fold};

/// The fold of the protocol.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acp {
    /// The host's requests without an answer, by id.
    sent: BTreeMap<String, SentRequest>,
    /// The agent's requests without an answer, by id.
    asked: BTreeMap<String, AskedRequest>,
    /// The session of the main thread.
    session: Option<String>,
    /// The host's prompts without an answer, in order.
    prompts: OpenPrompts,
    /// Parts of a prompt that is loaded.
    loaded_prompt: Option<LoadedPrompt>,
    /// Calls that started sub-agents, by the session of the sub-agent.
    holders: BTreeMap<String, String>,
    /// Structured results that came before the end of their call, by call.
    structured: BTreeMap<String, String>,
    /// Threads whose last chunk named its message.
    named: BTreeSet<ThreadId>,
    settings: Settings,
    loading: Loading,
    /// Whether the input is known: turns begin with prompts only.
    has_input: bool,
}

#[derive(Clone, Debug)]
enum SentRequest {
    Initialize,
    Open,
    Prompt,
    /// A setting and its new value.
    Set(String, String),
    Other,
}

#[derive(Clone, Debug)]
struct AskedRequest {
    /// Its id in the transcript.
    name: String,
    /// The call that is rejected with it.
    call: Option<String>,
    thread: ThreadId,
    /// Ids of the options that reject.
    rejecting: Vec<String>,
}

#[derive(Clone, Debug)]
struct LoadedPrompt {
    message: Option<String>,
    text: String,
}

/// Whether the agent repeats a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Loading {
    #[default]
    No,
    /// One that is not in the transcript.
    History,
    /// One that is in the transcript: the process was restarted.
    Known,
}

impl Dialect for Acp {
    fn output(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        let Some(message) = Message::parse(line) else {
            return fold.unknown("?");
        };
        match AgentMessage::of(message) {
            AgentMessage::Update(update) => self.update(&update, fold),
            AgentMessage::Permission(id, request) => self.permission(id, &request, line, fold),
            AgentMessage::Elicitation(id, request) => self.elicitation(id, &request, line, fold),
            AgentMessage::Cancel(id) => self.withdraw(id, fold),
            AgentMessage::Other(Message::Response { id, result }) => {
                self.response(id, result, fold);
            }
            AgentMessage::Other(
                Message::Request { method, .. } | Message::Notification { method, .. },
            ) => fold.unknown(&method.decode()),
            _ => {}
        }
    }

    fn input(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        self.has_input = true;
        if let Some(message) = Message::parse(line) {
            self.host(HostMessage::of(message), fold);
        }
    }

    fn end(&mut self, fold: &mut Fold<'_>) {
        self.flush_prompt(fold);
        self.sent.clear();
        self.asked.clear();
        self.prompts = OpenPrompts::default();
        self.structured.clear();
        self.loading = Loading::No;
        fold.set_history(false);
        fold.clear_queue();
    }

    fn copy(&self) -> Box<dyn Dialect> {
        Box::new(self.clone())
    }
}

impl Acp {
    /// The thread of a session. The first session is the main thread's.
    fn thread(&mut self, session: Option<Str<'_>>, fold: &mut Fold<'_>) -> ThreadId {
        let Some(session) = session.map(Str::decode) else {
            return fold.main();
        };
        let main = self.session.get_or_insert_with(|| session.to_string());
        if **main == *session {
            fold.main()
        } else {
            fold.thread(&session)
        }
    }

    /// The id of a call in the transcript: an agent's ids are unique in a session.
    fn call_name(&self, session: Option<Str<'_>>, id: Str<'_>) -> String {
        match session.map(Str::decode) {
            Some(session) if self.session.as_deref() != Some(&*session) => {
                format!("{session}:{id}")
            }
            _ => id.decode().into_owned(),
        }
    }

    /// Begins a turn at its first output where the input, which would begin it, is unknown.
    fn expect_turn(&self, thread: ThreadId, fold: &mut Fold<'_>) {
        let is_open = fold.transcript().evidence.turn.is_open;
        if thread == fold.main() && !self.has_input && !is_open && self.loading == Loading::No {
            fold.begin_turn(thread, None);
        }
    }
}

/// The name of a request in the transcript. Ids begin again with each process.
fn request_name(id: Id<'_>, fold: &Fold<'_>) -> String {
    let id = id.as_str().map_or_else(|| id.text().into(), Str::decode);
    match fold.run() {
        0 => id.into_owned(),
        run => format!("{run}:{id}"),
    }
}
