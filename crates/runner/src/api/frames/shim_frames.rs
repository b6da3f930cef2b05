//! The frames that a shim sends, for the endpoint that carries them to a client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_transport::SessionId;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::guard::FrameGuard;
use super::splitter::FrameSplitter;
use crate::app_state::AppState;

/// Room for the next read from a shim, in bytes: little while little comes, since each idle link holds it, and
/// four times as much after each read that filled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReadRoom(usize);

impl ReadRoom {
    const LEAST: usize = 8 << 10;
    const MOST: usize = 256 << 10;

    fn after(self, read: usize) -> Self {
        let Self(room) = self;
        if read >= room {
            Self((room * 4).min(Self::MOST))
        } else if read < room / 8 {
            Self((room / 4).max(Self::LEAST))
        } else {
            self
        }
    }
}

/// Reads a shim's frames, and cancels the detach timer of its session once a client holds the lease.
#[derive(Debug)]
pub(crate) struct ShimFrames<R> {
    shim: R,
    splitter: FrameSplitter,
    room: ReadRoom,
    app: Arc<AppState>,
    session: SessionId,
    requests_lease: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin> ShimFrames<R> {
    /// Creates a reader of the frames for the client that the guard checks.
    pub(crate) fn new(shim: R, app: &Arc<AppState>, guard: &FrameGuard) -> Self {
        Self {
            shim,
            splitter: FrameSplitter::default(),
            room: ReadRoom(ReadRoom::LEAST),
            app: Arc::clone(app),
            session: guard.session,
            requests_lease: guard.requests_lease(),
        }
    }

    /// Returns the next whole frames, as many as fit into one message; `None` once the shim has
    /// disconnected. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(whole) = self.splitter.next() {
                // A reader does not take the place of a web terminal.
                if whole.has_attached && self.requests_lease.load(Ordering::Relaxed) {
                    self.app.detach_timers.cancel(self.session);
                }
                return Some(whole.frames);
            }
            self.splitter.buffer().reserve(self.room.0);
            match self.shim.read_buf(self.splitter.buffer()).await {
                Ok(0) | Err(_) => return None,
                Ok(read) => self.room = self.room.after(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReadRoom;

    #[test]
    fn room_grows_with_full_reads_and_shrinks_with_small_ones() {
        let after = |room: ReadRoom, reads: &[usize]| {
            let ends = reads.iter().fold(room, |room, read| room.after(*read));
            ends.0
        };
        let idle = ReadRoom(ReadRoom::LEAST);
        assert_eq!(after(idle, &[100, 4_000]), ReadRoom::LEAST);
        let burst = [8 << 10, 32 << 10, 128 << 10, 256 << 10];
        assert_eq!(after(idle, &burst), ReadRoom::MOST);
        assert_eq!(
            after(ReadRoom(ReadRoom::MOST), &[200 << 10]),
            ReadRoom::MOST
        );
        assert_eq!(after(ReadRoom(ReadRoom::MOST), &[9, 9, 9]), ReadRoom::LEAST);
    }
}
