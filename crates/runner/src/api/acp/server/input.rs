//! Handling of events of sessions.

use agent_client_protocol_schema::v1::{
    Error, ListSessionsResponse, LoadSessionResponse, NewSessionResponse, PromptResponse,
    RequestId, ResumeSessionResponse, SessionInfo, SetSessionConfigOptionResponse,
    SetSessionModeResponse,
};
use agent_client_protocol_schema::v2 as draft;
use bowline_reducer::TranscriptChange;
use bowline_reducer::owned::{EntryValue, PermissionValue};

use super::{Server, Waiting, error_of};
use crate::api::acp::intent::{Attachment, Failure, Input, PromptEnd, SessionPage, Ticket};
use crate::api::acp::session::{Opening, opening_updates};
use crate::api::acp::update::{Stop, Version};
use crate::api::acp::{v1, v2};

impl Server {
    pub(super) fn take_input(&mut self, input: Input) {
        match input {
            Input::Listed { ticket, result } => self.listed(ticket, result),
            Input::Started { ticket, result } => self.started(ticket, result),
            Input::Changes {
                attachment,
                changes,
                has_more,
            } => self.changes(attachment, &changes, has_more),
            Input::AttachFailed {
                attachment,
                failure,
            } => self.attach_failed(attachment, failure),
            Input::PromptEnded {
                attachment,
                uuid,
                end,
            } => self.prompt_ended(attachment, &uuid, end),
            Input::OptionSet { ticket, result } => self.option_set(ticket, result),
            Input::Ended { attachment, reason } => self.ended(attachment, reason),
        }
    }

    fn listed(&mut self, ticket: Ticket, result: Result<SessionPage, Failure>) {
        let Some(Waiting::List(request)) = self.waiting.remove(&ticket) else {
            return;
        };
        match result {
            Ok(page) => {
                let sessions = page.sessions.into_iter().map(|session| {
                    SessionInfo::new(session.id, session.cwd)
                        .title(session.title)
                        .updated_at(session.updated_at)
                });
                let response = ListSessionsResponse::new(sessions.collect());
                self.respond(request, response.next_cursor(page.next));
            }
            Err(failure) => self.refuse(request, error_of(failure)),
        }
    }

    fn started(&mut self, ticket: Ticket, result: Result<String, Failure>) {
        let Some(Waiting::Start(request)) = self.waiting.remove(&ticket) else {
            return;
        };
        match result {
            Ok(session) => {
                let client = self.client.unwrap_or_default();
                self.open(&request, &session, Opening::New, client);
            }
            Err(failure) => self.refuse(request, error_of(failure)),
        }
    }

    fn changes(&mut self, attachment: Attachment, changes: &[TranscriptChange], has_more: bool) {
        let Some((id, session)) = self.session_of(attachment) else {
            return;
        };
        let id = id.to_owned();
        let updates = session.feed.apply(changes, has_more);
        let accepted = session.feed.take_accepted();
        session.is_cancelling &= !changes.iter().any(is_turn_end);
        let opening = session.opening.take();
        let permissions = changes.iter().filter_map(|change| match change {
            TranscriptChange::Permission { value, .. } => Some(value),
            _ => None,
        });
        let closed = permissions.clone();
        let closed: Vec<_> = closed
            .filter_map(|it| session.permissions.close(it))
            .collect();
        // Before the updates, of which the last may be the end of the turn.
        closed.into_iter().for_each(|rpc| self.cancel(rpc));
        for (uuid, message) in accepted {
            self.prompt_accepted(&id, &uuid, message);
        }
        match opening {
            None => updates.into_iter().for_each(|it| self.update(it)),
            Some((request, how)) => {
                let updates = opening_updates(updates, how);
                // The editor learns the id of a new session from the response.
                if how == Opening::New {
                    self.respond_opened(&id, request, how);
                    updates.into_iter().for_each(|it| self.update(it));
                } else if has_more {
                    if let Some(session) = self.sessions.get_mut(&id) {
                        session.opening = Some((request, how));
                    }
                    updates.into_iter().for_each(|it| self.update(it));
                } else {
                    updates.into_iter().for_each(|it| self.update(it));
                    self.respond_opened(&id, request, how);
                }
            }
        }
        for value in permissions {
            self.permission(&id, value);
        }
    }

