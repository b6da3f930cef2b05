//! The history of an agent that another host started, while it is being folded.
//!
//! Another host answered most requests in the history. The agent's echo of an answer shows that;
//! requests without an echo are answered when the history is over.

/// A history that is being folded.
#[derive(Debug)]
pub(super) struct Replay {
    /// End offset of the history.
    until: u64,
    /// End offset of what was folded.
    folded: u64,
    /// Replies to requests that have no echoed answer so far: the request id, and the line.
    unanswered: Vec<(String, Vec<u8>)>,
}

impl Replay {
    /// Returns the replay of a history of `until` bytes, or `None` if there is none.
    #[cfg(any(test, feature = "remote"))]
    pub(super) fn new(until: u64) -> Option<Self> {
        (until > 0).then_some(Self {
            until,
            folded: 0,
            unanswered: Vec::new(),
        })
    }

    /// Advances to the offset that `advance` makes of the current one. Returns whether the history
    /// is over.
    pub(super) fn advance(&mut self, advance: impl FnOnce(u64) -> u64) -> bool {
        self.folded = advance(self.folded);
        self.folded >= self.until
    }

    /// Keeps the reply to a request until the history is over.
    pub(super) fn keep_reply(&mut self, request_id: &str, line: Vec<u8>) {
        self.unanswered.push((request_id.to_owned(), line));
    }

    /// Drops the reply to a request that another host has answered.
    pub(super) fn answered(&mut self, request_id: &str) {
        self.unanswered.retain(|(id, _)| id != request_id);
    }

    /// Returns the replies that no host has given.
    pub(super) fn missing_replies(self) -> impl Iterator<Item = Vec<u8>> {
        self.unanswered.into_iter().map(|(_, line)| line)
    }
}
