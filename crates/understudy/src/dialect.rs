//! Protocols other than stream-json: how the host's lines are read, and how events are written.

mod acp;
mod codex;
mod past;
mod rpc;
mod tool;

use std::path::PathBuf;

use serde_json::Value;

use crate::args::DialectName;
use crate::event::Event;
use crate::prompt::Prompt;
use crate::session::Session;
use past::Past;

/// A protocol over JSON-RPC.
pub(crate) trait Dialect {
    /// Reads a line of the host.
    fn read(&mut self, line: &[u8], session: &mut Session) -> Vec<Action>;

    /// Returns the lines that tell the host of an event.
    fn write(&mut self, event: Event<'_>, session: &Session) -> Vec<Value>;

    /// Returns a line with this text that changes nothing.
    fn noise(&self, session: &Session, text: &str) -> Value;

    /// How a prompt is handled while a turn is running.
    fn joining(&self) -> Joining;

    /// Whether the host has opened a conversation.
    fn is_open(&self) -> bool;
}

/// What the host's line asks for.
#[derive(Debug)]
pub(crate) enum Action {
    Print(Value),
    Prompt(Prompt),
    Interrupt,
    /// An answer to a request of the agent.
    Answer {
        request_id: String,
        reply: PermissionReply,
    },
    /// The user has logged in.
    LoggedIn,
    /// The conversation is an earlier one.
    Resumed,
    /// A request with this method has arrived, for steps that wait for it.
    Control(String),
}

/// An answer to a permission request.
#[derive(Debug)]
pub(crate) enum PermissionReply {
    Allowed,
    AlwaysAllowed,
    Denied { interrupt: bool },
    Failed(String),
}

/// How a prompt is handled while a turn is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// It joins at the end of a round of tools.
    Folded,
    /// It joins at once.
    Steered,
    /// It gets a turn of its own.
    Separate,
}

impl DialectName {
    /// Returns the dialect; `None` for stream-json, which the player writes itself.
    pub(crate) fn dialect(self, setup: Setup) -> Option<Box<dyn Dialect>> {
        match self {
            Self::Claude => None,
            Self::Codex => Some(Box::new(codex::Codex::new(setup))),
            Self::Acp => Some(Box::new(acp::Acp::new(setup))),
        }
    }
}

/// What a dialect takes from the scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// The sessions that can be resumed; `None` for all.
    pub(crate) sessions: Option<Vec<String>>,
    /// The user is not logged in.
    pub(crate) logged_out: bool,
    /// Where conversations are kept.
    pub(crate) state: Option<PathBuf>,
}

impl Setup {
    /// Returns the past of a session that can be resumed. Without a list and a folder, all can.
    fn past(&self, id: &str) -> Option<Past> {
        let kept = self
            .state
            .as_ref()
            .and_then(|folder| Past::load(folder, id));
        let listed = match &self.sessions {
            Some(ids) => ids.iter().any(|it| it == id),
            None => self.state.is_none() && !id.is_empty(),
        };
        kept.or_else(|| listed.then(Past::default))
    }

    /// Keeps what a session has said.
    fn keep(&self, id: &str, past: &mut Past) {
        // A later process then knows less, which its host sees.
        let _ = self.state.as_ref().map(|folder| past.save(folder, id));
    }

    /// Returns the kept sessions.
    fn kept(&self) -> Vec<(String, Past)> {
        let Some(folder) = &self.state else {
            return Vec::new();
        };
        let ids = Past::ids(folder).into_iter();
        ids.filter_map(|id| Past::load(folder, &id).map(|past| (id, past)))
            .collect()
    }
}
