//! Cursors of streams as the host holds them.

use std::hash::{DefaultHasher, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};

/// The bits of a cursor that are a position. The others name the source.
const POSITION_BITS: u32 = 40;
const POSITION_MASK: u64 = (1 << POSITION_BITS) - 1;

/// The cursors of one transcript or stream.
///
/// A position of one source means something else in another. A cursor therefore names its source as well;
/// 0 is the beginning of every source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CursorSpace {
    tag: u64,
}

impl CursorSpace {
    /// Returns cursors that no other source in this process has.
    pub(crate) fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self::tagged(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the cursors of the source with this name, for handles that are made independently.
    pub(crate) fn named(name: impl std::hash::Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self::tagged(hasher.finish())
    }

    fn tagged(number: u64) -> Self {
        let tags = u64::MAX >> POSITION_BITS;
        Self {
            // Not 0, so that no cursor is taken for the beginning.
            tag: (number % tags + 1) << POSITION_BITS,
        }
    }

    /// Returns the cursor of a position.
    pub(crate) const fn cursor(self, position: u64) -> u64 {
        self.tag | position & POSITION_MASK
    }

    /// Returns the position of a cursor, or `None` if it is of another source.
    pub(crate) const fn position(self, cursor: u64) -> Option<u64> {
        if cursor == 0 {
            return Some(0);
        }
        if cursor & !POSITION_MASK == self.tag {
            Some(cursor & POSITION_MASK)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_belongs_to_its_source_only() {
        let (one, other) = (CursorSpace::named("one"), CursorSpace::named("other"));
        for position in [0, 1, POSITION_MASK] {
            let cursor = one.cursor(position);
            assert_eq!(one.position(cursor), Some(position));
            assert_eq!(CursorSpace::named("one").position(cursor), Some(position));
            assert_eq!(other.position(cursor), None);
            assert_eq!(CursorSpace::unique().position(cursor), None);
        }
        assert_eq!((one.position(0), other.position(0)), (Some(0), Some(0)));
    }
}
