//! Control requests of the host.

use serde_json::{Value, json};

use super::fiber::{Fiber, Op};
use super::{Exit, Played, Player};
use crate::event::Event;
use crate::lines::{AgentThread, cancel, failure, initialized, success, system, user_local};
use crate::scenario::{ControlReply, WaitFor};
use crate::session::{MODES, resolve_model};

/// Requests that are answered by a success without a payload.
const ACKNOWLEDGED: &[&str] = &[
    "set_max_thinking_tokens",
    "apply_flag_settings",
    "update_settings",
    "mcp_message",
    "mcp_reconnect",
    "mcp_toggle",
    "seed_read_state",
    "register_repo_root",
    "rename_session",
    "set_color",
    "set_has_subscribers",
];

/// Requests that are answered by an empty object.
const EMPTY_ANSWER: &[&str] = &[
    "get_settings",
    "list_permission_rules",
    "get_hooks_listing",
    "get_session_cost",
    "get_usage",
    "list_models",
    "mcp_call",
    "mcp_read_resource",
    "rewind_files",
    "background_tasks",
    "get_task_output",
    "read_file",
    "file_suggestions",
    "reload_plugins",
    "reload_skills",
    "reload_output_styles",
];

impl Player {
    pub(super) fn on_control(&mut self, line: &Value) -> Played {
        let (id, request) = (&line["request_id"], &line["request"]);
        let subtype = request["subtype"].as_str().unwrap_or_default();
        let done = match self
            .scenario
            .controls
            .iter()
            .find(|reply| reply.subtype == subtype)
        {
            Some(reply) => {
                let reply = reply.clone();
                self.scripted(id, &reply);
                Ok(())
            }
            None => self.handle(id, subtype, request),
        };
        self.notify_waiting(&WaitFor::Control(subtype.to_owned()));
        done
    }

    fn handle(&mut self, id: &Value, subtype: &str, request: &Value) -> Played {
        match subtype {
            "initialize" => self.initialize(id, request),
            "interrupt" => self.interrupt(id, request),
            "set_permission_mode" => self.set_mode(id, request),
            "set_model" => self.set_model(id, request),
            "stop_task" => {
                self.stop_tasks(Some(request["task_id"].as_str().unwrap_or_default()));
                self.print(&success(id, Some(json!({}))));
            }
            "cancel_async_message" => self.cancel_message(id, request),
            "end_session" => {
                self.stop_tasks(None);
                self.print(&success(id, None));
                return Err(Exit::Code(0));
            }
            _ => self.print(&self.answer(id, subtype)),
        }
        Ok(())
    }

    fn answer(&self, id: &Value, subtype: &str) -> Value {
        match subtype {
            "mcp_status" => success(id, Some(json!({"mcpServers": []}))),
            "get_context_usage" => success(id, Some(self.context_usage())),
            "get_binary_version" => success(
                id,
                Some(json!({"version": self.session.version.to_string()})),
            ),
            "mcp_set_servers" => {
                success(id, Some(json!({"added": [], "removed": [], "errors": {}})))
            }
            _ if ACKNOWLEDGED.contains(&subtype) => success(id, None),
            _ if EMPTY_ANSWER.contains(&subtype) => success(id, Some(json!({}))),
            _ => {
                let error = format!("Unsupported control request subtype: {subtype}");
                failure(id, &error, Some("unsupported_request"))
            }
        }
    }

    fn context_usage(&self) -> Value {
        let used = self.session.usage.total.input;
        json!({
            "categories": [
                {"id": "messages", "name": "Messages", "tokens": used, "color": "inactive",
                 "kind": "used"},
            ],
            "totalTokens": used, "maxTokens": 1_000_000, "rawMaxTokens": 1_000_000,
            "percentage": used / 10_000, "model": self.session.model, "memoryFiles": [],
            "mcpTools": [], "agents": [], "isAutoCompactEnabled": true,
        })
    }

