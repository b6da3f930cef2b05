//! Standard output: a queue, a thread that writes it, and a bounded flush at exit.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How long a flush waits for a reader that takes nothing. The agent exits after about this time
/// with an unread pipe; here it counts from the last byte read, so a slow reader gets everything.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(2_500);

/// Number of queued bytes above which the scenario pauses, to bound memory. The agent queues at
/// least 2.6 MB.
const MAX_QUEUED: usize = 64 << 20;

/// A command for the writer thread.
enum Command {
    Write {
        bytes: Vec<u8>,
        chunk: usize,
    },
    Close,
    /// Reports that everything before it has been written.
    Flush(Sender<()>),
}

/// The queue of standard output. As in the agent, a slow reader does not block the scenario.
pub(crate) struct Output {
    commands: Sender<Command>,
    progress: Arc<Progress>,
    chunk: usize,
}

/// The progress of the writer.
#[derive(Default)]
struct Progress {
    /// Number of writes.
    pieces: AtomicU64,
    /// Number of bytes that are queued.
    queued_bytes: AtomicUsize,
}

impl Output {
    /// Starts the writer thread.
    pub(crate) fn start(chunk: usize) -> io::Result<Self> {
        let (commands, queue) = channel();
        let progress = Arc::new(Progress::default());
        let written = Arc::clone(&progress);
        thread::Builder::new()
            .name("stdout".to_owned())
            .spawn(move || write_all(&queue, &written))?;
        Ok(Self {
            commands,
            progress,
            chunk,
        })
    }

    /// Queues bytes.
    pub(crate) fn write(&self, bytes: Vec<u8>) {
        self.progress
            .queued_bytes
            .fetch_add(bytes.len(), Ordering::Relaxed);
        // The writer ends with the process, so this cannot fail.
        let _ = self.commands.send(Command::Write {
            bytes,
            chunk: self.chunk,
        });
    }

    /// Whether more than [`MAX_QUEUED`] bytes are queued.
    pub(crate) fn is_full(&self) -> bool {
        self.progress.queued_bytes.load(Ordering::Relaxed) > MAX_QUEUED
    }

    /// Writes in pieces of this many bytes from now on; 0 writes whole lines.
    pub(crate) fn set_chunk(&mut self, chunk: usize) {
        self.chunk = chunk;
    }

    /// Closes the pipe: descriptor 1 becomes `/dev/null`.
    pub(crate) fn close(&self) {
        let _ = self.commands.send(Command::Close);
    }

    /// Waits until everything is written, or nothing was read for [`FLUSH_TIMEOUT`].
    pub(crate) fn flush(&self) {
        let (done, written) = channel();
        if self.commands.send(Command::Flush(done)).is_err() {
            return;
        }
        loop {
            let before = self.progress.pieces.load(Ordering::Relaxed);
            let has_progress = || self.progress.pieces.load(Ordering::Relaxed) != before;
            match written.recv_timeout(FLUSH_TIMEOUT) {
                Err(RecvTimeoutError::Timeout) if has_progress() => {}
                _ => return,
            }
        }
    }

    /// As [`Output::flush`], with the cursor sequence that the agent writes to a terminal.
    pub(crate) fn finish(&self) {
        if io::stdout().is_terminal() {
            self.write(b"\x1b[?25h".to_vec());
        }
        self.flush();
    }
}

fn write_all(queue: &Receiver<Command>, progress: &Progress) {
    for command in queue {
        match command {
            Command::Write { bytes, chunk } => {
                write(&bytes, chunk, progress);
                progress
                    .queued_bytes
                    .fetch_sub(bytes.len(), Ordering::Relaxed);
            }
            Command::Close => close(),
            Command::Flush(done) => {
                // Fails if the flush has timed out.
                let _ = done.send(());
            }
        }
    }
}

/// Splits writes at 64 KiB, so that a flush sees the progress of a long line.
fn write(bytes: &[u8], chunk: usize, progress: &Progress) {
    let mut stdout = io::stdout().lock();
    for piece in bytes.chunks(if chunk == 0 { 1 << 16 } else { chunk }) {
        // The agent ignores a closed stdout, too.
        if stdout
            .write_all(piece)
            .and_then(|()| stdout.flush())
            .is_err()
        {
            return;
        }
        progress.pieces.fetch_add(1, Ordering::Relaxed);
    }
}

fn close() {
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
}
