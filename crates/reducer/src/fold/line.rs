//! How a line enters the transcript.

use bowline_jsonl::{Event, Item, ParseError, ParseErrorKind, Position};

use crate::host::Meta;
use crate::host_log::LoggedHostEvent;
use crate::record::{EntryBody, EntryId};
use crate::repetition::LineOrigin;
use crate::state::ErrorKind;
use crate::transcript::{LineContext, PartialLine, Transcript};

/// Longest excerpt of a bad line in an error entry, in bytes of the line.
const MAX_EXCERPT: usize = 80;

/// Length of a CR and an LF.
const MAX_LINE_END: u64 = 2;

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
            json_end: json_end(item),
            at_ms: at.at_ms,
        };
        self.line = context;
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
            matches!(body, Some(EntryBody::Error(_) | EntryBody::Notice(_)))
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
        match self.dialect.take() {
            None => self.dispatch(event, context),
            Some(dialect) => self.dialect_line(dialect, event.raw),
        }
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
            end: self.applied + bytes,
            json_end: self.applied + bytes,
            ..LineContext::between(self.applied, at.at_ms)
        };
        self.line = context;
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
}

/// Offset after the JSON of a line. The line end is not part of it: a reader may deliver the line
/// before its LF has come.
fn json_end(item: &Item<'_>) -> u64 {
    let end = item.at.offset + item.raw.len() as u64;
    if item.at.end.saturating_sub(end) <= MAX_LINE_END {
        return end;
    }
    item.at.end - u64::from(!item.at.is_tail)
}

/// An escaped excerpt of a bad line.
fn excerpt(raw: &[u8]) -> String {
    let head = String::from_utf8_lossy(raw.get(..MAX_EXCERPT).unwrap_or(raw));
    let dots = if raw.len() > MAX_EXCERPT { "…" } else { "" };
    format!("\"{}{dots}\"", head.escape_debug())
}
