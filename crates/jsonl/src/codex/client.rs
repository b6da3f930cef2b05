//! Messages of a host (PROTOCOL-codex.md, Requests of the host).

use crate::grammar::record;
use crate::raw::RawJson;
use crate::rpc::{Id, Message, read};
use crate::text::Str;

/// A line of the host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ClientMessage<'a> {
    /// `initialize`
    Initialize(Id<'a>),
    /// `thread/start`, `thread/resume` or `thread/fork`, by its method.
    OpenThread(Id<'a>, Str<'a>, ThreadRequest<'a>),
    /// `turn/start`
    StartTurn(Id<'a>, TurnRequest<'a>),
    /// `turn/steer`
    SteerTurn(Id<'a>, TurnRequest<'a>),
    /// `turn/interrupt`
    InterruptTurn(Id<'a>, TurnRequest<'a>),
    /// Any other request, any other notification, such as `initialized`, and the answer to a request of
    /// Codex, such as an [`ApprovalAnswer`].
    Other(Message<'a>),
}

impl<'a> ClientMessage<'a> {
    /// Reads a line of the host.
    #[must_use]
    pub fn of(message: Message<'a>) -> Self {
        let Message::Request { id, method, params } = message else {
            return Self::Other(message);
        };
        match &*method.decode() {
            "initialize" => Self::Initialize(id),
            "thread/start" | "thread/resume" | "thread/fork" => {
                Self::OpenThread(id, method, read(params))
            }
            "turn/start" => Self::StartTurn(id, read(params)),
            "turn/steer" => Self::SteerTurn(id, read(params)),
            "turn/interrupt" => Self::InterruptTurn(id, read(params)),
            _ => Self::Other(message),
        }
    }
}

record! {
    /// The parameters of a request that opens a thread.
    pub ThreadRequest<'a> {
        /// The thread to resume or to fork.
        thread_id: Option<Str<'a>> = "threadId",
        /// The working directory.
        cwd: Option<Str<'a>> = "cwd",
        /// The model.
        model: Option<Str<'a>> = "model",
        /// When Codex asks, a string or an object.
        approval_policy: Option<RawJson<'a>> = "approvalPolicy",
        /// `read-only`, `workspace-write` or `danger-full-access`.
        sandbox: Option<Str<'a>> = "sandbox",
    }
}

record! {
    /// The parameters of a request about a turn.
    pub TurnRequest<'a> {
        /// The thread.
        thread_id: Option<Str<'a>> = "threadId",
        /// The turn to interrupt.
        turn_id: Option<Str<'a>> = "turnId",
        /// The turn to steer.
        expected_turn_id: Option<Str<'a>> = "expectedTurnId",
        /// The parts of a prompt, an array that [`TurnRequest::input`] reads.
        input: Option<RawJson<'a>> = "input" [UserInput<'a>],
        /// What the host calls the prompt.
        client_user_message_id: Option<Str<'a>> = "clientUserMessageId",
        /// The model from now on.
        model: Option<Str<'a>> = "model",
        /// The effort from now on.
        effort: Option<Str<'a>> = "effort",
        /// When Codex asks from now on.
        approval_policy: Option<RawJson<'a>> = "approvalPolicy",
    }
}

impl<'a> TurnRequest<'a> {
    /// Returns the parts of the prompt.
    pub fn input(&self) -> impl Iterator<Item = UserInput<'a>> {
        self.input.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// A part of a prompt.
    pub UserInput<'a> {
        /// `text`, `image`, `localImage`, `skill` or `mention`.
        kind: Option<Str<'a>> = "type",
        /// The text.
        text: Option<Str<'a>> = "text",
        /// The address of an image, which may be a `data:` URL.
        url: Option<Str<'a>> = "url",
        /// The name of a skill or a mention.
        name: Option<Str<'a>> = "name",
        /// The file.
        path: Option<Str<'a>> = "path",
    }
}

record! {
    /// The answer to an approval.
    pub ApprovalAnswer<'a> {
        /// `accept`, `acceptForSession`, `decline`, `cancel`, or an object.
        decision: Option<RawJson<'a>> = "decision",
    }
}

record! {
    /// The answer to `item/tool/requestUserInput`.
    pub UserInputAnswer<'a> {
        /// By the question's id, an object with `answers`, an array of strings.
        answers: Option<RawJson<'a>> = "answers",
    }
}

impl<'a> ApprovalAnswer<'a> {
    /// Reads the result of a response.
    #[must_use]
    pub fn parse(result: RawJson<'a>) -> Self {
        result.parse_as()
    }
}

impl<'a> UserInputAnswer<'a> {
    /// Reads the result of a response.
    #[must_use]
    pub fn parse(result: RawJson<'a>) -> Self {
        result.parse_as()
    }
}
