//! Tool calls, permission requests and sub-agents.

use serde_json::{Map, Value, json};

use super::items::{call as call_item, collab, hunk, quoted};
use super::place::{Place, active, item_key, last_message, status, turn_error};
use super::{Codex, TurnState, notification};
use crate::clock;
use crate::dialect::tool::ToolAction;
use crate::event::{CallOf, Decision};
use crate::lines::{AgentThread, TaskInfo};
use crate::prompt::Prompt;
use crate::session::Session;

impl Codex {
    pub(super) fn call_started(
        &mut self,
        call: CallOf<'_>,
        session: &Session,
        out: &mut Vec<Value>,
    ) {
        let place = self.place(call.thread, session);
        let item = call_item(session, call, None);
        if !self.started.contains_key(&item_key(&place, &item)) {
            self.start(&place, item, out);
        }
    }

    pub(super) fn ask(
        &mut self,
        request_id: &str,
        call: CallOf<'_>,
        session: &Session,
        out: &mut Vec<Value>,
    ) {
        let place = self.place(call.thread, session);
        out.push(status(&place.thread, &active(&["waitingOnApproval"])));
        self.call_started(call, session, out);
        let item = call_item(session, call, None);
        let id = self.asked.open(request_id);
        let mut params = json!({
            "threadId": place.thread, "turnId": place.turn, "itemId": call.id,
            "startedAtMs": clock::now_ms(), "reason": null,
        });
        let method = if item["type"] == "fileChange" {
            params["grantRoot"] = Value::Null;
            "item/fileChange/requestApproval"
        } else {
            add_command(&mut params, &item, call);
            "item/commandExecution/requestApproval"
        };
        out.push(json!({"method": method, "id": id, "params": params}));
    }

    pub(super) fn host_request(&mut self, request_id: &str, body: &Map<String, Value>) -> Value {
        let id = self.asked.open(request_id);
        json!({"method": body.get("method"), "id": id, "params": body.get("params")})
    }

    pub(super) fn resolved(&mut self, request_id: &str, session: &Session, out: &mut Vec<Value>) {
        let Some(id) = self.asked.close(request_id) else {
            return;
        };
        let params = json!({"threadId": session.id, "requestId": id});
        out.push(notification("serverRequest/resolved", params));
        out.push(status(&session.id, &active(&[])));
    }

    pub(super) fn call_ended(
        &mut self,
        call: CallOf<'_>,
        decision: &Decision,
        session: &Session,
        out: &mut Vec<Value>,
    ) {
        self.call_started(call, session, out);
        let place = self.place(call.thread, session);
        let item = call_item(session, call, Some(decision));
        let changed = item["status"] == "completed" && call.thread.task.is_none();
        self.complete(&place, item, out);
        let ToolAction::Edit { path, old, new } = ToolAction::of(&call.tool.name, &call.tool.input)
        else {
            return;
        };
        if let Some(turn) = self.turn.as_mut().filter(|_| changed) {
            turn.diff.push_str(&file_diff(path, old, new));
            let params = json!({"threadId": place.thread, "turnId": place.turn, "diff": turn.diff});
            out.push(notification("turn/diff/updated", params));
        }
    }

    pub(super) fn agent_started(
        &mut self,
        caller: &AgentThread,
        task: &TaskInfo,
        session: &Session,
        out: &mut Vec<Value>,
    ) {
        let place = self.place(caller, session);
        let child = &task.task_id;
        let mut spawn = collab(&task.tool_use_id, "spawnAgent", &place.thread, "inProgress");
        spawn["prompt"] = task.prompt.as_str().into();
        spawn["model"] = "".into();
        spawn["reasoningEffort"] = "medium".into();
        self.start(&place, spawn.clone(), out);
        out.push(status(child, &json!({"type": "idle"})));
        spawn["status"] = "completed".into();
        spawn["model"] = session.model.as_str().into();
        spawn["receiverThreadIds"] = json!([child]);
        spawn["agentsStates"] = json!({child: {"status": "pendingInit", "message": null}});
        self.complete(&place, spawn, out);
        let turn = TurnState {
            wait: format!("{}_wait", task.tool_use_id),
            ..TurnState::new()
        };
        let json = turn.to_json("inProgress", &[], Value::Null, true);
        let wait = turn.wait.clone();
        self.children.insert(child.clone(), turn);
        out.push(status(child, &active(&[])));
        out.push(notification(
            "turn/started",
            json!({"threadId": child, "turn": json}),
        ));
        let inside = Place {
            thread: child.clone(),
            turn: self.children[child].id.clone(),
        };
        self.user(&inside, &Prompt::plain(task.prompt.clone()), out);
        if !task.background {
            let mut item = collab(&wait, "wait", &place.thread, "inProgress");
            item["receiverThreadIds"] = json!([child]);
            self.start(&place, item, out);
        }
    }

    pub(super) fn agent_ended(
        &mut self,
        caller: &AgentThread,
        task: &TaskInfo,
        report: &str,
        failed: bool,
        session: &Session,
        out: &mut Vec<Value>,
    ) {
        let child = &task.task_id;
        let Some(turn) = self.children.remove(child) else {
            return;
        };
        let error = if failed {
            turn_error(report, "other")
        } else {
            Value::Null
        };
        let state = if failed { "failed" } else { "completed" };
        let json = turn.to_json(state, last_message(&turn.items), error, true);
        out.push(status(child, &json!({"type": "idle"})));
        out.push(notification(
            "turn/completed",
            json!({"threadId": child, "turn": json}),
        ));
        if task.background {
            return;
        }
        let place = self.place(caller, session);
        let mut item = collab(&turn.wait, "wait", &place.thread, "completed");
        let state = if failed { "errored" } else { "completed" };
        item["receiverThreadIds"] = json!([child]);
        item["agentsStates"] = json!({child: {"status": state, "message": report}});
        self.complete(&place, item, out);
    }
}

fn add_command(params: &mut Value, item: &Value, call: CallOf<'_>) {
    params["kind"] = "command".into();
    params["environmentId"] = "local".into();
    let rule: Vec<&str> = match ToolAction::of(&call.tool.name, &call.tool.input) {
        ToolAction::Command(command) => command.split_whitespace().collect(),
        _ => vec![call.tool.name.as_str()],
    };
    let command = item["command"]
        .as_str()
        .map_or_else(|| quoted(&call.tool.name), str::to_owned);
    params["command"] = command.into();
    params["cwd"] = item["cwd"].clone();
    params["commandActions"] = item["commandActions"].clone();
    params["proposedExecpolicyAmendment"] = json!(rule);
    params["availableDecisions"] = json!([
        "accept", {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": rule}}, "cancel",
    ]);
}

fn file_diff(path: &str, old: Option<&str>, new: &str) -> String {
    let name = path.trim_start_matches('/');
    let (mode, from) = match old {
        None => ("new file mode 100644\n", "/dev/null".to_owned()),
        Some(_) => ("", format!("a/{name}")),
    };
    let hunk = hunk(old.unwrap_or_default(), new);
    format!("diff --git a/{name} b/{name}\n{mode}--- {from}\n+++ b/{name}\n{hunk}")
}
