//! Prompts, ends of turns, notices, errors, and the session's head.

use std::time::Instant;

use bowline_reducer::{
    Changes, EntryId, EntryKind, MessageState, Outcome, Session, TextRef, Thread,
};

use crate::view::call::seconds;
use crate::view::clean::{clean, one_line};
use crate::view::page::Group;
use crate::view::renderer::Renderer;
use crate::view::style::Paint;

/// How much of a sub-agent's prompt is shown, in lines.
const PROMPT_LINES: usize = 2;

/// How the agent marks an interrupt in the conversation, as if the user had said so (protocol,
/// section B.6).
const INTERRUPTED: &str = "[Request interrupted by user";

impl Renderer {
    pub(super) fn session(&mut self, session: Session<'_>) {
        // The id may be known before the rest; the line that names the model opens the conversation.
        let (Some(id), Some(model)) = (session.id(), session.model()) else {
            return;
        };
        if self.session.as_deref() == Some(id) {
            return;
        }
        let word = if self.session.is_some() {
            "a new conversation"
        } else {
            "session"
        };
        self.session = Some(id.to_owned());
        let text = format!("{word} {} with {}", one_line(id, 80), one_line(model, 80));
        self.page.group(0, Group::Aside);
        self.page
            .line(0, &[(Paint::Dim, "· "), (Paint::Dim, &text)]);
    }

    pub(super) fn entry(&mut self, changes: &Changes<'_>, id: EntryId, kind: EntryKind<'_>) {
        let Some(entry) = changes.transcript().entry_by_id(id) else {
            return;
        };
        if let EntryKind::Assistant { state, .. } = kind {
            return self.message_state(id, entry.thread(), state);
        }
        if !self.entries.insert(id) {
            return;
        }
        self.end_calls(Some((entry.thread().id(), id)), changes);
        let depth = self.enter(entry.thread());
        match kind {
            EntryKind::User {
                text, synthetic, ..
            } => self.prompt(depth, text, synthetic),
            EntryKind::Result { .. } => self.result(changes, kind),
            EntryKind::Notice { notice, text } => self.notice(depth, notice, text),
            EntryKind::Error { text, .. } => {
                self.page.group(depth, Group::Aside);
                self.page.line(
                    depth,
                    &[
                        (Paint::Bad, "! "),
                        (Paint::Bad, &one_line(&text.to_cow(), 500)),
                    ],
                );
            }
            EntryKind::Assistant { .. } => {}
        }
        self.last_call = None;
    }

    /// A message that was cut is said to be.
    fn message_state(&mut self, id: EntryId, thread: Thread<'_>, state: MessageState) {
        let before = self.aborted.insert(id, state);
        let is_news = state == MessageState::Aborted && before != Some(state);
        if is_news && self.blocks.values().any(|shown| shown.entry == id) {
            let depth = self.enter(thread);
            self.page.line(depth, &[(Paint::Dim, "(cut off)")]);
        }
    }

    pub(super) fn entry_removed(&mut self, id: EntryId) {
        let was_shown = self.entries.remove(&id) || self.blocks.values().any(|it| it.entry == id);
        if was_shown && self.taken_back.insert(id) {
            self.take_back("(taken back)");
        }
        self.blocks.retain(|_, shown| shown.entry != id);
    }

    fn prompt(&mut self, depth: usize, text: TextRef<'_>, synthetic: bool) {
        let text = clean(&text.to_cow());
        if depth > 0 {
            return self
                .page
                .excerpt(depth, "> ", &text, PROMPT_LINES, Paint::Dim);
        }
        let is_marker = text.starts_with(INTERRUPTED);
        if synthetic || is_marker {
            self.page.group(0, Group::Aside);
            let who = if is_marker {
                ""
            } else {
                "the agent to itself: "
            };
            let text = format!("{who}{}", text.trim());
            return self.page.excerpt(0, "· ", &text, PROMPT_LINES, Paint::Dim);
        }
        if self.is_live {
            self.turn_since = Some(Instant::now());
        }
        self.page.group(0, Group::Prompt);
        let text = text.trim_matches('\n');
        for (number, line) in text.split('\n').enumerate() {
            let mark = if number == 0 { "> " } else { "  " };
            self.page
                .line(0, &[(Paint::Bold, mark), (Paint::Bold, line)]);
        }
    }

    fn notice(&mut self, depth: usize, notice: &str, text: TextRef<'_>) {
        let name = match notice {
            // These say it all in their text.
            "informational" | "notification" | "local_command_output" => String::new(),
            name => one_line(name, 40).replace('_', " ") + ": ",
        };
        let text = clean(&text.to_cow());
        self.page.group(depth, Group::Aside);
        let lead = format!("· {name}");
        let mut lines = text.trim().lines();
        let first = lines.next().unwrap_or_default();
        self.page
            .line(depth, &[(Paint::Dim, &lead), (Paint::Dim, first)]);
        for line in lines {
            self.page
                .line(depth, &[(Paint::Dim, "  "), (Paint::Dim, line)]);
        }
    }

    fn result(&mut self, changes: &Changes<'_>, kind: EntryKind<'_>) {
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
        self.turn_since = None;
        let (paint, mark, word) = match outcome {
            Outcome::Completed if is_error => (Paint::Bad, "✗ ", "failed"),
            Outcome::Completed => (Paint::Good, "✓ ", "done"),
            Outcome::Cancelled => (Paint::Ask, "⊘ ", "interrupted"),
            Outcome::Failed => (Paint::Bad, "✗ ", "failed"),
            Outcome::Suspended => (Paint::Ask, "… ", "suspended"),
        };
        let mut line = word.to_owned();
        if word == "failed" && subtype != "success" {
            line.push_str(&format!(" ({})", one_line(subtype, 40)));
        }
        line.push_str(&format!(" after {}", seconds(duration_ms)));
        let plural = if num_turns == 1 { "" } else { "s" };
        line.push_str(&format!(", {num_turns} round trip{plural}"));
        line.push_str(&format!(
            ", ${:.4} so far",
            changes.transcript().usage().cost_usd()
        ));
        if let Some(origin) = origin {
            line.push_str(&format!(", started by a {}", one_line(origin, 40)));
        }
        // What an interrupted turn gives as its text is about the agent's insides.
        let text = text.filter(|_| outcome != Outcome::Cancelled);
        self.untold(text, word == "failed");
        self.page.group(0, Group::Aside);
        self.page.line(0, &[(paint, mark), (paint, &line)]);
        self.last_said = None;
    }

    /// The text of a result, unless the model said it just now.
    fn untold(&mut self, text: Option<TextRef<'_>>, failed: bool) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let said = self.last_said.and_then(|block| self.blocks.get(&block));
        let is_told = said.is_some_and(|shown| !failed || shown.says(&text.to_cow()));
        if is_told {
            return;
        }
        let text = clean(&text.to_cow());
        let paint = if failed { Paint::Bad } else { Paint::Plain };
        self.page.group(0, Group::Said);
        for line in text.trim().lines() {
            self.page.line(0, &[(paint, line)]);
        }
    }
}
