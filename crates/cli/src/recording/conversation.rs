//! The conversation of a recording, in the dialect of its first lines.

use bowline_jsonl::rpc::Message;
use bowline_jsonl::{Event, Framer, Item, RawJson, Str};
use bowline_reducer::dialect::{DialectName, recognize};
use bowline_reducer::{Meta, Transcript};

/// The transcript of a recording: of an agent's output, or of a trace, which has both directions.
///
/// A line of a trace is an object with `t` (seconds), `dir` (`agent>` or `host>`) and `msg`.
pub(crate) struct Conversation {
    transcript: Transcript,
    /// Whether the dialect is given, or was recognized.
    is_decided: bool,
    /// The agent's output in a trace.
    output: Framer,
}

impl Conversation {
    /// Begins a recording, in a dialect or in the one of its first lines.
    pub(crate) fn new(dialect: Option<DialectName>) -> Self {
        Self {
            transcript: Transcript::with_dialect(dialect.unwrap_or_default()),
            is_decided: dialect.is_some(),
            output: Framer::default(),
        }
    }

    pub(crate) const fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(crate) const fn transcript_mut(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// Applies a line that the host wrote.
    pub(crate) fn apply_input(&mut self, line: &str, at: Meta) {
        if let Some(line) = RawJson::parse(line) {
            self.decide(line);
        }
        self.transcript.apply_input(line, at);
    }

    /// Applies a line of the recording.
    pub(crate) fn apply(&mut self, item: &Item<'_>, at: Meta) {
        match &item.event {
            Ok(event) if is_of_trace(event.raw) => self.apply_traced(event),
            event => {
                if let Ok(event) = event {
                    self.decide(event.raw);
                }
                self.transcript.apply(item, at);
            }
        }
    }

    fn apply_traced(&mut self, event: &Event<'_>) {
        let line = event.raw;
        let seconds = line.get("t").and_then(RawJson::as_f64).unwrap_or_default();
        let at = Meta {
            at_ms: (seconds * 1_000.0) as u64,
        };
        let (Some(direction), Some(message)) = (direction(line), line.get("msg")) else {
            return;
        };
        self.decide(message);
        if direction == "host>" {
            self.transcript.apply_input(message.text(), at);
        } else if direction == "agent>" {
            self.output.push(format!("{message}\n").into());
            while let Some(frame) = self.output.next_frame() {
                for item in frame.items() {
                    self.transcript.apply(&item, at);
                }
            }
        }
    }

    /// Decides about the dialect by the first line that tells.
    pub(crate) fn decide(&mut self, line: RawJson<'_>) {
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

/// The name of a line in the dialect of its agent, for counts.
pub(crate) fn line_name(event: &Event<'_>) -> String {
    let line = event.raw;
    if is_of_trace(line) {
        let direction = direction(line).unwrap_or_default();
        let message = line.get("msg").and_then(Message::parse);
        return match message {
            Some(message) => format!("{direction} {}", message_name(&message)),
            None => direction.decode().into_owned(),
        };
    }
    match Message::parse(line).filter(|_| !event.is_known()) {
        Some(message) => message_name(&message),
        None => event.name(),
    }
}

/// The method of a message, and what kind of update or item it is about.
fn message_name(message: &Message<'_>) -> String {
    let (method, params) = match message {
        Message::Request { method, params, .. } | Message::Notification { method, params, .. } => {
            (method, params)
        }
        Message::Response { result, .. } => {
            let name = if result.is_ok() { "result" } else { "error" };
            return name.to_owned();
        }
    };
    let kind = |object: &str, key: &str| params.and_then(|it| it.get(object)?.get(key)?.as_str());
    let kind = kind("update", "sessionUpdate").or_else(|| kind("item", "type"));
    match kind {
        Some(kind) => format!("{method} {kind}"),
        None => method.decode().into_owned(),
    }
}

/// Whether a line is one of a trace.
pub(super) fn is_of_trace(line: RawJson<'_>) -> bool {
    direction(line).is_some() && line.get("msg").is_some()
}

fn direction(line: RawJson<'_>) -> Option<Str<'_>> {
    line.get("dir").and_then(RawJson::as_str)
}
