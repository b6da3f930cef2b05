//! The receiving side of an output stream: its offset and its credit.

use bytes::Bytes;

use bowline_journal::Arrival;
use bowline_wire::{AttachMode, Extent};

/// Bytes beyond the credit that are tolerated before the connection is dropped.
const TOLERANCE: u64 = 4 << 20;

#[derive(Debug)]
pub(super) struct Inbound {
    /// The offset of the next byte; `None` until the session has stated it.
    next: Option<u64>,
    /// Free space in the log, in bytes.
    room: u64,
    /// Remaining credit, in bytes.
    owed: u64,
    /// Bytes received beyond the credit.
    overrun: u64,
    /// The final length of the stream.
    end: Option<u64>,
    is_ended: bool,
    /// The arrival of the bytes that come next, as this connection announced it.
    arrival: Arrival,
}

/// The received bytes are invalid.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DataError {
    /// Bytes before them are missing.
    Hole {
        /// The expected offset.
        next: u64,
        /// The offset of the received bytes.
        offset: u64,
    },
    /// The credit was exceeded by more than the tolerance.
    Overrun,
}

/// The new part of received bytes, and whether it is the first of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NewBytes {
    pub(super) offset: u64,
    pub(super) bytes: Bytes,
    pub(super) is_first: bool,
}

impl Inbound {
    pub(super) fn new(next: Option<u64>, room: u64) -> Self {
        Self {
            next,
            room,
            owed: 0,
            overrun: 0,
            end: None,
            is_ended: false,
            arrival: Arrival::default(),
        }
    }

    /// Returns the cursor for an attach.
    pub(super) fn cursor(&self) -> u64 {
        self.next.unwrap_or(0)
    }

    pub(super) fn is_known(&self) -> bool {
        self.next.is_some()
    }

    pub(super) fn room(&self) -> u64 {
        self.room
    }

    /// Records the free space while there is no link.
    pub(super) fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// Starts a new connection with this credit.
    pub(super) fn attach(&mut self, credit: u64) {
        self.owed = credit;
        self.overrun = 0;
        self.arrival = Arrival::default();
    }

    /// Takes the arrival of the bytes that come next.
    pub(super) fn announce(&mut self, arrival: Arrival) {
        self.arrival = arrival;
    }

    pub(super) fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// Compares the session's extent with the offset. Returns the number of lost bytes, or `None` if
    /// the session has lost bytes that were received here.
    pub(super) fn attached(&mut self, extent: &Extent, mode: AttachMode) -> Option<u64> {
        match (self.next, mode) {
            (Some(next), _) => (next <= extent.end).then(|| extent.start.saturating_sub(next)),
            (None, AttachMode::Tail) => {
                self.next = Some(extent.end);
                Some(0)
            }
            (None, _) => Some(0),
        }
    }

    /// Returns the new part of the bytes at an offset.
    pub(super) fn take(
        &mut self,
        offset: u64,
        bytes: &Bytes,
    ) -> Result<Option<NewBytes>, DataError> {
        let came = bytes.len() as u64;
        self.overrun += came.saturating_sub(self.owed);
        self.owed = self.owed.saturating_sub(came);
        if self.overrun > TOLERANCE {
            return Err(DataError::Overrun);
        }
        let is_first = self.next.is_none();
        let next = self.next.unwrap_or(offset);
        if offset > next {
            return Err(DataError::Hole { next, offset });
        }
        let known = usize::try_from(next - offset).unwrap_or(usize::MAX);
        if known >= bytes.len() {
            return Ok(None);
        }
        let fresh = bytes.slice(known..);
        self.next = Some(next + fresh.len() as u64);
        self.room = self.room.saturating_sub(fresh.len() as u64);
        Ok(Some(NewBytes {
            offset: next,
            bytes: fresh,
            is_first,
        }))
    }

