//! The texts that an editor has of messages. Each block of text is a message of its own.

use std::collections::HashMap;

use bowline_reducer::{BlockId, EntryId};

use crate::api::acp::update::{Speaker, Text, Version};

#[derive(Debug)]
pub(super) struct Messages {
    version: Version,
    blocks: HashMap<BlockId, SentBlock>,
    /// The texts of the open turn, which the agent may still correct.
    texts: HashMap<BlockId, String>,
}

/// A block of text.
#[derive(Clone, Copy, Debug)]
struct SentBlock {
    entry: EntryId,
    speaker: Speaker,
    /// Number of bytes that were sent.
    sent: usize,
}

impl Messages {
    pub(super) fn new(version: Version) -> Self {
        Self {
            version,
            blocks: HashMap::new(),
            texts: HashMap::new(),
        }
    }

    /// Forgets the texts of a turn that has ended.
    pub(super) fn settle(&mut self) {
        self.texts = HashMap::new();
    }

    /// Returns the blocks of an entry.
    pub(super) fn of(&self, entry: EntryId) -> Vec<BlockId> {
        let blocks = self.blocks.iter().filter(|(_, it)| it.entry == entry);
        blocks.map(|(id, _)| *id).collect()
    }

    /// Records the text of a block; returns the part to send, and its entry.
    pub(super) fn replace(
        &mut self,
        id: BlockId,
        entry: EntryId,
        speaker: Speaker,
        text: &str,
    ) -> Option<(EntryId, Text)> {
        let sent = self.blocks.entry(id).or_insert(SentBlock {
            entry,
            speaker,
            sent: 0,
        });
        sent.speaker = speaker;
        if self.version == Version::V1 {
            return self.rest(id, 0, text);
        }
        let is_new = sent.sent > 0 || !text.is_empty();
        sent.sent = text.len();
        let sent = *sent;
        self.texts.insert(id, text.to_owned());
        is_new.then(|| sent.say(id, text, true))
    }

    /// Updates the text of a block whose bytes from `from` on are `text`; returns what is to be sent.
    pub(super) fn append(
        &mut self,
        id: BlockId,
        from: usize,
        text: &str,
    ) -> Option<(EntryId, Text)> {
        let sent = *self.blocks.get(&id)?;
        let kept = self.texts.get(&id).and_then(|it| it.get(..from));
        match kept.filter(|_| from != sent.sent) {
            Some(kept) => {
                let corrected = format!("{kept}{text}");
                self.replace(id, sent.entry, sent.speaker, &corrected)
            }
            None => {
                if let Some(known) = self.texts.get_mut(&id).filter(|it| it.len() == from) {
                    known.push_str(text);
                }
                self.rest(id, from, text)
            }
        }
    }

    /// Retracts a block: the message becomes empty. Version 1 cannot express this.
    pub(super) fn remove(&mut self, id: BlockId) -> Option<(EntryId, Text)> {
        let sent = self.blocks.remove(&id)?;
        self.texts.remove(&id);
        let is_shown = self.version == Version::V2 && sent.sent > 0;
        is_shown.then(|| sent.say(id, "", true))
    }

    /// Returns the new part of a text whose bytes after `from` are `text`.
    fn rest(&mut self, id: BlockId, from: usize, text: &str) -> Option<(EntryId, Text)> {
        let sent = self.blocks.get_mut(&id)?;
        let new = sent.sent.checked_sub(from).map(|at| after(text, at));
        sent.sent = sent.sent.max(from + text.len());
        let new = new.filter(|new| !new.is_empty())?;
        Some(sent.say(id, new, false))
    }
}

impl SentBlock {
    fn say(&self, id: BlockId, text: &str, is_whole: bool) -> (EntryId, Text) {
        let text = Text {
            speaker: self.speaker,
            message: format!("b{}", id.number()),
            text: text.to_owned(),
            is_whole,
        };
        (self.entry, text)
    }
}

/// The text from the first character that begins at or after a byte.
fn after(text: &str, at: usize) -> &str {
    let start = (at..text.len()).find(|&at| text.is_char_boundary(at));
    start
        .and_then(|start| text.get(start..))
        .unwrap_or_default()
}
