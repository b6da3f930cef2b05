//! Prints prompts, results, notices, errors, and the start of a session.

use std::time::Instant;

use bowline_reducer::{
    Changes, Entry, EntryId, EntryKind, MessageState, Outcome, Session, TextRef, Thread,
};

use super::layout::Section;
use super::state::RenderState;
use super::tool_call::tenths;
use crate::style::Paint;
use crate::text::{one_line, sanitize};

/// Number of lines of a sub-agent's prompt that are shown.
const PROMPT_LINES: usize = 2;

/// Start of the user message by which the agent marks an interrupt in the conversation.
const INTERRUPT_MARKER: &str = "[Request interrupted by user";

impl RenderState {
    pub(super) fn on_session(&mut self, session: Session<'_>) {
        // The id may arrive first; a conversation is open once the model is known.
        let (Some(id), Some(model)) = (session.id(), session.model()) else {
            return;
        };
        if self.session.as_deref() == Some(id) {
            return;
        }
        let label = if self.session.is_some() {
            "new conversation"
        } else {
            "session"
        };
        self.session = Some(id.to_owned());
        let text = format!("{label} {} with {}", one_line(id, 80), one_line(model, 80));
        self.layout.begin_section(0, Section::Note);
        self.layout
            .line(0, &[(Paint::Dim, "· "), (Paint::Dim, &text)]);
    }

    pub(super) fn on_entry(&mut self, changes: &Changes<'_>, id: EntryId, kind: EntryKind<'_>) {
        let Some(entry) = changes.transcript().entry_by_id(id) else {
            return;
        };
        if let EntryKind::Assistant { state, .. } = kind {
            return self.on_message_state(id, entry.thread(), state);
        }
        if self.defers_prompts {
            if entry.is_unconfirmed() {
                return;
            }
            if let Some(after) = entry.taken_up_after() {
                self.held_prompts.push((after, id));
                return;
            }
        }
        self.print_entry(changes, entry, kind);
    }

    /// Prints the prompts that the agent has taken up before an entry; without one, all.
    pub(super) fn print_held_prompts(&mut self, before: Option<EntryId>, changes: &Changes<'_>) {
        let is_due = |(after, _): &(EntryId, EntryId)| before.is_none_or(|it| *after < it);
        let mut due: Vec<_> = self.held_prompts.extract_if(.., |it| is_due(it)).collect();
        due.sort_unstable();
        for (_, id) in due {
            if let Some(entry) = changes.transcript().entry_by_id(id) {
                self.print_entry(changes, entry, entry.kind());
            }
        }
    }

    fn print_entry(&mut self, changes: &Changes<'_>, entry: Entry<'_>, kind: EntryKind<'_>) {
        let id = entry.id();
        if !self.entries.insert(id) {
            return;
        }
        self.print_ends(Some((entry.thread().id(), id)), changes);
        let depth = self.enter(entry.thread());
        match kind {
            EntryKind::User {
                uuid,
                text,
                synthetic,
                ..
            } => {
                self.print_prompt(depth, text, synthetic);
                self.print_author(depth, uuid);
            }
            EntryKind::Result { .. } => self.print_result_entry(changes, kind),
            EntryKind::Notice { notice, text } => self.print_notice(depth, notice, text),
            EntryKind::Error { text, .. } => {
                self.layout.begin_section(depth, Section::Note);
                self.layout.line(
                    depth,
                    &[
                        (Paint::Bad, "! "),
                        (Paint::Bad, &one_line(&text.to_cow(), 500)),
                    ],
                );
            }
            _ => {}
        }
        self.last_call = None;
    }

    /// Prints that a message was aborted.
    fn on_message_state(&mut self, id: EntryId, thread: Thread<'_>, state: MessageState) {
        let before = self.message_states.insert(id, state);
        let is_aborted = state == MessageState::Aborted && before != Some(state);
        if is_aborted && self.blocks.values().any(|shown| shown.entry == id) {
            let depth = self.enter(thread);
            self.layout.line(depth, &[(Paint::Dim, "(cut off)")]);
        }
    }

    pub(super) fn on_entry_removed(&mut self, id: EntryId) {
        let was_shown = self.entries.remove(&id) || self.blocks.values().any(|it| it.entry == id);
        if was_shown && self.retracted.insert(id) {
            self.print_retraction("(retracted)");
        }
        self.blocks.retain(|_, shown| shown.entry != id);
    }

