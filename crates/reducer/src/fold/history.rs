//! Past conversations, which come before the stream of a session.

use bowline_jsonl::{Body, Event, Framer, Item, Str};

use crate::host::{HostEvent, Meta};
use crate::time::unix_ms;
use crate::transcript::Transcript;

impl Transcript {
    /// Applies a whole past conversation, before the stream of the session that resumes it: all lines that were pushed
    /// to `framer`, as [`apply_history`](Self::apply_history) does, and its end, at `at`.
    pub fn fold_history(&mut self, mut framer: Framer, at: Meta) {
        framer.finish();
        while let Some(frame) = framer.next_frame() {
            frame.items().for_each(|item| self.apply_history(&item));
        }
        self.apply_host(HostEvent::HistoryEnded, at);
    }

    /// Applies a line of a past conversation: a stream in the agent's output format, whose lines have a
    /// `timestamp`. The arrival time is that of the line, or 0. Its entries are marked as history.
    ///
    /// [`HostEvent::HistoryEnded`] ends the past. A line of the session with the `uuid` of a past one is a
    /// duplicate.
    pub fn apply_history(&mut self, item: &Item<'_>) {
        let time = item.event.as_ref().ok().and_then(timestamp);
        let at_ms = time.and_then(|time| unix_ms(&time.decode()));
        let at = Meta {
            at_ms: at_ms.unwrap_or_default(),
        };
        if !self.is_history {
            self.apply_host(HostEvent::HistoryStarted, at);
        }
        self.apply(item, at);
    }

    /// Closes what the past left open, and begins the stream of the session. A call without a result was
    /// cut off, since an agent adds the result of every call that it resumes with.
    pub(crate) fn end_history(&mut self) {
        self.close_all();
        self.is_history = false;
        self.restart_stream();
        self.evidence.has_output = false;
        self.touch_status();
    }
}

fn timestamp<'a>(event: &Event<'a>) -> Option<Str<'a>> {
    match &event.body {
        Body::Assistant(line) => line.timestamp,
        Body::User(line) => line.timestamp,
        _ => None,
    }
}
