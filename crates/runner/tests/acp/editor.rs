//! An editor: what it writes, and what it shows of what it reads. Every line is checked by the schema.

use std::collections::BTreeMap;

use agent_client_protocol_schema::{v1 as schema, v2};
use bowline_reducer::TranscriptChange;
use bowline_runner::acp::{Attachment, Input, Intent, Output, Server};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

/// A row of a conversation: what it is, and its text or the id of the call.
pub(crate) type Row = (String, String);

/// An editor and its connection.
pub(crate) struct Editor {
    pub(crate) server: Server,
    /// Every message of the server.
    pub(crate) lines: Vec<Value>,
    /// Intents that the test has not read.
    pub(crate) intents: Vec<Intent>,
    pub(crate) shown: Shown,
    /// The version that it speaks.
    pub(crate) version: u8,
    /// Methods of the requests that have no answer.
    sent: BTreeMap<u64, &'static str>,
    last_id: u64,
}

/// What an editor shows, by session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shown {
    pub(crate) rows: BTreeMap<String, Vec<Row>>,
    /// The message that the last row of a session continues.
    last: BTreeMap<String, Value>,
    pub(crate) calls: BTreeMap<String, Value>,
    pub(crate) plan: Value,
    pub(crate) children: BTreeMap<String, Value>,
    is_draft: bool,
    /// The rows of the messages of version 2, by session and id.
    messages: BTreeMap<(String, String), usize>,
    /// What the session did, in version 2.
    pub(crate) states: Vec<Value>,
}

impl Editor {
    /// An editor that has said hello in version 2.
    pub(crate) fn draft(capabilities: &Value) -> Self {
        let mut editor = Self::silent();
        editor.server = Server::new(Uuid::from_u128(7 << 64)).offering_draft();
        editor.version = 2;
        editor.shown.is_draft = true;
        let info = json!({"name": "test", "version": "1"});
        let hello = json!({"protocolVersion": 2, "info": info, "capabilities": capabilities});
        let answer = editor.call("initialize", &hello);
        assert_eq!(answer["result"]["protocolVersion"], 2);
        editor
    }

    /// An editor that has said hello.
    pub(crate) fn new(capabilities: &Value) -> Self {
        let mut editor = Self::silent();
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        let answer = editor.call("initialize", &hello);
        assert_eq!(answer["result"]["protocolVersion"], 1);
        editor
    }

    /// An editor that has not said hello.
    pub(crate) fn silent() -> Self {
        Self {
            server: Server::new(Uuid::from_u128(7 << 64)),
            lines: Vec::new(),
            intents: Vec::new(),
            shown: Shown::default(),
            version: 1,
            sent: BTreeMap::new(),
            last_id: 0,
        }
    }

