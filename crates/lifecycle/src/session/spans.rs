//! Tracing spans of a session: one for the session, one per turn, one per tool call, and one for
//! starting or attaching.
//!
//! Names and fields follow OpenTelemetry's conventions for sessions, processes and generative AI
//! where one exists; others begin with `bowline.`. Spans hold ids, names and numbers, and no text of
//! the user, the model or a tool.

use std::collections::HashMap;
use std::path::Path;

use bowline_reducer::{Outcome, Transcript};
use bowline_transport::TerminalSession;
use tracing::field::{Empty, debug};
use tracing::{Level, Span, debug_span, info_span};

use crate::configuration::DialogueConfiguration;
use crate::events::{DialogueEventKind, PendingEvent};
use crate::registry::TokenUsage;

/// The open spans of a session.
#[derive(Debug)]
pub(super) struct SessionSpans {
    session: Span,
    turn: Option<Span>,
    turns: u64,
    tools: HashMap<String, Span>,
}

pub(super) fn session_span(terminal: &TerminalSession) -> Span {
    info_span!(
        "session",
        session.id = %terminal.id(),
        process.pid = terminal.pid(),
        gen_ai.conversation.id = Empty,
    )
}

/// The span of starting an agent, locally or at a runner, around the span of the process's spawn.
pub(super) fn start_span(configuration: &DialogueConfiguration) -> Span {
    let program = Path::new(&configuration.program);
    let name = program.file_name().unwrap_or_default();
    debug_span!("start", process.executable.name = %name.display())
}

#[cfg(feature = "remote")]
pub(super) fn attach_span(session: bowline_transport::SessionId) -> Span {
    debug_span!("attach", session.id = %session)
}

impl SessionSpans {
    /// Creates the spans, if spans are recorded.
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

    pub(super) fn event(&mut self, event: &PendingEvent) {
        match &event.kind {
            DialogueEventKind::Delta { .. }
            | DialogueEventKind::Text { .. }
            | DialogueEventKind::Thinking { .. } => drop(self.turn()),
            DialogueEventKind::ToolUse { id, name, .. } => self.tool(id, name),
            DialogueEventKind::ToolResult { id, is_error, .. } => {
                if let Some(span) = self.tools.remove(id)
                    && *is_error
                {
                    span.record("error.type", "tool_error");
                }
            }
            DialogueEventKind::TurnEnd {
                outcome, cost_usd, ..
            } => self.turn_ended(*outcome, *cost_usd),
            DialogueEventKind::SessionTimeout(silence) => {
                let seconds = silence.silent_for.as_secs();
                self.session.in_scope(|| {
                    tracing::warn!(phase = %silence.phase, seconds, "terminating a silent agent");
                });
            }
            DialogueEventKind::OlderAgent(agent) => {
                self.session.in_scope(|| {
                    tracing::info!(version = %agent.version, missing = agent.describe_missing(), "older agent");
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

    /// Records what the transcript knows at the end of a turn, and what the turn used.
    pub(super) fn usage(&mut self, transcript: &Transcript, used: TokenUsage) {
        if let Some(id) = transcript.session().id() {
            self.session.record("gen_ai.conversation.id", id);
        }
        let turn = self.turn();
        turn.record("gen_ai.usage.input_tokens", used.input_tokens);
        turn.record("gen_ai.usage.output_tokens", used.output_tokens);
    }

    fn turn_ended(&mut self, outcome: Outcome, cost_usd: f64) {
        let turn = self.turn();
        if outcome == Outcome::Failed {
            turn.record("error.type", "turn_failed");
        }
        turn.record("bowline.turn.outcome", debug(outcome));
        turn.record("bowline.session.cost_usd", cost_usd);
        self.turn = None;
    }

    /// Returns the span of the open turn. It begins with the first event of the turn.
    fn turn(&mut self) -> Span {
        let turn = self.turn.get_or_insert_with(|| {
            self.turns += 1;
            info_span!(
                parent: &self.session,
                "invoke_agent",
                gen_ai.operation.name = "invoke_agent",
                bowline.turn.number = self.turns,
                bowline.turn.outcome = Empty,
                bowline.session.cost_usd = Empty,
                gen_ai.usage.input_tokens = Empty,
                gen_ai.usage.output_tokens = Empty,
                error.type = Empty,
            )
        });
        turn.clone()
    }

    fn tool(&mut self, id: &str, name: &str) {
        let span = debug_span!(
            parent: &self.turn(),
            "execute_tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.call.id = id,
            gen_ai.tool.name = name,
            error.type = Empty,
        );
        self.tools.insert(id.to_owned(), span);
    }
}
