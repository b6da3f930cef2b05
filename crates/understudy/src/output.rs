//! Standard output: a queue, a thread that writes it, and a bounded wait for it at exit.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The real agent gives up on an unread pipe after about this time (protocol.md E.5); here it
/// counts from the last byte that was taken, so that a slow reader still gets everything.
const PATIENCE: Duration = Duration::from_millis(2_500);

/// Bytes that may wait for a reader. The real agent's limit is unknown (2.6 MB were seen,
/// observed.md 36); this one only keeps a flood from eating the machine.
const BACKLOG: usize = 64 << 20;

enum Order {
    Write { bytes: Vec<u8>, chunk: usize },
    Close,
    Report(Arc<Report>),
}

/// Set by the writer when everything before it has been written.
#[derive(Default)]
struct Report {
    done: Mutex<bool>,
    changed: Condvar,
}

/// The queue in front of stdout. A slow reader never holds the script up, as in the real agent.
pub(crate) struct Output {
    orders: Sender<Order>,
    progress: Arc<Progress>,
    chunk: usize,
}

/// What the writer has done.
#[derive(Default)]
struct Progress {
    /// Pieces written.
    pieces: AtomicU64,
    /// Bytes queued and not written.
    waiting: AtomicUsize,
}

impl Output {
    /// Starts the writer thread.
    pub(crate) fn start(chunk: usize) -> io::Result<Self> {
        let (orders, queue) = channel();
        let progress = Arc::new(Progress::default());
        let written = Arc::clone(&progress);
        thread::Builder::new()
            .name("stdout".to_owned())
            .spawn(move || write_all(&queue, &written))?;
        Ok(Self {
            orders,
            progress,
            chunk,
        })
    }

    /// Queues bytes.
    pub(crate) fn write(&self, bytes: Vec<u8>) {
        self.progress
            .waiting
            .fetch_add(bytes.len(), Ordering::Relaxed);
        // The writer only ends with the process; bytes for nobody are dropped like the agent's.
        let _ = self.orders.send(Order::Write {
            bytes,
            chunk: self.chunk,
        });
    }

    /// More than a reader can be expected to catch up with.
    pub(crate) fn is_full(&self) -> bool {
        self.progress.waiting.load(Ordering::Relaxed) > BACKLOG
    }

    /// From here on write in pieces of this many bytes; 0 writes whole lines.
    pub(crate) fn set_chunk(&mut self, chunk: usize) {
        self.chunk = chunk;
    }

    /// Closes the reader's end: fd 1 becomes `/dev/null`.
    pub(crate) fn close(&self) {
        let _ = self.orders.send(Order::Close);
    }

    /// Waits until all is written, or the reader has taken nothing for [`PATIENCE`].
    pub(crate) fn flush(&self) {
        let report = Arc::new(Report::default());
        if self
            .orders
            .send(Order::Report(Arc::clone(&report)))
            .is_err()
        {
            return;
        }
        let mut done = report.done.lock().unwrap_or_else(PoisonError::into_inner);
        while !*done {
            let before = self.progress.pieces.load(Ordering::Relaxed);
            let waited = report.changed.wait_timeout(done, PATIENCE);
            let timed_out;
            (done, timed_out) = match waited {
                Ok((guard, result)) => (guard, result.timed_out()),
                Err(_) => return,
            };
            if timed_out && self.progress.pieces.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }

    /// As [`Output::flush`], with the cursor sequence that the real agent leaves on a terminal.
    pub(crate) fn finish(&self) {
        if io::stdout().is_terminal() {
            self.write(b"\x1b[?25h".to_vec());
        }
        self.flush();
    }
}

fn write_all(queue: &Receiver<Order>, progress: &Progress) {
    for order in queue {
        match order {
            Order::Write { bytes, chunk } => {
                write(&bytes, chunk, progress);
                progress.waiting.fetch_sub(bytes.len(), Ordering::Relaxed);
            }
            Order::Close => close(),
            Order::Report(report) => {
                *report.done.lock().unwrap_or_else(PoisonError::into_inner) = true;
                report.changed.notify_all();
            }
        }
    }
}

/// Past 64 KiB a write is split, so that progress can be seen while a large line drains.
fn write(bytes: &[u8], chunk: usize, progress: &Progress) {
    let mut stdout = io::stdout().lock();
    for piece in bytes.chunks(if chunk == 0 { 1 << 16 } else { chunk }) {
        // The real agent does not notice a closed stdout either (observed.md 37).
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
