//! The job that every contender does, and the hash that shows that it was done.
//!
//! A line is decoded into its kind, its ids, and what its kind is for: message, usage, blocks,
//! stream event, result or subtype (the README lists the members). Each decoded value becomes one
//! term of a sum, so that contenders may meet the members in any order; the sums of the lines are
//! chained, so that no line can be left out or swapped.

mod digest;
mod kind;

pub use digest::{Digest, Ends, EveryByte};
pub use kind::{block_kind, delta_kind, event_kind, line_kind};

/// Names a member in the hash.
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

/// What was decoded, folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// Lines.
    pub events: u64,
    /// Every decoded member but the raw ones.
    pub hash: u64,
    /// Lengths of members that are handed out raw (tool inputs); some peers have no raw values.
    pub raws: u64,
}

/// Takes what a contender decodes.
#[derive(Debug, Default)]
pub struct Fold<D> {
    folded: Folded,
    line: u64,
    digest: D,
}

impl<D: Digest> Fold<D> {
    /// A string, decoded.
    #[inline]
    pub fn text(&mut self, tag: Tag, text: &str) {
        self.add(tag as u64, self.digest.of(text.as_bytes()));
    }

    /// A string that may be absent.
    #[inline]
    pub fn optional(&mut self, tag: Tag, text: Option<&str>) {
        if let Some(text) = text {
            self.text(tag, text);
        }
    }

    /// A number, a flag or the bits of a float.
    #[inline]
    pub fn number(&mut self, tag: Tag, value: u64) {
        self.add(tag as u64, value);
    }

    /// A string of block number `at`.
    #[inline]
    pub fn block_text(&mut self, tag: Tag, at: usize, text: &str) {
        self.add(
            tag as u64 | (at as u64) << 8,
            self.digest.of(text.as_bytes()),
        );
    }

    /// A number of block number `at`.
    #[inline]
    pub fn block_number(&mut self, tag: Tag, at: usize, value: u64) {
        self.add(tag as u64 | (at as u64) << 8, value);
    }

    /// The text of part `part` of the tool result in block `at`.
    #[inline]
    pub fn part(&mut self, at: usize, part: usize, text: &str) {
        let place = (at as u64) << 8 | (part as u64) << 32;
        self.add(
            Tag::ToolPart as u64 | place,
            self.digest.of(text.as_bytes()),
        );
    }

    /// The length of a raw value of block number `at`, in bytes; none when the contender has none.
    #[inline]
    pub fn raw(&mut self, at: usize, length: Option<usize>) {
        if let Some(length) = length {
            let term = mix(Tag::ToolInput as u64 | (at as u64) << 8, length as u64);
            self.folded.raws = self.folded.raws.wrapping_add(term);
        }
    }

    /// Input, output, cache read and cache creation tokens.
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

    /// What was folded.
    #[must_use]
    pub const fn folded(&self) -> Folded {
        self.folded
    }

    #[inline]
    fn add(&mut self, tag: u64, value: u64) {
        self.line = self.line.wrapping_add(term(tag, value));
    }
}

/// What a member adds to the sum of its line: one multiplication by a number of its tag's own, so
/// that the fold is a small part of what is timed. The value is never nothing.
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
    fn members_count_in_any_order_but_not_under_another_name() {
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
    fn blocks_lines_and_lengths_count() {
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
