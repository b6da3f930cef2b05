//! The pieces of which every dialect's fold is made: the methods of [`Fold`].

mod call;
mod message;
mod request;
mod session;
mod thread;
mod turn;

use std::ops::Range;

use crate::host::Meta;
use crate::host_log::LoggedHostEvent;
use crate::transcript::{Dialect, Fold, LineContext, Transcript};

use bowline_jsonl::RawJson;

pub use call::{CallEnd, CallUpdate};
pub use message::{Place, TextKind};
pub use request::Request;
pub use turn::{Prompt, TurnEnd};

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
    /// stream needs none: its prompts and answers are [`HostEvent`](crate::HostEvent)s, and the line is
    /// ignored.
    pub fn apply_input(&mut self, line: &str, at: Meta) {
        if self.dialect.is_none() {
            return;
        }
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
