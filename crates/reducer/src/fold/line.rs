//! How a line enters the transcript.

use bowline_jsonl::{Body, Event, Item, ParseError, ParseErrorKind, Position, Str};

use crate::fold::content;
use crate::host::Meta;
use crate::host_log::LoggedHostEvent;
use crate::record::{EntryBody, EntryId};
use crate::repetition::LineOrigin;
use crate::state::ErrorKind;
use crate::transcript::{LineContext, PartialLine, Transcript};
use crate::uuids::Uuid;

/// Longest excerpt of a bad line in an error entry, in bytes of the line.
const MAX_EXCERPT: usize = 80;

impl Transcript {
    /// Applies the next line of the stream, whether it is an event or not.
    ///
    /// A line that begins before [`Transcript::applied`] is ignored, so that a replay may begin
    /// anywhere.
    pub fn apply(&mut self, item: &Item<'_>, at: Meta) {
        if item.at.offset < self.applied {
            return self.extend(item.at.end);
        }
        self.discard_partial_line(item.at.offset);
        if self.window.is_some() {
            self.maintain_window();
        }
        let context = LineContext {
            offset: item.at.offset,
            end: item.at.end,
            at_ms: at.at_ms,
        };
        let is_repeated = self.is_repeated(item, at);
        self.applied = context.end;
        self.count(item.at);
        if is_repeated {
            return self.drop_repeated(item, context);
        }
        match &item.event {
            Ok(event) => self.event(event, context),
            Err(error) => self.bad_line(error, item, context),
        }
    }

    /// Whether the stream is repeated from its beginning, and this line was applied before.
    #[inline]
    fn is_repeated(&mut self, item: &Item<'_>, at: Meta) -> bool {
        if self.is_page {
            return false;
        }
        match self.repetition.observe(item, self.entries.len()) {
            LineOrigin::New => false,
            LineOrigin::Repeated => true,
            LineOrigin::Completed(first) => {
                self.retract_lines_since(first, at);
                false
            }
            LineOrigin::Beginning(first) => {
                if let Some(first) = first {
                    self.retract_lines_since(first, at);
                }
                true
            }
        }
    }

    /// Removes the entries of lines that came again, from the entry with this number on.
    fn retract_lines_since(&mut self, first: usize, at: Meta) {
        let is_of_line = |id: &EntryId| {
            let body = self.entries.get(id).map(|entry| &entry.body);
            matches!(
                body,
                Some(EntryBody::Error { .. } | EntryBody::Notice { .. })
            )
        };
        let numbers = (first..self.entries.len()).map(|at| EntryId::new(at as u32));
        let entries: Box<[_]> = numbers.filter(is_of_line).collect();
        for &id in &entries {
            self.remove_entry(id);
        }
        self.log_host_event(|| LoggedHostEvent::Retracted { entries }, at);
    }

    /// Drops a line that was applied before.
    fn drop_repeated(&mut self, item: &Item<'_>, context: LineContext) {
        self.note_duplicate(context);
        self.counters.events += u64::from(item.event.is_ok());
        self.counters.duplicates += 1;
    }

    /// Handles a last line without LF that arrives again with one.
    fn extend(&mut self, end: u64) {
        if end > self.applied {
            self.counters.bytes += end - self.applied;
            self.applied = end;
            self.touch_stats();
        }
    }

    fn count(&mut self, at: Position) {
        self.counters.bytes += at.end - at.offset;
        self.counters.lines += 1;
        self.touch_stats();
    }

    fn event(&mut self, event: &Event<'_>, context: LineContext) {
        self.counters.events += 1;
        self.note_output();
        self.dispatch(event, context);
    }

    fn bad_line(&mut self, error: &ParseError, item: &Item<'_>, context: LineContext) {
        let raw = item.raw;
        let (kind, text) = match error.kind() {
            ParseErrorKind::Truncated => {
                let text = format!("the input ended {} bytes into {}", raw.len(), excerpt(raw));
                (ErrorKind::Truncated, text)
            }
            kind => (ErrorKind::Parse, format!("{kind}, got {}", excerpt(raw))),
        };
        let entry = self.error(kind, &text, context);
        match kind {
            ErrorKind::Parse => self.counters.parse_errors += 1,
            _ => self.counters.is_truncated = true,
        }
        // Without an LF it is the end of the input. A reader that continues at its first byte may
        // deliver the complete line.
        if item.at.is_tail {
            self.applied = context.offset;
            let bytes = context.end - context.offset;
            let at = Meta {
                at_ms: context.at_ms,
            };
            let text = || text.into_boxed_str();
            self.log_host_event(
                || LoggedHostEvent::PartialLine {
                    kind,
                    text: text(),
                    bytes,
                },
                at,
            );
            self.partial_line = Some(PartialLine {
                entry,
                kind,
                offset: context.offset,
                bytes,
            });
        }
    }

    /// Removes the incomplete line when the line at its offset arrives.
    fn discard_partial_line(&mut self, offset: u64) {
        let Some(partial_line) = self
            .partial_line
            .take_if(|partial_line| partial_line.offset == offset)
        else {
            return;
        };
        self.remove_entry(partial_line.entry);
        self.counters.bytes -= partial_line.bytes;
        self.counters.lines -= 1;
        match partial_line.kind {
            ErrorKind::Parse => self.counters.parse_errors -= 1,
            _ => self.counters.is_truncated = false,
        }
    }

    /// Records the first output.
    pub(crate) fn note_output(&mut self) {
        if !self.evidence.has_output {
            self.evidence.has_output = true;
            self.touch_status();
        }
    }

    /// Skips a line that is known to be a duplicate.
    pub(crate) fn skip_duplicate(&mut self, item: &Item<'_>) {
        if item.at.offset >= self.applied {
            self.applied = item.at.end;
            self.count(item.at);
            self.counters.events += 1;
            self.counters.duplicates += 1;
        }
    }

    /// Adds an incomplete line at the end of the input again, for a page.
    pub(crate) fn replay_partial_line(
        &mut self,
        kind: ErrorKind,
        text: &str,
        bytes: u64,
        at: Meta,
    ) {
        let context = LineContext {
            offset: self.applied,
            end: self.applied + bytes,
            at_ms: at.at_ms,
        };
        self.counters.bytes += bytes;
        self.counters.lines += 1;
        match kind {
            ErrorKind::Parse => self.counters.parse_errors += 1,
            _ => self.counters.is_truncated = true,
        }
        let entry = self.error(kind, text, context);
        self.partial_line = Some(PartialLine {
            entry,
            kind,
            offset: context.offset,
            bytes,
        });
    }

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
            Body::ControlResponse(response) => self.control_response(response),
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

/// An escaped excerpt of a bad line.
fn excerpt(raw: &[u8]) -> String {
    let head = String::from_utf8_lossy(raw.get(..MAX_EXCERPT).unwrap_or(raw));
    let dots = if raw.len() > MAX_EXCERPT { "…" } else { "" };
    format!("\"{}{dots}\"", head.escape_debug())
}
