//! What stdin and signals say.

use std::io::{self, Write};

use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::track::Wait;
use super::{Act, Exit, Stage};
use crate::input::Input;
use crate::scenario::WaitFor;

/// A user message that waits for its turn.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    pub(super) uuid: Option<String>,
    blocks: Vec<Value>,
}

impl Prompt {
    pub(super) fn plain(text: String) -> Self {
        Self {
            uuid: None,
            blocks: vec![json!({"type": "text", "text": text})],
        }
    }

    fn read(line: &Value) -> Self {
        let uuid = line["uuid"].as_str().map(str::to_owned);
        match &line["message"]["content"] {
            Value::Array(blocks) => Self {
                uuid,
                blocks: blocks.clone(),
            },
            content => {
                let text = content.as_str().unwrap_or_default().to_owned();
                Self {
                    uuid,
                    ..Self::plain(text)
                }
            }
        }
    }

    /// The text of all its text blocks.
    pub(super) fn text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect()
    }

    /// As the agent echoes it: always a list of blocks.
    pub(super) fn content(&self) -> Value {
        Value::Array(self.blocks.clone())
    }

    /// Several prompts as one, under the last one's uuid (recorded stream `multi_all_at_once`).
    pub(super) fn merged(prompts: &[Self]) -> Option<Self> {
        let (last, before) = prompts.split_last()?;
        let mut blocks = Vec::new();
        for prompt in before {
            blocks.extend(prompt.blocks.iter().cloned());
            if let Some(Value::String(text)) = blocks.last_mut().and_then(|b| b.get_mut("text")) {
                text.push('\n');
            }
        }
        blocks.extend(last.blocks.iter().cloned());
        Some(Self {
            uuid: last.uuid.clone(),
            blocks,
        })
    }
}

impl Stage {
    pub(super) fn hear(&mut self, input: Input) -> Act {
        match input {
            Input::Signal(_) if self.hang.ignore_signals => Ok(()),
            Input::Signal(signal) => self.signal(signal),
            _ if self.hang.deaf || self.inputs.is_deaf() => Ok(()),
            Input::Line(line) => self.line(&line),
            Input::Eof => {
                self.eof = true;
                self.close_asks();
                self.happened(&WaitFor::Eof);
                Ok(())
            }
        }
    }

    /// Exit codes of protocol.md E.1.
    fn signal(&mut self, signal: i32) -> Act {
        match signal {
            SIGINT => {
                self.withdraw_asks();
                self.abort(false);
                Err(Exit::Code(0))
            }
            SIGTERM => {
                self.kill_calls();
                Err(Exit::Code(143))
            }
            _ => Err(Exit::Code(129)),
        }
    }

    fn line(&mut self, line: &[u8]) -> Act {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => self.message(value),
            Err(error) => {
                let length = String::from_utf8_lossy(line).chars().count();
                die(&format!(
                    "Error parsing streaming input line (type=unknown, {length} chars): \
                     SyntaxError: {error}"
                ))
            }
        }
    }

    fn message(&mut self, line: Value) -> Act {
        match line["type"].as_str() {
            Some("user") => self.prompt(&line),
            Some("control_request") => self.control(&line),
            Some("control_response") => {
                if self.session.replay {
                    self.print(&line);
                }
                self.answered(&line["response"]);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn prompt(&mut self, line: &Value) -> Act {
        let role = line["message"]["role"].as_str();
        if role != Some("user") {
            let got = role.unwrap_or("undefined");
            return die(&format!("Error: Expected message role 'user', got '{got}'"));
        }
        let prompt = Prompt::read(line);
        if let Some(uuid) = &prompt.uuid {
            if !self.seen.insert(uuid.clone()) {
                self.echo(prompt.content(), Some(uuid), false);
                return Ok(());
            }
            self.lifecycle(uuid, "queued");
        }
        self.queue.push(prompt);
        self.happened(&WaitFor::Prompt);
        Ok(())
    }

    /// Wakes the tracks that wait for this. True if one did.
    pub(super) fn happened(&mut self, what: &WaitFor) -> bool {
        let now = self.now;
        let mut woken = false;
        for track in self.tracks.values_mut() {
            if track.expects(what) {
                if matches!(track.wait, Wait::No) {
                    track.cues.pop_front();
                }
                track.wake(now);
                woken = true;
            }
        }
        woken
    }
}

/// Fatal input: a word on stderr, nothing on stdout, all queued work lost.
fn die(why: &str) -> Act {
    let _ = io::stderr().lock().write_all(format!("{why}\n").as_bytes());
    Err(Exit::Code(1))
}
