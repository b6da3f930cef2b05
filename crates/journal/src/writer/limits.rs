//! Limits of a journal.

use std::time::Duration;

/// Size limits of a journal and the frequency of syncs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLimits {
    /// Size of a segment in bytes, the unit in which old bytes are dropped.
    pub segment_bytes: u64,
    /// Size of all segments in bytes. The oldest segment is removed before this is exceeded.
    pub cap_bytes: u64,
    /// Maximum time from a write to its sync.
    pub sync_every: Duration,
    /// Number of written bytes after which a sync is due.
    pub sync_bytes: u64,
    /// Delay of a retry after a failure.
    pub retry_after: Duration,
}

impl Default for JournalLimits {
    /// 4 MiB, 256 MiB, 1 s, 1 MiB, 250 ms.
    fn default() -> Self {
        Self {
            segment_bytes: 4 << 20,
            cap_bytes: 256 << 20,
            sync_every: Duration::from_secs(1),
            sync_bytes: 1 << 20,
            retry_after: Duration::from_millis(250),
        }
    }
}

impl JournalLimits {
    /// Returns the limits of a recording: one segment of unlimited size.
    #[must_use]
    pub fn one_segment() -> Self {
        Self {
            segment_bytes: u64::MAX / 2,
            cap_bytes: u64::MAX,
            ..Self::default()
        }
    }
}
