//! A permission request that somebody is to answer, and what their lines mean.

use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::{Decision, PermissionAnswer, PermissionKind, PermissionRecord};
use serde_json::Value;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::screen::Screen;
use crate::view::{Question, allowances, arguments, one_line, plan};

/// The permission mode of those who approve a plan and do not want to be asked for each file.
const ACCEPT_EDITS: &str = "acceptEdits";

/// The request that is being answered.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) record: Arc<PermissionRecord>,
    /// What is still to be asked of an `AskUserQuestion`.
    questions: Vec<Question>,
    answers: Vec<(String, String)>,
    /// Rules that can be allowed for good: an array that is not empty.
    suggestions: Option<Value>,
    /// When the answer is yes without one.
    pub(super) due: Option<Instant>,
}

/// The tool that a request is about, fit to be printed.
pub(super) fn tool(record: &PermissionRecord) -> String {
    one_line(&record.tool_name, 60)
}

impl Open {
    pub(super) fn new(record: Arc<PermissionRecord>, patience: Option<Duration>) -> Self {
        let questions = match &record.kind {
            PermissionKind::Questions(asked) => asked.iter().map(Question::new).collect(),
            _ => Vec::new(),
        };
        let suggestions = record.suggestions.as_deref().and_then(parsed);
        Self {
            questions,
            answers: Vec::new(),
            suggestions: suggestions.filter(|it| it.as_array().is_some_and(|it| !it.is_empty())),
            due: patience.map(|patience| Instant::now() + patience),
            record,
        }
    }

    /// What is asked for, in full.
    pub(super) fn details(&self) -> String {
        match &self.record.kind {
            PermissionKind::Questions(_) => String::new(),
            PermissionKind::Plan { plan: text } if !text.trim().is_empty() => plan(text),
            _ => self.call(),
        }
    }

    /// What the tool is to run with.
    fn call(&self) -> String {
        let input = parsed(&self.record.input).unwrap_or_default();
        let tool = tool(&self.record);
        let mut text = format!("  {tool} is to run with\n{}", arguments(&input));
        if let Some(rules) = &self.suggestions {
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
        let default = match self.due {
            Some(due) => {
                let left = due.saturating_duration_since(Instant::now());
                format!(" (yes in {} s)", left.as_secs_f64().ceil())
            }
            None => String::new(),
        };
        screen.ask(&format!("  {}{default}: ", self.choices()))
    }

    fn choices(&self) -> &'static str {
        match (&self.record.kind, &self.suggestions) {
            (PermissionKind::Plan { .. }, _) => {
                "[y]es, yes and [a]ccept edits, [n]o and what to change"
            }
            (_, Some(_)) => "[y]es, [n]o, [a]lways",
            (_, None) => "[y]es, [n]o",
        }
    }

    /// What a line means; none when it means nothing, or more is to be asked.
    pub(super) fn read(&mut self, line: &str) -> Option<PermissionAnswer> {
        if let Some(question) = self.questions.first() {
            let answer = question.answer(line)?;
            let question = self.questions.remove(0);
            self.answers.push((question.text, answer));
            let is_last = self.questions.is_empty();
            return is_last.then(|| PermissionAnswer::Answers(std::mem::take(&mut self.answers)));
        }
        let (word, rest) = line
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or_else(|| (line.trim(), ""));
        let word = word.to_lowercase();
        match self.record.kind {
            PermissionKind::Plan { .. } => judge(&word, rest.trim()),
            _ => self.permit(&word, rest.trim()).map(Into::into),
        }
    }

    fn permit(&self, word: &str, why: &str) -> Option<Decision> {
        match word {
            "y" | "yes" => Some(Decision::allow()),
            "n" | "no" if why.is_empty() => Some(Decision::deny("the user said no")),
            "n" | "no" => Some(Decision::deny(format!("the user said no: {why}"))),
            "a" | "always" => Some(Decision::Allow {
                updated_input: None,
                updated_permissions: Some(self.suggestions.as_ref()?.to_string()),
            }),
            _ => None,
        }
    }
}

/// What a word means for a plan.
fn judge(word: &str, why: &str) -> Option<PermissionAnswer> {
    let approve = |mode: Option<&str>| PermissionAnswer::ApprovePlan {
        mode: mode.map(str::to_owned),
    };
    match word {
        "y" | "yes" => Some(approve(None)),
        "a" | "accept" => Some(approve(Some(ACCEPT_EDITS))),
        "n" | "no" if why.is_empty() => Some(PermissionAnswer::RejectPlan {
            feedback: "the user said no to this plan".to_owned(),
        }),
        "n" | "no" => Some(PermissionAnswer::RejectPlan {
            feedback: format!("the user wants another plan: {why}"),
        }),
        _ => None,
    }
}

fn parsed(json: &str) -> Option<Value> {
    serde_json::from_str(json).ok()
}
