//! `codex app-server` (`crates/jsonl/PROTOCOL-codex.md`).
//!
//! | line | effect |
//! |---|---|
//! | `turn/start`, `turn/steer` of the host | a prompt, which a `userMessage` confirms |
//! | `turn/started`, `turn/completed` | a turn of its thread |
//! | `agentMessage`, `reasoning` | a message, with one block for each paragraph of reasoning |
//! | other items | a call |
//! | requests of Codex, and the host's answers | requests |
//! | another thread than the session's | a sub-agent's, held by the `spawnAgent` call that names it |
//! | turns in the answer to `thread/resume` | history |

mod client;
mod item;
mod request;
mod server;

use std::collections::BTreeMap;

use bowline_jsonl::codex::{ClientMessage, ServerMessage};
use bowline_jsonl::rpc::{Id, Message};
use bowline_jsonl::{RawJson, Str};

use crate::record::ThreadId;
use crate::transcript::{Dialect, Fold};

/// The fold of the protocol.
#[derive(Clone, Debug, Default)]
pub(crate) struct Codex {
    /// The host's requests without an answer, by id.
    sent: BTreeMap<String, SentRequest>,
    /// Names in the transcript of Codex' requests without an answer, by id.
    asked: BTreeMap<String, String>,
    /// The thread of the session.
    thread: Option<String>,
    /// The last turn of the session.
    turn: Option<String>,
    model: Option<String>,
    /// Whether the input is known.
    has_input: bool,
}

#[derive(Clone, Debug)]
enum SentRequest {
    /// Opens a thread; whether its past is in the transcript.
    Open {
        is_known: bool,
    },
    /// Starts or steers a turn.
    Turn,
    Other,
}

impl Dialect for Codex {
    fn output(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        let Some(message) = Message::parse(line) else {
            return fold.unknown("?");
        };
        if let Message::Notification {
            emitted_at_ms: Some(at_ms),
            ..
        } = message
        {
            fold.set_at_ms(at_ms);
        }
        self.server(ServerMessage::of(message), line, fold);
    }

    fn input(&mut self, line: RawJson<'_>, fold: &mut Fold<'_>) {
        self.has_input = true;
        if let Some(message) = Message::parse(line) {
            self.client(ClientMessage::of(message), fold);
        }
    }

    fn end(&mut self, _fold: &mut Fold<'_>) {
        self.sent.clear();
        self.asked.clear();
        self.turn = None;
    }

    fn copy(&self) -> Box<dyn Dialect> {
        Box::new(self.clone())
    }
}

impl Codex {
    /// Finds the thread of a line. The first thread is the session's.
    fn thread(&mut self, id: Option<Str<'_>>, fold: &mut Fold<'_>) -> ThreadId {
        let Some(id) = id.map(Str::decode) else {
            return fold.main();
        };
        let main = self.thread.get_or_insert_with(|| id.to_string());
        if **main == *id {
            fold.main()
        } else {
            fold.thread(&id)
        }
    }

    /// The id of an item in the transcript: Codex' ids are unique in a thread.
    fn item_name(&self, thread: Option<Str<'_>>, item: Str<'_>) -> String {
        match thread.map(Str::decode) {
            Some(thread) if self.thread.as_deref() != Some(&*thread) => format!("{thread}:{item}"),
            _ => item.decode().into_owned(),
        }
    }

    fn model(&self) -> &str {
        self.model.as_deref().unwrap_or("default")
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

fn owned(text: Option<Str<'_>>) -> String {
    text.unwrap_or_default().decode().into_owned()
}
