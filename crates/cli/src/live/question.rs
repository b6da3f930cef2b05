//! A permission request that somebody is to answer, and what their lines mean.

use std::time::Duration;

use bowline_lifecycle::Decision;
use bowline_reducer::Permission;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::failure::Failure;
use crate::screen::Screen;
use crate::view::{Question, allowances, arguments, one_line, questions};

/// The request that is being answered.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) request: Request,
    /// What is still to be asked of an `AskUserQuestion`.
    questions: Vec<Question>,
    answers: Map<String, Value>,
    /// When the answer is yes without one.
    pub(super) due: Option<Instant>,
}

/// A permission request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: String,
    tool: String,
    input: Value,
    /// Rules that can be allowed for good: an array that is not empty.
    suggestions: Option<Value>,
}

impl Request {
    pub(super) fn of(permission: Permission<'_>) -> Self {
        let parse = |json: String| serde_json::from_str(&json).ok();
        Self {
            id: permission.request_id().to_owned(),
            tool: permission.tool_name().to_owned(),
            input: permission.input().and_then(parse).unwrap_or_default(),
            suggestions: permission
                .suggestions()
                .and_then(parse)
                .filter(|it: &Value| it.as_array().is_some_and(|rules| !rules.is_empty())),
        }
    }

    /// The tool, fit to be printed.
    pub(super) fn tool(&self) -> String {
        one_line(&self.tool, 60)
    }
}

impl Open {
    pub(super) fn new(request: Request, patience: Option<Duration>) -> Self {
        Self {
            questions: questions(&request.tool, &request.input),
            request,
            answers: Map::new(),
            due: patience.map(|patience| Instant::now() + patience),
        }
    }

    /// What the tool is to run with, in full.
    pub(super) fn details(&self) -> String {
        if !self.questions.is_empty() {
            return String::new();
        }
        let (tool, input) = (self.request.tool(), arguments(&self.request.input));
        let mut text = format!("  {tool} is to run with\n{input}");
        if let Some(rules) = &self.request.suggestions {
            text.push_str(&format!("  always would allow {}\n", allowances(rules)));
        }
        text
    }

    /// Asks at the bottom of the screen.
    pub(super) fn put(&self, screen: &mut Screen) -> Result<(), Failure> {
        if let Some(question) = self.questions.first() {
            screen.say(question.shown())?;
            let number = if question.many { "numbers" } else { "number" };
            return screen.ask(&format!("  {number}, or your own words: "));
        }
        let always = if self.request.suggestions.is_some() {
            ", [a]lways"
        } else {
            ""
        };
        let default = match self.due {
            Some(due) => {
                let left = due.saturating_duration_since(Instant::now());
                format!(" (yes in {} s)", left.as_secs_f64().ceil())
            }
            None => String::new(),
        };
        screen.ask(&format!("  [y]es, [n]o{always}{default}: "))
    }

    /// What a line means; none when it means nothing, or more is to be asked.
    pub(super) fn read(&mut self, line: &str) -> Option<Decision> {
        if self.questions.is_empty() {
            return self.permit(line);
        }
        let answer = self.questions.first()?.answer(line)?;
        let question = self.questions.remove(0);
        self.answers.insert(question.text, Value::String(answer));
        if !self.questions.is_empty() {
            return None;
        }
        let mut input = self.request.input.take();
        input["answers"] = Value::Object(std::mem::take(&mut self.answers));
        Some(Decision::Allow {
            updated_input: Some(input.to_string()),
            updated_permissions: None,
        })
    }

    fn permit(&self, line: &str) -> Option<Decision> {
        let (word, rest) = line
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or_else(|| (line.trim(), ""));
        match word.to_lowercase().as_str() {
            "y" | "yes" => Some(Decision::allow()),
            "n" | "no" if rest.is_empty() => Some(Decision::deny("the user said no")),
            "n" | "no" => Some(Decision::deny(format!("the user said no: {}", rest.trim()))),
            "a" | "always" => Some(Decision::Allow {
                updated_input: None,
                updated_permissions: Some(self.request.suggestions.as_ref()?.to_string()),
            }),
            _ => None,
        }
    }
}
