//! The shape of a corpus.

/// Properties of a stream that determine how fast it is parsed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// Bytes, line ends included.
    pub bytes: usize,
    /// Lines.
    pub lines: usize,
    backslashes: usize,
    quotes: usize,
    non_ascii: usize,
}

impl Shape {
    /// Measures the shape of a stream.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut shape = Self {
            bytes: bytes.len(),
            ..Self::default()
        };
        for &byte in bytes {
            shape.lines += usize::from(byte == b'\n');
            shape.backslashes += usize::from(byte == b'\\');
            shape.quotes += usize::from(byte == b'"');
            shape.non_ascii += usize::from(byte >= 0x80);
        }
        shape
    }

    /// Returns the mean length of a line in bytes.
    #[must_use]
    pub fn bytes_per_line(&self) -> f64 {
        self.bytes as f64 / self.lines as f64
    }

    /// Returns backslashes per 1,000 bytes.
    #[must_use]
    pub fn backslashes_per_kb(&self) -> f64 {
        self.per_kb(self.backslashes)
    }

    /// Returns quotes per 1,000 bytes, escaped ones included.
    #[must_use]
    pub fn quotes_per_kb(&self) -> f64 {
        self.per_kb(self.quotes)
    }

    /// Returns the share of bytes outside ASCII in per cent.
    #[must_use]
    pub fn non_ascii_percent(&self) -> f64 {
        self.per_kb(self.non_ascii) / 10.0
    }

    fn per_kb(&self, count: usize) -> f64 {
        count as f64 * 1000.0 / self.bytes as f64
    }
}
