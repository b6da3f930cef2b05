//! Recordings, and a machine that is driven along them.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::*;

/// A recording of both directions.
pub(super) struct Recording(pub(super) Vec<(bool, Value)>);

impl Recording {
    pub(super) fn read(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agents");
        let path = folder.join(format!("{name}.trace.jsonl"));
        let text = std::fs::read_to_string(&path).expect("a recording");
        let lines = text.lines().map(|line| -> (String, Value) {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            (line["dir"].as_str().unwrap().to_owned(), line["msg"].take())
        });
        let lines = lines.filter(|(from, _)| from != "driver");
        Self(lines.map(|(from, line)| (from == "host>", line)).collect())
    }
}

/// A machine that is driven as the host of a recording was.
pub(super) struct Session {
    pub(super) fixture: Fixture,
    /// The machine's requests that the recording has not answered: the recorded id, and the machine's.
    pub(super) ids: Vec<(Value, Value)>,
    /// Lines of the machine that the recording has not come to.
    pub(super) written: VecDeque<Value>,
}

impl Session {
    pub(super) fn new(dialect: DialectName, opening: Opening) -> Self {
        let machine = Machine::speaking(dialect, opening, LIMITS, 0);
        let mut session = Self {
            fixture: Fixture::of(machine),
            ids: Vec::new(),
            written: VecDeque::new(),
        };
        session.collect();
        session
    }

    pub(super) fn codex() -> Self {
        Self::new(DialectName::Codex, opening())
    }

    pub(super) fn acp() -> Self {
        Self::new(DialectName::Acp, opening())
    }

    pub(super) fn collect(&mut self) {
        for line in self.fixture.lines.drain(..) {
            self.written
                .push_back(serde_json::from_str(&line).expect("JSON"));
        }
    }

    /// Replays a recording. Whatever its host wrote, the machine writes at the same place, after
    /// `command` has made it do so, which is asked for lines that the machine has not written by itself.
    pub(super) fn replay(
        &mut self,
        recording: &Recording,
        mut command: impl FnMut(&mut Self, &Value),
    ) {
        for (is_host, line) in &recording.0 {
            if *is_host {
                self.expect(line, &mut command);
            } else {
                self.agent(line.clone());
            }
        }
    }

    pub(super) fn expect(&mut self, line: &Value, command: &mut impl FnMut(&mut Self, &Value)) {
        if self.written.is_empty() {
            command(self, line);
            self.collect();
        }
        let written = self.written.pop_front();
        let written = written.unwrap_or_else(|| panic!("the machine does not write {line}"));
        assert_eq!(written["method"], line["method"], "{written} for {line}");
        assert_eq!(written["result"], line["result"], "{written} for {line}");
        for member in ["threadId", "turnId", "sessionId", "prompt"] {
            let of = |it: &Value| it["params"][member].clone();
            assert_eq!(of(&written), of(line), "{written} for {line}");
        }
        if !line["method"].is_null() && !line["id"].is_null() {
            self.ids.push((line["id"].clone(), written["id"].clone()));
        } else {
            assert_eq!(written["id"], line["id"], "{written} for {line}");
        }
    }

    /// Has the agent write a line; the answer to a request gets the machine's id.
    pub(super) fn agent(&mut self, mut line: Value) {
        let is_its = |(recorded, _): &(Value, Value)| *recorded == line["id"];
        if line["method"].is_null()
            && let Some(at) = self.ids.iter().position(is_its)
        {
            line["id"] = self.ids.remove(at).1;
        }
        self.fixture.agent(&line.to_string());
        self.collect();
    }

    pub(super) fn command(&mut self, command: Command) -> Option<Result<Reply, DialogueError>> {
        self.fixture.replies.clear();
        self.fixture.input(Input::Command(command, 7));
        self.collect();
        let at = self
            .fixture
            .replies
            .iter()
            .position(|(ticket, _)| *ticket == 7)?;
        Some(self.fixture.replies.remove(at).1)
    }

