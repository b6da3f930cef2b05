//! Messages of an agent and of a host, by their method (PROTOCOL-acp.md, Methods).

use crate::acp::update::{SessionUpdate, ToolCall};
use crate::grammar::record;
use crate::raw::RawJson;
use crate::rpc::{Id, Message, read, request_id};
use crate::text::Str;

/// A line of the agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentMessage<'a> {
    /// `session/update`
    Update(SessionUpdate<'a>),
    /// `session/request_permission`: the agent waits for a [`PermissionAnswer`].
    Permission(Id<'a>, Box<PermissionRequest<'a>>),
    /// `elicitation/create`: the agent waits for an [`ElicitationAnswer`].
    Elicitation(Id<'a>, Box<Elicitation<'a>>),
    /// `$/cancel_request`: the agent withdraws its request of this id.
    Cancel(Option<Id<'a>>),
    /// Any other notification, any other request, which the host must answer, and the answer to a
    /// request of the host.
    Other(Message<'a>),
}

impl<'a> AgentMessage<'a> {
    /// Reads a line of the agent.
    #[must_use]
    pub fn of(message: Message<'a>) -> Self {
        match message {
            Message::Request { id, method, params } => match &*method.decode() {
                "session/request_permission" => Self::Permission(id, Box::new(read(params))),
                "elicitation/create" => Self::Elicitation(id, Box::new(read(params))),
                _ => Self::Other(message),
            },
            Message::Notification { method, params, .. } => match &*method.decode() {
                "session/update" => Self::Update(read(params)),
                "$/cancel_request" => Self::Cancel(request_id(params)),
                _ => Self::Other(message),
            },
            Message::Response { .. } => Self::Other(message),
        }
    }
}

record! {
    /// The parameters of `session/request_permission`.
    pub PermissionRequest<'a> {
        /// The session, or a sub-agent's.
        session_id: Option<Str<'a>> = "sessionId",
        /// The call, which some agents introduce by this request.
        tool_call: ToolCall<'a> = "toolCall",
        /// An array that [`PermissionRequest::options`] reads.
        options: Option<RawJson<'a>> = "options" [PermissionOption<'a>],
    }
}

impl<'a> PermissionRequest<'a> {
    /// Returns the possible answers, of which one is chosen by its id.
    pub fn options(&self) -> impl Iterator<Item = PermissionOption<'a>> {
        self.options.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// A possible answer.
    pub PermissionOption<'a> {
        /// The agent's own word.
        option_id: Option<Str<'a>> = "optionId",
        /// Its label.
        name: Option<Str<'a>> = "name",
        /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
        kind: Option<Str<'a>> = "kind",
    }
}

record! {
    /// The parameters of `elicitation/create`.
    pub Elicitation<'a> {
        /// `form` or `url`.
        mode: Option<Str<'a>> = "mode",
        /// The session.
        session_id: Option<Str<'a>> = "sessionId",
        /// The call that asks.
        tool_call_id: Option<Str<'a>> = "toolCallId",
        /// The question.
        message: Option<Str<'a>> = "message",
        /// The JSON schema of a form.
        requested_schema: Option<RawJson<'a>> = "requestedSchema",
        /// Where a page is.
        url: Option<Str<'a>> = "url",
        /// Names a page's elicitation.
        elicitation_id: Option<Str<'a>> = "elicitationId",
    }
}

/// A line of the host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HostMessage<'a> {
    /// `initialize`
    Initialize(Id<'a>),
    /// `session/new`, `session/load`, `session/resume` or `session/fork`, by its method.
    Open(Id<'a>, Str<'a>, SessionRequest<'a>),
    /// `session/prompt`
    Prompt(Id<'a>, SessionRequest<'a>),
    /// `session/cancel`: the turn of this session, or of a sub-agent's, is to end.
    Cancel(Option<Str<'a>>),
    /// `session/set_mode`, `session/set_model` or `session/set_config_option`
    Set(Id<'a>, SettingRequest<'a>),
    /// `$/cancel_request`: the host withdraws its request of this id.
    CancelRequest(Option<Id<'a>>),
    /// Any other request or notification, and the answer to a request of the agent, such as a
    /// [`PermissionAnswer`].
    Other(Message<'a>),
}

impl<'a> HostMessage<'a> {
    /// Reads a line of the host.
    #[must_use]
    pub fn of(message: Message<'a>) -> Self {
        match message {
            Message::Request { id, method, params } => match &*method.decode() {
                "initialize" => Self::Initialize(id),
                "session/new" | "session/load" | "session/resume" | "session/fork" => {
                    Self::Open(id, method, read(params))
                }
                "session/prompt" => Self::Prompt(id, read(params)),
                "session/set_mode" | "session/set_model" | "session/set_config_option" => {
                    Self::Set(id, read(params))
                }
                _ => Self::Other(message),
            },
            Message::Notification { method, params, .. } => match &*method.decode() {
                "session/cancel" => Self::Cancel(read::<SessionRequest<'_>>(params).session_id),
                "$/cancel_request" => Self::CancelRequest(request_id(params)),
                _ => Self::Other(message),
            },
            Message::Response { .. } => Self::Other(message),
        }
    }
}

record! {
    /// The parameters of a request about a session.
    pub SessionRequest<'a> {
        /// The session; `session/new` has none.
        session_id: Option<Str<'a>> = "sessionId",
        /// The working directory.
        cwd: Option<Str<'a>> = "cwd",
        /// The blocks of a prompt, an array that [`SessionRequest::prompt`] reads.
        prompt: Option<RawJson<'a>> = "prompt" [super::ContentBlock<'a>],
    }
}

impl<'a> SessionRequest<'a> {
    /// Returns the blocks of a prompt.
    pub fn prompt(&self) -> impl Iterator<Item = super::ContentBlock<'a>> {
        self.prompt.into_iter().flat_map(RawJson::list_of)
    }
}

record! {
    /// The parameters of a request that sets a mode, a model or an option.
    pub SettingRequest<'a> {
        /// The session.
        session_id: Option<Str<'a>> = "sessionId",
        /// The mode of `session/set_mode`.
        mode_id: Option<Str<'a>> = "modeId",
        /// The model of `session/set_model`.
        model_id: Option<Str<'a>> = "modelId",
        /// The option of `session/set_config_option`.
        config_id: Option<Str<'a>> = "configId",
        /// Its value.
        value: Option<RawJson<'a>> = "value",
    }
}

record! {
    /// The answer to a [`PermissionRequest`].
    pub PermissionAnswer<'a> {
        /// The outcome.
        outcome: PermissionOutcome<'a> = "outcome",
    }
}

record! {
    /// The outcome of a permission request.
    pub PermissionOutcome<'a> {
        /// `selected` or `cancelled`.
        outcome: Option<Str<'a>> = "outcome",
        /// The option that was selected.
        option_id: Option<Str<'a>> = "optionId",
    }
}

record! {
    /// The answer to an [`Elicitation`].
    pub ElicitationAnswer<'a> {
        /// `accept`, `decline` or `cancel`.
        action: Option<Str<'a>> = "action",
        /// The values of a form.
        content: Option<RawJson<'a>> = "content",
    }
}

impl<'a> PermissionAnswer<'a> {
    /// Reads the result of a response.
    #[must_use]
    pub fn parse(result: RawJson<'a>) -> Self {
        result.parse_as()
    }
}

impl<'a> ElicitationAnswer<'a> {
    /// Reads the result of a response.
    #[must_use]
    pub fn parse(result: RawJson<'a>) -> Self {
        result.parse_as()
    }
}
