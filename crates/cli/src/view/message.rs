//! What the model says and thinks, as it grows.

use bowline_reducer::{Block, BlockId, BlockKind, Changes, EntryId, EntryKind, TextRef};

use crate::view::clean::{Cleaner, one_line};
use crate::view::page::{Group, Place};
use crate::view::renderer::Renderer;
use crate::view::style::Paint;

/// What was written of a block.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) entry: EntryId,
    is_thought: bool,
    /// The agent's text so far, to find out what is new of it.
    text: String,
    cleaner: Cleaner,
    is_begun: bool,
}

impl Shown {
    fn new(entry: EntryId, is_thought: bool) -> Self {
        Self {
            entry,
            is_thought,
            text: String::new(),
            cleaner: Cleaner::default(),
            is_begun: false,
        }
    }

    /// Whether it says this, white space at the ends left aside.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.text.trim() == text.trim()
    }
}

impl Renderer {
    pub(super) fn block(
        &mut self,
        changes: &Changes<'_>,
        block: BlockId,
        entry: EntryId,
        value: BlockKind<'_>,
    ) {
        let (text, is_thought) = match value {
            BlockKind::Text { text } => (text, false),
            BlockKind::Thinking { text } => (text, true),
            BlockKind::RedactedThinking => {
                return self.aside(changes, block, entry, "┊ (not shown)");
            }
            BlockKind::Other { raw } => return self.aside(changes, block, entry, &raw.text()),
            // The call is a change of its own.
            BlockKind::ToolCall { .. } => return,
        };
        self.blocks
            .entry(block)
            .or_insert_with(|| Shown::new(entry, is_thought));
        self.update(changes, block, &text.to_cow());
    }

    pub(super) fn append(
        &mut self,
        changes: &Changes<'_>,
        block: BlockId,
        from: u32,
        text: TextRef<'_>,
    ) {
        let Some(shown) = self.blocks.get(&block) else {
            return;
        };
        if from as usize == shown.text.len() {
            return self.extend(changes, block, &text.to_cow());
        }
        if let Some(text) = self.find(changes, block).and_then(Block::text) {
            self.update(changes, block, &text.to_cow());
        }
    }

    /// Brings what is written of a block to its text.
    fn update(&mut self, changes: &Changes<'_>, block: BlockId, text: &str) {
        let Some(shown) = self.blocks.get_mut(&block) else {
            return;
        };
        if let Some(new) = text.strip_prefix(shown.text.as_str()) {
            return self.extend(changes, block, new);
        }
        *shown = Shown::new(shown.entry, shown.is_thought);
        self.take_back("(taken back, trying again)");
        self.extend(changes, block, text);
    }

    /// Half of a character that was cut between two pieces looks like one that cannot be read, so
    /// that it waits for what comes next.
    fn hold_back<'a>(&mut self, changes: &Changes<'_>, block: BlockId, new: &'a str) -> &'a str {
        let Some(whole) = new.strip_suffix(char::REPLACEMENT_CHARACTER) else {
            return new;
        };
        if !self.find(changes, block).is_some_and(Block::is_growing) {
            return new;
        }
        self.waiting.push(block);
        whole
    }

    /// Ends the lines of texts that do not grow any more, and writes what was held back of them.
    pub(super) fn close_finished(&mut self, changes: &Changes<'_>) {
        for block in std::mem::take(&mut self.waiting) {
            match self.find(changes, block) {
                Some(view) if view.is_growing() => self.waiting.push(block),
                Some(view) => {
                    let text = view.text().map(|text| text.to_cow().into_owned());
                    self.update(changes, block, &text.unwrap_or_default());
                }
                None => {}
            }
        }
        let open = self.page.open_block();
        if let Some(open) = open
            && !self.find(changes, open).is_some_and(Block::is_growing)
        {
            self.page.end_line();
        }
    }

    fn find<'a>(&self, changes: &Changes<'a>, block: BlockId) -> Option<Block<'a>> {
        let entry = changes
            .transcript()
            .entry_by_id(self.blocks.get(&block)?.entry)?;
        match entry.kind() {
            EntryKind::Assistant { blocks, .. } => blocks.iter().find(|it| it.id() == block),
            _ => None,
        }
    }

    fn extend(&mut self, changes: &Changes<'_>, block: BlockId, new: &str) {
        let new = self.hold_back(changes, block, new);
        let Some(shown) = self.blocks.get_mut(&block) else {
            return;
        };
        shown.text.push_str(new);
        let mut text = String::with_capacity(new.len());
        shown.cleaner.push(new, &mut text);
        if text.is_empty() {
            return;
        }
        let (is_thought, goes_on) = (shown.is_thought, shown.is_begun);
        if !goes_on {
            text.drain(..text.len() - text.trim_start_matches('\n').len());
            if text.is_empty() {
                return;
            }
            shown.is_begun = true;
        }
        let entry = shown.entry;
        let Some(depth) = self.reach(changes, block, entry) else {
            return;
        };
        if !goes_on {
            self.page.group(
                depth,
                if is_thought {
                    Group::Thought
                } else {
                    Group::Said
                },
            );
        }
        let place = Place {
            block,
            depth,
            is_thought,
            goes_on,
        };
        self.page.grow(place, &text);
    }

    /// Gets the page ready for a block; gives the depth it stands at.
    fn reach(&mut self, changes: &Changes<'_>, block: BlockId, entry: EntryId) -> Option<usize> {
        let thread = changes.transcript().entry_by_id(entry)?.thread();
        self.end_calls(Some((thread.id(), entry)), changes);
        if self.page.open_block() != Some(block) {
            self.page.end_line();
        }
        let depth = self.enter(thread);
        self.last_call = None;
        if depth == 0 {
            self.last_said = Some(block);
        }
        Some(depth)
    }

    /// A block that is not text, on one line.
    fn aside(&mut self, changes: &Changes<'_>, block: BlockId, entry: EntryId, text: &str) {
        if self.blocks.contains_key(&block) {
            return;
        }
        self.blocks.insert(block, Shown::new(entry, false));
        let Some(depth) = self.reach(changes, block, entry) else {
            return;
        };
        let room = self.page.room(depth);
        self.page.group(depth, Group::Thought);
        self.page
            .line(depth, &[(Paint::Dim, &one_line(text, room))]);
    }

    pub(super) fn block_removed(&mut self, block: BlockId) {
        let Some(shown) = self.blocks.remove(&block) else {
            return;
        };
        if shown.is_begun && self.taken_back.insert(shown.entry) {
            self.take_back("(taken back)");
        }
    }

    /// Says that something that was written does not hold any more.
    pub(super) fn take_back(&mut self, words: &str) {
        self.page.end_line();
        self.page.line(0, &[(Paint::Dim, words)]);
    }
}
