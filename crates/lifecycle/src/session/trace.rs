//! The session as spans: one for the session, one for each turn, one for each tool call. They carry
//! names, ids and numbers, and nothing that the user, the model or a tool said.

use std::collections::HashMap;

use tracing::field::Empty;
use tracing::{Level, Span, debug_span, info_span};

use crate::events::{DialogueEventKind, Told};

/// The spans of a session that are open.
#[derive(Debug)]
pub(super) struct Tracer {
    session: Span,
    turn: Option<Span>,
    turns: u64,
    tools: HashMap<String, Span>,
}

/// The span of a session.
pub(super) fn session_span(id: impl std::fmt::Display, pid: Option<u32>) -> Span {
    info_span!("session", %id, pid)
}

impl Tracer {
    /// A tracer, if anybody wants spans.
    pub(super) fn new(session: &Span) -> Option<Box<Self>> {
        tracing::enabled!(Level::INFO).then(|| {
            Box::new(Self {
                session: session.clone(),
                turn: None,
                turns: 0,
                tools: HashMap::new(),
            })
        })
    }

    pub(super) fn told(&mut self, told: &Told) {
        match &told.kind {
            DialogueEventKind::Delta { .. }
            | DialogueEventKind::Text { .. }
            | DialogueEventKind::Thinking { .. } => drop(self.turn()),
            DialogueEventKind::ToolUse { id, name, .. } => self.tool(id, name),
            DialogueEventKind::ToolResult { id, is_error, .. } => {
                if let Some(span) = self.tools.remove(id) {
                    span.record("is_error", is_error);
                }
            }
            DialogueEventKind::TurnEnd {
                outcome, cost_usd, ..
            } => self.turn_end(*outcome, *cost_usd),
            DialogueEventKind::SessionTimeout(silence) => {
                let seconds = silence.silent_for.as_secs();
                self.session.in_scope(|| {
                    tracing::warn!(phase = %silence.phase, seconds, "ended by the watchdog");
                });
            }
            DialogueEventKind::SessionEnd { expected, .. } => {
                self.tools.clear();
                self.turn = None;
                self.session
                    .in_scope(|| tracing::info!(expected, "session ended"));
            }
            _ => {}
        }
    }

    fn turn_end(&mut self, outcome: bowline_reducer::Outcome, cost_usd: f64) {
        let turn = self.turn();
        turn.record("outcome", tracing::field::debug(outcome));
        turn.record("cost_usd", cost_usd);
        self.turn = None;
    }

    /// The open turn; it opens with the first thing that is said in it.
    fn turn(&mut self) -> Span {
        let turn = self.turn.get_or_insert_with(|| {
            self.turns += 1;
            let number = self.turns;
            info_span!(parent: &self.session, "turn", number, outcome = Empty, cost_usd = Empty)
        });
        turn.clone()
    }

    fn tool(&mut self, id: &str, name: &str) {
        let turn = self.turn();
        let span = debug_span!(parent: &turn, "tool", id, name, is_error = Empty);
        self.tools.insert(id.to_owned(), span);
    }
}