    fn print_prompt(&mut self, depth: usize, text: TextRef<'_>, synthetic: bool) {
        let text = sanitize(&text.to_cow());
        if depth > 0 {
            return self
                .layout
                .excerpt(depth, "> ", &text, PROMPT_LINES, Paint::Dim);
        }
        let is_marker = text.starts_with(INTERRUPT_MARKER);
        if synthetic || is_marker {
            self.layout.begin_section(0, Section::Note);
            let label = if is_marker {
                ""
            } else {
                "prompt by the agent: "
            };
            let text = format!("{label}{}", text.trim());
            return self
                .layout
                .excerpt(0, "· ", &text, PROMPT_LINES, Paint::Dim);
        }
        if self.is_live {
            self.turn_started = Some(Instant::now());
        }
        self.layout.begin_section(0, Section::Prompt);
        let text = text.trim_matches('\n');
        for (number, line) in text.split('\n').enumerate() {
            let mark = if number == 0 { "> " } else { "  " };
            self.layout
                .line(0, &[(Paint::Bold, mark), (Paint::Bold, line)]);
        }
    }

    /// Prints which host sent a prompt, if that is known.
    fn print_author(&mut self, depth: usize, uuid: Option<&str>) {
        if let Some(author) = uuid.and_then(|it| self.authors.remove(it)) {
            let line = format!("  by {}", one_line(&author, 60));
            self.layout.line(depth, &[(Paint::Dim, &line)]);
        }
    }

    fn print_notice(&mut self, depth: usize, notice: &str, text: TextRef<'_>) {
        let name = match notice {
            // Their text needs no label.
            "informational" | "notification" | "local_command_output" => String::new(),
            name => one_line(name, 40).replace('_', " ") + ": ",
        };
        let text = sanitize(&text.to_cow());
        self.layout.begin_section(depth, Section::Note);
        let lead = format!("· {name}");
        let mut lines = text.trim().lines();
        let first = lines.next().unwrap_or_default();
        self.layout
            .line(depth, &[(Paint::Dim, &lead), (Paint::Dim, first)]);
        for line in lines {
            self.layout
                .line(depth, &[(Paint::Dim, "  "), (Paint::Dim, line)]);
        }
    }

    fn print_result_entry(&mut self, changes: &Changes<'_>, kind: EntryKind<'_>) {
        let EntryKind::Result {
            subtype,
            is_error,
            outcome,
            text,
            origin,
            num_turns,
            duration_ms,
        } = kind
        else {
            return;
        };
        self.turn_started = None;
        let (paint, mark, label) = match outcome {
            Outcome::Completed if is_error => (Paint::Bad, "✗ ", "failed"),
            Outcome::Completed => (Paint::Good, "✓ ", "done"),
            Outcome::Cancelled => (Paint::Ask, "⊘ ", "interrupted"),
            Outcome::Failed => (Paint::Bad, "✗ ", "failed"),
            Outcome::Suspended => (Paint::Ask, "… ", "suspended"),
            _ => (Paint::Dim, "· ", "ended"),
        };
        let has_failed = label == "failed";
        let mut line = label.to_owned();
        if has_failed && subtype != "success" {
            line.push_str(&format!(" ({})", one_line(subtype, 40)));
        }
        line.push_str(&format!(" after {}", tenths(duration_ms)));
        // Zero is what an agent has that counts neither.
        if num_turns > 0 {
            let plural = if num_turns == 1 { "" } else { "s" };
            line.push_str(&format!(", {num_turns} round trip{plural}"));
        }
        let cost = changes.transcript().usage().cost_usd();
        if cost > 0.0 {
            line.push_str(&format!(", ${cost:.4} so far"));
        }
        if let Some(origin) = origin {
            line.push_str(&format!(", started by a {}", one_line(origin, 40)));
        }
        // The text of an interrupted turn is a diagnostic of the agent.
        let text = text.filter(|_| outcome != Outcome::Cancelled);
        self.print_result_text(text, has_failed);
        self.layout.begin_section(0, Section::Note);
        self.layout.line(0, &[(paint, mark), (paint, &line)]);
        self.last_text = None;
    }

    /// Prints the text of a result, unless the model's last text is the same.
    fn print_result_text(&mut self, text: Option<TextRef<'_>>, has_failed: bool) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let shown = self.last_text.and_then(|block| self.blocks.get(&block));
        let is_shown = shown.is_some_and(|it| !has_failed || it.has_text(&text.to_cow()));
        if is_shown {
            return;
        }
        let text = sanitize(&text.to_cow());
        let paint = if has_failed { Paint::Bad } else { Paint::Plain };
        self.layout.begin_section(0, Section::Text);
        for line in text.trim().lines() {
            self.layout.line(0, &[(paint, line)]);
        }
    }
}
