//! What a recording of `codex app-server` shows, read with `serde_json`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::seen::{Call, Seen, diff, list, text};

#[derive(Debug, Default)]
struct Oracle {
    seen: Seen,
    main: Option<String>,
    /// Names of the host's prompts.
    sent: HashSet<String>,
    /// Items that have an end, or a part, in `seen`.
    known: HashMap<String, usize>,
    asked: HashMap<String, usize>,
}

/// Reads messages of both directions, or of Codex alone.
pub(crate) fn read(messages: &[(String, Value)]) -> Seen {
    let mut oracle = Oracle::default();
    for (direction, message) in messages {
        match direction.as_str() {
            "host>" => oracle.host(message),
            _ => oracle.server(message),
        }
    }
    oracle.seen.close(|_| "lost");
    oracle.seen
}

impl Oracle {
    fn host(&mut self, message: &Value) {
        let params = &message["params"];
        match text(message, "method") {
            Some("turn/start" | "turn/steer") => {
                let name = text(params, "clientUserMessageId").unwrap_or_default();
                self.sent.insert(name.to_owned());
                self.seen
                    .push("", format!("prompt: {}", input(params, "input")));
            }
            Some(_) => {}
            None => {
                if let Some(&at) = self.asked.get(&message["id"].to_string()) {
                    let state = match text(&message["result"], "decision") {
                        Some("accept") => "allowed",
                        _ => "denied",
                    };
                    self.seen.requests[at][2] = state.to_owned();
                }
            }
        }
    }

    fn server(&mut self, message: &Value) {
        let params = &message["params"];
        let method = text(message, "method").unwrap_or_default();
        if message["result"]["thread"].is_object() {
            self.main = text(&message["result"]["thread"], "id").map(str::to_owned);
        }
        let thread = match text(params, "threadId") {
            Some(thread) if self.main.as_deref() != Some(thread) => thread.to_owned(),
            _ => String::new(),
        };
        match method {
            "item/started" => self.item(&thread, &params["item"], false),
            "item/completed" => self.item(&thread, &params["item"], true),
            "item/agentMessage/delta" => self.delta(&thread, params, "text"),
            "item/reasoning/summaryTextDelta" => self.delta(&thread, params, "thought"),
            "turn/completed" => {
                let outcome = match text(&params["turn"], "status") {
                    Some("completed") => "completed",
                    Some("interrupted") => "cancelled",
                    _ => "failed",
                };
                self.seen.push(&thread, format!("end: {outcome}"));
                let state = if outcome == "cancelled" {
                    "interrupted"
                } else {
                    "lost"
                };
                self.seen.close(|_| state);
            }
            "serverRequest/resolved" => {
                if let Some(&at) = self.asked.get(&params["requestId"].to_string())
                    && self.seen.requests[at][2] == "open"
                {
                    self.seen.requests[at][2] = "answered".to_owned();
                }
            }
            _ if method.ends_with("requestApproval") => {
                let id = message["id"].to_string();
                self.asked.insert(id.clone(), self.seen.requests.len());
                let item = text(params, "itemId").unwrap_or_default();
                if !self.seen.calls.contains_key(item) {
                    self.seen.push(&thread, format!("call: {item}"));
                    self.seen.calls.insert(item.to_owned(), Call::default());
                }
                self.seen
                    .requests
                    .push([id, item.to_owned(), "open".to_owned()]);
            }
            _ => {}
        }
    }

    fn delta(&mut self, thread: &str, params: &Value, kind: &str) {
        let delta = text(params, "delta").unwrap_or_default();
        let item = text(params, "itemId").unwrap_or_default();
        let key = format!("{thread}/{item}/{}", params["summaryIndex"]);
        if let Some(&at) = self.known.get(&key) {
            self.seen.threads.get_mut(thread).expect("its thread")[at].push_str(delta);
        } else if !delta.is_empty() {
            self.seen.push(thread, format!("{kind}: {delta}"));
            self.known.insert(key, self.seen.threads[thread].len() - 1);
        }
    }

    /// An item that was streamed, or comes whole.
    fn whole(&mut self, thread: &str, key: String, part: String) {
        if let Some(&at) = self.known.get(&key) {
            self.seen.threads.get_mut(thread).expect("its thread")[at] = part;
            return;
        }
        self.seen.push(thread, part);
        self.known.insert(key, self.seen.threads[thread].len() - 1);
    }

    fn item(&mut self, thread: &str, item: &Value, is_done: bool) {
        let id = text(item, "id").unwrap_or_default();
        let key = |part: &str| format!("{thread}/{id}/{part}");
        match text(item, "type").unwrap_or_default() {
            "userMessage" => {
                let name = text(item, "clientId").unwrap_or_default();
                if !self.sent.contains(name) {
                    self.whole(
                        thread,
                        key("null"),
                        format!("prompt: {}", input(item, "content")),
                    );
                }
            }
            "agentMessage" if is_done => {
                let words = text(item, "text").unwrap_or_default();
                self.whole(thread, key("null"), format!("text: {words}"));
            }
            "reasoning" if is_done => {
                for (at, words) in list(item, "summary").iter().enumerate() {
                    let words = words.as_str().unwrap_or_default();
                    self.whole(thread, key(&at.to_string()), format!("thought: {words}"));
                }
            }
            "agentMessage" | "reasoning" => {}
            kind => self.call(thread, id, kind, item, is_done),
        }
    }

    fn call(&mut self, thread: &str, id: &str, kind: &str, item: &Value, is_done: bool) {
        let id = &match thread {
            "" => id.to_owned(),
            _ => format!("{thread}:{id}"),
        };
        if !self.seen.calls.contains_key(id) {
            self.seen.push(thread, format!("call: {id}"));
        }
        let keys: &[&str] = match kind {
            "commandExecution" => &["command", "cwd"],
            "fileChange" => &["changes"],
            "collabAgentToolCall" => &["prompt", "receiverThreadIds"],
            _ => &[],
        };
        let input: Map<String, Value> = keys
            .iter()
            .filter_map(|&key| Some((key.to_owned(), item.get(key)?.clone())))
            .filter(|(_, value)| !value.is_null())
            .collect();
        let call = self.seen.calls.entry(id.clone()).or_default();
        call.input = Value::Object(input);
        call.exit_code = item["exitCode"].as_i64();
        call.output = text(item, "aggregatedOutput").map(str::to_owned);
        call.diffs = list(item, "changes").iter().map(change).collect();
        if !is_done {
            return;
        }
        call.state = match text(item, "status") {
            Some("completed") => "succeeded",
            _ => "failed",
        }
        .to_owned();
        call.result = Some(match kind {
            "commandExecution" => text(item, "aggregatedOutput")
                .unwrap_or_default()
                .to_owned(),
            "collabAgentToolCall" => messages(item),
            _ => String::new(),
        });
    }
}

fn input(value: &Value, key: &str) -> String {
    let parts = list(value, key).iter();
    let parts: Vec<_> = parts.filter_map(|part| text(part, "text")).collect();
    parts.join("\n")
}

fn change(change: &Value) -> String {
    let (path, words) = (text(change, "path"), text(change, "diff"));
    match text(&change["kind"], "type") {
        Some("delete") => diff(path, words, None),
        _ => diff(path, None, words),
    }
}

/// The final messages of sub-agents.
fn messages(item: &Value) -> String {
    let states = item["agentsStates"].as_object().into_iter().flatten();
    let messages: Vec<_> = states
        .filter_map(|(_, state)| text(state, "message"))
        .collect();
    messages.join("\n")
}
