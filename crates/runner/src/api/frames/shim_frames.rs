//! The frames that a shim sends, for the endpoint that carries them to a client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_transport::SessionId;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::guard::FrameGuard;
use super::splitter::FrameSplitter;
use crate::app_state::AppState;
use crate::read_room::ReadRoom;

/// The most bytes per read from a shim.
const READ_BYTES: usize = 256 << 10;

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
            room: ReadRoom::up_to(READ_BYTES),
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
            self.splitter.buffer().reserve(self.room.bytes());
            match self.shim.read_buf(self.splitter.buffer()).await {
                Ok(0) | Err(_) => return None,
                Ok(read) => self.room.took(read),
            }
        }
    }
}
