//! The output of all commands of a session as one stream.

use std::sync::Arc;

use bowline_lifecycle::RawOutput;
use bowline_transport::{Overflow, Piece, SharedLog, Stream, TerminalSession};
use tokio::sync::Mutex;

/// Bytes that are kept for a reader that comes late.
const KEPT_BYTES: usize = 1 << 20;

/// The output of a session's commands, one after another.
#[derive(Clone, Debug)]
pub(super) struct CommandOutput {
    log: Arc<SharedLog>,
    /// Held while the output of a command is appended.
    turn: Arc<Mutex<()>>,
}

impl Default for CommandOutput {
    fn default() -> Self {
        let log = SharedLog::with_limits(KEPT_BYTES, Overflow::DropOldest, usize::MAX);
        Self {
            log,
            turn: Arc::default(),
        }
    }
}

impl CommandOutput {
    /// Appends the output of a command until its end, in a task.
    pub(super) fn follow(&self, terminal: &TerminalSession) {
        let mut output = terminal.reader_at(Stream::Output, 0);
        let (log, turn) = (Arc::clone(&self.log), Arc::clone(&self.turn));
        tokio::spawn(async move {
            let _turn = turn.lock().await;
            let begin = log.end();
            while let Some(piece) = output.next().await {
                match piece {
                    Piece::Bytes { bytes, .. } => log.push(bytes),
                    Piece::Gap { to, .. } => log.skip_to(begin + to),
                }
            }
        });
    }

    /// Returns the stream from an offset on.
    pub(super) fn reader_at(&self, from: u64) -> RawOutput {
        self.log.observer_at(from).into()
    }

    /// Ends the stream after the output of all commands, which have ended.
    pub(super) async fn end(&self) {
        let _turn = self.turn.lock().await;
        self.log.close();
    }
}
