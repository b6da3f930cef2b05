//! What is recorded of a screen beside its output: its sizes, and its state from time to time.

use std::collections::VecDeque;

use bowline_transport::WindowSize;
use bowline_transport::wire::MAX_PAYLOAD;
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::session_machine::ScreenSnapshot;

/// Bytes of output between two recorded states. Half of it is read in vain for each scrollback, on average; a state
/// takes half a percent of the time that the output before it takes.
const INTERVAL: u64 = 256 << 10;

/// Number of times that the output since the last state is larger than a state, so that states take a small
/// part of the journal.
const STATE_SHARE: u64 = 16;

/// Length of the fields before the state.
const HEAD: usize = 28;

/// Maximal number of records that are kept in memory.
const MAX_KEPT: usize = 64;

/// A size of a terminal, and possibly the state of its screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScreenRecord {
    /// Offset of the output that continues from the state.
    pub(crate) at: u64,
    /// Offset past the output that the screen had received, at least `at`: a part of it may be repeated.
    pub(crate) fed: u64,
    /// The size from then on.
    pub(crate) size: WindowSize,
    /// Number of LF in the output before.
    pub(crate) newlines: u64,
    /// The state; `None` if only the size has changed. Empty for that of a new terminal.
    pub(crate) state: Option<Bytes>,
}

impl ScreenRecord {
    pub(crate) const fn is_state(&self) -> bool {
        self.state.is_some()
    }

    /// Returns the state as a snapshot.
    pub(crate) fn snapshot(&self) -> ScreenSnapshot {
        ScreenSnapshot {
            at_offset: self.at,
            size: self.size,
            bytes: self.state.clone().unwrap_or_default(),
        }
    }

    /// Encodes the record: `at u64 | fed - at u32 | rows u16 | cols u16 | newlines u64 | length u32 | state`, little
    /// endian. The length is `u32::MAX` without a state. `None` if it exceeds a record of the journal.
    pub(crate) fn encode(&self) -> Option<Bytes> {
        let state = self.state.as_deref().unwrap_or_default();
        if HEAD + state.len() > MAX_PAYLOAD {
            return None;
        }
        let mut bytes = BytesMut::with_capacity(HEAD + state.len());
        bytes.put_u64_le(self.at);
        bytes.put_u32_le(u32::try_from(self.fed - self.at).ok()?);
        bytes.put_u16_le(self.size.rows);
        bytes.put_u16_le(self.size.cols);
        bytes.put_u64_le(self.newlines);
        let length = u32::try_from(state.len()).ok()?;
        bytes.put_u32_le(self.state.as_ref().map_or(u32::MAX, |_| length));
        bytes.put_slice(state);
        Some(bytes.freeze())
    }

    /// Decodes a record; `None` if it is damaged.
    pub(crate) fn decode(mut bytes: Bytes) -> Option<Self> {
        if bytes.len() < HEAD {
            return None;
        }
        let at = bytes.get_u64_le();
        let fed = at.checked_add(bytes.get_u32_le().into())?;
        let (rows, cols) = (bytes.get_u16_le(), bytes.get_u16_le());
        let newlines = bytes.get_u64_le();
        let state = match bytes.get_u32_le() {
            u32::MAX if bytes.is_empty() => None,
            length if usize::try_from(length) == Ok(bytes.len()) => Some(bytes),
            _ => return None,
        };
        Some(Self {
            at,
            fed,
            size: WindowSize::new(rows, cols),
            newlines,
            state,
        })
    }
}

/// Reads bytes as a record, and checks that it is written as it was read.
///
/// # Errors
///
/// Returns the violated invariant.
#[cfg(feature = "fuzz")]
pub fn fuzz_screen_record(data: &[u8]) -> Result<(), String> {
    let Some(record) = ScreenRecord::decode(Bytes::copy_from_slice(data)) else {
        return Ok(());
    };
    match record.encode() {
        Some(again) if again == data => Ok(()),
        again => Err(format!("{record:?} is written as {again:?}")),
    }
}

/// Decides when states are recorded, and keeps the newest records of a session without a journal.
#[derive(Debug)]
pub(crate) struct ScreenLog {
    interval: u64,
    newlines: u64,
    next_at: u64,
    kept: VecDeque<ScreenRecord>,
}

impl ScreenLog {
    /// Creates a log of a session with this number of bytes of output in memory, and possibly a journal.
    pub(crate) fn new(ring_bytes: usize, has_journal: bool) -> Self {
        let interval = if has_journal {
            INTERVAL
        } else {
            INTERVAL.min(ring_bytes as u64 / 4)
        };
        Self {
            interval,
            newlines: 0,
            next_at: 0,
            kept: VecDeque::new(),
        }
    }

    /// Takes output, and returns whether a state is due.
    pub(crate) fn on_output(&mut self, offset: u64, bytes: &[u8]) -> bool {
        self.newlines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        offset + bytes.len() as u64 >= self.next_at
    }

    /// Returns the record of a state.
    pub(crate) fn state(&mut self, snapshot: ScreenSnapshot, fed: u64) -> ScreenRecord {
        let length = snapshot.bytes.len() as u64;
        self.next_at = fed + self.interval.max(length.saturating_mul(STATE_SHARE));
        ScreenRecord {
            at: snapshot.at_offset,
            fed,
            size: snapshot.size,
            newlines: self.newlines,
            state: Some(snapshot.bytes),
        }
    }

    /// Returns the record of a size, from an offset on at which a snapshot continues.
    pub(crate) fn resized(&self, size: WindowSize, at: u64, fed: u64) -> ScreenRecord {
        ScreenRecord {
            at,
            fed,
            size,
            newlines: self.newlines,
            // A new terminal is empty.
            state: (fed == 0).then(Bytes::new),
        }
    }

    /// Makes a state due at the next output, since a record was not written.
    pub(crate) fn retry(&mut self) {
        self.next_at = 0;
    }

    /// Keeps a record in memory, as long as output from it on is available there.
    pub(crate) fn keep(&mut self, record: ScreenRecord, oldest: u64) {
        self.kept.push_back(record);
        let is_old = |kept: &ScreenRecord| kept.at < oldest;
        while self.kept.front().is_some_and(is_old) || self.kept.len() > MAX_KEPT {
            self.kept.pop_front();
        }
    }

    /// Returns the records in memory from an offset on.
    pub(crate) fn kept(&self, oldest: u64) -> Vec<ScreenRecord> {
        let kept = self.kept.iter().filter(|it| it.at >= oldest);
        kept.cloned().collect()
    }
}
