//! The host's lines.

use bowline_jsonl::acp::{ContentBlock, HostMessage, SessionRequest, SettingRequest};
use bowline_jsonl::rpc::{Id, Message};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::acp::{Acp, Loading, SentRequest, request_name};
use crate::fold::primitives::Prompt;
use crate::model::{QueuedPrompt, QueuedState};
use crate::transcript::Fold;

impl Acp {
    pub(super) fn host(&mut self, message: HostMessage<'_>, fold: &mut Fold<'_>) {
        match message {
            HostMessage::Initialize(id) => self.sent(id, SentRequest::Initialize),
            HostMessage::Open(id, method, request) => {
                self.sent(id, SentRequest::Open);
                if method == "session/load" {
                    self.load(&request, fold);
                }
                if let Some(cwd) = request.cwd {
                    fold.set_cwd(&cwd.decode());
                }
            }
            HostMessage::Prompt(id, request) => self.prompt(id, &request, fold),
            HostMessage::Set(id, request) => {
                let (option, value) = setting(&request);
                self.sent(id, SentRequest::Set(option, value));
            }
            HostMessage::Other(Message::Response { id, result }) => self.answer(id, result, fold),
            HostMessage::Other(Message::Request { id, .. }) => self.sent(id, SentRequest::Other),
            _ => {}
        }
    }

    fn sent(&mut self, id: Id<'_>, request: SentRequest) {
        self.sent.insert(id.text().to_owned(), request);
    }

    fn load(&mut self, request: &SessionRequest<'_>, fold: &mut Fold<'_>) {
        let session = request.session_id.unwrap_or_default().decode();
        let is_known = self.session.as_deref() == Some(&*session);
        self.session = Some(session.into_owned());
        if is_known && fold.run() > 0 {
            self.loading = Loading::Known;
        } else {
            self.loading = Loading::History;
            fold.set_history(true);
        }
    }

    fn prompt(&mut self, id: Id<'_>, request: &SessionRequest<'_>, fold: &mut Fold<'_>) {
        self.sent(id, SentRequest::Prompt);
        if let Some(session) = request.session_id {
            self.session.get_or_insert_with(|| session.decode().into());
        }
        let name = request_name(id, fold);
        let parts: Vec<_> = request.prompt().map(|part| shown(&part)).collect();
        let text = parts.join("\n");
        let thread = fold.main();
        self.end_loading(fold);
        if self.prompts.is_empty() {
            // What an agent writes between turns, such as a change of its mode, is no part of the next.
            fold.close_message(thread);
            fold.begin_turn(thread, Some(&name));
        }
        let prompt = Prompt {
            id: Some(&name),
            text: &text,
            ..Prompt::default()
        };
        fold.prompt(thread, prompt);
        let is_queued = !self.prompts.is_empty();
        let order = self.prompts.push(name.clone());
        if is_queued {
            let prompt = QueuedPrompt {
                id: name,
                text,
                state: QueuedState::Sent,
            };
            fold.queue_prompt(order, prompt);
        }
    }
}

/// A part of a prompt as text.
pub(super) fn shown(part: &ContentBlock<'_>) -> String {
    let resource = part.resource.as_deref();
    let text = part.text.or_else(|| resource?.text);
    if let Some(text) = text {
        return text.decode().into_owned();
    }
    let uri = part.uri.or_else(|| resource?.uri);
    match (uri, part.kind) {
        (Some(uri), _) => uri.decode().into_owned(),
        (None, Some(kind)) => format!("[{kind}]"),
        (None, None) => String::new(),
    }
}

fn setting(request: &SettingRequest<'_>) -> (String, String) {
    let text = |value: Option<Str<'_>>| value.unwrap_or_default().decode().into_owned();
    if request.mode_id.is_some() {
        return ("mode".to_owned(), text(request.mode_id));
    }
    if request.model_id.is_some() {
        return ("model".to_owned(), text(request.model_id));
    }
    let value = request.value.map(|value| match value.as_str() {
        Some(text) => text.decode().into_owned(),
        None => RawJson::text(value).to_owned(),
    });
    (text(request.config_id), value.unwrap_or_default())
}
