//! When and where the retained bytes of a stream arrived.

use std::collections::VecDeque;

use bowline_transport::journal::Arrival;

/// The arrivals of a stream's most recent bytes: from an offset, to that of the next one.
#[derive(Debug, Default)]
pub(super) struct Arrivals(VecDeque<(u64, Arrival)>);

impl Arrivals {
    /// Adds the arrival of the bytes from an offset on. Bytes that arrive together are one arrival.
    pub(super) fn push(&mut self, offset: u64, arrival: Arrival) {
        if self.0.back().is_none_or(|(_, last)| *last != arrival) {
            self.0.push_back((offset, arrival));
        }
    }

    /// Drops the arrivals of the bytes before an offset.
    pub(super) fn drop_before(&mut self, offset: u64) {
        while self.0.get(1).is_some_and(|(next, _)| *next <= offset) {
            self.0.pop_front();
        }
    }

    /// Returns the arrival of the byte at an offset, and the offset up to which bytes share it.
    pub(super) fn at(&self, offset: u64) -> (Arrival, u64) {
        let after = self.0.partition_point(|(from, _)| *from <= offset);
        let arrival = after.checked_sub(1).and_then(|at| self.0.get(at));
        let end = self.0.get(after).map_or(u64::MAX, |(next, _)| *next);
        (arrival.map(|(_, it)| *it).unwrap_or_default(), end)
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
}
