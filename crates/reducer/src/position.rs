//! Positions: in the log of a session, and among the records of a transcript.

/// A position in the log of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition {
    /// Number of restarts of the process; offsets restart at 0 in each run.
    pub run: u32,
    /// Byte offset in that run.
    pub offset: u64,
}

/// The next number of each kind of record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NextIds {
    pub(crate) thread: usize,
    pub(crate) entry: usize,
    pub(crate) block: usize,
    pub(crate) call: usize,
    pub(crate) result: usize,
    pub(crate) task: usize,
    pub(crate) permission: usize,
}
