//! The queue of a session: prompts with the [priority](bowline_jsonl::Priority) `later`. They wait at the driver of
//! the session until the agent is idle, and can be changed until then.

use std::collections::VecDeque;

use bowline_jsonl::{Prompt, PromptPart};
use bowline_reducer::model::{QueuedPrompt, QueuedState};

use crate::error::DialogueError;

/// A change of a prompt that waits in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEdit {
    /// The uuid of the prompt.
    pub uuid: String,
    /// What changes.
    pub change: QueueChange,
}

/// What changes of a prompt that waits in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueChange {
    /// Its content, which is replaced.
    Replace(Vec<PromptPart>),
    /// Its place: before the prompt with this uuid.
    MoveBefore(String),
    /// Its place: after the prompt with this uuid.
    MoveAfter(String),
    /// It is dropped.
    Cancel,
}

impl QueueChange {
    /// Says what a host has asked for.
    pub(crate) const fn description(&self) -> &'static str {
        match self {
            Self::Replace(_) => "edit a queued prompt",
            Self::MoveBefore(_) | Self::MoveAfter(_) => "move a queued prompt",
            Self::Cancel => "cancel a queued prompt",
        }
    }
}

/// The prompts that wait, in the order in which they will be sent.
#[derive(Debug, Default)]
pub(crate) struct Queue(VecDeque<Prompt>);

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push(&mut self, prompt: Prompt) {
        self.0.push_back(prompt);
    }

    /// Returns the uuid of the next prompt.
    pub(crate) fn next_uuid(&self) -> Option<&str> {
        self.0.front()?.uuid.as_deref()
    }

    /// Removes a prompt.
    pub(crate) fn take(&mut self, uuid: &str) -> Option<Prompt> {
        let at = self.place(uuid)?;
        self.0.remove(at)
    }

    /// Removes all prompts.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Prompt> {
        std::mem::take(&mut self.0).into_iter()
    }

    /// Applies a change.
    ///
    /// # Errors
    ///
    /// The prompt, or the one beside which it is placed, does not wait, or its new content is empty. Nothing
    /// changed.
    pub(crate) fn apply(&mut self, edit: &QueueEdit) -> Result<(), DialogueError> {
        let from = self.find(&edit.uuid)?;
        let (beside, is_after) = match &edit.change {
            QueueChange::Cancel => {
                self.0.remove(from);
                return Ok(());
            }
            QueueChange::Replace(parts) if parts.is_empty() => {
                return Err(DialogueError::EmptyPrompt);
            }
            QueueChange::Replace(parts) => {
                self.0[from].parts.clone_from(parts);
                return Ok(());
            }
            QueueChange::MoveBefore(other) => (other, false),
            QueueChange::MoveAfter(other) => (other, true),
        };
        let beside = self.find(beside)?;
        if beside != from
            && let Some(prompt) = self.0.remove(from)
        {
            let beside = beside - usize::from(from < beside);
            self.0.insert(beside + usize::from(is_after), prompt);
        }
        Ok(())
    }

    fn place(&self, uuid: &str) -> Option<usize> {
        let mut prompts = self.0.iter();
        prompts.position(|it| it.uuid.as_deref() == Some(uuid))
    }

    fn find(&self, uuid: &str) -> Result<usize, DialogueError> {
        self.place(uuid).ok_or_else(|| DialogueError::NotQueued {
            uuid: uuid.to_owned(),
            is_sent: false,
        })
    }

    /// Returns the prompts as the transcript lists them.
    pub(crate) fn listed(&self) -> Vec<QueuedPrompt> {
        let prompts = self.0.iter();
        let listed = prompts.map(|prompt| QueuedPrompt {
            id: prompt.uuid.clone().unwrap_or_default(),
            text: text_of(&prompt.parts),
            state: QueuedState::Waiting,
        });
        listed.collect()
    }
}

/// Returns the text of a prompt, as the transcript shows it.
pub(crate) fn text_of(parts: &[PromptPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        PromptPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(uuids: &[&str]) -> Queue {
        let prompts = uuids.iter().map(|uuid| Prompt {
            uuid: Some((*uuid).to_owned()),
            ..Prompt::text(*uuid)
        });
        Queue(prompts.collect())
    }

    fn order(queue: &Queue) -> String {
        queue.0.iter().filter_map(|it| it.uuid.clone()).collect()
    }

    fn edit(uuid: &str, change: QueueChange) -> QueueEdit {
        let uuid = uuid.to_owned();
        QueueEdit { uuid, change }
    }

    #[test]
    fn prompt_moves_before_and_after_each_other_one() {
        let uuids = ["a", "b", "c", "d"];
        for moved in uuids {
            for beside in uuids {
                for is_after in [false, true] {
                    let mut queue = queue(&uuids);
                    let other = beside.to_owned();
                    let change = if is_after {
                        QueueChange::MoveAfter(other)
                    } else {
                        QueueChange::MoveBefore(other)
                    };
                    queue.apply(&edit(moved, change)).unwrap();
                    let order = order(&queue);
                    let rest: String = order.chars().filter(|it| !moved.contains(*it)).collect();
                    let expected: String =
                        "abcd".chars().filter(|it| !moved.contains(*it)).collect();
                    assert_eq!(rest, expected, "the others keep their order");
                    let at = |uuid: &str| order.find(uuid).unwrap();
                    if moved == beside {
                        assert_eq!(order, "abcd");
                    } else if is_after {
                        assert_eq!(at(moved), at(beside) + 1, "{order}");
                    } else {
                        assert_eq!(at(moved) + 1, at(beside), "{order}");
                    }
                }
            }
        }
    }

    #[test]
    fn refused_change_leaves_queue_as_it_is() {
        let mut queue = queue(&["a", "b"]);
        let changes = [
            edit("x", QueueChange::Cancel),
            edit("a", QueueChange::MoveAfter("x".to_owned())),
            edit("a", QueueChange::Replace(Vec::new())),
        ];
        for change in changes {
            assert!(queue.apply(&change).is_err(), "{change:?}");
            assert_eq!(order(&queue), "ab");
        }
        let text = vec![PromptPart::Text("new".to_owned())];
        queue.apply(&edit("b", QueueChange::Replace(text))).unwrap();
        assert_eq!(queue.listed()[1].text, "new");
        queue.apply(&edit("a", QueueChange::Cancel)).unwrap();
        assert_eq!(order(&queue), "b");
    }
}
