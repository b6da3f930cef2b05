//! Lines for the reducer: as many of one kind as a question needs.

use std::fmt::Write as _;

use bytes::Bytes;

const SESSION: &str = "8f14e45f-ceea-467f-a0e6-c7b1d3a5f201";

/// The text of one delta, in 25 bytes.
const PIECE: &str = "a piece of what it says, ";

/// What a tool gives, in 64 bytes.
const OUTPUT: &str = "one line of what a tool gives back to the model when it is done.";

/// Writes lines in the shapes and key orders of the agent; ids never repeat.
#[derive(Debug, Default)]
pub struct Script {
    out: String,
    lines: u64,
    messages: u64,
}

impl Script {
    /// A streamed message: its start, so many deltas of one text block, its line and its end.
    #[must_use]
    pub fn streamed(self, deltas: usize) -> Self {
        self.begin().deltas(deltas).end(deltas)
    }

    /// The beginning of a streamed message with one text block, and nothing of it yet.
    #[must_use]
    pub fn begin(mut self) -> Self {
        self.messages += 1;
        let id = self.messages;
        self.event(&format!(
            r#"{{"type":"message_start","message":{{"id":"msg_{id}","type":"message","role":"assistant","model":"m","content":[]}}}}"#
        ));
        self.event(
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        );
        self
    }

    /// Deltas of the block that was begun.
    #[must_use]
    pub fn deltas(mut self, deltas: usize) -> Self {
        for _ in 0..deltas {
            self.event(&format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{PIECE}"}}}}"#
            ));
        }
        self
    }

    /// The end of the message that was begun, which had so many deltas.
    #[must_use]
    pub fn end(mut self, deltas: usize) -> Self {
        let text = PIECE.repeat(deltas);
        self.says(&format!(r#"{{"type":"text","text":"{text}"}}"#));
        self.event(r#"{"type":"content_block_stop","index":0}"#);
        self.event(r#"{"type":"message_stop"}"#);
        self
    }

    /// So many finished messages, each with a text, a tool call and its result: one entry and one
    /// call a message.
    #[must_use]
    pub fn finished(mut self, messages: usize) -> Self {
        for _ in 0..messages {
            self.messages += 1;
            let id = self.messages;
            self.says(&format!(
                r#"{{"type":"text","text":"{PIECE}"}},{{"type":"tool_use","id":"toolu_{id}","name":"Bash","input":{{"command":"ls"}}}}"#
            ));
            self.gives(id);
        }
        self
    }

    /// One finished message that says a text of at least so many bytes.
    #[must_use]
    pub fn long(mut self, bytes: usize) -> Self {
        self.messages += 1;
        let text = OUTPUT.repeat(bytes.div_ceil(OUTPUT.len()));
        self.says(&format!(r#"{{"type":"text","text":"{text}"}}"#));
        self
    }

    /// Takes the lines that were written; the next ones go on behind them.
    pub fn take(&mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.out))
    }

    fn gives(&mut self, id: u64) {
        self.line(&format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{id}","type":"tool_result","content":"{OUTPUT}","is_error":false}}]}},"parent_tool_use_id":null"#
        ));
    }

    fn says(&mut self, blocks: &str) {
        let id = self.messages;
        self.line(&format!(
            r#"{{"type":"assistant","message":{{"id":"msg_{id}","type":"message","role":"assistant","model":"m","content":[{blocks}]}},"parent_tool_use_id":null"#
        ));
    }

    /// A `stream_event` line, its members in the order in which the agent writes them.
    fn event(&mut self, event: &str) {
        self.lines += 1;
        let (id, number) = (self.messages, self.lines);
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.out,
            r#"{{"type":"stream_event","event":{event},"session_id":"{SESSION}","parent_tool_use_id":null,"uuid":"{number:08x}-0000-4000-8000-{number:012x}","api_message_id":"msg_{id}"}}"#
        );
    }

    /// A line without its session, uuid and end.
    fn line(&mut self, members: &str) {
        self.lines += 1;
        let number = self.lines;
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.out,
            r#"{members},"session_id":"{SESSION}","uuid":"{number:08x}-0000-4000-8000-{number:012x}"}}"#
        );
    }
}
