//! Generated lines for the reducer: any number of one kind.

use std::fmt::Write as _;

use bytes::Bytes;

const SESSION: &str = "8f14e45f-ceea-467f-a0e6-c7b1d3a5f201";

/// The text of one delta, in 25 bytes.
const PIECE: &str = "a piece of what it says, ";

/// The output of a tool, in 64 bytes.
const OUTPUT: &str = "one line of what a tool gives back to the model when it is done.";

/// Writes lines in the shapes and key orders of the agent; ids never repeat.
#[derive(Debug, Default)]
pub struct Script {
    out: String,
    lines: u64,
    messages: u64,
}

impl Script {
    /// Adds a streamed message: its start, `deltas` of one text block, its line and its end.
    #[must_use]
    pub fn streamed(self, deltas: usize) -> Self {
        self.begin().deltas(deltas).end(deltas)
    }

    /// Adds the beginning of a streamed message with one empty text block.
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

    /// Adds deltas of the current block.
    #[must_use]
    pub fn deltas(mut self, deltas: usize) -> Self {
        for _ in 0..deltas {
            self.event(&format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{PIECE}"}}}}"#
            ));
        }
        self
    }

    /// Adds the end of the current message, which had `deltas`.
    #[must_use]
    pub fn end(mut self, deltas: usize) -> Self {
        let text = PIECE.repeat(deltas);
        self.push_assistant(&format!(r#"{{"type":"text","text":"{text}"}}"#));
        self.event(r#"{"type":"content_block_stop","index":0}"#);
        self.event(r#"{"type":"message_stop"}"#);
        self
    }

    /// Adds finished messages, each with a text, a tool call and its result: one entry and one call
    /// per message.
    #[must_use]
    pub fn finished(mut self, messages: usize) -> Self {
        for _ in 0..messages {
            self.messages += 1;
            let id = self.messages;
            self.push_assistant(&format!(
                r#"{{"type":"text","text":"{PIECE}"}},{{"type":"tool_use","id":"toolu_{id}","name":"Bash","input":{{"command":"ls"}}}}"#
            ));
            self.gives(id);
        }
        self
    }

    /// Adds one finished message with a text of at least `bytes` bytes.
    #[must_use]
    pub fn long(mut self, bytes: usize) -> Self {
        self.messages += 1;
        let text = OUTPUT.repeat(bytes.div_ceil(OUTPUT.len()));
        self.push_assistant(&format!(r#"{{"type":"text","text":"{text}"}}"#));
        self
    }

    /// Takes the lines written so far; later ones continue the stream.
    pub fn take(&mut self) -> Bytes {
        Bytes::from(std::mem::take(&mut self.out))
    }

    fn gives(&mut self, id: u64) {
        self.line(&format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{id}","type":"tool_result","content":"{OUTPUT}","is_error":false}}]}},"parent_tool_use_id":null"#
        ));
    }

    fn push_assistant(&mut self, blocks: &str) {
        let id = self.messages;
        self.line(&format!(
            r#"{{"type":"assistant","message":{{"id":"msg_{id}","type":"message","role":"assistant","model":"m","content":[{blocks}]}},"parent_tool_use_id":null"#
        ));
    }

    /// Writes a `stream_event` line with its members in the agent's order.
    fn event(&mut self, event: &str) {
        self.lines += 1;
        let (id, number) = (self.messages, self.lines);
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.out,
            r#"{{"type":"stream_event","event":{event},"session_id":"{SESSION}","parent_tool_use_id":null,"uuid":"{number:08x}-0000-4000-8000-{number:012x}","api_message_id":"msg_{id}"}}"#
        );
    }

    /// Writes a line without its session, uuid and end.
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
