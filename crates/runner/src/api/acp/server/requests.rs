//! Requests of the editor.

use std::path::Path;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, AgentCapabilities, CancelNotification, CancelRequestNotification, Error,
    Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest, LoadSessionRequest,
    NewSessionRequest, PROTOCOL_LEVEL_METHOD_NAMES, PromptCapabilities, PromptRequest, RequestId,
    ResumeSessionRequest, SessionCapabilities, SessionConfigOptionValue, SessionId,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use agent_client_protocol_schema::v2::{self as draft, AGENT_METHOD_NAMES as DRAFT_METHOD_NAMES};
use bowline_jsonl::Prompt;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Server, Waiting, error_of};
use crate::api::acp::feed::{Declared, Feed};
use crate::api::acp::incoming::Params;
use crate::api::acp::intent::{Answer, Attachment, Failure, FailureKind, Intent, StartRequest};
use crate::api::acp::permissions::Next;
use crate::api::acp::prompt;
use crate::api::acp::session::{EditorSession, Opening};
use crate::api::acp::update::Version;
use crate::api::acp::v2;

/// Parameters that every version of `initialize` has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hello {
    protocol_version: ProtocolVersion,
}

impl Server {
    pub(super) fn request(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Params<'_>,
    ) -> Result<(), Error> {
        let names = &AGENT_METHOD_NAMES;
        if method == names.initialize {
            return self.initialize(id, params);
        }
        let Some(client) = self.client else {
            return Err(Error::invalid_request().data("the first request is initialize"));
        };
        if method == names.session_new {
            self.new_session(id, params, client)
        } else if method == names.session_load && client.version == Version::V1 {
            let load: LoadSessionRequest = params.read()?;
            absolute(&load.cwd)?;
            self.open(id, &load.session_id.0, Opening::Load, client);
            Ok(())
        } else if method == names.session_resume {
            self.resume(id, params, client)
        } else if method == names.session_list {
            self.list(id, params.read()?)
        } else if method == names.session_prompt {
            self.prompt(id, params.read()?)
        } else if method == names.session_set_mode && client.version == Version::V1 {
            self.set_mode(id, &params.read()?)
        } else if method == names.session_set_config_option {
            self.set_option(id, &params.read()?)
        } else if method == names.authenticate || method == DRAFT_METHOD_NAMES.auth_login {
            Err(Error::invalid_params().data("no authentication is needed"))
        } else {
            Err(Error::method_not_found().data(method))
        }
    }

    pub(super) fn notification(&mut self, method: &str, params: Params<'_>) {
        if method == AGENT_METHOD_NAMES.session_cancel {
            if let Ok(cancel) = params.read::<CancelNotification>() {
                self.interrupt(&cancel.session_id.to_string());
            }
        } else if method == PROTOCOL_LEVEL_METHOD_NAMES.cancel_request
            && let Ok(cancel) = params.read::<CancelRequestNotification>()
        {
            let prompted = self.sessions.iter().find(|(_, session)| {
                let mut prompts = session.prompts.iter();
                prompts.any(|(_, request)| *request == cancel.request_id)
            });
            if let Some(session) = prompted.map(|(id, _)| id.clone()) {
                self.interrupt(&session);
            }
        }
    }

    /// Handles the editor's response to a request of this side. The response to a cancelled request is ignored.
    pub(super) fn response(&mut self, id: &RequestId, result: Option<&RawValue>) {
        let RequestId::Number(rpc) = id else {
            return;
        };
        let Some((id, request_id)) = self.asked.remove(rpc) else {
            return;
        };
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        let calls = session.feed.calls();
        let next = session.permissions.answer(&request_id, result, calls);
        match next {
            // The interrupt answers it.
            Some(Next::Answer(Answer::Cancel)) if session.is_cancelling => {}
            Some(Next::Answer(answer)) => {
                let attachment = session.attachment;
                self.intend(Intent::Answer {
                    attachment,
                    request_id,
                    answer,
                });
            }
            Some(Next::Ask(request)) => self.ask(&id, &request_id, *request),
            None => {}
        }
    }