    pub(super) fn prompt(&mut self, uuid: &str, line: &Value) {
        let params = &line["params"];
        let parts = params["prompt"]
            .as_array()
            .or_else(|| params["input"].as_array());
        let text = parts.unwrap()[0]["text"].as_str().unwrap();
        self.send(uuid, text);
    }

    pub(super) fn send(&mut self, uuid: &str, text: &str) {
        let prompt = Prompt {
            uuid: Some(uuid.to_owned()),
            ..Prompt::text(text)
        };
        assert_eq!(self.command(Command::Send(prompt)), Some(Ok(Reply::Done)));
    }

    pub(super) fn interrupt(&mut self) -> Option<Result<Reply, DialogueError>> {
        let request = HostRequest::Interrupt {
            cancel_queued: false,
        };
        self.command(Command::Request(request))
    }

    pub(super) fn answer(
        &mut self,
        answer: impl Into<PermissionAnswer>,
    ) -> Result<(), DialogueError> {
        let open = self.fixture.machine.permissions();
        let open = open
            .open()
            .next()
            .expect("an open request")
            .request_id
            .clone();
        let command = Command::AnswerPermission {
            request_id: open,
            answer: answer.into(),
            by: None,
            how: None,
        };
        self.command(command).expect("a reply").map(drop)
    }

    pub(super) fn last_result(&mut self) -> Value {
        let entries = self.fixture.json()["entries"].take();
        let entries = entries.as_array().unwrap().iter();
        entries
            .clone()
            .rfind(|it| it["kind"] == "result")
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the method of the next line, and drops it.
    pub(super) fn written(&mut self) -> Option<String> {
        let line = self.written.pop_front()?;
        Some(line["method"].as_str().unwrap_or("response").to_owned())
    }
}

pub(super) fn opening() -> Opening {
    Opening {
        cwd: Some("/home/dev/project".to_owned()),
        asks_permissions: true,
        ..Opening::default()
    }
}

/// Does what the recorded hosts did.
pub(super) fn host(session: &mut Session, line: &Value) {
    match line["method"].as_str() {
        Some("turn/start" | "session/prompt") => {
            let uuid = format!("u{}", line["id"]);
            session.prompt(&uuid, line);
        }
        Some("turn/interrupt" | "session/cancel") => {
            session.interrupt();
        }
        Some("session/set_mode") => {
            let mode = line["params"]["modeId"].as_str().unwrap().to_owned();
            session.command(Command::Request(HostRequest::SetPermissionMode { mode }));
        }
        Some("session/list") => {
            session.command(Command::Request(HostRequest::Other {
                subtype: "session/list".to_owned(),
                fields: line["params"].as_object().unwrap().clone(),
            }));
        }
        None => {
            let result = &line["result"];
            let option = &result["outcome"]["optionId"];
            let chosen = result["decision"].as_str().or(option.as_str());
            let answer = match (chosen, result["content"].as_object()) {
                (Some(option), _) => PermissionAnswer::Option(option.to_owned()),
                (None, Some(content)) => {
                    let answers = content.iter();
                    let text = |it: &Value| it.as_str().unwrap().to_owned();
                    PermissionAnswer::Answers(answers.map(|(k, v)| (k.clone(), text(v))).collect())
                }
                (None, None) => PermissionAnswer::Cancel,
            };
            session.answer(answer).unwrap();
        }
        other => panic!("{other:?} is not written by a command"),
    }
}

/// A session that the recorded agent has opened, until the first prompt.
pub(super) fn opened(name: &str, dialect: DialectName) -> Session {
    let mut session = Session::new(dialect, opening());
    let Recording(lines) = Recording::read(name);
    let is_prompt = |(_, line): &(bool, Value)| {
        matches!(
            line["method"].as_str(),
            Some("turn/start" | "session/prompt")
        )
    };
    let end = lines.iter().position(is_prompt).unwrap();
    session.replay(&Recording(lines[..end].to_vec()), host);
    session
}

pub(super) fn opened_codex() -> Session {
    opened("codex/app-server.plain", DialectName::Codex)
}

pub(super) fn opened_gemini() -> Session {
    opened("gemini/acp.plain", DialectName::Acp)
}
