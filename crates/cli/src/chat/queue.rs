//! `/queue`: prompts that wait until the agent is idle, and changes of them.

use bowline_lifecycle::{PromptPart, QueueChange, QueueEdit};

use crate::text::one_line;

/// What `/queue` does with other arguments than these.
pub(super) const USAGE: &str = "/queue lists the prompts that wait; /queue add TEXT, /queue edit N TEXT, \
     /queue move N before M, /queue move N after M and /queue cancel N change them";

/// Columns of a listed prompt.
const LISTED_COLUMNS: usize = 200;

/// What the user wants of the queue. A prompt is named by its number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueueCommand<'a> {
    List,
    Add(&'a str),
    Edit(usize, &'a str),
    Move {
        number: usize,
        beside: usize,
        is_after: bool,
    },
    Cancel(usize),
}

/// A prompt that has no turn yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedPrompt {
    pub(super) id: String,
    pub(super) text: String,
    /// Whether it is at the driver, where it can be changed.
    pub(super) is_waiting: bool,
}

/// Numbers of the prompts. Each keeps its own, so that a number which was read before the queue went on names no other
/// prompt.
#[derive(Debug, Default)]
pub(super) struct QueueNumbers(Vec<String>);

impl<'a> QueueCommand<'a> {
    /// Reads the arguments of `/queue`. `None` if they are none.
    pub(super) fn read(arguments: &'a str) -> Option<Self> {
        let (verb, rest) = split(arguments);
        match verb {
            "" | "list" if rest.is_empty() => Some(Self::List),
            "add" if !rest.is_empty() => Some(Self::Add(rest)),
            "edit" => {
                let (number, text) = split(rest);
                let number = number.parse().ok()?;
                (!text.is_empty()).then_some(Self::Edit(number, text))
            }
            "move" => {
                let (number, rest) = split(rest);
                let (side, beside) = split(rest);
                let is_after = match side {
                    "before" => false,
                    "after" => true,
                    _ => return None,
                };
                Some(Self::Move {
                    number: number.parse().ok()?,
                    beside: beside.parse().ok()?,
                    is_after,
                })
            }
            "cancel" => Some(Self::Cancel(rest.parse().ok()?)),
            _ => None,
        }
    }
}

fn split(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}

impl QueueNumbers {
    /// Numbers the prompts that are new.
    pub(super) fn update(&mut self, queue: &[QueuedPrompt]) {
        for prompt in queue.iter().filter(|it| it.is_waiting) {
            if !self.0.contains(&prompt.id) {
                self.0.push(prompt.id.clone());
            }
        }
    }

    /// Returns the number of a prompt that waits, or waited.
    pub(super) fn of(&self, id: &str) -> Option<usize> {
        let index = self.0.iter().position(|it| it == id)?;
        Some(index + 1)
    }

    /// Lists the queue in the order in which the agent will get it.
    pub(super) fn list(&self, queue: &[QueuedPrompt]) -> String {
        let line = |prompt: &QueuedPrompt| {
            let text = one_line(&prompt.text, LISTED_COLUMNS);
            match self.of(&prompt.id).filter(|_| prompt.is_waiting) {
                Some(number) => format!("  {number:>2}  {text}\n"),
                None => format!("   -  {text} (sent to the agent)\n"),
            }
        };
        queue.iter().map(line).collect()
    }

    /// Returns the change of the queue that a command means, and the message once it is made.
    ///
    /// # Errors
    /// If a number names no prompt that waits.
    pub(super) fn edit(
        &self,
        command: &QueueCommand<'_>,
        queue: &[QueuedPrompt],
    ) -> Result<Option<(QueueEdit, String)>, String> {
        let waiting = |number: usize| self.waiting(number, queue);
        let (number, change, done) = match *command {
            QueueCommand::List | QueueCommand::Add(_) => return Ok(None),
            QueueCommand::Edit(number, text) => {
                let parts = vec![PromptPart::Text(text.to_owned())];
                (number, QueueChange::Replace(parts), "was changed")
            }
            QueueCommand::Move {
                number,
                beside,
                is_after,
            } => {
                let beside = waiting(beside)?;
                let change = match is_after {
                    true => QueueChange::MoveAfter(beside),
                    false => QueueChange::MoveBefore(beside),
                };
                (number, change, "was moved")
            }
            QueueCommand::Cancel(number) => (number, QueueChange::Cancel, "was cancelled"),
        };
        let uuid = waiting(number)?;
        let done = format!("queued prompt {number} {done}");
        Ok(Some((QueueEdit { uuid, change }, done)))
    }

    /// Returns the id of the prompt with a number.
    fn waiting(&self, number: usize, queue: &[QueuedPrompt]) -> Result<String, String> {
        let id = number.checked_sub(1).and_then(|index| self.0.get(index));
        let Some(id) = id else {
            return Err(format!("no queued prompt {number}; /queue lists them"));
        };
        match queue.iter().any(|it| it.is_waiting && it.id == *id) {
            true => Ok(id.clone()),
            false => Err(format!(
                "queued prompt {number} was sent or cancelled; /queue lists those that wait"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(id: &str, is_waiting: bool) -> QueuedPrompt {
        QueuedPrompt {
            id: id.to_owned(),
            text: format!("text of {id}"),
            is_waiting,
        }
    }

    #[test]
    fn arguments_name_one_change() {
        let read = QueueCommand::read;
        assert_eq!(read(""), Some(QueueCommand::List));
        assert_eq!(
            read("add  run the tests"),
            Some(QueueCommand::Add("run the tests"))
        );
        assert_eq!(
            read("edit 2 two words"),
            Some(QueueCommand::Edit(2, "two words"))
        );
        let moved = QueueCommand::Move {
            number: 3,
            beside: 1,
            is_after: false,
        };
        assert_eq!(read("move 3 before 1"), Some(moved));
        assert_eq!(read("cancel 1"), Some(QueueCommand::Cancel(1)));
        let refused = [
            "add",
            "edit 2",
            "edit x y",
            "move 1 2",
            "move 1 before",
            "cancel",
            "what",
            "list 1",
        ];
        for arguments in refused {
            assert_eq!(read(arguments), None, "{arguments}");
        }
    }

    #[test]
    fn number_names_the_same_prompt_after_the_queue_went_on() {
        let mut numbers = QueueNumbers::default();
        let before = [prompt("sent", false), prompt("a", true), prompt("b", true)];
        numbers.update(&before);
        assert_eq!(
            numbers.list(&before),
            "   -  text of sent (sent to the agent)\n   1  text of a\n   2  text of b\n"
        );
        let after = [prompt("a", false), prompt("c", true), prompt("b", true)];
        numbers.update(&after);
        let edit = |command: QueueCommand<'_>| numbers.edit(&command, &after);
        let (cancel, done) = edit(QueueCommand::Cancel(2)).unwrap().unwrap();
        assert_eq!(cancel.uuid, "b");
        assert_eq!(done, "queued prompt 2 was cancelled");
        let moved = QueueCommand::Move {
            number: 3,
            beside: 2,
            is_after: true,
        };
        let (moved, _) = edit(moved).unwrap().unwrap();
        assert_eq!(moved.uuid, "c");
        assert_eq!(moved.change, QueueChange::MoveAfter("b".to_owned()));
        let sent = edit(QueueCommand::Edit(1, "late")).unwrap_err();
        assert!(sent.contains("prompt 1 was sent or cancelled"), "{sent}");
        let unknown = edit(QueueCommand::Cancel(0)).unwrap_err();
        assert!(unknown.contains("no queued prompt 0"), "{unknown}");
    }
}
