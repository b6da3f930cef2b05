//! A permission request that is open in the chat, answered by single keys.

use std::sync::Arc;

use bowline_lifecycle::{PermissionAnswer, PermissionKind, PermissionRecord};
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};

use super::editor::{Edit, Editor};
use super::history::History;
use crate::permission::OpenRequest;

/// A request and the answer that is being given.
pub(super) struct OpenAnswer {
    request: OpenRequest,
    /// What is typed, if a key is not enough: a reason, or an answer in words.
    typed: Option<(Editor, &'static str)>,
}

/// Effect of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AnswerKey {
    /// Nothing, or a part of an answer.
    Changed,
    /// The next question of the request is to be shown.
    NextQuestion,
    /// The request is answered.
    Answered(PermissionAnswer),
    /// The key is not one for the request.
    Other,
}

impl OpenAnswer {
    pub(super) fn new(record: Arc<PermissionRecord>) -> Self {
        let mut answer = Self {
            request: OpenRequest::new(record, None),
            typed: None,
        };
        answer.begin_question();
        answer
    }

    pub(super) fn request_id(&self) -> &str {
        &self.request.record.request_id
    }

    /// Returns what is requested, and the question to answer.
    pub(super) fn details(&self) -> String {
        let question = self.request.question().unwrap_or_default();
        format!("{}{question}", self.request.details())
    }

    /// Returns the next question of the request.
    pub(super) fn next_question(&self) -> String {
        self.request.question().unwrap_or_default()
    }

    /// Returns the answers to choose from, on one line.
    pub(super) fn choices(&self) -> String {
        let choices = self.request.choices_text();
        let reason = if self.request.open_questions() > 0 {
            ""
        } else if matches!(self.request.record.kind, PermissionKind::Plan { .. }) {
            ", no with [r]emarks"
        } else {
            ", no with a [r]eason"
        };
        format!("{choices}{reason}")
    }

    /// Returns the typed text and its label.
    pub(super) fn typed(&self) -> Option<(&Editor, &'static str)> {
        self.typed.as_ref().map(|(editor, mark)| (editor, *mark))
    }

    /// Handles an event of the terminal.
    pub(super) fn handle(&mut self, event: Event) -> AnswerKey {
        let Event::Key(key) = &event else {
            return match &mut self.typed {
                Some((editor, _)) => {
                    editor.handle(event);
                    AnswerKey::Changed
                }
                None => AnswerKey::Other,
            };
        };
        if key.kind == KeyEventKind::Release {
            return AnswerKey::Changed;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, is_control, &self.typed) {
            (KeyCode::Char('c' | 'd' | 'l'), true, _) => AnswerKey::Other,
            (KeyCode::Esc, ..) => {
                self.typed = None;
                self.begin_question();
                AnswerKey::Changed
            }
            (KeyCode::Char(c), false, None) => self.key(c),
            // A digit is the number of an option, unless words have begun.
            (KeyCode::Char(c @ '1'..='9'), false, Some((editor, _)))
                if editor.is_empty()
                    && self.request.open_questions() > 0
                    && self.request.takes_keys() =>
            {
                self.line(&c.to_string())
            }
            (_, _, Some(_)) => self.edit(event),
            _ => AnswerKey::Changed,
        }
    }

    fn key(&mut self, c: char) -> AnswerKey {
        if c == 'r' && self.request.open_questions() == 0 {
            self.typed = Some((Editor::new(History::empty()), "no: "));
            return AnswerKey::Changed;
        }
        self.line(&c.to_string())
    }

    fn edit(&mut self, event: Event) -> AnswerKey {
        let Some((editor, _)) = &mut self.typed else {
            return AnswerKey::Changed;
        };
        match editor.handle(event) {
            Some(Edit::Submitted(text)) if self.request.open_questions() > 0 => self.line(&text),
            Some(Edit::Submitted(text)) => self.line(&format!("n {text}")),
            _ => AnswerKey::Changed,
        }
    }

    /// Accepts a line as the answer.
    fn line(&mut self, line: &str) -> AnswerKey {
        let before = self.request.open_questions();
        if let Some(answer) = self.request.read_line(line) {
            return AnswerKey::Answered(answer);
        }
        if self.request.open_questions() < before {
            self.begin_question();
            return AnswerKey::NextQuestion;
        }
        AnswerKey::Changed
    }

    /// Questions take words as well as numbers.
    fn begin_question(&mut self) {
        if self.request.open_questions() > 0 {
            self.typed = Some((Editor::new(History::empty()), "answer: "));
        }
    }
}
