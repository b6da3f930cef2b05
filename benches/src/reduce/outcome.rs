//! The conversation that a stream was folded into, for the comparison of reducers.

use std::fmt;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher, Hash};

use bowline_reducer::{Block, BlockKind, Entry, EntryKind, Thread, ToolCall, Transcript};

/// The values that both reducers must agree on. It includes every byte of every text, call and
/// result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Messages of the agent.
    pub messages: u64,
    /// Texts and thinking of the messages, by message and position.
    pub texts: u64,
    /// Tool calls with name, input and result.
    pub calls: u64,
    /// Ends of turns with their text.
    pub results: u64,
    /// Cost in dollars.
    pub cost: f64,
    /// Bytes of texts, tool inputs and results.
    pub bytes: u64,
}

impl Outcome {
    /// Adds text number `at` of a message.
    pub(super) fn text(&mut self, message: &str, at: usize, text: &str) {
        self.bytes += text.len() as u64;
        add(&mut self.texts, (message, at, text));
    }

    /// Adds a call: id, name and input, and text and error flag of its result.
    pub(super) fn call(&mut self, call: [&str; 3], result: Option<(&str, bool)>) {
        let given = result.map_or(0, |(text, _)| text.len());
        self.bytes += (call[2].len() + given) as u64;
        add(&mut self.calls, (call, result));
    }

    /// Adds the end of a turn.
    pub(super) fn result(&mut self, subtype: &str, text: &str) {
        self.bytes += text.len() as u64;
        add(&mut self.results, (subtype, text));
    }

    /// Returns the outcome of a transcript.
    #[must_use]
    pub fn of(transcript: &Transcript) -> Self {
        let mut outcome = Self {
            cost: transcript.usage().cost_usd(),
            ..Self::default()
        };
        outcome.thread(transcript, transcript.main());
        outcome
    }

    /// Adds a thread and those of its sub-agents.
    fn thread(&mut self, transcript: &Transcript, thread: Thread<'_>) {
        for entry in thread.entries() {
            self.entry(transcript, entry);
        }
        for call in thread.tool_calls().iter() {
            if let Some(thread) = call.subagent() {
                self.thread(transcript, thread);
            }
        }
    }

    fn entry(&mut self, transcript: &Transcript, entry: Entry<'_>) {
        match entry.kind() {
            EntryKind::Assistant {
                message_id, blocks, ..
            } => {
                self.messages += 1;
                for (at, block) in blocks.iter().enumerate() {
                    self.block(transcript, message_id, at, block);
                }
            }
            EntryKind::Result { subtype, text, .. } => {
                let text = text.map(|text| text.to_cow()).unwrap_or_default();
                self.result(subtype, &text);
            }
            _ => {}
        }
    }

    fn block(&mut self, transcript: &Transcript, message: &str, at: usize, block: Block<'_>) {
        match block.kind() {
            BlockKind::Text { text } | BlockKind::Thinking { text } => {
                self.text(message, at, &text.to_cow());
            }
            BlockKind::ToolCall { id } => {
                if let Some(call) = transcript.tool_call(id) {
                    self.tool_call(call);
                }
            }
            _ => {}
        }
    }

    fn tool_call(&mut self, call: ToolCall<'_>) {
        let input = call.input().map(|input| input.text()).unwrap_or_default();
        let result = (call.result()).map(|result| (result.text().to_cow(), result.is_error()));
        let result = result.as_ref().map(|(text, is_error)| (&**text, *is_error));
        self.call([call.id(), call.name(), &input], result);
    }
}

/// A sum, so that the order does not matter: the naive reducer does not order its calls.
fn add(sum: &mut u64, value: impl Hash) {
    let hash = BuildHasherDefault::<DefaultHasher>::new().hash_one(value);
    *sum = sum.wrapping_add(hash);
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} messages, texts {:x}, calls {:x}, results {:x}, {} dollars",
            self.messages, self.texts, self.calls, self.results, self.cost
        )
    }
}
