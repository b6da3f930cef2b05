//! The host's lines.

use bowline_jsonl::Str;
use bowline_jsonl::codex::{ClientMessage, TurnRequest, UserInput};
use bowline_jsonl::rpc::{Id, Message};

use crate::dialect::codex::{Codex, SentRequest};
use crate::fold::primitives::Prompt;
use crate::transcript::Fold;

impl Codex {
    pub(super) fn client(&mut self, message: ClientMessage<'_>, fold: &mut Fold<'_>) {
        match message {
            ClientMessage::OpenThread(id, method, request) => {
                let thread = request.thread_id.map(Str::decode);
                let is_known =
                    method == "thread/resume" && self.thread.as_deref() == thread.as_deref();
                self.sent(id, SentRequest::Open { is_known });
            }
            ClientMessage::StartTurn(id, request) | ClientMessage::SteerTurn(id, request) => {
                self.sent(id, SentRequest::Turn);
                self.prompt(&request, fold);
            }
            ClientMessage::Other(Message::Response { id, result }) => self.answer(id, result, fold),
            ClientMessage::Initialize(id)
            | ClientMessage::InterruptTurn(id, _)
            | ClientMessage::Other(Message::Request { id, .. }) => {
                self.sent(id, SentRequest::Other)
            }
            _ => {}
        }
    }

    fn sent(&mut self, id: Id<'_>, request: SentRequest) {
        self.sent.insert(id.text().to_owned(), request);
    }

    /// Adds a prompt that has a name, by which its `userMessage` confirms it. One without comes with its
    /// `userMessage`.
    fn prompt(&mut self, request: &TurnRequest<'_>, fold: &mut Fold<'_>) {
        let main = fold.main();
        if !fold.transcript().evidence.turn.is_open {
            fold.begin_turn(main, None);
        }
        let Some(name) = request.client_user_message_id else {
            return;
        };
        let prompt = Prompt {
            id: Some(&name.decode()),
            text: &text_of(request.input()),
            ..Prompt::default()
        };
        fold.prompt(main, prompt);
    }
}

/// The parts of a prompt as text.
pub(super) fn text_of<'a>(parts: impl Iterator<Item = UserInput<'a>>) -> String {
    let parts: Vec<_> = parts.map(|part| shown(&part)).collect();
    parts.join("\n")
}

fn shown(part: &UserInput<'_>) -> String {
    let text = part.text.or(part.path);
    let url = part.url.filter(|url| !url.decode().starts_with("data:"));
    match (text.or(url), part.kind) {
        (Some(text), _) => text.decode().into_owned(),
        (None, Some(kind)) => format!("[{kind}]"),
        (None, None) => String::new(),
    }
}
