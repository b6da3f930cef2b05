//! A conversation that was read.

use bowline_jsonl::Framer;
use bowline_reducer::{Meta, Transcript};
use bytes::Bytes;

use crate::conversation::Conversation;

/// A past conversation as a stream in the agent's output format, which replay, inspection and sessions
/// take.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Past {
    /// The conversation.
    pub conversation: Conversation,
    /// The branch that ends with the last leaf, with the transcripts of sub-agents in place. Damaged
    /// lines are there as they are.
    pub stream: Bytes,
}

impl Past {
    pub(crate) fn new(conversation: Conversation, stream: Vec<u8>) -> Self {
        let stream = stream.into();
        Self {
            conversation,
            stream,
        }
    }

    /// Folds the conversation. Its entries are marked as history.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::new();
        let at_ms = self.conversation.last_activity_ms;
        let mut framer = Framer::default();
        framer.push(self.stream.clone());
        transcript.fold_history(framer, Meta { at_ms });
        transcript
    }
}
