//! The lines that were entered before, in a file that all conversations of the user share.

use std::path::PathBuf;

use reedline::{FileBackedHistory, History as _, HistoryItem, SearchDirection, SearchQuery};

/// Number of lines that the file keeps.
const CAPACITY: usize = 1000;

/// The history of lines, and the place in it that is shown.
pub(super) struct History {
    /// `None` if the file cannot be used; the history then lasts as long as the program.
    file: Option<FileBackedHistory>,
    /// Oldest first.
    lines: Vec<String>,
    /// The index of the line that is shown; the number of lines is that of the draft.
    shown: usize,
    /// The line that was being written before the history was browsed.
    draft: String,
}

impl History {
    /// Reads the history from a file, which is created with its first line.
    pub(super) fn open(path: PathBuf) -> Self {
        let file = FileBackedHistory::with_file(CAPACITY, path).ok();
        let query = SearchQuery::everything(SearchDirection::Forward, None);
        let items = file.as_ref().and_then(|it| it.search(query).ok());
        let items = items.unwrap_or_default().into_iter();
        let lines: Vec<_> = items.map(|it| it.command_line).collect();
        Self::new(file, lines)
    }

    /// Returns a history without lines and without a file.
    pub(super) fn empty() -> Self {
        Self::new(None, Vec::new())
    }

    #[cfg(test)]
    pub(super) fn in_memory<const N: usize>(lines: [&str; N]) -> Self {
        Self::new(None, lines.map(str::to_owned).into())
    }

    fn new(file: Option<FileBackedHistory>, lines: Vec<String>) -> Self {
        let shown = lines.len();
        Self {
            file,
            lines,
            shown,
            draft: String::new(),
        }
    }

    /// Adds a line, unless it repeats the last one.
    pub(super) fn add(&mut self, line: &str) {
        if self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
            if let Some(file) = &mut self.file {
                // The line was sent; a file that cannot be written costs only the next program its history.
                let _ = file.save(HistoryItem::from_command_line(line));
                let _ = file.sync();
            }
        }
        self.rewind();
    }

    /// Returns to the draft.
    pub(super) fn rewind(&mut self) {
        self.shown = self.lines.len();
        self.draft.clear();
    }

    /// Returns the line before the one that is shown. `current` is kept as the draft.
    pub(super) fn older(&mut self, current: &str) -> Option<String> {
        if self.shown == self.lines.len() {
            current.clone_into(&mut self.draft);
        }
        self.shown = self.shown.checked_sub(1)?;
        self.lines.get(self.shown).cloned()
    }

    /// Returns the line after the one that is shown; the draft after the last one.
    pub(super) fn newer(&mut self) -> Option<String> {
        if self.shown == self.lines.len() {
            return None;
        }
        self.shown += 1;
        let line = self.lines.get(self.shown);
        Some(line.unwrap_or(&self.draft).clone())
    }

    /// Finds the newest line with a text; with `next` the next older one.
    pub(super) fn find(&mut self, text: &str, next: bool) -> Option<&str> {
        let end = if next { self.shown } else { self.lines.len() };
        let mut before = self.lines.iter().take(end).enumerate().rev();
        let (index, line) = before.find(|(_, line)| line.contains(text))?;
        self.shown = index;
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let mut history = History::open(path.clone());
        for line in ["one", "two\nlines", "two\nlines"] {
            history.add(line);
        }
        let mut again = History::open(path);
        assert_eq!(again.older("").as_deref(), Some("two\nlines"));
        assert_eq!(again.older("").as_deref(), Some("one"));
        assert_eq!(again.older(""), None);
    }
}
