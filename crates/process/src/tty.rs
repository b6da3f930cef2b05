//! What a terminal is doing, asked of the kernel.

/// What a terminal is doing at this moment. Any of it may be another thing an instant later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tty {
    /// The longest line, in bytes without its end, that can be typed while the terminal collects
    /// lines (`ICANON`): the kernel drops what is over it. `None` if each byte goes through.
    pub line_limit: Option<usize>,
    /// The process group in the foreground; `None` if it has none or the system does not tell. A
    /// shell's own is its process id.
    pub foreground: Option<u32>,
    /// Typed bytes that the foreground has not read; while lines are collected, those of finished
    /// lines. `None` where the system does not tell (all but Linux).
    pub unread: Option<usize>,
}
