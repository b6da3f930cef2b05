//! The history of an agent that another host started, while it is being folded.
//!
//! Another host answered most requests in the history. The agent's echo of an answer shows that;
//! requests without an echo are answered when the history is over.

/// A history that is being folded.
#[derive(Debug)]
pub(super) struct Replay {
    output: Extent,
    input: Extent,
    control: Extent,
    /// Replies to requests that have no echoed answer so far: the request id, and the line.
    unanswered: Vec<(String, Vec<u8>)>,
}

/// The part of a stream that belongs to the history.
#[derive(Debug)]
struct Extent {
    /// End offset of what was folded.
    folded: u64,
    /// End offset of the history.
    until: u64,
}

impl Extent {
    const fn is_over(&self) -> bool {
        self.folded >= self.until
    }
}

impl Replay {
    /// Returns the replay of a history with these numbers of bytes of output, input and the control stream, or
    /// `None` if there is none.
    #[cfg(any(test, feature = "remote"))]
    pub(super) fn new(output: u64, input: u64, control: u64) -> Option<Self> {
        let extent = |until| Extent { folded: 0, until };
        let replay = Self {
            output: extent(output),
            input: extent(input),
            control: extent(control),
            unanswered: Vec::new(),
        };
        (!replay.is_over()).then_some(replay)
    }

    /// Notes that more bytes of output were folded.
    pub(super) const fn advance_output(&mut self, length: u64) {
        self.output.folded += length;
    }

    /// Notes that the output up to an offset is missing.
    pub(super) const fn skip_output(&mut self, to: u64) {
        self.output.folded = to;
    }

    /// Notes that more bytes of input were folded.
    pub(super) const fn advance_input(&mut self, length: u64) {
        self.input.folded += length;
    }

    /// Notes that the input up to an offset is missing.
    pub(super) const fn skip_input(&mut self, to: u64) {
        self.input.folded = to;
    }

    /// Notes that the control stream was read up to an offset.
    pub(super) const fn skip_control(&mut self, to: u64) {
        self.control.folded = to;
    }

    /// Returns whether all of the history is folded.
    pub(super) const fn is_over(&self) -> bool {
        self.output.is_over() && self.input.is_over() && self.control.is_over()
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
