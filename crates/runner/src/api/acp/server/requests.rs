//! What the editor asks for.

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
use bowline_jsonl::Prompt;
use serde_json::value::RawValue;

use super::{Server, Waiting, error_of};
use crate::api::acp::feed::{Declared, Feed};
use crate::api::acp::incoming::Params;
use crate::api::acp::intent::{Answer, Attachment, Failure, FailureKind, Intent, StartRequest};
use crate::api::acp::permissions::Next;
use crate::api::acp::prompt;
use crate::api::acp::session::{EditorSession, Opening};

impl Server {
    pub(super) fn request(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Params<'_>,
    ) -> Result<(), Error> {
        let names = &AGENT_METHOD_NAMES;
        if method == names.initialize {
            return self.initialize(id, &params.read()?);
        }
        let Some(client) = self.client else {
            return Err(Error::invalid_request().data("the first request is initialize"));
        };
        if method == names.session_new {
            self.new_session(id, params.read()?)
        } else if method == names.session_load {
            let load: LoadSessionRequest = params.read()?;
            absolute(&load.cwd)?;
            self.open(id, &load.session_id, Opening::Load, client);
            Ok(())
        } else if method == names.session_resume {
            let resume: ResumeSessionRequest = params.read()?;
            absolute(&resume.cwd)?;
            self.open(id, &resume.session_id, Opening::Resume, client);
            Ok(())
        } else if method == names.session_list {
            self.list(id, params.read()?)
        } else if method == names.session_prompt {
            self.prompt(id, params.read()?)
        } else if method == names.session_set_mode {
            self.set_mode(id, &params.read()?)
        } else if method == names.session_set_config_option {
            self.set_option(id, &params.read()?)
        } else if method == names.authenticate {
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

    /// Takes the editor's answer to a request of this side. One that was taken back is ignored.
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

    fn initialize(&mut self, id: &RequestId, request: &InitializeRequest) -> Result<(), Error> {
        let client = &request.client_capabilities;
        let session = client.session.as_ref();
        let elicitation = client.elicitation.as_ref();
        let options = session.and_then(|it| it.config_options.as_ref());
        self.client = Some(Declared {
            subagents: client.subagents.is_some(),
            notices: session.is_some_and(|it| it.notices.is_some()),
            switches: options.is_some_and(|it| it.boolean.is_some()),
            forms: elicitation.is_some_and(|it| it.form.is_some()),
            urls: elicitation.is_some_and(|it| it.url.is_some()),
        });
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
        // An editor that cannot speak version 1 closes the connection.
        let response = InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(agent.title("Bowline".to_owned()));
        self.respond(id.clone(), response);
        Ok(())
    }

    fn new_session(&mut self, id: &RequestId, request: NewSessionRequest) -> Result<(), Error> {
        absolute(&request.cwd)?;
        let ticket = self.ticket(Waiting::Start(id.clone()));
        let start = StartRequest {
            cwd: request.cwd,
            mcp_servers: request.mcp_servers,
        };
        self.intend(Intent::Start { ticket, start });
        Ok(())
    }

    /// Attaches to a session, again if it is open here.
    pub(super) fn open(
        &mut self,
        id: &RequestId,
        session: &SessionId,
        how: Opening,
        client: Declared,
    ) {
        let name = session.to_string();
        let attachment = Attachment(self.next_id());
        let feed = Feed::new(session.clone(), client);
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
        let option = session.feed.state().settings().mode_id();
        let option = option.map(str::to_owned);
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
            let why = format!("the session has ended ({reason}); start a new one");
            return Err(error_of(Failure::new(FailureKind::Ended, why)));
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
