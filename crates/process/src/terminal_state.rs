//! State of a terminal, queried from the kernel.

/// Snapshot of a terminal's state. Any part of it may change right after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TerminalState {
    /// Longest line in bytes, without its terminator, that can be typed in canonical mode
    /// (`ICANON`, termios(3)): the kernel discards the excess. `None` in non-canonical mode.
    pub line_limit: Option<usize>,
    /// The foreground process group; `None` if there is none or it is not available. That of a
    /// shell is its pid.
    pub foreground: Option<u32>,
    /// Input bytes that the foreground has not read; in canonical mode, those of completed lines.
    /// `None` where not available (all systems but Linux).
    pub unread: Option<usize>,
}
