//! The Agent Client Protocol, version 1 (`crates/jsonl/PROTOCOL-acp.md`), as claude-agent-acp speaks it.

mod events;
mod updates;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::past::Past;
use super::rpc::{
    AUTH_REQUIRED, Asked, HostLine, INVALID_REQUEST, METHOD_NOT_FOUND, NOT_FOUND, PARSE_ERROR,
    error,
};
use super::{Action, Dialect, Joining, PermissionReply, Setup};
use crate::clock;
use crate::event::Event;
use crate::prompt::Prompt;
use crate::session::{MODES, Session, Tokens, new_uuid};

/// The state of the agent, with one session of the host.
#[derive(Debug, Default)]
pub(super) struct Acp {
    setup: Setup,
    is_open: bool,
    /// What the host declares.
    shows_agents: bool,
    shows_notices: bool,
    asked: Asked,
    /// Ids of the host's prompts that are not answered, by the uuid of the prompt.
    prompts: BTreeMap<String, Value>,
    /// The prompts of the running turn.
    running: Vec<String>,
    /// Tokens of the running turn.
    tokens: Tokens,
    /// Tokens in the context window.
    used: u64,
    /// The conversation so far, as updates; the title is the first prompt.
    past: Past,
}

impl Acp {
    pub(super) fn new(setup: Setup) -> Self {
        Self {
            setup,
            ..Self::default()
        }
    }

    fn request(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        session: &mut Session,
    ) -> Vec<Action> {
        if self.setup.logged_out && method.starts_with("session/") {
            return vec![refuse(id, AUTH_REQUIRED, "Authentication required")];
        }
        match method {
            "initialize" => vec![self.initialize(id, params)],
            "authenticate" => {
                self.setup.logged_out = false;
                vec![Action::LoggedIn, respond(id, json!({}))]
            }
            "session/new" => self.open(id, params, session),
            "session/load" | "session/resume" | "session/fork" => {
                self.reopen(id, method, params, session)
            }
            "session/list" => vec![respond(id, json!({"sessions": self.listed(session)}))],
            "session/prompt" => self.prompt(id, params),
            "session/set_mode" => self.set_mode(id, &params["modeId"], session),
            "session/set_model" => self.set_option(id, "model", &params["modelId"], session),
            "session/set_config_option" => {
                let option = params["configId"].as_str().unwrap_or_default();
                self.set_option(id, option, &params["value"], session)
            }
            _ => {
                let data = json!({"method": method});
                let mut error = error(METHOD_NOT_FOUND, &format!("\"Method not found\": {method}"));
                error["data"] = data;
                vec![Action::Print(
                    json!({"jsonrpc": "2.0", "id": id, "error": error}),
                )]
            }
        }
    }

    fn initialize(&mut self, id: &Value, params: &Value) -> Action {
        let host = &params["clientCapabilities"];
        self.shows_agents = host["subagents"].is_object();
        self.shows_notices = host["session"]["notices"].is_object();
        let login =
            json!([{"id": "login", "name": "Log in", "description": "Log in to the agent"}]);
        respond(
            id,
            json!({
                "protocolVersion": 1,
                "agentCapabilities": {
                    "loadSession": true,
                    "promptCapabilities": {"image": true, "embeddedContext": true},
                    "mcpCapabilities": {"http": true, "sse": true},
                    "sessionCapabilities": {"list": {}, "resume": {}, "fork": {}},
                },
                "agentInfo": {
                    "name": "understudy", "title": "Understudy", "version": env!("CARGO_PKG_VERSION"),
                },
                "authMethods": if self.setup.logged_out { login } else { json!([]) },
            }),
        )
    }

    fn open(&mut self, id: &Value, params: &Value, session: &mut Session) -> Vec<Action> {
        if self.is_open {
            self.past = Past::default();
            session.begin_conversation(new_uuid());
        }
        self.is_open = true;
        session.take_settings(params["cwd"].as_str(), None);
        let mut result = settings(session);
        result["sessionId"] = session.id.as_str().into();
        vec![respond(id, result)]
    }

    /// Opens an earlier session; `session/load` repeats its conversation before the response.
    fn reopen(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        session: &mut Session,
    ) -> Vec<Action> {
        let wanted = params["sessionId"].as_str().unwrap_or_default();
        if !(self.is_open && wanted == session.id) {
            let Some(past) = self.setup.past(wanted) else {
                return vec![refuse(
                    id,
                    NOT_FOUND,
                    &format!("Resource not found: {wanted}"),
                )];
            };
            self.past = past;
        }
        session.id = if method == "session/fork" {
            new_uuid()
        } else {
            wanted.to_owned()
        };
        session.take_settings(params["cwd"].as_str(), None);
        self.is_open = true;
        let mut actions = vec![Action::Resumed];
        if method == "session/load" {
            let updates = self
                .past
                .records
                .iter()
                .map(|update| Action::Print(self.update(&session.id, update.clone())));
            actions.extend(updates);
        }
        let mut result = settings(session);
        if method == "session/fork" {
            result["sessionId"] = session.id.as_str().into();
        }
        actions.push(respond(id, result));
        actions
    }