    fn respond_opened(&mut self, id: &str, request: RequestId, how: Opening) {
        let Some(session) = self.sessions.get(id) else {
            return;
        };
        let state = session.feed.state();
        if self.version() == Version::V2 {
            let options = v2::options(state.settings().options());
            if how == Opening::New {
                let commands = v2::commands(state.commands());
                let response = draft::NewSessionResponse::new(id.to_owned());
                let response = response.config_options(options);
                return self.respond(request, response.available_commands(commands));
            }
            let response = draft::ResumeSessionResponse::new();
            return self.respond(request, response.config_options(options));
        }
        let modes = state.settings().mode().and_then(v1::modes);
        let options = v1::options(state.settings().options());
        let options = Some(options).filter(|it| !it.is_empty());
        match how {
            Opening::New => {
                let response = NewSessionResponse::new(id.to_owned());
                self.respond(request, response.modes(modes).config_options(options));
            }
            Opening::Load => {
                let response = LoadSessionResponse::new();
                self.respond(request, response.modes(modes).config_options(options));
            }
            Opening::Resume => {
                let response = ResumeSessionResponse::new();
                self.respond(request, response.modes(modes).config_options(options));
            }
        }
    }

    /// Answers a prompt that is part of the conversation. In version 1 its answer is the end of its turn.
    fn prompt_accepted(&mut self, id: &str, uuid: &str, message: String) {
        if self.version() == Version::V1 {
            return;
        }
        let session = self.sessions.get_mut(id);
        if let Some(request) = session.and_then(|it| it.take_prompt(uuid)) {
            self.respond(request, draft::PromptResponse::new(message));
        }
    }

    /// Sends a request that is open, and cancels one that is not.
    fn permission(&mut self, id: &str, value: &PermissionValue) {
        let declared = self.client.unwrap_or_default();
        let Some(session) = self.sessions.get_mut(id) else {
            return;
        };
        let calls = session.feed.calls();
        let thread = value.tool_use_id.as_deref();
        let thread = thread.and_then(|call| calls.thread(call));
        let shown_in = session.feed.session_of(thread.as_deref());
        let asked = session.permissions.open(value, shown_in, calls, declared);
        if let Some(request) = asked {
            self.ask(id, &value.request_id, request);
        }
    }

    fn attach_failed(&mut self, attachment: Attachment, failure: Failure) {
        let Some((id, session)) = self.session_of(attachment) else {
            return;
        };
        let id = id.to_owned();
        let opening = session.opening.take();
        self.sessions.remove(&id);
        if let Some((request, _)) = opening {
            self.refuse(request, error_of(failure));
        }
    }

    fn prompt_ended(&mut self, attachment: Attachment, uuid: &str, end: PromptEnd) {
        let Some((_, session)) = self.session_of(attachment) else {
            return;
        };
        let Some(request) = session.take_prompt(uuid) else {
            return;
        };
        let stop = session.stop(end);
        let is_draft = self.version() == Version::V2;
        match stop {
            Err(failure) => self.refuse(request, error_of(failure)),
            // It never became part of the conversation.
            Ok(Stop::Cancelled) if is_draft => {
                let error = Error::request_cancelled().data("the prompt was dropped");
                self.refuse(request, error);
            }
            Ok(_) if is_draft => self.respond(request, draft::PromptResponse::new(uuid)),
            Ok(stop) => match v1::stop_reason(stop) {
                Ok(reason) => self.respond(request, PromptResponse::new(reason)),
                Err(failure) => self.refuse(request, error_of(failure)),
            },
        }
    }

    fn option_set(&mut self, ticket: Ticket, result: Result<(), Failure>) {
        let (request, id, option, value, is_mode) = match self.waiting.remove(&ticket) {
            Some(Waiting::SetMode(request, id, option, value)) => {
                (request, id, option, value, true)
            }
            Some(Waiting::SetOption(request, id, option, value)) => {
                (request, id, option, value, false)
            }
            _ => return,
        };
        if let Err(failure) = result {
            return self.refuse(request, error_of(failure));
        }
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        let settings = session.feed.state_mut().settings_mut();
        settings.set(&option, &value);
        let options = settings.options().to_vec();
        if is_mode {
            return self.respond(request, SetSessionModeResponse::new());
        }
        if self.version() == Version::V2 {
            let options = v2::options(&options);
            return self.respond(request, draft::SetSessionConfigOptionResponse::new(options));
        }
        let options = v1::options(&options);
        self.respond(request, SetSessionConfigOptionResponse::new(options));
    }

    fn ended(&mut self, attachment: Attachment, reason: String) {
        let Some((_, session)) = self.session_of(attachment) else {
            return;
        };
        let prompts = std::mem::take(&mut session.prompts);
        let cancelled = session.permissions.clear();
        let failure = Failure::ended(&reason);
        session.ended = Some(reason);
        for rpc in cancelled {
            self.cancel(rpc);
        }
        for (_, request) in prompts {
            self.refuse(request, error_of(failure.clone()));
        }
    }
}

/// Whether a turn of the main thread has ended.
const fn is_turn_end(change: &TranscriptChange) -> bool {
    matches!(
        change,
        TranscriptChange::Entry {
            thread: None,
            value: EntryValue::Result { .. },
            ..
        }
    )
}
