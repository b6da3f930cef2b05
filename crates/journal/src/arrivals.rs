//! When and where the bytes of a stream that are in memory arrived.

use std::collections::VecDeque;

use super::{Arrival, Arrived};
use bowline_process::Piece;

/// The arrivals of a stream's most recent bytes: from an offset, to that of the next one.
#[derive(Clone, Debug, Default)]
pub struct Arrivals(VecDeque<(u64, Arrival)>);

impl Arrivals {
    /// Adds the arrival of the bytes from an offset on. Bytes that arrive together are one arrival.
    pub fn push(&mut self, offset: u64, arrival: Arrival) {
        if self.0.back().is_none_or(|(_, last)| *last != arrival) {
            self.0.push_back((offset, arrival));
        }
    }

    /// Drops the arrivals of the bytes before an offset.
    pub fn drop_before(&mut self, offset: u64) {
        while self.0.get(1).is_some_and(|(next, _)| *next <= offset) {
            self.0.pop_front();
        }
    }

    /// Returns the arrival of the byte at an offset, and the offset up to which bytes share it.
    #[must_use]
    pub fn at(&self, offset: u64) -> (Arrival, u64) {
        let after = self.0.partition_point(|(from, _)| *from <= offset);
        let arrival = after.checked_sub(1).and_then(|at| self.0.get(at));
        let end = self.0.get(after).map_or(u64::MAX, |(next, _)| *next);
        (arrival.map(|(_, it)| *it).unwrap_or_default(), end)
    }

    /// Cuts the next piece of the stream into parts of one arrival each, and drops the arrivals before it. A
    /// gap has none.
    pub fn cut(&mut self, piece: Piece, mut on_part: impl FnMut(Arrived)) {
        let Piece::Bytes {
            mut offset,
            mut bytes,
        } = piece
        else {
            return on_part(piece.into());
        };
        self.drop_before(offset);
        while !bytes.is_empty() {
            let (arrival, end) = self.at(offset);
            let length = usize::try_from(end - offset).unwrap_or(usize::MAX);
            let part = bytes.split_to(length.min(bytes.len()));
            let next = offset + part.len() as u64;
            let piece = Piece::Bytes {
                offset,
                bytes: part,
            };
            on_part(Arrived { arrival, piece });
            offset = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_arrive_together_are_one_arrival() {
        let mut arrivals = Arrivals::default();
        assert_eq!(arrivals.at(3), (Arrival::default(), u64::MAX));
        for (offset, at_ms) in [(0, 5), (4, 5), (9, 6), (12, 8)] {
            arrivals.push(offset, Arrival::at(at_ms));
        }
        assert_eq!(arrivals.at(4), (Arrival::at(5), 9));
        assert_eq!(arrivals.at(11), (Arrival::at(6), 12));
        assert_eq!(arrivals.at(12), (Arrival::at(8), u64::MAX));
        arrivals.drop_before(9);
        assert_eq!(arrivals.at(9), (Arrival::at(6), 12));
        assert_eq!(arrivals.0.len(), 2);
    }

    #[test]
    fn piece_is_cut_where_the_arrival_changes() {
        let mut arrivals = Arrivals::default();
        for (offset, at_ms) in [(0, 5), (2, 6), (5, 7)] {
            arrivals.push(offset, Arrival::at(at_ms));
        }
        let mut parts = Vec::new();
        let bytes = "bcdef".into();
        arrivals.cut(Piece::Bytes { offset: 1, bytes }, |it| parts.push(it));
        let part = |at_ms, offset, text: &'static str| Arrived {
            arrival: Arrival::at(at_ms),
            piece: Piece::Bytes {
                offset,
                bytes: text.into(),
            },
        };
        assert_eq!(parts, [part(5, 1, "b"), part(6, 2, "cde"), part(7, 5, "f")]);
        arrivals.cut(Piece::Gap { from: 6, to: 9 }, |it| parts.push(it));
        assert_eq!(parts.last(), Some(&Piece::Gap { from: 6, to: 9 }.into()));
    }
}
