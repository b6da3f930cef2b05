//! `codex app-server` (`crates/jsonl/PROTOCOL-codex.md`): JSON-RPC without the member `jsonrpc`.

mod calls;
mod events;
mod items;
mod place;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::past::Past;
use super::rpc::{Asked, HostLine, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, error};
use super::{Action, Dialect, Joining, PermissionReply, Setup};
use crate::clock;
use crate::event::Event;
use crate::prompt::Prompt;
use crate::session::{Session, Tokens, new_uuid};

/// The version whose lines are reproduced.
const VERSION: &str = "0.169.0";

/// The state of the app server, with one thread of the host.
#[derive(Debug, Default)]
pub(super) struct Codex {
    setup: Setup,
    is_open: bool,
    asked: Asked,
    /// The running turn, or the one that the last `turn/start` has announced.
    turn: Option<TurnState>,
    /// The turns of sub-agents, by thread.
    children: BTreeMap<String, TurnState>,
    /// When each open item was started, in milliseconds since the Unix epoch.
    started: BTreeMap<String, u64>,
    total: Tokens,
    /// The turns that have ended, with their items; the title is the first prompt.
    past: Past,
}

/// A turn.
#[derive(Debug, Default)]
struct TurnState {
    id: String,
    began_ms: u64,
    /// Completed items.
    items: Vec<Value>,
    diff: String,
    /// The id of a sub-agent's `wait` call.
    wait: String,
}

impl Codex {
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
        let answered = |result: Value| vec![respond(id, result)];
        match method {
            "initialize" => answered(json!({
                "userAgent": format!("understudy/{VERSION}"), "codexHome": Session::home(),
                "platformFamily": "unix", "platformOs": "linux",
            })),
            "thread/start" => self.open(id, params, session, None),
            "thread/resume" | "thread/fork" => self.reopen(id, method, params, session),
            "thread/list" => {
                let threads = if self.is_open {
                    vec![self.thread(session, false)]
                } else {
                    Vec::new()
                };
                answered(json!({"data": threads, "nextCursor": null, "backwardsCursor": null}))
            }
            "turn/start" => self.start_turn(id, params),
            "turn/steer" => self.steer(id, params),
            "turn/interrupt" => self.interrupt(id, params),
            _ => vec![refuse(
                id,
                METHOD_NOT_FOUND,
                &format!("method not found: {method}"),
            )],
        }
    }

    fn reopen(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        session: &mut Session,
    ) -> Vec<Action> {
        let thread = params["threadId"].as_str().unwrap_or_default();
        // A thread of this process is rejoined.
        if !(self.is_open && thread == session.id) {
            let Some(past) = self.setup.past(thread) else {
                let why = format!("no rollout found for thread id {thread}");
                return vec![refuse(id, INVALID_REQUEST, &why)];
            };
            self.past = past;
        }
        let new = if method == "thread/fork" {
            new_uuid()
        } else {
            thread.to_owned()
        };
        let mut actions = self.open(id, params, session, Some(new));
        actions.push(Action::Resumed);
        actions
    }

    /// Opens a thread, and answers with it and its past.
    fn open(
        &mut self,
        id: &Value,
        params: &Value,
        session: &mut Session,
        thread: Option<String>,
    ) -> Vec<Action> {
        if let Some(thread) = thread {
            session.id = thread;
        } else if self.is_open {
            self.past = Past::default();
            session.begin_conversation(new_uuid());
        }
        session.take_settings(params["cwd"].as_str(), params["model"].as_str());
        if params["approvalPolicy"] == "never" {
            "bypassPermissions".clone_into(&mut session.mode);
        }
        self.is_open = true;
        let policy = match &params["approvalPolicy"] {
            Value::Null => "on-request".into(),
            given => given.clone(),
        };
        let full = params["excludeTurns"] != true;
        let result = json!({
            "thread": self.thread(session, full), "model": session.model, "modelProvider": "openai",
            "serviceTier": null, "disabledPluginIds": [], "cwd": session.cwd,
            "runtimeWorkspaceRoots": [session.cwd], "instructionSources": [],
            "approvalPolicy": policy, "approvalsReviewer": "user",
            "sandbox": {
                "type": "workspaceWrite", "writableRoots": [], "networkAccess": false,
                "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
            },
            "activePermissionProfile": null, "reasoningEffort": null,
            "multiAgentMode": "explicitRequestOnly",
        });
        let started = notification(
            "thread/started",
            json!({"thread": self.thread(session, false)}),
        );
        vec![respond(id, result), Action::Print(started)]
    }

    fn thread(&self, session: &Session, full: bool) -> Value {
        let now = clock::now_ms() / 1000;
        let turns = if full {
            self.past.records.as_slice()
        } else {
            &[]
        };
        json!({
            "id": session.id,
            "environments": [{
                "environmentId": "local", "cwd": session.cwd, "runtimeWorkspaceRoots": [session.cwd],
            }],
            "extra": null, "sessionId": session.id, "forkedFromId": null, "attachedToThreadId": null,
            "parentThreadId": null, "preview": self.past.title, "ephemeral": false, "section": null,
            "sectionEnteredAt": null, "projectId": null, "historyMode": "paginated",
            "modelProvider": "openai", "model": session.model, "reasoningEffort": null,
            "createdAt": now, "updatedAt": now, "recencyAt": now, "status": {"type": "idle"},
            "path": session.transcript_path(), "cwd": session.cwd, "cliVersion": VERSION,
            "originator": "understudy", "source": "vscode", "canAcceptDirectInput": true,
            "threadSource": null, "agentNickname": null, "agentRole": null, "gitInfo": null,
            "name": null, "daybreakEnabled": null, "turns": turns,
        })
    }

    /// Starts a turn. If one is running, the prompt joins it.
    fn start_turn(&mut self, id: &Value, params: &Value) -> Vec<Action> {
        if !self.is_open {
            let thread = params["threadId"].as_str().unwrap_or_default();
            return vec![refuse(
                id,
                INVALID_REQUEST,
                &format!("thread not found: {thread}"),
            )];
        }
        let turn = self.turn.get_or_insert_with(TurnState::new);
        let result = json!({"turn": turn.to_json("inProgress", &[], Value::Null, false)});
        vec![respond(id, result), prompt(params)]
    }

    fn steer(&self, id: &Value, params: &Value) -> Vec<Action> {
        match &self.turn {
            Some(turn) if params["expectedTurnId"] == turn.id.as_str() => {
                vec![respond(id, json!({"turnId": turn.id})), prompt(params)]
            }
            Some(_) => vec![refuse(
                id,
                INVALID_REQUEST,
                "expected turn is not the active turn",
            )],
            None => vec![refuse(id, INVALID_REQUEST, "no active turn to steer")],
        }
    }

    fn interrupt(&self, id: &Value, params: &Value) -> Vec<Action> {
        match &self.turn {
            Some(turn) if params["turnId"] == turn.id.as_str() => {
                vec![respond(id, json!({})), Action::Interrupt]
            }
            _ => vec![refuse(id, INVALID_REQUEST, "no active turn to interrupt")],
        }
    }

    fn answer(&self, id: &Value, result: Result<Value, String>) -> Vec<Action> {
        let Some(request_id) = self.asked.request(id) else {
            return Vec::new();
        };
        let reply = match result {
            Err(why) => PermissionReply::Failed(why),
            Ok(result) => match result["decision"].as_str() {
                Some("accept") => PermissionReply::Allowed,
                Some("acceptForSession") => PermissionReply::AlwaysAllowed,
                Some("decline") => PermissionReply::Denied { interrupt: false },
                Some("cancel") => PermissionReply::Denied { interrupt: true },
                _ if result["decision"].is_object() => PermissionReply::AlwaysAllowed,
                _ => PermissionReply::Failed("the answer has no decision".to_owned()),
            },
        };
        vec![Action::Answer { request_id, reply }]
    }
}

