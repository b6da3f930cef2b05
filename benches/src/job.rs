//! The job of every contender, and the hash that proves that it was done.
//!
//! A line is decoded into its kind, its ids, and the data of its kind: message, usage, blocks,
//! stream event, result or subtype (the README lists the members). Each decoded value becomes one
//! term of a sum, so that contenders may visit the members in any order. The sums of the lines are
//! chained, so that no line can be left out or swapped.

mod digest;
mod kind;

pub use digest::{Digest, Ends, EveryByte};
pub use kind::{block_kind, delta_kind, event_kind, line_kind};

/// Identifies a member in the hash.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each is named like the member it stands for")]
#[repr(u64)]
pub enum Tag {
    Kind = 1,
    Uuid,
    SessionId,
    ParentToolUseId,
    MessageId,
    MessageModel,
    MessageRole,
    InputTokens,
    OutputTokens,
    CacheReadTokens,
    CacheCreationTokens,
    MessageText,
    BlockKind,
    BlockText,
    ToolId,
    ToolName,
    ToolInput,
    ToolUseId,
    ToolError,
    ToolText,
    ToolPart,
    EventKind,
    EventIndex,
    DeltaKind,
    DeltaText,
    StopReason,
    Subtype,
    IsError,
    Cost,
    Turns,
    ResultText,
}

/// Hash of the decoded values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub struct Folded {
    /// Number of lines.
    pub events: u64,
    /// Hash of every decoded member except the raw ones.
    pub hash: u64,
    /// Hash of the lengths of raw members (tool inputs); some contenders have no raw values.
    pub raws: u64,
}

/// Folds the values that a contender decodes.
#[derive(Debug, Default)]
pub struct Fold<D> {
    folded: Folded,
    line: u64,
    digest: D,
}

impl<D: Digest> Fold<D> {
    /// Adds a decoded string.
    #[inline]
    pub fn text(&mut self, tag: Tag, text: &str) {
        self.add(tag as u64, self.digest.of(text.as_bytes()));
    }

    /// Adds a string that may be absent.
    #[inline]
    pub fn optional(&mut self, tag: Tag, text: Option<&str>) {
        if let Some(text) = text {
            self.text(tag, text);
        }
    }

    /// Adds a number, a flag or the bits of a float.
    #[inline]
    pub fn number(&mut self, tag: Tag, value: u64) {
        self.add(tag as u64, value);
    }

    /// Adds a string of block number `at`.
    #[inline]
    pub fn block_text(&mut self, tag: Tag, at: usize, text: &str) {
        self.add(
            tag as u64 | (at as u64) << 8,
            self.digest.of(text.as_bytes()),
        );
    }

    /// Adds a number of block number `at`.
    #[inline]
    pub fn block_number(&mut self, tag: Tag, at: usize, value: u64) {
        self.add(tag as u64 | (at as u64) << 8, value);
    }

    /// Adds the text of part `part` of the tool result in block `at`.
    #[inline]
    pub fn part(&mut self, at: usize, part: usize, text: &str) {
        let place = (at as u64) << 8 | (part as u64) << 32;
        self.add(
            Tag::ToolPart as u64 | place,
            self.digest.of(text.as_bytes()),
        );
    }

    /// Adds the length of a raw value of block number `at`, in bytes, if the contender has raw
    /// values.
    #[inline]
    pub fn raw(&mut self, at: usize, length: Option<usize>) {
        if let Some(length) = length {
            let term = mix(Tag::ToolInput as u64 | (at as u64) << 8, length as u64);
            self.folded.raws = self.folded.raws.wrapping_add(term);
        }
    }

    /// Adds input, output, cache read and cache creation tokens.
    #[inline]
    pub fn usage(&mut self, tokens: [Option<u64>; 4]) {
        let tags = [
            Tag::InputTokens,
            Tag::OutputTokens,
            Tag::CacheReadTokens,
            Tag::CacheCreationTokens,
        ];
        for (tag, tokens) in tags.into_iter().zip(tokens) {
            if let Some(tokens) = tokens {
                self.number(tag, tokens);
            }
        }
    }

    /// Ends the line.
    #[inline]
    pub fn end_line(&mut self) {
        self.folded.hash = mix(self.folded.hash.rotate_left(7), self.line);
        self.folded.events += 1;
        self.line = 0;
    }

    /// Returns the hash.
    #[must_use]
    pub const fn folded(&self) -> Folded {
        self.folded
    }

    #[inline]
    fn add(&mut self, tag: u64, value: u64) {
        self.line = self.line.wrapping_add(term(tag, value));
    }
}

/// Returns the term of a member: one multiplication by a factor of its tag, so that the fold is a
/// small part of the timed work. The result is never 0.
#[inline(always)]
const fn term(tag: u64, value: u64) -> u64 {
    let own = tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (value ^ 0xd6e8_feb8_6659_fd93).wrapping_mul(own)
}

#[inline]
const fn mix(tag: u64, value: u64) -> u64 {
    let mixed =
        (value ^ tag.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(job: impl FnOnce(&mut Fold<Ends>)) -> u64 {
        let mut fold = Fold::default();
        job(&mut fold);
        fold.end_line();
        fold.folded().hash
    }

    #[test]
    fn hash_ignores_member_order_but_not_names() {
        let one = hash(|fold| {
            fold.text(Tag::Uuid, "u");
            fold.text(Tag::SessionId, "s");
        });
        let other = hash(|fold| {
            fold.text(Tag::SessionId, "s");
            fold.text(Tag::Uuid, "u");
        });
        let swapped = hash(|fold| {
            fold.text(Tag::Uuid, "s");
            fold.text(Tag::SessionId, "u");
        });
        assert_eq!(one, other);
        assert_ne!(one, swapped);
    }

    #[test]
    fn hash_depends_on_blocks_lines_and_lengths() {
        let block =
            |at, text: &'static str| hash(move |fold| fold.block_text(Tag::BlockText, at, text));
        assert_ne!(block(0, "text"), block(1, "text"));
        assert_ne!(block(0, "text"), block(0, "tet"));
        let twice = hash(|fold| {
            fold.text(Tag::Uuid, "u");
            fold.end_line();
        });
        assert_ne!(twice, hash(|fold| fold.text(Tag::Uuid, "u")));
    }
}