    fn scripted(&mut self, id: &Value, reply: &ControlReply) {
        if reply.silent {
            return;
        }
        let line = match &reply.error {
            Some(error) => failure(id, error, reply.error_code.as_deref()),
            None => success(
                id,
                reply
                    .response
                    .as_ref()
                    .map(|value| self.fill_value(value, None)),
            ),
        };
        match reply.delay_ms {
            None => self.print(&line),
            Some(ms) => {
                let ops = [Op::Wait(ms), Op::Frame(line)].into();
                self.spawn_fiber(Fiber {
                    thread: AgentThread::main(),
                    ops,
                    ..Fiber::default()
                });
            }
        }
    }

    fn initialize(&mut self, id: &Value, request: &Value) {
        self.spare_agents |= request["perTaskStopAffordance"] == true;
        self.session.forward |=
            request["forwardSubagentText"] == true && self.session.version.forwards_on_request();
        let pending: Vec<Value> = self
            .open_requests
            .values()
            .map(|(_, line)| line.clone())
            .collect();
        self.print(&initialized(&self.session, id, &pending));
    }

    fn interrupt(&mut self, id: &Value, request: &Value) {
        if self.notify_waiting(&WaitFor::Interrupt) {
            self.print(&success(id, Some(json!({"still_queued": []}))));
            return;
        }
        self.withdraw_requests();
        let mut receipt = json!({});
        if request["cancel_queued"] == true {
            receipt["cancelled"] = self.cancel_queue().into();
        }
        let queued: Vec<Value> = self
            .queue
            .iter()
            .filter_map(|prompt| prompt.uuid.clone().map(Value::from))
            .collect();
        receipt["still_queued"] = queued.into();
        self.print(&success(id, Some(receipt)));
        self.abort(false);
        if !self.spare_agents {
            self.stop_tasks(None);
        }
    }

    /// Withdraws all open control requests, which the agent does before it acknowledges an interrupt.
    pub(super) fn withdraw_requests(&mut self) {
        for request_id in std::mem::take(&mut self.open_requests).into_keys() {
            self.print(&cancel(&request_id));
            self.emit(Event::PermissionClosed {
                request_id: &request_id,
                withdrawn: true,
            });
        }
    }

    fn cancel_queue(&mut self) -> Vec<Value> {
        let queue = std::mem::take(&mut self.queue);
        let uuids: Vec<String> = queue.into_iter().filter_map(|prompt| prompt.uuid).collect();
        for uuid in &uuids {
            self.lifecycle(uuid, "cancelled");
        }
        uuids.into_iter().map(Value::from).collect()
    }

    fn cancel_message(&mut self, id: &Value, request: &Value) {
        let wanted = request["message_uuid"].as_str();
        let before = self.queue.len();
        self.queue
            .retain(|prompt| prompt.uuid.is_none() || prompt.uuid.as_deref() != wanted);
        let cancelled = self.queue.len() < before;
        if cancelled {
            self.lifecycle(wanted.unwrap_or_default(), "cancelled");
        }
        self.print(&success(id, Some(json!({"cancelled": cancelled}))));
    }

    fn set_mode(&mut self, id: &Value, request: &Value) {
        let mode = request["mode"].as_str().unwrap_or_default();
        if !MODES.contains(&mode) {
            let error = format!(
                "Cannot set permission mode: must be one of {}",
                MODES.join(", ")
            );
            self.print(&failure(id, &error, Some("invalid_mode")));
        } else if mode == "bypassPermissions" && !self.session.may_bypass {
            let error = "Cannot set permission mode to bypassPermissions because the session was \
                         not launched with --dangerously-skip-permissions";
            self.print(&failure(id, error, Some("bypass_not_launched")));
        } else {
            mode.clone_into(&mut self.session.mode);
            self.print(&success(id, Some(json!({"mode": mode}))));
            self.announce_mode();
        }
    }

    pub(super) fn announce_mode(&self) {
        let rest = json!({"status": null, "permissionMode": self.session.mode});
        self.print(&system(&self.session, "status", rest));
    }

    fn set_model(&mut self, id: &Value, request: &Value) {
        self.session.model = resolve_model(request["model"].as_str().unwrap_or("default"));
        let model = &self.session.model;
        self.print(&user_local(
            &self.session,
            &format!("Set model to `{model}`"),
        ));
        self.print(&success(id, Some(json!({"model": model}))));
    }
}