    /// Agrees on the version: the editor's highest, or else the highest that is offered. An editor that cannot
    /// speak it closes the connection.
    fn initialize(&mut self, id: &RequestId, params: Params<'_>) -> Result<(), Error> {
        let hello: Hello = params.read()?;
        if self.has_draft && hello.protocol_version >= ProtocolVersion::V2 {
            let request: draft::InitializeRequest = params.read()?;
            self.client = Some(Declared::draft(&request.capabilities));
            self.respond(id.clone(), v2::initialized(&self.mcp));
            return Ok(());
        }
        let request: InitializeRequest = params.read()?;
        self.client = Some(Declared::of(&request.client_capabilities));
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new());
        let prompts = PromptCapabilities::new().image(true).embedded_context(true);
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(prompts)
            .mcp_capabilities(self.mcp.clone())
            .session_capabilities(sessions);
        let agent = Implementation::new("bowline", env!("CARGO_PKG_VERSION"));
        let response = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(agent.title("Bowline".to_owned()));
        self.respond(id.clone(), response);
        Ok(())
    }

    /// Resumes a session. In version 2 this replays it too, if the editor wants that.
    fn resume(
        &mut self,
        id: &RequestId,
        params: Params<'_>,
        client: Declared,
    ) -> Result<(), Error> {
        let resume: ResumeSessionRequest = params.read()?;
        absolute(&resume.cwd)?;
        let mut how = Opening::Resume;
        if client.version == Version::V2 {
            let resume: draft::ResumeSessionRequest = params.read()?;
            how = match resume.replay_from {
                None => Opening::Resume,
                Some(draft::ReplayFrom::Start(_)) => Opening::Load,
                Some(_) => {
                    let why = "replayFrom has an unknown type; use start";
                    return Err(Error::invalid_params().data(why));
                }
            };
        }
        self.open(id, &resume.session_id.0, how, client);
        Ok(())
    }

    fn new_session(
        &mut self,
        id: &RequestId,
        params: Params<'_>,
        client: Declared,
    ) -> Result<(), Error> {
        let start = match client.version {
            Version::V1 => {
                let request: NewSessionRequest = params.read()?;
                StartRequest {
                    cwd: request.cwd,
                    mcp_servers: request.mcp_servers,
                }
            }
            Version::V2 => {
                let request: draft::NewSessionRequest = params.read()?;
                let servers = request.mcp_servers.into_iter().map(v2::mcp_server);
                StartRequest {
                    cwd: request.cwd.into_inner(),
                    mcp_servers: servers.collect::<Result<_, _>>()?,
                }
            }
        };
        absolute(&start.cwd)?;
        let ticket = self.ticket(Waiting::Start(id.clone()));
        self.intend(Intent::Start { ticket, start });
        Ok(())
    }

    /// Attaches to a session, again if it is open here.
    pub(super) fn open(&mut self, id: &RequestId, session: &str, how: Opening, client: Declared) {
        let name = session.to_owned();
        let attachment = Attachment(self.next_id());
        let feed = Feed::new(session, client);
        let open = EditorSession::new(attachment, id.clone(), how, feed);
        if let Some(old) = self.sessions.insert(name.clone(), open) {
            self.leave(old);
        }
        self.intend(Intent::Attach {
            attachment,
            session: name,
        });
    }

    /// Detaches from a session that is opened again.
    fn leave(&mut self, mut old: EditorSession) {
        let attachment = old.attachment;
        for rpc in old.permissions.clear() {
            self.cancel(rpc);
        }
        let pending = old.prompts.into_iter().map(|(_, request)| request);
        let pending: Vec<_> = pending.chain(old.opening.map(|(it, _)| it)).collect();
        for request in pending {
            let error = Error::request_cancelled().data("the session was opened again");
            self.refuse(request, error);
        }
        self.intend(Intent::Detach { attachment });
    }

    fn list(&mut self, id: &RequestId, request: ListSessionsRequest) -> Result<(), Error> {
        if let Some(cwd) = &request.cwd {
            absolute(cwd)?;
        }
        let ticket = self.ticket(Waiting::List(id.clone()));
        let ListSessionsRequest { cwd, cursor, .. } = request;
        self.intend(Intent::List {
            ticket,
            cwd,
            cursor,
        });
        Ok(())
    }

    fn prompt(&mut self, id: &RequestId, request: PromptRequest) -> Result<(), Error> {
        let parts = prompt::parts(request.prompt)?;
        let uuid = self.next_uuid();
        let session = self.opened(&request.session_id)?;
        session.feed.sends(&uuid);
        session.prompts.push((uuid.clone(), id.clone()));
        let attachment = session.attachment;
        let prompt = Prompt {
            parts,
            uuid: Some(uuid),
            ..Prompt::default()
        };
        self.intend(Intent::Prompt { attachment, prompt });
        Ok(())
    }

    fn interrupt(&mut self, session: &str) {
        if let Some(session) = self.sessions.get_mut(session)
            && session.ended.is_none()
        {
            session.is_cancelling = true;
            let attachment = session.attachment;
            self.intend(Intent::Interrupt { attachment });
        }
    }

    fn set_mode(&mut self, id: &RequestId, request: &SetSessionModeRequest) -> Result<(), Error> {
        let session = self.opened(&request.session_id)?;
        let option = session.feed.state().settings().mode();
        let option = option.map(|it| it.id.clone());
        let option = option.ok_or_else(|| Error::invalid_params().data("there are no modes"))?;
        self.set(
            id,
            &request.session_id,
            option,
            request.mode_id.to_string(),
            true,
        )
    }

    fn set_option(
        &mut self,
        id: &RequestId,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<(), Error> {
        let value = match &request.value {
            SessionConfigOptionValue::Boolean { value } => value.to_string(),
            SessionConfigOptionValue::ValueId { value } => value.to_string(),
            _ => return Err(Error::invalid_params().data("the value has an unknown type")),
        };
        let option = request.config_id.to_string();
        self.set(id, &request.session_id, option, value, false)
    }

    fn set(
        &mut self,
        id: &RequestId,
        session: &SessionId,
        option: String,
        value: String,
        is_mode: bool,
    ) -> Result<(), Error> {
        let name = session.to_string();
        let session = self.opened(session)?;
        let attachment = session.attachment;
        if !session.feed.state().settings().accepts(&option, &value) {
            let why = format!("{option} cannot be {value}");
            return Err(Error::invalid_params().data(why));
        }
        let (id, setting, new) = (id.clone(), option.clone(), value.clone());
        let ticket = self.ticket(if is_mode {
            Waiting::SetMode(id, name, setting, new)
        } else {
            Waiting::SetOption(id, name, setting, new)
        });
        self.intend(Intent::SetOption {
            ticket,
            attachment,
            option,
            value,
        });
        Ok(())
    }

    /// Returns a session that is open here and can be worked with.
    fn opened(&mut self, session: &SessionId) -> Result<&mut EditorSession, Error> {
        let Some(open) = self.sessions.get_mut(&*session.0) else {
            let why = format!("session {session} is not open here; load it first");
            return Err(error_of(Failure::new(FailureKind::NotFound, why)));
        };
        if open.opening.is_some() {
            return Err(Error::invalid_request().data("the session is not loaded yet"));
        }
        if let Some(reason) = &open.ended {
            return Err(error_of(Failure::ended(reason)));
        }
        Ok(open)
    }
}

fn absolute(path: &Path) -> Result<(), Error> {
    if path.is_absolute() {
        return Ok(());
    }
    let why = format!("cwd must be an absolute path, not {}", path.display());
    Err(Error::invalid_params().data(why))
}
