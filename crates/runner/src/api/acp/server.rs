//! One editor's connection.

mod input;
mod requests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification};
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, CancelRequestNotification, Error, ErrorCode, McpCapabilities,
    PROTOCOL_LEVEL_METHOD_NAMES, Request, RequestId, Response,
};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::feed::Declared;
use super::incoming::{self, Message};
use super::intent::{Attachment, Failure, FailureKind, Input, Intent, Output, Ticket};
use super::permissions::Ask;
use super::session::EditorSession;
use super::update::{SessionUpdate, Version};
use super::{v1, v2};

/// In the data of an error: the session has ended. ACP has no code of its own for it.
const SESSION_ENDED: &str = "SESSION_ENDED";

/// The protocol of one editor's connection.
///
/// Feed it with [`receive`](Self::receive) and [`input`](Self::input), and carry out what
/// [`poll`](Self::poll) returns, in that order.
#[derive(Debug)]
pub struct Server {
    /// Capabilities of the editor, after `initialize`.
    client: Option<Declared>,
    /// Whether version 2 is offered.
    has_draft: bool,
    /// Kinds of MCP servers that the agent of new sessions accepts.
    mcp: McpCapabilities,
    /// The sessions that are open here, by the runner's id.
    sessions: HashMap<String, EditorSession>,
    waiting: HashMap<Ticket, Waiting>,
    /// The requests to the editor that have no answer: session, and id in its transcript.
    asked: HashMap<i64, (String, String)>,
    /// The first uuid of a prompt; the next ones count from it.
    uuids: Uuid,
    last_id: u64,
    outputs: VecDeque<Output>,
}

/// A request of the editor that waits for the outcome of an intent.
#[derive(Debug)]
enum Waiting {
    List(RequestId),
    Start(RequestId),
    /// With the session, the setting and its new value.
    SetMode(RequestId, String, String, String),
    SetOption(RequestId, String, String, String),
}

