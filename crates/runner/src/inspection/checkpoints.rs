//! Folds of a session up to several offsets of its output, from which a fold up to any offset is continued.

use crate::session_fold::SessionFold;

/// Bytes of output between two checkpoints, before they are thinned out.
const SPACING: u64 = 4 << 20;

/// Maximum number of checkpoints. Once there are more, every second one is dropped: what is folded up to an offset
/// grows with the output, and the memory for checkpoints does not.
const MAX_COUNT: usize = 12;

/// Folds up to several offsets, which share text and records.
#[derive(Debug)]
pub(super) struct Checkpoints {
    spacing: u64,
    /// In the order of their offsets.
    folds: Vec<SessionFold>,
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self {
            spacing: SPACING,
            folds: Vec::new(),
        }
    }
}

impl Checkpoints {
    /// Keeps a copy of a fold that has gone on, if it is far enough from the last one.
    pub(super) fn push(&mut self, fold: &mut SessionFold) {
        let last = self.folds.last().map_or(0, |last| last.next);
        if fold.next < last + self.spacing {
            return;
        }
        self.folds.push(fold.fork());
        if self.folds.len() > MAX_COUNT {
            self.spacing *= 2;
            let mut number = 0;
            self.folds.retain(|_| {
                number += 1;
                number % 2 == 0
            });
        }
    }

    /// Returns a copy of the last fold before an offset; `None` if there is none.
    pub(super) fn before(&mut self, offset: u64) -> Option<SessionFold> {
        let later = self.folds.partition_point(|fold| fold.next < offset);
        let last = self.folds.get_mut(later.checked_sub(1)?)?;
        Some(last.fork())
    }

    /// Returns roughly the memory of all of them, in bytes.
    pub(super) fn size(&self) -> u64 {
        let shared = self.folds.last().map_or(0, SessionFold::size);
        let own = self.folds.iter().map(|fold| fold.transcript.fork_size());
        shared + own.sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use bowline_reducer::dialect::DialectName;
    use bowline_transport::Piece;
    use bowline_transport::journal::{Arrival, Arrived};
    use bytes::Bytes;

    use super::*;

    #[test]
    fn checkpoints_are_bounded_and_the_last_is_found() {
        let mut checkpoints = Checkpoints {
            spacing: 10,
            folds: Vec::new(),
        };
        let mut fold = SessionFold::of_dialect(DialectName::default());
        for count in 1..500 {
            let piece = Piece::Bytes {
                offset: fold.next,
                bytes: Bytes::from_static(b"\n\n\n\n"),
            };
            let arrival = Arrival::default();
            fold.output(&Arrived { arrival, piece }, &mut ());
            checkpoints.push(&mut fold);
            assert!(checkpoints.folds.len() <= MAX_COUNT, "{count}");
        }
        assert!(checkpoints.before(10).is_none());
        // Each fold is nearer to the offset than two distances.
        for offset in checkpoints.spacing + 4..=fold.next {
            let found = checkpoints.before(offset).map_or(0, |it| it.next);
            let is_near = found + 2 * checkpoints.spacing + 4 >= offset;
            assert!(found < offset && is_near, "{found} before {offset}");
        }
    }
}
