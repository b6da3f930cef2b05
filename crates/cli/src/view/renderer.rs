//! Dispatches changes to the modules that print them.

use bowline_reducer::{Change, Changes, Entry};

use super::layout::Section;
use super::state::RenderState;
use crate::style::{ColorMode, Paint};

/// Renders the changes of one transcript as text.
#[derive(Debug)]
pub(crate) struct Renderer(RenderState);

impl Renderer {
    /// Creates a renderer for a recording.
    pub(crate) fn new(colors: ColorMode) -> Self {
        Self(RenderState::new(colors, false))
    }

    /// Creates a renderer for a running session, which measures durations.
    pub(crate) fn live(colors: ColorMode) -> Self {
        Self(RenderState::new(colors, true))
    }

    /// Prints a prompt once the agent has confirmed it, where its turn begins, instead of when it is sent.
    pub(crate) const fn defer_unconfirmed_prompts(&mut self) {
        self.0.defers_prompts = true;
    }

    /// Prints the answer to a permission request together with the name of the host or rule that gave it. At a runner, the
    /// name arrives shortly after the answer; output of the agent that depends on the answer is printed later than both.
    pub(crate) const fn await_names_of_answers(&mut self) {
        self.0.awaits_names = true;
    }

    /// Omits the past of a resumed conversation.
    pub(crate) const fn hide_history(&mut self) {
        self.0.hides_history = true;
    }

    /// Sets the host that sent a prompt, by its uuid, which is printed with it.
    pub(crate) fn set_author(&mut self, uuid: String, author: String) {
        self.0.authors.insert(uuid, author);
    }

    /// Returns the last lines that a running tool has printed, if the agent reports them.
    pub(crate) fn live_output(&self, lines: usize) -> Vec<String> {
        self.0.live_output(lines)
    }

    /// Wraps and truncates lines at this many columns.
    pub(crate) const fn set_width(&mut self, columns: usize) {
        self.0.layout.set_width(columns);
    }

    /// Whether the next text starts a line.
    pub(crate) const fn is_at_line_start(&self) -> bool {
        self.0.layout.is_at_line_start()
    }

    /// Formats a caption of the program.
    pub(crate) fn caption(&mut self, text: &str) -> String {
        let layout = &mut self.0.layout;
        layout.begin_section(0, Section::Caption);
        layout.line(0, &[(Paint::Bold, "── "), (Paint::Bold, text)]);
        layout.take()
    }

    /// Ends the line that is being written, so that other text can be printed.
    pub(crate) fn end_line(&mut self) -> String {
        self.0.layout.end_line();
        self.0.layout.take()
    }

    /// Describes in at most `width` columns what the agent is doing.
    pub(crate) fn activity(&self, width: usize) -> String {
        self.0.activity(width)
    }

    /// Renders changes.
    pub(crate) fn render(&mut self, changes: &Changes<'_>) -> String {
        for change in changes.iter() {
            if !(self.0.hides_history && is_history(changes, &change)) {
                self.apply(changes, &change);
            }
        }
        self.0.print_held_prompts(None, changes);
        self.0.print_ends(None, changes);
        self.0.finish_blocks(changes);
        self.0.layout.take()
    }

    fn apply(&mut self, changes: &Changes<'_>, change: &Change<'_>) {
        let state = &mut self.0;
        let follows_answers = match change {
            Change::Entry { .. } | Change::Block { .. } | Change::Append { .. } => true,
            Change::ToolCall { value, .. } => !value.state().is_open(),
            _ => false,
        };
        if follows_answers {
            state.print_unnamed(changes);
        }
        if let Change::Entry { entry, .. } | Change::Block { entry, .. } = change {
            state.print_held_prompts(Some(*entry), changes);
        }
        match change {
            Change::Session { session } => state.on_session(*session),
            Change::Entry { entry, value, .. } => state.on_entry(changes, *entry, *value),
            Change::EntryRemoved { entry } => state.on_entry_removed(*entry),
            Change::Block {
                block,
                entry,
                value,
                ..
            } => state.on_block(changes, *block, *entry, *value),
            Change::Append {
                block, from, text, ..
            } => state.on_append(changes, *block, *from, *text),
            Change::BlockRemoved { block } => state.on_block_removed(*block),
            Change::ToolCall { call, value, .. } => state.on_call(changes, *call, *value),
            Change::ToolCallRemoved { call } => state.on_call_removed(*call),
            Change::Task { task, value } => state.on_task(changes, task, *value),
            Change::Permission { permission, value } => {
                state.on_permission(changes, *permission, *value)
            }
            // A reset repeats everything; what was printed is recognized by its id.
            _ => {}
        }
    }
}

/// Whether a change is about the past of a resumed conversation.
fn is_history(changes: &Changes<'_>, change: &Change<'_>) -> bool {
    let entry = match change {
        Change::Entry { entry, .. } | Change::Block { entry, .. } => {
            changes.transcript().entry_by_id(*entry)
        }
        Change::ToolCall { value, .. } => value.entry(),
        _ => None,
    };
    entry.is_some_and(Entry::is_history)
}