impl Server {
    /// Creates the protocol of a connection. The uuids of its prompts count from `uuids`, a random one.
    #[must_use]
    pub fn new(uuids: Uuid) -> Self {
        Self {
            client: None,
            has_draft: false,
            mcp: McpCapabilities::new(),
            sessions: HashMap::new(),
            waiting: HashMap::new(),
            asked: HashMap::new(),
            uuids,
            last_id: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Offers MCP servers over HTTP or SSE, if the agent of new sessions accepts them.
    #[must_use]
    pub fn offering(mut self, mcp: McpCapabilities) -> Self {
        self.mcp = mcp;
        self
    }

    /// Offers version 2 of the protocol too, which is a draft.
    #[must_use]
    pub fn offering_draft(mut self) -> Self {
        self.has_draft = true;
        self
    }

    /// Handles a line of the editor. A line that is not a message is answered with an error.
    pub fn receive(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        match incoming::parse(line) {
            Ok(Message::Request { id, method, params }) => {
                if let Err(error) = self.request(&id, &method, params) {
                    self.refuse(id, error);
                }
            }
            Ok(Message::Notification { method, params }) => self.notification(&method, params),
            Ok(Message::Response { id, result }) => self.response(&id, result),
            Err(error) => self.refuse(RequestId::Null, error),
        }
    }

    /// Handles an event of a session. Input for an attachment that is over is ignored.
    pub fn input(&mut self, input: Input) {
        self.take_input(input);
    }

    /// Ends the connection: detaches from all sessions, which continue.
    pub fn disconnect(&mut self) {
        for (_, session) in self.sessions.drain() {
            let attachment = session.attachment;
            let detach = Intent::Detach { attachment };
            self.outputs.push_back(Output::Intent(detach));
        }
        self.waiting.clear();
        self.asked.clear();
    }

    /// Returns the next thing to do.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    const fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn ticket(&mut self, waiting: Waiting) -> Ticket {
        let ticket = Ticket(self.next_id());
        self.waiting.insert(ticket, waiting);
        ticket
    }

    fn next_uuid(&mut self) -> String {
        let next = self.next_id();
        let uuid = self.uuids.as_u128().wrapping_add(next.into());
        Uuid::from_u128(uuid).to_string()
    }

    fn intend(&mut self, intent: Intent) {
        self.outputs.push_back(Output::Intent(intent));
    }

    fn send<T: Serialize>(&mut self, message: T) {
        let line = serde_json::to_string(&JsonRpcMessage::wrap(message));
        let line = line.expect("the types of the protocol are JSON");
        self.outputs.push_back(Output::Line(line));
    }

    fn respond<T: Serialize>(&mut self, id: RequestId, result: T) {
        self.send(Response::<T>::new(id, Ok(result)));
    }

    fn refuse(&mut self, id: RequestId, error: Error) {
        self.send(Response::<()>::new(id, Err(error)));
    }

    fn version(&self) -> Version {
        self.client.unwrap_or_default().version
    }

    fn update(&mut self, update: SessionUpdate) {
        let method = CLIENT_METHOD_NAMES.session_update;
        match self.version() {
            Version::V1 => {
                if let Some(update) = v1::notification(update) {
                    self.notify(method, update);
                }
            }
            Version::V2 => {
                if let Some(update) = v2::notification(update) {
                    self.notify(method, update);
                }
            }
        }
    }

    fn notify<T: Serialize>(&mut self, method: &str, params: T) {
        self.send(Notification {
            method: Arc::from(method),
            params: Some(params),
        });
    }

    /// Asks the editor on behalf of a session's agent.
    fn ask(&mut self, session: &str, request_id: &str, ask: Ask) {
        let rpc = i64::try_from(self.next_id()).unwrap_or_default();
        let asked = (session.to_owned(), request_id.to_owned());
        self.asked.insert(rpc, asked);
        if let Some(session) = self.sessions.get_mut(session) {
            session.permissions.sent(request_id, rpc);
        }
        let permission = CLIENT_METHOD_NAMES.session_request_permission;
        match (ask, self.version()) {
            (Ask::Elicitation(request), _) => {
                self.send_request(rpc, CLIENT_METHOD_NAMES.elicitation_create, request);
            }
            (Ask::Permission(request), Version::V1) => {
                self.send_request(rpc, permission, v1::permission(*request));
            }
            (Ask::Permission(request), Version::V2) => {
                self.send_request(rpc, permission, v2::permission(*request));
            }
        }
    }

    fn send_request<T: Serialize>(&mut self, rpc: i64, method: &str, params: T) {
        self.send(Request {
            id: RequestId::Number(rpc),
            method: Arc::from(method),
            params: Some(params),
        });
    }

    /// Cancels a request to the editor.
    fn cancel(&mut self, rpc: i64) {
        if self.asked.remove(&rpc).is_none() {
            return;
        }
        let cancel = CancelRequestNotification::new(RequestId::Number(rpc));
        self.notify(PROTOCOL_LEVEL_METHOD_NAMES.cancel_request, cancel);
    }

    fn session_of(&mut self, attachment: Attachment) -> Option<(&str, &mut EditorSession)> {
        let mut sessions = self.sessions.iter_mut();
        let found = sessions.find(|(_, session)| session.attachment == attachment)?;
        Some((found.0.as_str(), found.1))
    }
}

/// Returns the error that a failure is, in the codes of ACP.
fn error_of(failure: Failure) -> Error {
    let code = match failure.kind {
        FailureKind::NotFound => ErrorCode::ResourceNotFound,
        FailureKind::Invalid => ErrorCode::InvalidParams,
        FailureKind::Ended => ErrorCode::InvalidRequest,
        FailureKind::AuthRequired => ErrorCode::AuthRequired,
        FailureKind::Failed => ErrorCode::InternalError,
    };
    let error = Error::new(code.into(), failure.message);
    if failure.kind == FailureKind::Ended {
        return error.data(json!({ "code": SESSION_ENDED }));
    }
    error
}
