//! The permission request that the user is answering.

use std::sync::Arc;
use std::time::Duration;

use bowline_lifecycle::{
    Decision, PermissionAnswer, PermissionKind, PermissionRecord, Question, RequestOption,
};
use serde_json::Value;
use tokio::time::Instant;

use super::format;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::text::one_line;

/// The permission mode that allows edits without asking, offered with the approval of a plan.
const ACCEPT_EDITS: &str = "acceptEdits";

/// A request that is shown, with the answers given so far.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub(crate) record: Arc<PermissionRecord>,
    /// The questions of an `AskUserQuestion` that are not answered yet, the next one first.
    questions: Vec<Question>,
    /// Questions and answers.
    answers: Vec<(String, String)>,
    /// The rules that the agent suggests: a JSON array that is not empty.
    suggestions: Option<Value>,
    /// When the request is allowed without an answer.
    pub(super) deadline: Option<Instant>,
}

/// Returns the name of the tool that a request is about, sanitized.
pub(super) fn tool_name(record: &PermissionRecord) -> String {
    one_line(&record.tool_name, 60)
}

impl OpenRequest {
    pub(crate) fn new(record: Arc<PermissionRecord>, allow_after: Option<Duration>) -> Self {
        let questions = match &record.kind {
            PermissionKind::Questions(questions) => questions.clone(),
            _ => Vec::new(),
        };
        let suggestions = record.suggestions.as_deref().and_then(parse);
        Self {
            questions: questions.into_iter().collect(),
            answers: Vec::new(),
            suggestions: suggestions.filter(|it| it.as_array().is_some_and(|it| !it.is_empty())),
            deadline: allow_after.map(|time| Instant::now() + time),
            record,
        }
    }

    /// Returns what is requested, in full. Empty for questions, which are shown one by one.
    pub(crate) fn details(&self) -> String {
        match &self.record.kind {
            PermissionKind::Questions(_) => String::new(),
            PermissionKind::Plan { plan } if !plan.trim().is_empty() => format::plan(plan),
            _ => self.tool_call(),
        }
    }

    fn tool_call(&self) -> String {
        let input = parse(&self.record.input).unwrap_or_default();
        let tool = tool_name(&self.record);
        let mut text = format!("  input of {tool}\n{}", format::arguments(&input));
        if let Some(rules) = &self.suggestions {
            let rules = format::suggested_rules(rules);
            text.push_str(&format!("  [a]lways allows: {rules}\n"));
        }
        for (number, option) in (1..).zip(self.numbered()) {
            text.push_str(&format!("  {number} {}\n", one_line(&option.name, 80)));
        }
        text
    }

    /// Shows the question and the choices at the bottom of the screen.
    pub(super) fn show(&self, screen: &mut Screen) -> Result<(), Failure> {
        if let Some(question) = self.question() {
            screen.note(&question)?;
        }
        screen.open_question(&format!("  {}: ", self.choices_text()))
    }

    /// Returns the question that is answered next, with its numbered options; `None` unless the request has
    /// questions.
    pub(crate) fn question(&self) -> Option<String> {
        self.questions.first().map(format::question)
    }

    /// Returns the number of questions that are not answered yet.
    pub(crate) fn open_questions(&self) -> usize {
        self.questions.len()
    }

    /// Whether one key is an answer: not for a question with several answers.
    pub(crate) fn takes_keys(&self) -> bool {
        let mut questions = self.questions.iter();
        questions.next().is_none_or(|it| !it.multi_select)
    }

