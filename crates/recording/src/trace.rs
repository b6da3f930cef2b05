//! Lines of traces, which record both directions.

use bowline_jsonl::{RawJson, Str};

/// A line of a trace: an object with `t` (seconds), `dir` (`agent>` or `host>`) and `msg`.
#[derive(Clone, Copy, Debug)]
pub struct TraceLine<'a> {
    /// The writer of the message: `agent>`, `host>`, or another word of the recorder.
    pub direction: Str<'a>,
    /// The message.
    pub message: RawJson<'a>,
    /// When it was written, in milliseconds by the recorder's clock; 0 if unknown.
    pub at_ms: u64,
}

impl<'a> TraceLine<'a> {
    /// Parses a line; `None` if it is not one of a trace.
    #[must_use]
    pub fn parse(line: RawJson<'a>) -> Option<Self> {
        let direction = line.get("dir").and_then(RawJson::as_str)?;
        let message = line.get("msg")?;
        let seconds = line.get("t").and_then(RawJson::as_f64).unwrap_or_default();
        Some(Self {
            direction,
            message,
            at_ms: (seconds * 1_000.0) as u64,
        })
    }
}
