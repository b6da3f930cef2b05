//! Output of the campaigns' children: bytes derived from a seed, so that the reader can verify each
//! of them.

use bowline_transport::Piece;

use crate::campaign::Random;

/// Size of a block, a multiple of the generator's word.
pub(super) const BLOCK: usize = 1 << 10;

/// The byte sequence of a seed.
#[derive(Clone, Debug)]
pub(in crate::campaign) struct OutputSequence {
    random: Random,
    block: Vec<u8>,
    at: usize,
    offset: u64,
}

impl OutputSequence {
    pub(in crate::campaign) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            block: Vec::new(),
            at: 0,
            offset: 0,
        }
    }

    /// Returns the next block.
    pub(super) fn block(&mut self) -> Vec<u8> {
        self.offset += BLOCK as u64;
        self.random.bytes(BLOCK)
    }

    /// Skips bytes that are no longer available, and returns the new offset.
    pub(super) fn skip(&mut self, to: u64) -> u64 {
        let mut left = to.saturating_sub(self.offset) as usize;
        while left > 0 {
            if self.at == self.block.len() {
                self.block = self.random.bytes(BLOCK);
                self.at = 0;
            }
            let count = left.min(self.block.len() - self.at);
            self.at += count;
            self.offset += count as u64;
            left -= count;
        }
        self.offset
    }

    /// Compares received bytes with the sequence, and returns the offset after them.
    pub(super) fn check(&mut self, piece: Piece) -> Result<u64, String> {
        match piece {
            Piece::Gap { from, to } => Err(format!("bytes {from}..{to} are lost")),
            Piece::Bytes { offset, .. } if offset != self.offset => {
                Err(format!("bytes of {offset} where {} is next", self.offset))
            }
            Piece::Bytes { bytes, .. } => self.check_bytes(&bytes),
        }
    }

    /// The same for bytes at the current offset.
    pub(in crate::campaign) fn check_bytes(&mut self, mut bytes: &[u8]) -> Result<u64, String> {
        while !bytes.is_empty() {
            if self.at == self.block.len() {
                self.block = self.random.bytes(BLOCK);
                self.at = 0;
            }
            let count = bytes.len().min(self.block.len() - self.at);
            let (now, later) = bytes.split_at(count);
            if self.block.get(self.at..self.at + count) != Some(now) {
                return Err(format!("unexpected bytes at {}", self.offset));
            }
            self.at += count;
            self.offset += count as u64;
            bytes = later;
        }
        Ok(self.offset)
    }
}

/// Digest of the input: its length and an order-dependent hash (FNV-1a).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Typed {
    count: u64,
    sum: u64,
}

impl Default for Typed {
    fn default() -> Self {
        Self {
            count: 0,
            sum: 0xcbf2_9ce4_8422_2325,
        }
    }
}

impl Typed {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.sum = (self.sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.count += bytes.len() as u64;
    }
}

impl std::fmt::Display for Typed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "typed {} {:016x}", self.count, self.sum)
    }
}