    /// Continues after lost bytes. Returns the range that was not received.
    pub(super) fn skip(&mut self, to: u64) -> Option<(u64, u64)> {
        let from = self.next.unwrap_or(to);
        self.next = Some(from.max(to));
        (from < to).then_some((from, to))
    }

    /// Records the free space. Returns the credit to grant once it is worth a frame: a quarter of the
    /// window, or any credit if none remains.
    pub(super) fn make_room(&mut self, room: u64, window: u64) -> Option<u64> {
        self.room = room;
        let grant = room.min(window).saturating_sub(self.owed);
        let is_due = grant >= window / 4 || (self.owed == 0 && grant > 0);
        is_due.then(|| {
            self.owed += grant;
            grant
        })
    }

    /// Sets the final length.
    pub(super) fn end_at(&mut self, end: u64) {
        self.end = Some(end);
    }

    /// Returns whether all bytes were received.
    pub(super) fn is_complete(&self) -> bool {
        self.end
            .is_some_and(|end| self.next.is_none_or(|next| next >= end))
    }

    /// Marks the stream as ended. Returns `true` the first time.
    pub(super) fn finish(&mut self) -> bool {
        !std::mem::replace(&mut self.is_ended, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(offset: u64, bytes: &'static str, is_first: bool) -> Option<NewBytes> {
        let bytes = bytes.into();
        Some(NewBytes {
            offset,
            bytes,
            is_first,
        })
    }

    #[test]
    fn duplicates_are_dropped_and_holes_rejected() {
        let mut stream = Inbound::new(Some(0), 100);
        stream.attach(100);
        assert_eq!(stream.take(0, &"abcd".into()), Ok(fresh(0, "abcd", false)));
        assert_eq!(stream.take(1, &"bcd".into()), Ok(None));
        assert_eq!(stream.take(2, &"cdef".into()), Ok(fresh(4, "ef", false)));
        assert_eq!(
            stream.take(7, &"x".into()),
            Err(DataError::Hole { next: 6, offset: 7 })
        );
        assert_eq!(stream.skip(7), Some((6, 7)));
        assert_eq!(stream.skip(3), None);
        assert_eq!(stream.take(7, &"x".into()), Ok(fresh(7, "x", false)));
    }

    #[test]
    fn unknown_offset_starts_at_first_bytes() {
        let mut stream = Inbound::new(None, 100);
        assert_eq!(stream.take(5, &"x".into()), Ok(fresh(5, "x", true)));
        let mut tail = Inbound::new(None, 100);
        let extent = Extent {
            start: 3,
            end: 9,
            ..Extent::default()
        };
        assert_eq!(tail.attached(&extent, AttachMode::Tail), Some(0));
        assert_eq!(tail.cursor(), 9);
    }

    #[test]
    fn lost_output_of_session_is_detected() {
        let mut stream = Inbound::new(Some(10), 100);
        let extent = |start, end| Extent {
            start,
            end,
            ..Extent::default()
        };
        assert_eq!(stream.attached(&extent(0, 9), AttachMode::Resume), None);
        assert_eq!(
            stream.attached(&extent(15, 20), AttachMode::Resume),
            Some(5)
        );
    }

    #[test]
    fn credit_is_granted_in_quarters_of_window() {
        let mut stream = Inbound::new(Some(0), 100);
        stream.attach(100);
        stream.take(0, &vec![0; 20].into()).unwrap();
        assert_eq!(stream.make_room(100, 100), None);
        stream.take(20, &vec![0; 20].into()).unwrap();
        assert_eq!(stream.make_room(100, 100), Some(40));
        stream.take(40, &vec![0; 100].into()).unwrap();
        assert_eq!(stream.make_room(0, 100), None);
        assert_eq!(stream.make_room(1, 100), Some(1));
        let flood = vec![0; TOLERANCE as usize + 2];
        assert_eq!(stream.take(140, &flood.into()), Err(DataError::Overrun));
    }
}
