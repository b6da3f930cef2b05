//! The pieces of which every dialect's fold is made: [`Fold`].

mod call;
mod message;
mod request;
mod session;
mod thread;
mod turn;

use std::ops::Range;

use crate::dialect::Dialect;
use crate::host::Meta;
use crate::host_log::LoggedHostEvent;
use crate::transcript::{LineContext, Transcript};

use bowline_jsonl::RawJson;

pub use call::{CallEnd, CallUpdate};
pub use message::{Place, TextKind};
pub use request::Request;
pub use turn::{Prompt, TurnEnd};

/// The transcript while one line is folded into it: what a [`Dialect`] writes to.
///
/// It knows the line's arrival time and its byte range in the output stream, and stamps everything
/// that the line adds or changes with them, so that no method takes them.
///
/// | to | call |
/// |---|---|
/// | find the thread of a line | [`main`](Self::main), [`thread`](Self::thread), [`hold_thread`](Self::hold_thread) |
/// | write a prompt, or confirm the host's | [`prompt`](Self::prompt) |
/// | write text or reasoning | [`append`](Self::append), [`set_text`](Self::set_text), [`close_message`](Self::close_message) |
/// | announce, change or end a tool call | [`upsert_call`](Self::upsert_call), [`append_output`](Self::append_output), [`end_call`](Self::end_call) |
/// | ask the host | [`open_request`](Self::open_request), [`answer_request`](Self::answer_request), [`withdraw_request`](Self::withdraw_request) |
/// | begin and end a turn | [`begin_turn`](Self::begin_turn), [`end_turn`](Self::end_turn) |
/// | describe the session | the setters: [`set_plan`](Self::set_plan), [`set_context`](Self::set_context), … |
/// | say something beside the conversation | [`notice`](Self::notice) |
/// | skip a line | [`unknown`](Self::unknown), [`is_duplicate`](Self::is_duplicate) |
///
/// # Ids
///
/// Ids of calls and requests are unique in a session. An agent whose ids are unique only within a
/// thread or a process needs them qualified, such as `thread:item` or `run:id` with
/// [`run`](Self::run).
///
/// # Order
///
/// Nothing depends on an order that an agent may change: a call may come first with its permission,
/// its sub-agent or its end; a thread may come before the call that holds it; a message may be
/// continued after another one.
#[derive(Debug)]
pub struct Fold<'t> {
    it: &'t mut Transcript,
}

impl Fold<'_> {
    /// Returns the arrival time of the line, in milliseconds by the host's clock; 0 if unknown.
    #[must_use]
    pub const fn at_ms(&self) -> u64 {
        self.it.line.at_ms
    }

    /// Replaces the arrival time by the time that the line carries, if the arrival time is unknown.
    pub fn set_at_ms(&mut self, at_ms: u64) {
        if self.it.line.at_ms == 0 {
            self.it.line.at_ms = at_ms;
        }
    }

    /// Returns the byte range of the line in the output stream, without its line end; empty for a
    /// line of input.
    #[must_use]
    pub const fn bytes(&self) -> Range<u64> {
        self.it.line.offset..self.it.line.json_end
    }

    /// Returns the number of restarts of the process.
    #[must_use]
    pub const fn run(&self) -> u32 {
        self.it.run
    }

    /// Returns the transcript so far.
    #[must_use]
    pub const fn transcript(&self) -> &Transcript {
        self.it
    }

    /// Marks what follows as repeated from the agent's own history, or as new.
    pub fn set_history(&mut self, is_history: bool) {
        self.it.is_history = is_history;
    }

    pub(crate) const fn line(&self) -> LineContext {
        self.it.line
    }
}

impl Transcript {
    /// Applies a line that the host wrote to the agent, at its place between the lines of output.
    ///
    /// Requests and answers of JSON-RPC dialects make sense only beside the input. Claude Code's
    /// stream needs none: its prompts and answers are [`HostEvent`](crate::HostEvent)s.
    pub fn apply_input(&mut self, line: &str, at: Meta) {
        self.log_host_event(|| LoggedHostEvent::Input { line: line.into() }, at);
        self.line = LineContext::between(self.applied, at.at_ms);
        if let Some(line) = RawJson::parse(line)
            && let Some(mut dialect) = self.dialect.take()
        {
            dialect.input(line, &mut Fold { it: self });
            self.dialect = Some(dialect);
        }
    }

    /// Applies a line of output by a dialect, which was taken from the transcript.
    pub(crate) fn dialect_line(&mut self, mut dialect: Box<dyn Dialect>, line: RawJson<'_>) {
        dialect.output(line, &mut Fold { it: self });
        self.dialect = Some(dialect);
    }

    /// Tells the dialect that the stream has ended.
    pub(crate) fn end_dialect(&mut self) {
        if let Some(mut dialect) = self.dialect.take() {
            dialect.end(&mut Fold { it: self });
            self.dialect = Some(dialect);
        }
    }
}
