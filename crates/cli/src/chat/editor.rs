//! The line that the user edits: reedline's buffer and Emacs key bindings, without its screen.
//!
//! reedline draws its prompt itself and blocks while it reads. The chat prints output above the prompt
//! and answers permissions in place, so that it takes only the parts that have no terminal.

use crossterm::event::Event;
use reedline::{
    EditCommand, EditMode as _, Emacs, KeyCode, KeyModifiers, LineBuffer, ReedlineEvent,
    ReedlineRawEvent, default_emacs_keybindings,
};

use super::history::History;

/// Number of edits that can be undone.
const MAX_UNDO: usize = 100;

/// Effect of an event on the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// The line or its cursor may have changed.
    Changed,
    /// The line is complete and was taken.
    Submitted(String),
    /// `^C`.
    Interrupt,
    /// `^D` on an empty line.
    EndOfInput,
    /// Tab.
    Complete,
    /// `^L`.
    ClearScreen,
}

/// A line editor.
pub(super) struct Editor {
    buffer: LineBuffer,
    keys: Emacs,
    history: History,
    cut: String,
    undo: Vec<(String, usize)>,
    /// The text that is searched in the history.
    search: Option<String>,
}

impl Editor {
    pub(super) fn new(history: History) -> Self {
        let mut bindings = default_emacs_keybindings();
        let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        bindings.add_binding(KeyModifiers::CONTROL, KeyCode::Char('o'), newline);
        bindings.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::MenuNext);
        Self {
            buffer: LineBuffer::new(),
            keys: Emacs::new(bindings),
            history,
            cut: String::new(),
            undo: Vec::new(),
            search: None,
        }
    }

    /// Returns the text and the byte position of the cursor.
    pub(super) fn line(&self) -> (&str, usize) {
        (self.buffer.get_buffer(), self.buffer.insertion_point())
    }

    /// The text that is searched in the history, if it is.
    pub(super) fn search(&self) -> Option<&str> {
        self.search.as_deref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Replaces the text; the cursor moves to its end.
    pub(super) fn set(&mut self, text: &str) {
        self.buffer.set_buffer(text.to_owned());
        self.buffer.move_to_end();
    }

    /// Replaces the bytes from `from` to the cursor.
    pub(super) fn complete(&mut self, from: usize, text: &str) {
        self.remember();
        let to = self.buffer.insertion_point();
        self.buffer.replace_range(from..to, text);
        self.buffer.set_insertion_point(from + text.len());
    }

    /// Handles an event of the terminal. `None` if it is none of the editor's.
    pub(super) fn handle(&mut self, event: Event) -> Option<Edit> {
        let raw = ReedlineRawEvent::try_from(event).ok()?;
        let event = self.keys.parse_event(raw);
        if self.search.is_some()
            && let Some(edit) = self.handle_search(&event)
        {
            return Some(edit);
        }
        self.apply(event)
    }

    fn apply(&mut self, event: ReedlineEvent) -> Option<Edit> {
        match event {
            ReedlineEvent::Edit(commands) => {
                commands.into_iter().for_each(|it| self.edit(it));
            }
            ReedlineEvent::UntilFound(events) | ReedlineEvent::Multiple(events) => {
                return events.into_iter().find_map(|it| self.apply(it));
            }
            ReedlineEvent::Enter | ReedlineEvent::Submit => return Some(self.enter()),
            ReedlineEvent::CtrlC => return Some(Edit::Interrupt),
            ReedlineEvent::CtrlD if self.buffer.is_empty() => return Some(Edit::EndOfInput),
            ReedlineEvent::CtrlD => self.edit(EditCommand::Delete),
            ReedlineEvent::MenuNext => return Some(Edit::Complete),
            ReedlineEvent::ClearScreen => return Some(Edit::ClearScreen),
            ReedlineEvent::Up if self.buffer.is_cursor_at_first_line() => self.older(),
            ReedlineEvent::Up => self.buffer.move_line_up(),
            ReedlineEvent::Down if self.buffer.is_cursor_at_last_line() => self.newer(),
            ReedlineEvent::Down => self.buffer.move_line_down(),
            ReedlineEvent::PreviousHistory => self.older(),
            ReedlineEvent::NextHistory => self.newer(),
            ReedlineEvent::Left => self.buffer.move_left(),
            ReedlineEvent::Right => self.buffer.move_right(),
            ReedlineEvent::ToStart => self.buffer.move_to_start(),
            ReedlineEvent::ToEnd => self.buffer.move_to_end(),
            ReedlineEvent::SearchHistory => self.search = Some(String::new()),
            _ => return None,
        }
        Some(Edit::Changed)
    }

    /// Handles an event during a search. `None` ends the search and leaves the event to the line.
    fn handle_search(&mut self, event: &ReedlineEvent) -> Option<Edit> {
        let mut search = self.search.take()?;
        match event {
            ReedlineEvent::SearchHistory => self.find(&search, true),
            ReedlineEvent::CtrlC | ReedlineEvent::Esc => {
                self.clear();
                return Some(Edit::Changed);
            }
            ReedlineEvent::Edit(commands) => {
                for command in commands {
                    match command {
                        EditCommand::InsertChar(c) => search.push(*c),
                        EditCommand::InsertString(text) => search.push_str(text),
                        EditCommand::Backspace => drop(search.pop()),
                        _ => return None,
                    }
                }
                self.find(&search, false);
            }
            _ => return None,
        }
        self.search = Some(search);
        Some(Edit::Changed)
    }

    fn find(&mut self, text: &str, next: bool) {
        if let Some(found) = self.history.find(text, next) {
            let found = found.to_owned();
            self.set(&found);
        }
    }

    fn older(&mut self) {
        if let Some(text) = self.history.older(self.buffer.get_buffer()) {
            self.set(&text);
        }
    }

    fn newer(&mut self) {
        if let Some(text) = self.history.newer() {
            self.set(&text);
        }
    }

    /// Completes the line; a backslash at its end continues it instead.
    fn enter(&mut self) -> Edit {
        let is_at_end = self.buffer.insertion_point() == self.buffer.len();
        if is_at_end && self.buffer.ends_with('\\') {
            self.buffer.delete_left_grapheme();
            self.buffer.insert_newline();
            return Edit::Changed;
        }
        let text = self.buffer.get_buffer().to_owned();
        self.clear();
        Edit::Submitted(text)
    }

    /// Keeps a line in the history.
    pub(super) fn keep(&mut self, text: &str) {
        self.history.add(text);
    }

    /// Empties the line.
    pub(super) fn clear(&mut self) {
        self.buffer.clear();
        self.history.rewind();
        self.undo.clear();
        self.search = None;
    }

    fn edit(&mut self, command: EditCommand) {
        let is_undo = matches!(command, EditCommand::Undo);
        if !is_undo {
            self.remember();
        }
        let buffer = &mut self.buffer;
        match command {
            EditCommand::MoveToStart { .. } => buffer.move_to_start(),
            EditCommand::MoveToEnd { .. } => buffer.move_to_end(),
            EditCommand::MoveToLineStart { .. } => buffer.move_to_line_start(),
            EditCommand::MoveToLineEnd { .. } => buffer.move_to_line_end(),
            EditCommand::MoveLeft { .. } => buffer.move_left(),
            EditCommand::MoveRight { .. } => buffer.move_right(),
            EditCommand::MoveLineUp { .. } => buffer.move_line_up(),
            EditCommand::MoveLineDown { .. } => buffer.move_line_down(),
            EditCommand::MoveWordLeft { .. } => buffer.set_insertion_point(word_start(buffer)),
            EditCommand::MoveWordRight { .. } => buffer.set_insertion_point(word_end(buffer)),
            EditCommand::InsertChar(c) => buffer.insert_char(c),
            EditCommand::InsertString(text) => buffer.insert_str(&text),
            EditCommand::InsertNewline => buffer.insert_newline(),
            EditCommand::Backspace => buffer.delete_left_grapheme(),
            EditCommand::Delete => buffer.delete_right_grapheme(),
            EditCommand::BackspaceWord => buffer.delete_word_left(),
            EditCommand::DeleteWord => buffer.delete_word_right(),
            EditCommand::CutWordLeft => self.cut(word_start(&self.buffer)),
            EditCommand::CutWordRight => self.cut(word_end(&self.buffer)),
            EditCommand::KillLine => self.cut(self.line_end()),
            EditCommand::CutFromStart => self.cut(self.buffer.line_start_index()),
            EditCommand::PasteCutBufferBefore => buffer.insert_str(&self.cut),
            EditCommand::SwapGraphemes => buffer.swap_graphemes(),
            EditCommand::UppercaseWord => buffer.uppercase_word(),
            EditCommand::LowercaseWord => buffer.lowercase_word(),
            EditCommand::CapitalizeChar => buffer.capitalize_char(),
            EditCommand::Undo => self.undo(),
            _ => {}
        }
        let after = self.buffer.get_buffer();
        // A movement is nothing to undo.
        if !is_undo && self.undo.last().is_some_and(|(text, _)| text == after) {
            self.undo.pop();
        }
    }

    /// Returns the end of the line of the cursor; that of the next line if the cursor is there.
    fn line_end(&self) -> usize {
        let (at, end) = (
            self.buffer.insertion_point(),
            self.buffer.find_current_line_end(),
        );
        let is_last = end >= self.buffer.len();
        if at == end && !is_last { end + 1 } else { end }
    }

    /// Cuts the text between the cursor and a position.
    fn cut(&mut self, to: usize) {
        let at = self.buffer.insertion_point();
        let range = at.min(to)..at.max(to);
        let text = self.buffer.get_buffer().get(range.clone());
        self.cut = text.unwrap_or_default().to_owned();
        self.buffer.clear_range_safe(range.clone());
        self.buffer.set_insertion_point(range.start);
    }

    fn remember(&mut self) {
        if self.undo.len() == MAX_UNDO {
            self.undo.remove(0);
        }
        let (text, at) = self.line();
        let state = (text.to_owned(), at);
        self.undo.push(state);
    }

    fn undo(&mut self) {
        if let Some((text, at)) = self.undo.pop() {
            self.buffer.set_buffer(text);
            self.buffer.set_insertion_point(at);
        }
    }
}

