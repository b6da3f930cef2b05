//! Byte streams of a child.

/// One of the child's byte streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// stdout on pipes; all output on a PTY.
    Output,
    /// stderr on pipes; empty and closed on a PTY.
    Errors,
}
