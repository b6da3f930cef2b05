//! The handshake with Codex: `initialize`, then the thread of the session.

use bowline_jsonl::codex::ThreadOpened;
use bowline_jsonl::codex::write::{self, ThreadSettings};
use bowline_jsonl::{RawJson, Str};

use super::Codex;
use crate::conversations::Conversation;
use crate::error::{DialogueError, HandshakeError};
use crate::machine::input::Reply;
use crate::machine::protocol::opening::Stage;
use crate::machine::protocol::{Link, Signal};
use crate::machine::requests::CompletedRequest;

/// Without a user to ask, Codex continues with what its sandbox permits.
const NEVER_ASK: &str = "never";

impl Codex {
    pub(super) fn initialize(&self, link: &mut Link<'_>) {
        let version = env!("CARGO_PKG_VERSION");
        link.request("initialize", None, |id| {
            write::initialize(id, "bowline", "Bowline", version)
        });
    }

    /// Continues the handshake after a request of it has ended.
    pub(super) fn handshake(&mut self, request: &CompletedRequest, link: &mut Link<'_>) {
        if request.ticket.is_some() || self.stage != Stage::Opening {
            return;
        }
        let response = match &request.reply {
            Ok(Reply::Response(response)) => RawJson::parse(response),
            Ok(Reply::Done) => None,
            // The first host has initialized Codex.
            Err(_) if self.opening.is_resumed && request.name == "initialize" => None,
            Err(error) => return self.stage.fail(error.clone().into(), link),
        };
        match &*request.name {
            "initialize" => {
                if request.reply.is_ok() {
                    link.write(write::initialized());
                }
                self.open_thread(link);
            }
            "thread/list" => {
                let threads = response.and_then(|it| it.get("data"));
                let newest = threads.and_then(|it| it.elements().next());
                let id = newest.and_then(|it| it.get("id")).and_then(RawJson::as_str);
                match id.map(Str::decode) {
                    Some(id) => self.resume_thread(&id, link),
                    None => self.stage.fail(HandshakeError::NothingToContinue, link),
                }
            }
            "thread/start" | "thread/resume" | "thread/fork" => {
                self.opened(response.and_then(ThreadOpened::parse), link);
            }
            _ => {}
        }
    }

    /// The thread is open.
    pub(super) fn opened(&mut self, opened: Option<ThreadOpened<'_>>, link: &mut Link<'_>) {
        let id = opened.and_then(|it| it.thread.id);
        if let Some(id) = id.filter(|_| self.thread.is_none()) {
            self.thread = Some(id.decode().into_owned());
            self.stage = Stage::Ready;
            link.signal(Signal::Ready);
        }
    }

    fn open_thread(&mut self, link: &mut Link<'_>) {
        match self.opening.conversation.clone() {
            Conversation::New => {
                let settings = self.settings();
                link.request("thread/start", None, |id| {
                    write::start_thread(id, &settings)
                });
            }
            Conversation::NewAs(_) => {
                let what = "a conversation id of the host's choice";
                self.stage.unsupported(what, link);
            }
            Conversation::Resume {
                id: thread,
                fork: true,
            } => {
                let settings = self.settings();
                link.request("thread/fork", None, |id| {
                    write::fork_thread(id, &thread, None, &settings)
                });
            }
            Conversation::Resume {
                id: thread,
                fork: false,
            } => self.resume_thread(&thread, link),
            Conversation::Continue => {
                let cwd = self.opening.cwd.as_deref();
                link.request("thread/list", None, |id| {
                    write::list_threads(id, cwd, 1, None)
                });
            }
        }
    }

    fn resume_thread(&self, thread: &str, link: &mut Link<'_>) {
        let settings = self.settings();
        let has_past = self.opening.has_past;
        link.request("thread/resume", None, |id| {
            write::resume_thread(id, thread, &settings, has_past)
        });
    }

    fn settings(&self) -> ThreadSettings<'_> {
        let opening = &self.opening;
        let policy = opening.mode.as_deref();
        let default = (!opening.asks_permissions).then_some(NEVER_ASK);
        ThreadSettings {
            cwd: opening.cwd.as_deref(),
            model: opening.model.as_deref(),
            approval_policy: policy.or(default),
            config: self.config.as_deref(),
            ..ThreadSettings::default()
        }
    }

    /// Returns the error for what Codex has nothing like.
    pub(super) fn unsupported(&self, what: &str) -> DialogueError {
        DialogueError::Unsupported {
            what: what.to_owned(),
            dialect: "codex",
        }
    }
}
