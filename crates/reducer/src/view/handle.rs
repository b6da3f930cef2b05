//! Handles: a borrowed transcript and the id of a record. What they show is in the modules above.

use crate::record::{BlockId, CallId, EntryId, ThreadId};
use crate::transcript::Transcript;

/// A sequence of entries: the main thread, or that of a sub-agent. See [`Transcript::main`].
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    pub(super) transcript: &'a Transcript,
    pub(super) id: ThreadId,
}

impl<'a> Thread<'a> {
    pub(crate) const fn new(transcript: &'a Transcript, id: ThreadId) -> Self {
        Self { transcript, id }
    }
}

/// One row of a transcript. See [`Transcript::entries`].
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub(super) transcript: &'a Transcript,
    pub(super) id: EntryId,
}

impl<'a> Entry<'a> {
    pub(crate) const fn new(transcript: &'a Transcript, id: EntryId) -> Self {
        Self { transcript, id }
    }
}

/// One part of a message. See [`Blocks::iter`](crate::Blocks::iter).
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    pub(super) transcript: &'a Transcript,
    pub(super) id: BlockId,
}

impl<'a> Block<'a> {
    pub(crate) const fn new(transcript: &'a Transcript, id: BlockId) -> Self {
        Self { transcript, id }
    }
}

/// A tool use and its result. See [`Transcript::tool_call`].
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    pub(super) transcript: &'a Transcript,
    pub(super) id: CallId,
}

impl<'a> ToolCall<'a> {
    pub(crate) const fn new(transcript: &'a Transcript, id: CallId) -> Self {
        Self { transcript, id }
    }
}