    /// Returns the answers to choose from, on one line.
    pub(crate) fn choices_text(&self) -> String {
        if let Some(question) = self.questions.first() {
            let number = if question.multi_select {
                "numbers"
            } else {
                "number"
            };
            return format!("{number}, or your own words");
        }
        let default = match self.deadline {
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                format!(" (yes in {} s)", left.as_secs_f64().ceil())
            }
            None => String::new(),
        };
        format!("{}{default}", self.choices())
    }

    /// Returns the options that are more than yes and no; empty if there are none.
    fn numbered(&self) -> &[RequestOption] {
        let options = &self.record.options;
        if self.suggestions.is_none() && options.len() > 2 {
            options
        } else {
            &[]
        }
    }

    fn choices(&self) -> &'static str {
        if !self.numbered().is_empty() {
            return "number of an option, [y]es, [n]o";
        }
        match (&self.record.kind, &self.suggestions) {
            (PermissionKind::Plan { .. }, _) => {
                "[y]es, yes and [a]ccept edits, [n]o and what to change"
            }
            (_, Some(_)) => "[y]es, [n]o, [a]lways",
            (_, None) => "[y]es, [n]o",
        }
    }

    /// Reads a typed line. Returns the answer, or `None` if the line is no answer or another
    /// question follows.
    pub(crate) fn read_line(&mut self, line: &str) -> Option<PermissionAnswer> {
        if let Some(question) = self.questions.first() {
            let answer = choose(question, line)?;
            let question = self.questions.remove(0);
            self.answers.push((question.question, answer));
            let is_last = self.questions.is_empty();
            return is_last.then(|| PermissionAnswer::Answers(std::mem::take(&mut self.answers)));
        }
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (word, rest) = (word.to_lowercase(), rest.trim());
        let number = word.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        if let Some(option) = number.and_then(|it| self.numbered().get(it)) {
            return Some(PermissionAnswer::Option(option.id.clone()));
        }
        match self.record.kind {
            PermissionKind::Plan { .. } => judge_plan(&word, rest),
            _ => self.decide(&word, rest).map(Into::into),
        }
    }

    fn decide(&self, word: &str, reason: &str) -> Option<Decision> {
        match word {
            "y" | "yes" => Some(Decision::allow()),
            "n" | "no" if reason.is_empty() => Some(Decision::deny("the user said no")),
            "n" | "no" => Some(Decision::deny(format!("the user said no: {reason}"))),
            "a" | "always" => Some(Decision::Allow {
                updated_input: None,
                updated_permissions: Some(self.suggestions.as_ref()?.to_string()),
            }),
            _ => None,
        }
    }
}

fn judge_plan(word: &str, feedback: &str) -> Option<PermissionAnswer> {
    let approve = |mode: Option<&str>| PermissionAnswer::ApprovePlan {
        mode: mode.map(str::to_owned),
    };
    match word {
        "y" | "yes" => Some(approve(None)),
        "a" | "accept" => Some(approve(Some(ACCEPT_EDITS))),
        "n" | "no" if feedback.is_empty() => Some(PermissionAnswer::RejectPlan {
            feedback: "the user said no to this plan".to_owned(),
        }),
        "n" | "no" => Some(PermissionAnswer::RejectPlan {
            feedback: format!("the user wants another plan: {feedback}"),
        }),
        _ => None,
    }
}

/// Returns the answer that a line gives to a question: numbers select options, anything else is the
/// answer itself. `None` if the line is empty, or selects several options where one is allowed.
fn choose(question: &Question, line: &str) -> Option<String> {
    let line = line.trim();
    let numbers = line.split([',', ' ']).filter(|it| !it.is_empty());
    let labels: Option<Vec<_>> = numbers
        .map(|number| {
            let index = number.parse::<usize>().ok()?.checked_sub(1)?;
            Some(question.options.get(index)?.label.as_str())
        })
        .collect();
    match labels {
        _ if line.is_empty() => None,
        Some(labels) if labels.len() == 1 || question.multi_select => Some(labels.join(", ")),
        Some(_) => None,
        None => Some(line.to_owned()),
    }
}

fn parse(json: &str) -> Option<Value> {
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_select_options() {
        let question = |multi_select: bool| -> Question {
            let asked = json!({"question": "Which?", "multiSelect": multi_select,
                "options": [{"label": "Red"}, {"label": "Blue"}]});
            serde_json::from_value(asked).unwrap()
        };
        let multiple = question(true);
        assert_eq!(choose(&multiple, "2"), Some("Blue".into()));
        assert_eq!(choose(&multiple, "1, 2"), Some("Red, Blue".into()));
        assert_eq!(choose(&multiple, "green"), Some("green".into()));
        assert_eq!(choose(&multiple, "3"), Some("3".into()));
        assert_eq!(choose(&multiple, " "), None);
        assert_eq!(choose(&question(false), "1 2"), None);
    }
}
