//! What an ACP recording shows, read with `serde_json`.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::seen::{Call, Seen, diff, list, text};

#[derive(Debug, Default)]
struct Oracle {
    seen: Seen,
    /// The session of the main thread.
    main: Option<String>,
    /// Methods of the host's requests, by id.
    sent: HashMap<String, String>,
    /// Options of the agent's requests and their place in `seen`, by id.
    asked: HashMap<String, (usize, Value)>,
    /// The kind, the id and the place of the message that a thread's chunks continue.
    run: HashMap<String, (&'static str, Value, usize)>,
    rejected: Vec<String>,
    /// Whether the main session said something since the last end of a turn.
    is_open: bool,
    is_loading: bool,
}

/// Reads messages of both directions, or of the agent alone.
pub(crate) fn read(messages: &[(String, Value)]) -> Seen {
    let mut oracle = Oracle::default();
    for (direction, message) in messages {
        match direction.as_str() {
            "host>" => oracle.host(message),
            _ => oracle.agent(message),
        }
    }
    oracle.seen.close(|_| "lost");
    for request in &mut oracle.seen.requests {
        if request[2] == "open" {
            request[2] = "expired".to_owned();
        }
    }
    oracle.seen
}

impl Oracle {
    fn host(&mut self, message: &Value) {
        let id = message["id"].to_string();
        let Some(method) = text(message, "method") else {
            return self.answer(&id, message);
        };
        self.sent.insert(id, method.to_owned());
        match method {
            "session/prompt" => {
                let parts = list(&message["params"], "prompt").iter();
                let parts: Vec<_> = parts.filter_map(|part| text(part, "text")).collect();
                self.seen.push("", format!("prompt: {}", parts.join("\n")));
            }
            "session/load" => {
                self.main = text(&message["params"], "sessionId").map(str::to_owned);
                self.is_loading = true;
            }
            _ => {}
        }
    }

    fn answer(&mut self, id: &str, message: &Value) {
        let Some((at, options)) = self.asked.remove(id) else {
            return;
        };
        let result = &message["result"];
        let chosen = text(&result["outcome"], "optionId");
        let option = options.as_array().into_iter().flatten();
        let kind = option
            .filter(|option| text(option, "optionId") == chosen && chosen.is_some())
            .find_map(|option| text(option, "kind"));
        let state = match (kind, text(result, "action")) {
            (Some(kind), _) if kind.starts_with("allow") => "allowed",
            (Some(_), _) | (None, Some("decline")) => "denied",
            _ => "answered",
        };
        let request = &mut self.seen.requests[at];
        request[2] = state.to_owned();
        if state == "denied" {
            self.rejected.push(request[1].clone());
        }
    }

    fn agent(&mut self, message: &Value) {
        let id = message["id"].to_string();
        let params = &message["params"];
        match text(message, "method") {
            Some("session/update") => self.update(params),
            Some("session/request_permission") => {
                let thread = self.thread(params);
                self.call(&thread, &params["toolCall"]);
                self.request(&id, &params["toolCall"]["toolCallId"], &params["options"]);
            }
            Some("elicitation/create") => self.request(&id, &params["toolCallId"], &Value::Null),
            Some(_) => {}
            None => self.response(&id, message),
        }
    }

    fn request(&mut self, id: &str, call: &Value, options: &Value) {
        self.asked
            .insert(id.to_owned(), (self.seen.requests.len(), options.clone()));
        let call = call.as_str().unwrap_or_default();
        let name = id.trim_matches('"');
        let request = [name, call, "open"].map(str::to_owned);
        self.seen.requests.push(request);
    }

    fn response(&mut self, id: &str, message: &Value) {
        let method = self.sent.remove(id);
        let result = &message["result"];
        if let Some(session) = text(result, "sessionId") {
            self.main = Some(session.to_owned());
        }
        let is_end = match method.as_deref() {
            Some("session/prompt") => true,
            Some("session/load") => {
                self.is_loading = false;
                self.run.clear();
                self.seen.close(|_| "lost");
                false
            }
            Some(_) => false,
            None => {
                text(result, "stopReason").is_some()
                    || message.get("error").is_some() && self.is_open
            }
        };
        if !is_end {
            return;
        }
        for request in &mut self.seen.requests {
            if request[2] == "open" {
                request[2] = "expired".to_owned();
            }
        }
        let outcome = match text(result, "stopReason") {
            Some("cancelled") => "cancelled",
            Some("refusal") | None => "failed",
            Some(_) => "completed",
        };
        self.seen.push("", format!("end: {outcome}"));
        self.run.clear();
        self.is_open = false;
        let rejected = std::mem::take(&mut self.rejected);
        self.seen.close(|call| {
            if rejected.iter().any(|it| it == call) {
                "failed"
            } else if outcome == "cancelled" {
                "interrupted"
            } else {
                "lost"
            }
        });
    }