    fn listed(&self, session: &Session) -> Vec<Value> {
        let mut past = self.setup.kept();
        if self.is_open && past.iter().all(|(id, _)| *id != session.id) {
            let cwd = session.cwd.clone();
            let updated_at = clock::timestamp();
            let open = Past {
                cwd,
                updated_at,
                ..self.past.clone()
            };
            past.push((session.id.clone(), open));
        }
        let listed = past.into_iter().map(|(id, past)| {
            json!({
                "sessionId": id, "cwd": past.cwd, "title": past.title, "updatedAt": past.updated_at,
            })
        });
        listed.collect()
    }

    fn prompt(&mut self, id: &Value, params: &Value) -> Vec<Action> {
        if !self.is_open {
            let session = params["sessionId"].as_str().unwrap_or_default();
            return vec![refuse(
                id,
                NOT_FOUND,
                &format!("Resource not found: {session}"),
            )];
        }
        let uuid = new_uuid();
        self.prompts.insert(uuid.clone(), id.clone());
        vec![Action::Prompt(Prompt::of_blocks(
            Some(uuid),
            &params["prompt"],
        ))]
    }

    fn set_mode(&self, id: &Value, mode: &Value, session: &mut Session) -> Vec<Action> {
        let Some(mode) = mode.as_str().filter(|mode| MODES.contains(mode)) else {
            return vec![refuse(id, INVALID_REQUEST, "unknown mode")];
        };
        mode.clone_into(&mut session.mode);
        let update = json!({"sessionUpdate": "current_mode_update", "currentModeId": mode});
        vec![
            respond(id, json!({})),
            Action::Print(self.update(&session.id, update)),
        ]
    }

    fn set_option(
        &self,
        id: &Value,
        option: &str,
        value: &Value,
        session: &mut Session,
    ) -> Vec<Action> {
        let value = value.as_str().unwrap_or_default();
        match option {
            "model" => session.take_settings(None, Some(value)),
            "mode" if MODES.contains(&value) => value.clone_into(&mut session.mode),
            _ => return vec![refuse(id, INVALID_REQUEST, "unknown option or value")],
        }
        vec![respond(
            id,
            json!({"configOptions": updates::options(session)}),
        )]
    }

    fn answer(&self, id: &Value, result: Result<Value, String>) -> Vec<Action> {
        let Some(request_id) = self.asked.request(id) else {
            return Vec::new();
        };
        let reply = match result {
            Err(why) => PermissionReply::Failed(why),
            Ok(result) => match result["outcome"]["optionId"].as_str() {
                Some("allow") => PermissionReply::Allowed,
                Some("allow_always") => PermissionReply::AlwaysAllowed,
                Some("reject") => PermissionReply::Denied { interrupt: false },
                Some(other) => PermissionReply::Failed(format!("unknown option {other}")),
                None if result["outcome"]["outcome"] == "cancelled" => {
                    PermissionReply::Denied { interrupt: true }
                }
                None => PermissionReply::Failed("the answer has no outcome".to_owned()),
            },
        };
        vec![Action::Answer { request_id, reply }]
    }

    fn update(&self, session: &str, update: Value) -> Value {
        notification(
            "session/update",
            json!({"sessionId": session, "update": update}),
        )
    }
}

impl Dialect for Acp {
    fn read(&mut self, line: &[u8], session: &mut Session) -> Vec<Action> {
        match HostLine::parse(line) {
            HostLine::Request { id, method, params } => {
                let mut actions = self.request(&id, &method, &params, session);
                actions.push(Action::Control(method));
                actions
            }
            HostLine::Response { id, result } => self.answer(&id, result),
            HostLine::Notification { method, .. } if method == "session/cancel" => {
                vec![Action::Interrupt]
            }
            HostLine::Notification { .. } | HostLine::Blank => Vec::new(),
            HostLine::Malformed => vec![refuse(&Value::Null, PARSE_ERROR, "Parse error")],
        }
    }

    fn write(&mut self, event: Event<'_>, session: &Session) -> Vec<Value> {
        self.lines(event, session)
    }

    fn noise(&self, _: &Session, text: &str) -> Value {
        notification("_understudy/noise", json!({"text": text}))
    }

    fn joining(&self) -> Joining {
        Joining::Separate
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

fn settings(session: &Session) -> Value {
    json!({"modes": updates::modes(session), "configOptions": updates::options(session)})
}

fn respond(id: &Value, result: Value) -> Action {
    Action::Print(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn refuse(id: &Value, code: i64, message: &str) -> Action {
    Action::Print(json!({"jsonrpc": "2.0", "id": id, "error": error(code, message)}))
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}