impl Dialect for Codex {
    fn read(&mut self, line: &[u8], session: &mut Session) -> Vec<Action> {
        match HostLine::parse(line) {
            HostLine::Request { id, method, params } => {
                let mut actions = self.request(&id, &method, &params, session);
                actions.push(Action::Control(method));
                actions
            }
            HostLine::Response { id, result } => self.answer(&id, result),
            HostLine::Notification { .. } | HostLine::Blank => Vec::new(),
            HostLine::Malformed => vec![refuse(&Value::Null, PARSE_ERROR, "parse error")],
        }
    }

    fn write(&mut self, event: Event<'_>, session: &Session) -> Vec<Value> {
        self.lines(event, session)
    }

    fn noise(&self, session: &Session, text: &str) -> Value {
        notification("warning", json!({"threadId": session.id, "message": text}))
    }

    fn joining(&self) -> Joining {
        Joining::Steered
    }

    fn is_open(&self) -> bool {
        self.is_open
    }
}

impl TurnState {
    fn new() -> Self {
        Self {
            id: new_uuid(),
            began_ms: clock::now_ms(),
            ..Self::default()
        }
    }

    fn to_json(&self, status: &str, items: &[Value], error: Value, began: bool) -> Value {
        let now = clock::now_ms();
        let ended = status != "inProgress";
        let began_at = if began {
            Value::from(self.began_ms / 1000)
        } else {
            Value::Null
        };
        let at = |value: u64| if ended { value.into() } else { Value::Null };
        let view = if items.is_empty() {
            "notLoaded"
        } else {
            "summary"
        };
        json!({
            "id": self.id, "rootTurnId": self.id, "items": items, "itemsView": view,
            "status": status, "error": error, "startedAt": began_at, "completedAt": at(now / 1000),
            "durationMs": at(now.saturating_sub(self.began_ms)),
        })
    }
}

fn prompt(params: &Value) -> Action {
    let uuid = params["clientUserMessageId"].as_str().map(str::to_owned);
    Action::Prompt(Prompt::of_blocks(uuid, &params["input"]))
}

fn respond(id: &Value, result: Value) -> Action {
    Action::Print(json!({"id": id, "result": result}))
}

fn refuse(id: &Value, code: i64, message: &str) -> Action {
    Action::Print(json!({"id": id, "error": error(code, message)}))
}

fn notification(method: &str, params: Value) -> Value {
    json!({"method": method, "params": params, "emittedAtMs": clock::now_ms()})
}
