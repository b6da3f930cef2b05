//! The byte streams of a child.

/// One of the child's byte streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// stdout on pipes; everything on a PTY.
    Output,
    /// stderr on pipes; empty and ended on a PTY.
    Errors,
}
