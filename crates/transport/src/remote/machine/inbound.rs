//! One stream of output on its way to us: where we stand, and how much may come.

use bytes::Bytes;

use bowline_wire::{AttachMode, Extent};

/// What may come beyond its credit before the other side is taken for broken, in bytes.
const TOLERANCE: u64 = 4 << 20;

#[derive(Debug)]
pub(super) struct Inbound {
    /// The offset of the next byte; unknown until the owner says where the stream begins for us.
    next: Option<u64>,
    /// Bytes that there is place for.
    room: u64,
    /// Bytes that may still come of what was allowed.
    owed: u64,
    /// Bytes that came without being allowed.
    overrun: u64,
    /// Offset behind the last byte that there will ever be.
    end: Option<u64>,
    is_ended: bool,
}

/// Bytes do not belong where they claim to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// Something is missing before them.
    Hole {
        /// Where we stand.
        next: u64,
        /// Where they begin.
        offset: u64,
    },
    /// Far more came than was allowed.
    Overrun,
}

/// What is new of what came: its offset, and whether it is the first that we hear of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fresh {
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
        }
    }

    /// The cursor that an attach states.
    pub(super) fn cursor(&self) -> u64 {
        self.next.unwrap_or(0)
    }

    pub(super) fn is_known(&self) -> bool {
        self.next.is_some()
    }

    pub(super) fn room(&self) -> u64 {
        self.room
    }

    /// There is place for so many bytes, of which nobody can be told now.
    pub(super) fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// A new connection begins with so much credit.
    pub(super) fn attach(&mut self, credit: u64) {
        self.owed = credit;
        self.overrun = 0;
    }

    /// What the owner has. Answers how many bytes are lost to us, or `None` if the owner has lost
    /// what we have.
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

    /// Keeps what is new of the bytes at an offset.
    pub(super) fn take(&mut self, offset: u64, bytes: &Bytes) -> Result<Option<Fresh>, Misplaced> {
        let came = bytes.len() as u64;
        self.overrun += came.saturating_sub(self.owed);
        self.owed = self.owed.saturating_sub(came);
        if self.overrun > TOLERANCE {
            return Err(Misplaced::Overrun);
        }
        let is_first = self.next.is_none();
        let next = self.next.unwrap_or(offset);
        if offset > next {
            return Err(Misplaced::Hole { next, offset });
        }
        let known = usize::try_from(next - offset).unwrap_or(usize::MAX);
        if known >= bytes.len() {
            return Ok(None);
        }
        let fresh = bytes.slice(known..);
        self.next = Some(next + fresh.len() as u64);
        self.room = self.room.saturating_sub(fresh.len() as u64);
        Ok(Some(Fresh {
            offset: next,
            bytes: fresh,
            is_first,
        }))
    }

    /// Goes on behind bytes that are lost. Answers those that we did not have.
    pub(super) fn skip(&mut self, to: u64) -> Option<(u64, u64)> {
        let from = self.next.unwrap_or(to);
        self.next = Some(from.max(to));
        (from < to).then_some((from, to))
    }

    /// There is place for so many bytes. Answers the credit that is worth a frame: a quarter of the
    /// window, or the first after none.
    pub(super) fn make_room(&mut self, room: u64, window: u64) -> Option<u64> {
        self.room = room;
        let grant = room.min(window).saturating_sub(self.owed);
        let is_due = grant >= window / 4 || (self.owed == 0 && grant > 0);
        is_due.then(|| {
            self.owed += grant;
            grant
        })
    }

    /// The stream ends here.
    pub(super) fn end_at(&mut self, end: u64) {
        self.end = Some(end);
    }

    /// Whether every byte that there will ever be has come.
    pub(super) fn is_complete(&self) -> bool {
        self.end
            .is_some_and(|end| self.next.is_none_or(|next| next >= end))
    }

    /// Answers once that the stream is over.
    pub(super) fn finish(&mut self) -> bool {
        !std::mem::replace(&mut self.is_ended, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(offset: u64, bytes: &'static str, is_first: bool) -> Option<Fresh> {
        let bytes = bytes.into();
        Some(Fresh {
            offset,
            bytes,
            is_first,
        })
    }

    #[test]
    fn bytes_are_taken_once_and_never_over_a_hole() {
        let mut stream = Inbound::new(Some(0), 100);
        stream.attach(100);
        assert_eq!(stream.take(0, &"abcd".into()), Ok(fresh(0, "abcd", false)));
        assert_eq!(stream.take(1, &"bcd".into()), Ok(None));
        assert_eq!(stream.take(2, &"cdef".into()), Ok(fresh(4, "ef", false)));
        assert_eq!(
            stream.take(7, &"x".into()),
            Err(Misplaced::Hole { next: 6, offset: 7 })
        );
        assert_eq!(stream.skip(7), Some((6, 7)));
        assert_eq!(stream.skip(3), None);
        assert_eq!(stream.take(7, &"x".into()), Ok(fresh(7, "x", false)));
    }

    #[test]
    fn a_stream_without_a_beginning_begins_with_what_comes_first() {
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
    fn an_owner_that_has_less_than_we_do_is_found_out() {
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
    fn credit_is_given_in_quarters_and_never_beyond_the_room() {
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
        assert_eq!(stream.take(140, &flood.into()), Err(Misplaced::Overrun));
    }
}
