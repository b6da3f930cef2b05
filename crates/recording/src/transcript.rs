//! The transcript of a recording, in the dialect of its first lines.

use bowline_jsonl::{Framer, Item, RawJson};
use bowline_reducer::dialect::{DialectName, recognize};
use bowline_reducer::{Meta, Transcript};

use crate::trace::TraceLine;

/// The transcript of a recording: of an agent's output, or of a trace, which has both directions.
#[derive(Debug)]
pub struct RecordedTranscript {
    transcript: Transcript,
    /// Whether the dialect is given, or was recognized.
    is_decided: bool,
    /// The agent's output in a trace.
    output: Framer,
}

impl RecordedTranscript {
    /// Creates an empty transcript of a recording, in a dialect or in the one of its first lines.
    #[must_use]
    pub fn new(dialect: Option<DialectName>) -> Self {
        Self {
            transcript: Transcript::with_dialect(dialect.unwrap_or_default()),
            is_decided: dialect.is_some(),
            output: Framer::default(),
        }
    }

    /// Returns the transcript.
    #[must_use]
    pub const fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Returns the transcript, to fold what is not a line, or to read its changes.
    pub const fn transcript_mut(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// Applies a line that the host wrote.
    pub fn apply_input(&mut self, line: &str, at: Meta) {
        if let Some(line) = RawJson::parse(line) {
            self.decide(line);
        }
        self.transcript.apply_input(line, at);
    }

    /// Applies a line of the recording.
    pub fn apply(&mut self, item: &Item<'_>, at: Meta) {
        if let Ok(event) = &item.event {
            // A line of a trace has no type of its own.
            let traced = (!event.is_known()).then(|| TraceLine::parse(event.raw));
            if let Some(traced) = traced.flatten() {
                return self.apply_traced(traced);
            }
            self.decide(event.raw);
        }
        self.transcript.apply(item, at);
    }

    fn apply_traced(&mut self, line: TraceLine<'_>) {
        let TraceLine { message, at_ms, .. } = line;
        let at = Meta { at_ms };
        self.decide(message);
        match &*line.direction.decode() {
            "host>" => self.transcript.apply_input(message.text(), at),
            "agent>" => {
                self.output.push(format!("{message}\n").into());
                while let Some(frame) = self.output.next_frame() {
                    for item in frame.items() {
                        self.transcript.apply(&item, at);
                    }
                }
            }
            _ => {}
        }
    }

    /// Determines the dialect by the first line that identifies one.
    pub fn decide(&mut self, line: RawJson<'_>) {
        if !self.is_decided
            && let Some(dialect) = recognize([line])
        {
            if self.transcript.dialect() != dialect {
                self.transcript.set_dialect(dialect);
            }
            self.is_decided = true;
        }
    }
}
