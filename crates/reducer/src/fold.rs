//! What each kind of line does to the transcript.

mod assistant;
mod call;
mod control;
mod draft;
mod end;
mod evidence;
mod host;
mod notice;
mod result;
mod session;
mod system;
mod task;
#[cfg(test)]
mod tests;
mod turn;
mod user;

pub(crate) use draft::Draft;
pub(crate) use evidence::{Ended, Evidence};
pub use evidence::{OpenWork, Status};
pub(crate) use result::UsageRecord;
pub(crate) use session::{SessionRecord, Tally};

use bowline_jsonl::{Body, Event, Str};

use crate::transcript::{Here, Transcript};
use crate::uuids::Uuid;

impl Transcript {
    pub(crate) fn dispatch(&mut self, event: &Event<'_>, here: Here) {
        if is_typed_back(event) {
            return;
        }
        if self.is_duplicate(event) {
            self.note_dropped(here);
            self.tally.duplicates += 1;
            return;
        }
        self.note_session(event);
        match &event.body {
            Body::Stream(stream) => self.stream(event, stream, here),
            Body::Assistant(assistant) => self.assistant(event, assistant, here),
            Body::User(user) => self.user(event, user, here),
            Body::System(system) => self.system(event, system, here),
            Body::Result(result) => self.result(event, result, here),
            Body::ControlRequest(request) => self.control_request(request, here),
            Body::ControlResponse(response) => self.control_response(response),
            Body::ControlCancelRequest { request_id } => self.control_cancel(*request_id),
            Body::ConversationReset(reset) => self.conversation_reset(reset, here),
            Body::CommandLifecycle(command) => self.command(command),
            Body::ToolUseSummary(summary) => {
                self.notice_of("tool_use_summary", summary.summary, here)
            }
            Body::RateLimit { info } => self.rate_limit(*info, here),
            Body::AuthStatus(status) => self.notice_of("auth_status", status.error, here),
            Body::Unknown { kind } => self.unknown_line(event, *kind, here),
            _ => {}
        }
    }

    /// Whether a line with this uuid came before, at another offset.
    fn is_duplicate(&mut self, event: &Event<'_>) -> bool {
        let Some(uuid) = event.uuid else {
            return false;
        };
        let uuid = Uuid::new(&uuid.decode());
        match &event.body {
            // What an echo means depends on what it says.
            Body::User(user) if user.is_replay => false,
            Body::Assistant(_) => self.uuids.is_known(uuid, true) && !self.is_page,
            Body::User(_) | Body::Result(_) => self.uuids.is_known(uuid, false) && !self.is_page,
            _ => self.uuids.is_repeated(uuid) && !self.is_page,
        }
    }
}

/// Whether the line is the host's own, typed back by a terminal: it belongs to no session.
///
/// The agent's own lines always carry their session, and only the agent gives tool results.
fn is_typed_back(event: &Event<'_>) -> bool {
    let Body::User(user) = &event.body else {
        return false;
    };
    event.session_id.is_none_or(Str::is_empty) && !user::has_results(user)
}