/// Returns the start of the word at or before the cursor.
fn word_start(buffer: &LineBuffer) -> usize {
    let before = buffer.get_buffer().get(..buffer.insertion_point());
    let before = before.unwrap_or_default();
    let word = before.trim_end_matches(|c: char| !c.is_alphanumeric());
    let rest = word.trim_end_matches(char::is_alphanumeric);
    rest.len()
}

/// Returns the end of the word at or after the cursor.
fn word_end(buffer: &LineBuffer) -> usize {
    let after = buffer.get_buffer().get(buffer.insertion_point()..);
    let after = after.unwrap_or_default();
    let word = after.trim_start_matches(|c: char| !c.is_alphanumeric());
    let rest = word.trim_start_matches(char::is_alphanumeric);
    buffer.len() - rest.len()
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    fn editor() -> Editor {
        Editor::new(History::in_memory(["first", "second\nline"]))
    }

    fn key(editor: &mut Editor, modifiers: KeyModifiers, code: KeyCode) -> Option<Edit> {
        editor.handle(Event::Key(KeyEvent::new(code, modifiers)))
    }

    fn typed(editor: &mut Editor, text: &str) {
        for c in text.chars() {
            key(editor, KeyModifiers::NONE, KeyCode::Char(c));
        }
    }

    #[test]
    fn enter_submits_and_backslash_continues() {
        let mut editor = editor();
        typed(&mut editor, "one\\");
        let enter = |editor: &mut Editor| key(editor, KeyModifiers::NONE, KeyCode::Enter);
        assert_eq!(enter(&mut editor), Some(Edit::Changed));
        typed(&mut editor, "two");
        assert_eq!(
            key(&mut editor, KeyModifiers::ALT, KeyCode::Enter),
            Some(Edit::Changed)
        );
        typed(&mut editor, "three");
        let text = "one\ntwo\nthree".to_owned();
        assert_eq!(enter(&mut editor), Some(Edit::Submitted(text)));
        assert!(editor.is_empty());
    }

    #[test]
    fn pasted_lines_do_not_submit() {
        let mut editor = editor();
        let paste = Event::Paste("a\r\nb\rc".to_owned());
        assert_eq!(editor.handle(paste), Some(Edit::Changed));
        assert_eq!(editor.line(), ("a\nb\nc", 5));
    }

    #[test]
    fn history_is_browsed_and_returns_to_the_draft() {
        let mut editor = editor();
        typed(&mut editor, "draft");
        let press = |editor: &mut Editor, code| key(editor, KeyModifiers::NONE, code);
        press(&mut editor, KeyCode::Up);
        assert_eq!(editor.line().0, "second\nline");
        // The cursor is in the last of two lines.
        press(&mut editor, KeyCode::Up);
        press(&mut editor, KeyCode::Up);
        assert_eq!(editor.line().0, "first");
        press(&mut editor, KeyCode::Down);
        press(&mut editor, KeyCode::Down);
        assert_eq!(editor.line().0, "draft");
    }

    #[test]
    fn history_is_searched_backwards() {
        let mut editor = editor();
        key(&mut editor, KeyModifiers::CONTROL, KeyCode::Char('r'));
        typed(&mut editor, "ir");
        assert_eq!((editor.line().0, editor.search()), ("first", Some("ir")));
        let entered = key(&mut editor, KeyModifiers::NONE, KeyCode::Enter);
        assert_eq!(entered, Some(Edit::Submitted("first".to_owned())));
    }

    #[test]
    fn words_are_cut_pasted_and_undone() {
        let mut editor = editor();
        typed(&mut editor, "one two");
        key(&mut editor, KeyModifiers::CONTROL, KeyCode::Char('w'));
        assert_eq!(editor.line(), ("one ", 4));
        key(&mut editor, KeyModifiers::CONTROL, KeyCode::Char('a'));
        key(&mut editor, KeyModifiers::CONTROL, KeyCode::Char('y'));
        assert_eq!(editor.line(), ("twoone ", 3));
        key(&mut editor, KeyModifiers::CONTROL, KeyCode::Char('z'));
        assert_eq!(editor.line().0, "one ");
    }

    #[test]
    fn control_keys_end_or_interrupt() {
        let mut editor = editor();
        let control = |editor: &mut Editor, c| key(editor, KeyModifiers::CONTROL, KeyCode::Char(c));
        assert_eq!(control(&mut editor, 'c'), Some(Edit::Interrupt));
        assert_eq!(control(&mut editor, 'd'), Some(Edit::EndOfInput));
        typed(&mut editor, "x");
        assert_eq!(control(&mut editor, 'd'), Some(Edit::Changed));
    }
}