    /// Sends a request; returns its id.
    pub(crate) fn request(&mut self, method: &'static str, params: &Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.sent.insert(id, method);
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request that is answered at once.
    pub(crate) fn call(&mut self, method: &'static str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id).expect("an answer at once")
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn respond(&mut self, id: &Value, result: &Value) {
        self.line(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub(crate) fn line(&mut self, line: &Value) {
        self.server.receive(&line.to_string());
        self.read();
    }

    pub(crate) fn input(&mut self, input: Input) {
        self.server.input(input);
        self.read();
    }

    pub(crate) fn changes(&mut self, attachment: Attachment, changes: Vec<TranscriptChange>) {
        self.input(Input::Changes {
            attachment,
            changes,
            has_more: false,
        });
    }

    /// Loads a session whose transcript comes in pieces of this number of changes.
    pub(crate) fn load_in_pieces(
        &mut self,
        session: &str,
        changes: &[TranscriptChange],
        count: usize,
    ) {
        let (id, attachment) = self.attach("session/load", session);
        let mut pieces = changes.chunks(count).peekable();
        while let Some(piece) = pieces.next() {
            assert!(self.answer(id).is_none(), "answered before the replay");
            self.input(Input::Changes {
                attachment,
                changes: piece.to_vec(),
                has_more: pieces.peek().is_some(),
            });
        }
        assert!(self.answer(id).expect("an answer")["error"].is_null());
    }

    /// Asks for a session; returns the request's id and the attachment.
    pub(crate) fn attach(&mut self, method: &'static str, session: &str) -> (u64, Attachment) {
        let mut params = json!({"sessionId": session, "cwd": "/p", "mcpServers": []});
        if self.version == 2 && method == "session/load" {
            params["replayFrom"] = json!({"type": "start"});
        }
        let method = if self.version == 2 {
            "session/resume"
        } else {
            method
        };
        let id = self.request(method, &params);
        match self.intents.pop() {
            Some(Intent::Attach {
                attachment,
                session: named,
            }) => {
                assert_eq!(named, session);
                (id, attachment)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Loads a session with this transcript.
    pub(crate) fn load(&mut self, session: &str, changes: Vec<TranscriptChange>) -> Attachment {
        let (id, attachment) = self.attach("session/load", session);
        assert!(self.answer(id).is_none(), "answered before the replay");
        self.changes(attachment, changes);
        assert!(self.answer(id).expect("an answer")["error"].is_null());
        attachment
    }

    /// The answer to a request.
    pub(crate) fn answer(&self, id: u64) -> Option<Value> {
        let mut lines = self.lines.iter();
        let answer = lines.find(|line| line["id"] == id && line["method"].is_null());
        answer.cloned()
    }

    /// The requests of the server with this method, since the last look.
    pub(crate) fn asked(&mut self, method: &str) -> Vec<Value> {
        let is_it = |line: &&Value| line["method"] == method;
        let asked = self.lines.iter().filter(is_it).cloned().collect();
        self.lines.retain(|line| line["method"] != method);
        asked
    }

    pub(crate) fn intent(&mut self) -> Intent {
        assert_eq!(self.intents.len(), 1, "{:?}", self.intents);
        self.intents.remove(0)
    }

    fn read(&mut self) {
        while let Some(output) = self.server.poll() {
            match output {
                Output::Line(line) => {
                    assert!(!line.contains('\n'), "{line}");
                    let line: Value = serde_json::from_str(&line).expect("JSON");
                    self.check(&line);
                    self.shown.read(&line);
                    self.lines.push(line);
                }
                Output::Intent(intent) => self.intents.push(intent),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Checks a line against the schema.
    fn check(&mut self, line: &Value) {
        assert_eq!(line["jsonrpc"], "2.0");
        if self.version == 2 {
            return self.check_draft(line);
        }
        let params = &line["params"];
        match line["method"].as_str() {
            Some("session/update") => assert_is::<schema::SessionNotification>(params),
            Some("session/request_permission") => {
                assert_is::<schema::RequestPermissionRequest>(params);
            }
            Some("elicitation/create") => assert_is::<schema::CreateElicitationRequest>(params),
            Some("$/cancel_request") => assert_is::<schema::CancelRequestNotification>(params),
            Some(other) => panic!("{other}"),
            None if line["result"].is_null() => assert_is::<schema::Error>(&line["error"]),
            None => {
                let id = line["id"].as_u64().expect("an id");
                let result = &line["result"];
                match self.sent.remove(&id).expect("one answer to a request") {
                    "initialize" => assert_is::<schema::InitializeResponse>(result),
                    "session/new" => assert_is::<schema::NewSessionResponse>(result),
                    "session/load" => assert_is::<schema::LoadSessionResponse>(result),
                    "session/resume" => assert_is::<schema::ResumeSessionResponse>(result),
                    "session/list" => assert_is::<schema::ListSessionsResponse>(result),
                    "session/prompt" => assert_is::<schema::PromptResponse>(result),
                    "session/set_mode" => assert_is::<schema::SetSessionModeResponse>(result),
                    "session/set_config_option" => {
                        assert_is::<schema::SetSessionConfigOptionResponse>(result);
                    }
                    other => panic!("{other}"),
                }
            }
        }
    }
}

impl Editor {
    /// Checks a line against the schema of version 2.
    fn check_draft(&mut self, line: &Value) {
        let params = &line["params"];
        match line["method"].as_str() {
            Some("session/update") => {
                assert_is::<v2::UpdateSessionNotification>(params);
                let update = serde_json::from_value(params["update"].clone());
                let update: v2::SessionUpdate = update.expect("an update");
                assert!(!matches!(update, v2::SessionUpdate::Other(_)), "{line}");
            }
            Some("session/request_permission") => {
                assert_is::<v2::RequestPermissionRequest>(params);
                let options = params["options"].as_array().expect("options");
                assert!(!options.is_empty());
            }
            Some("elicitation/create") => assert_is::<v2::CreateElicitationRequest>(params),
            Some("$/cancel_request") => assert_is::<v2::CancelRequestNotification>(params),
            Some(other) => panic!("{other}"),
            None if line["result"].is_null() => assert_is::<v2::Error>(&line["error"]),
            None => {
                let id = line["id"].as_u64().expect("an id");
                let result = &line["result"];
                match self.sent.remove(&id).expect("one answer to a request") {
                    "initialize" => assert_is::<v2::InitializeResponse>(result),
                    "session/new" => assert_is::<v2::NewSessionResponse>(result),
                    "session/resume" => assert_is::<v2::ResumeSessionResponse>(result),
                    "session/list" => assert_is::<v2::ListSessionsResponse>(result),
                    "session/prompt" => assert_is::<v2::PromptResponse>(result),
                    "session/set_config_option" => {
                        assert_is::<v2::SetSessionConfigOptionResponse>(result);
                    }
                    other => panic!("{other}"),
                }
            }
        }
    }
}

impl Shown {
    fn read(&mut self, line: &Value) {
        let (session, update) = (&line["params"]["sessionId"], &line["params"]["update"]);
        let session = session.as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "user_message_chunk" => self.chunk(session, "user", update),
            "agent_message_chunk" => self.chunk(session, "text", update),
            "agent_thought_chunk" => self.chunk(session, "thought", update),
            "tool_call" => {
                let id = update["toolCallId"].as_str().expect("an id");
                let old = self.calls.insert(id.to_owned(), update.clone());
                assert!(old.is_none(), "{id} twice");
                self.last.remove(session);
                let rows = self.rows.entry(session.to_owned()).or_default();
                rows.push(("call".to_owned(), id.to_owned()));
            }
            "tool_call_update" => {
                let id = update["toolCallId"].as_str().expect("an id");
                if !self.calls.contains_key(id) {
                    assert!(self.is_draft, "{id} was not announced");
                    let rows = self.rows.entry(session.to_owned()).or_default();
                    rows.push(("call".to_owned(), id.to_owned()));
                }
                let call = self.calls.entry(id.to_owned()).or_insert_with(|| json!({}));
                for (key, value) in update.as_object().expect("an object") {
                    call[key] = value.clone();
                }
            }
            "user_message" => self.message(session, "user", update),
            "agent_message" => self.message(session, "text", update),
            "agent_thought" => self.message(session, "thought", update),
            "state_update" => self.states.push(update.clone()),
            "plan_update" => self.plan = update["plan"]["entries"].clone(),
            "plan" => self.plan = update["entries"].clone(),
            "subagent_update" => {
                let child = update["sessionId"].as_str().expect("an id");
                let known = self.children.entry(child.to_owned()).or_default();
                for (key, value) in update.as_object().expect("an object") {
                    known[key] = value.clone();
                }
            }
            _ => {}
        }
    }

    fn chunk(&mut self, session: &str, kind: &str, update: &Value) {
        let text = update["content"]["text"].as_str().expect("text");
        let message = &update["messageId"];
        if self.is_draft {
            let row = self.row(session, kind, message);
            return row.1.push_str(text);
        }
        let rows = self.rows.entry(session.to_owned()).or_default();
        if self.last.get(session) == Some(message) {
            rows.last_mut().expect("a row").1.push_str(text);
            return;
        }
        self.last.insert(session.to_owned(), message.clone());
        rows.push((kind.to_owned(), text.to_owned()));
    }
}

impl Shown {
    /// The row of a message of version 2.
    fn row(&mut self, session: &str, kind: &str, message: &Value) -> &mut Row {
        let id = message.as_str().expect("an id").to_owned();
        let rows = self.rows.entry(session.to_owned()).or_default();
        let at = self.messages.entry((session.to_owned(), id));
        let at = *at.or_insert_with(|| {
            rows.push((kind.to_owned(), String::new()));
            rows.len() - 1
        });
        assert_eq!(rows[at].0, kind);
        &mut rows[at]
    }

    /// Replaces the content of a message.
    fn message(&mut self, session: &str, kind: &str, update: &Value) {
        let content = update["content"].as_array().expect("content");
        let text = content.iter().map(|it| it["text"].as_str().expect("text"));
        let text = text.collect();
        self.row(session, kind, &update["messageId"]).1 = text;
    }
}

/// Checks that `T` keeps every member of `written`; a type that reads errors as nothing loses them.
pub(crate) fn assert_is<T: DeserializeOwned + Serialize>(written: &Value) {
    let read: T =
        serde_json::from_value(written.clone()).unwrap_or_else(|e| panic!("{written}: {e}"));
    assert_kept(written, &serde_json::to_value(read).expect("JSON"));
}

fn assert_kept(written: &Value, kept: &Value) {
    match (written, kept) {
        (Value::Object(written), Value::Object(kept)) => {
            for (key, value) in written {
                let kept = kept.get(key);
                assert_kept(value, kept.unwrap_or_else(|| panic!("{key} is lost")));
            }
        }
        (Value::Array(written), Value::Array(kept)) => {
            assert_eq!(written.len(), kept.len());
            written
                .iter()
                .zip(kept)
                .for_each(|(a, b)| assert_kept(a, b));
        }
        _ => assert_eq!(written, kept),
    }
}