    /// The thread of a session: the main one's is ``.
    fn thread(&self, params: &Value) -> String {
        let session = text(params, "sessionId").unwrap_or_default();
        match &self.main {
            Some(main) if main != session => session.to_owned(),
            _ => String::new(),
        }
    }

    fn update(&mut self, params: &Value) {
        let thread = self.thread(params);
        let update = &params["update"];
        match text(update, "sessionUpdate").unwrap_or_default() {
            "user_message_chunk" => self.chunk(&thread, "prompt", update),
            "agent_message_chunk" => self.chunk(&thread, "text", update),
            "agent_thought_chunk" => self.chunk(&thread, "thought", update),
            "tool_call" | "tool_call_update" => self.call(&thread, update),
            "plan" => {
                let steps = list(update, "entries").iter();
                let step = |step: &Value| {
                    let word = |key| text(step, key).unwrap_or_default().to_owned();
                    format!("{} {}", word("status"), word("content"))
                };
                self.seen.plan = steps.map(step).collect();
            }
            "session_message" => self.delegate(&thread, update),
            _ => {}
        }
    }

    fn chunk(&mut self, thread: &str, kind: &'static str, update: &Value) {
        let chunk = text(&update["content"], "text").unwrap_or_default();
        let message = &update["messageId"];
        self.is_open |= thread.is_empty() && !self.is_loading;
        match self.run.get(thread) {
            Some((its, id, at)) if *its == kind && id == message => {
                self.seen.append(thread, *at, chunk);
            }
            _ if chunk.is_empty() => {}
            _ => {
                let run = (kind, message.clone(), self.seen.count(thread));
                self.run.insert(thread.to_owned(), run);
                self.seen.push(thread, format!("{kind}: {chunk}"));
            }
        }
    }

    fn call(&mut self, thread: &str, update: &Value) {
        let id = text(update, "toolCallId").expect("an id");
        self.is_open |= thread.is_empty() && !self.is_loading;
        let id = &match thread {
            "" => id.to_owned(),
            _ => format!("{thread}:{id}"),
        };
        if !self.seen.calls.contains_key(id) {
            self.run.remove(thread);
            self.seen.push(thread, format!("call: {id}"));
            self.seen.calls.insert(id.clone(), Call::default());
        }
        let call = self.seen.calls.get_mut(id).expect("just added");
        let input = update.get("rawInput").filter(|input| !input.is_null());
        if let Some(input) = input {
            call.input = input.clone();
        }
        let diffs: Vec<_> = list(update, "content")
            .iter()
            .filter(|part| part["type"] == "diff")
            .map(|part| {
                diff(
                    text(part, "path"),
                    text(part, "oldText"),
                    text(part, "newText"),
                )
            })
            .collect();
        if !diffs.is_empty() {
            call.diffs = diffs;
        }
        let exit = update["_meta"]["terminal_exit"]["exit_code"].as_i64();
        call.exit_code = exit.or(call.exit_code);
        if let Some(printed) = text(&update["_meta"]["terminal_output_delta"], "data") {
            call.output.get_or_insert_default().push_str(printed);
        }
        if !call.state.is_empty() {
            return;
        }
        call.state = match text(update, "status") {
            Some("completed") => "succeeded",
            Some("failed") => "failed",
            _ => "",
        }
        .to_owned();
        if call.state.is_empty() {
            return;
        }
        call.result = Some(result(update));
        for request in &mut self.seen.requests {
            if request[1] == *id && request[2] == "open" {
                request[2] = "answered".to_owned();
            }
        }
    }

    /// A message to a sub-agent stands for the call that starts it; one back is the call's result.
    fn delegate(&mut self, thread: &str, update: &Value) {
        let message: Vec<_> = list(update, "content")
            .iter()
            .filter_map(|part| text(part, "text"))
            .collect();
        let message = message.join("\n");
        let sender = text(update, "senderSessionId").unwrap_or_default();
        let id = text(update, "messageId").unwrap_or_default();
        let main = self.main.clone().unwrap_or_default();
        if thread.is_empty() && sender == main {
            self.run.remove("");
            self.seen.push("", format!("call: {id}"));
            let call = Call {
                input: json!({ "prompt": message }),
                ..Call::default()
            };
            self.seen.calls.insert(id.to_owned(), call);
        } else if thread.is_empty() {
            let call = id.trim_end_matches(":reply");
            let call = self.seen.calls.get_mut(call).expect("its call");
            call.result = Some(message);
            call.state = "succeeded".to_owned();
        } else {
            self.seen.push(thread, format!("prompt: {message}"));
        }
    }
}

/// The text of a result: raw, or what is shown.
fn result(update: &Value) -> String {
    if let Some(raw) = text(update, "rawOutput") {
        return raw.to_owned();
    }
    let shown = list(update, "content").iter();
    let shown: Vec<_> = shown
        .filter_map(|part| text(&part["content"], "text"))
        .collect();
    shown.join("\n")
}
