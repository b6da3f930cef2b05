//! Prints the model's text and thinking as they grow.

use bowline_reducer::{Block, BlockId, BlockKind, Changes, EntryId, EntryKind, TextRef};

use super::layout::Section;
use super::state::{RenderState, ShownBlock};
use super::wrap::BlockPosition;
use crate::style::Paint;
use crate::text::one_line;

impl RenderState {
    pub(super) fn on_block(
        &mut self,
        changes: &Changes<'_>,
        block: BlockId,
        entry: EntryId,
        value: BlockKind<'_>,
    ) {
        let (text, is_thinking) = match value {
            BlockKind::Text { text } => (text, false),
            BlockKind::Thinking { text } => (text, true),
            BlockKind::RedactedThinking => {
                return self.print_opaque(changes, block, entry, "┊ (not shown)");
            }
            BlockKind::Other { raw } => {
                return self.print_opaque(changes, block, entry, &raw.text());
            }
            // The call has a change of its own.
            _ => return,
        };
        self.blocks
            .entry(block)
            .or_insert_with(|| ShownBlock::new(entry, is_thinking));
        self.update(changes, block, &text.to_cow());
    }

    pub(super) fn on_append(
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

    /// Prints the difference between what was printed of a block and its text.
    fn update(&mut self, changes: &Changes<'_>, block: BlockId, text: &str) {
        let Some(shown) = self.blocks.get_mut(&block) else {
            return;
        };
        if let Some(new) = text.strip_prefix(shown.text.as_str()) {
            return self.extend(changes, block, new);
        }
        *shown = ShownBlock::new(shown.entry, shown.is_thinking);
        self.print_retraction("(retracted; retrying)");
        self.extend(changes, block, text);
    }

    /// Returns the part of `new` that can be printed now: the first half of a character that was cut
    /// between two pieces decodes as a replacement character, and waits for the other half.
    fn complete_part<'a>(
        &mut self,
        changes: &Changes<'_>,
        block: BlockId,
        new: &'a str,
    ) -> &'a str {
        let Some(complete) = new.strip_suffix(char::REPLACEMENT_CHARACTER) else {
            return new;
        };
        if !self.find(changes, block).is_some_and(Block::is_growing) {
            return new;
        }
        self.incomplete.push(block);
        complete
    }

    /// Ends the lines of texts that have stopped growing, and prints what was held back of them.
    pub(super) fn finish_blocks(&mut self, changes: &Changes<'_>) {
        for block in std::mem::take(&mut self.incomplete) {
            match self.find(changes, block) {
                Some(view) if view.is_growing() => self.incomplete.push(block),
                Some(view) => {
                    let text = view.text().map(|text| text.to_cow().into_owned());
                    self.update(changes, block, &text.unwrap_or_default());
                }
                None => {}
            }
        }
        if let Some(open) = self.layout.open_block()
            && !self.find(changes, open).is_some_and(Block::is_growing)
        {
            self.layout.end_line();
        }
    }

    fn find<'a>(&self, changes: &Changes<'a>, block: BlockId) -> Option<Block<'a>> {
        let entry = self.blocks.get(&block)?.entry;
        match changes.transcript().entry_by_id(entry)?.kind() {
            EntryKind::Assistant { blocks, .. } => blocks.iter().find(|it| it.id() == block),
            _ => None,
        }
    }

    fn extend(&mut self, changes: &Changes<'_>, block: BlockId, new: &str) {
        let new = self.complete_part(changes, block, new);
        let Some(shown) = self.blocks.get_mut(&block) else {
            return;
        };
        shown.text.push_str(new);
        let mut text = String::with_capacity(new.len());
        shown.sanitizer.push(new, &mut text);
        let (is_thinking, is_continued) = (shown.is_thinking, shown.has_begun);
        if !is_continued {
            text.drain(..text.len() - text.trim_start_matches('\n').len());
        }
        if text.is_empty() {
            return;
        }
        shown.has_begun = true;
        let entry = shown.entry;
        let Some(depth) = self.begin_block(changes, block, entry) else {
            return;
        };
        if !is_continued {
            let section = if is_thinking {
                Section::Thinking
            } else {
                Section::Text
            };
            self.layout.begin_section(depth, section);
        }
        let position = BlockPosition {
            block,
            depth,
            is_thinking,
            is_continued,
        };
        self.layout.append(position, &text);
    }

    /// Prepares the layout for a block of an entry and returns its depth.
    fn begin_block(
        &mut self,
        changes: &Changes<'_>,
        block: BlockId,
        entry: EntryId,
    ) -> Option<usize> {
        let thread = changes.transcript().entry_by_id(entry)?.thread();
        self.print_ends(Some((thread.id(), entry)), changes);
        if self.layout.open_block() != Some(block) {
            self.layout.end_line();
        }
        let depth = self.enter(thread);
        self.last_call = None;
        if depth == 0 {
            self.last_text = Some(block);
        }
        Some(depth)
    }

    /// Prints a block that is not text, on one line.
    fn print_opaque(&mut self, changes: &Changes<'_>, block: BlockId, entry: EntryId, text: &str) {
        if self.blocks.contains_key(&block) {
            return;
        }
        self.blocks.insert(block, ShownBlock::new(entry, false));
        let Some(depth) = self.begin_block(changes, block, entry) else {
            return;
        };
        let width = self.layout.width_at(depth);
        self.layout.begin_section(depth, Section::Thinking);
        self.layout
            .line(depth, &[(Paint::Dim, &one_line(text, width))]);
    }

    pub(super) fn on_block_removed(&mut self, block: BlockId) {
        let Some(shown) = self.blocks.remove(&block) else {
            return;
        };
        if shown.has_begun && self.retracted.insert(shown.entry) {
            self.print_retraction("(retracted)");
        }
    }
}
