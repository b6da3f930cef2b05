//! The fold of Claude Code's stream-json (`crates/jsonl/PROTOCOL.md`).

mod assistant;
mod call;
mod content;
mod control;
mod draft;
mod notice;
mod options;
mod plan;
mod result;
mod session;
mod system;
mod task;
mod turn;
mod user;

use bowline_jsonl::{Body, Event, Str};

use crate::transcript::{LineContext, Transcript};
use crate::uuids::Uuid;

impl Transcript {
    pub(crate) fn dispatch(&mut self, event: &Event<'_>, context: LineContext) {
        if is_terminal_echo(event) {
            return;
        }
        if self.is_duplicate(event) {
            self.note_duplicate(context);
            self.counters.duplicates += 1;
            return;
        }
        self.note_session(event);
        match &event.body {
            Body::Stream(stream) => self.stream(event, stream, context),
            Body::Assistant(assistant) => self.assistant(event, assistant, context),
            Body::User(user) => self.user(event, user, context),
            Body::System(system) => self.system(event, system, context),
            Body::Result(result) => self.result(event, result, context),
            Body::ControlRequest(request) => self.control_request(request, context),
            Body::ControlResponse(response) => self.control_response(response, context),
            Body::ControlCancelRequest { request_id } => self.control_cancel(*request_id),
            Body::ConversationReset(reset) => self.conversation_reset(reset, context),
            Body::CommandLifecycle(command) => self.command(command),
            Body::ToolUseSummary(summary) => {
                self.notice_of("tool_use_summary", summary.summary, context)
            }
            Body::RateLimit { info } => self.rate_limit(*info, context),
            Body::AuthStatus(status) => self.notice_of("auth_status", status.error, context),
            Body::Unknown { kind } => self.unknown_line(event, *kind, context),
            _ => {}
        }
    }

    /// Whether a line with this uuid came before, at another offset.
    fn is_duplicate(&mut self, event: &Event<'_>) -> bool {
        let Some(uuid) = Uuid::of(event.uuid) else {
            return false;
        };
        match &event.body {
            // An echo is compared with the prompt that it repeats.
            Body::User(user) if user.is_replay => false,
            Body::Assistant(_) => self.uuids.effect(uuid).is_some() && !self.is_page,
            Body::User(_) | Body::Result(_) => self.uuids.check_and_record(uuid) && !self.is_page,
            _ => self.uuids.check_recent(uuid) && !self.is_page,
        }
    }
}

/// Whether the line is the host's own input, echoed by a terminal.
///
/// The agent's lines always have a session, and only the agent sends tool results.
fn is_terminal_echo(event: &Event<'_>) -> bool {
    let Body::User(user) = &event.body else {
        return false;
    };
    event.session_id.is_none_or(Str::is_empty) && !content::has_results(user)
}
