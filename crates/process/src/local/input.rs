//! Writer of a child's input: orders are queued, and each is completed before the next.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use rustix::io::Errno;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::fds::SharedFd;
use crate::byte_budget::{ByteBudget, ReservedBytes};
use crate::configuration::InputLimits;
use crate::error::WriteError;
use crate::inbox::Inbox;
use crate::sys;

/// Resolves when a write or a close has completed. Closed without a value if the session ended
/// first.
pub type WriteReceipt = oneshot::Receiver<Result<(), WriteError>>;

type Done = oneshot::Sender<Result<(), WriteError>>;

#[derive(Debug)]
enum Order {
    Write(Bytes, ReservedBytes, Done),
    Close(Done),
}

/// Queue of the writer, bounded by the number of queued bytes.
#[derive(Clone, Debug)]
pub(super) struct Input {
    orders: mpsc::UnboundedSender<Order>,
    budget: Arc<ByteBudget>,
}

impl Input {
    /// Starts the writer. Aborting it closes a pipe and fails the remaining orders, and any order that is
    /// being sent meanwhile.
    pub(super) fn start(
        fd: Option<SharedFd>,
        console: bool,
        limits: InputLimits,
    ) -> (Self, AbortHandle) {
        let (orders, queue) = Inbox::new();
        let input = Self {
            orders,
            budget: ByteBudget::new(limits.queue_bytes),
        };
        let writer = Writer {
            fd,
            console,
            deadline: limits.deadline,
            torn: false,
        };
        (input, tokio::spawn(writer.run(queue)).abort_handle())
    }

    pub(super) fn write(&self, bytes: Bytes) -> Result<WriteReceipt, WriteError> {
        let reservation = self.budget.reserve(bytes.len())?;
        self.order(|done| Order::Write(bytes, reservation, done))
    }

    pub(super) fn close(&self) -> Result<WriteReceipt, WriteError> {
        self.order(Order::Close)
    }

    pub(super) fn queued(&self) -> usize {
        self.budget.waiting()
    }

    fn order(&self, order: impl FnOnce(Done) -> Order) -> Result<WriteReceipt, WriteError> {
        let (done, receipt) = oneshot::channel();
        self.orders
            .send(order(done))
            .map_err(|_| WriteError::Ended)?;
        Ok(receipt)
    }
}

struct Writer {
    fd: Option<SharedFd>,
    console: bool,
    deadline: Option<Duration>,
    torn: bool,
}

impl Writer {
    async fn run(mut self, mut queue: Inbox<Order>) {
        while let Some(order) = queue.recv().await {
            match order {
                // The caller dropped its receipt before the write began; nothing is written.
                Order::Write(_, _, done) if done.is_closed() => {}
                Order::Write(bytes, reservation, done) => {
                    drop(done.send(self.write(bytes, reservation).await));
                }
                Order::Close(done) => drop(done.send(self.close())),
            }
        }
    }

    fn close(&mut self) -> Result<(), WriteError> {
        if self.console {
            return Err(WriteError::NoEndOfInput);
        }
        self.fd = None;
        Ok(())
    }

    async fn write(&mut self, bytes: Bytes, reservation: ReservedBytes) -> Result<(), WriteError> {
        let fd = self.fd.as_ref().ok_or(WriteError::Closed)?;
        if self.torn {
            return Err(WriteError::Torn);
        }
        if self.console {
            check_lines(&bytes, sys::line_limit(fd.get_ref()))?;
        }
        let written = write_all(fd, bytes, reservation, self.deadline).await;
        // On a terminal each byte is a separate key; on a pipe a partial line corrupts the next
        // one.
        self.torn = !self.console && matches!(written, Err(WriteError::Stalled { taken: 1.., .. }));
        written
    }
}

/// Writes all of `bytes`, or returns how many were written.
async fn write_all(
    fd: &SharedFd,
    mut bytes: Bytes,
    mut reservation: ReservedBytes,
    deadline: Option<Duration>,
) -> Result<(), WriteError> {
    let length = bytes.len();
    while !bytes.is_empty() {
        let some = write_some(fd, &bytes);
        let taken = match deadline {
            None => some.await,
            Some(waited) => timeout(waited, some)
                .await
                .map_err(|_| WriteError::Stalled {
                    taken: length - bytes.len(),
                    length,
                    waited,
                })?,
        };
        let taken = taken.map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::PIPE | Errno::IO) => WriteError::Ended,
            _ => error.into(),
        })?;
        bytes.advance(taken);
        reservation.shrink(taken);
    }
    Ok(())
}

/// Waits until the descriptor is writable, and writes at least one byte.
async fn write_some(fd: &SharedFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // Polled, since that consumes the task's cooperative budget.
        let mut ready = poll_fn(|cx| fd.poll_write_ready(cx)).await?;
        let is_hung_up = ready.ready().is_write_closed();
        match ready.try_io(|fd| Ok(rustix::io::write(fd.get_ref(), bytes)?)) {
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(taken) => return taken,
            // A terminal without a slave side never has room again, but remains ready.
            Err(_would_block) if is_hung_up => return Err(Errno::IO.into()),
            Err(_would_block) => {}
        }
    }
}

/// The kernel discards bytes beyond the limit but reports them as written, so they are rejected
/// here.
fn check_lines(bytes: &[u8], limit: Option<usize>) -> Result<(), WriteError> {
    let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    let length = lines.map(<[u8]>::len).max().unwrap_or(0);
    match limit {
        Some(limit) if length > limit => Err(WriteError::LineTooLong { length, limit }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{PtyMode, WindowSize};

    /// Longer than a terminal's input queue.
    const UNREAD: &[u8] = &[b'x'; 1 << 20];

    /// Runs on a thread of its own, so that a writer that never yields fails the test instead of
    /// hanging it.
    fn write_to_hung_up_terminal(mode: PtyMode) -> Result<(), WriteError> {
        let (result, results) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let written = runtime.enable_all().build().unwrap().block_on(async {
                let (ours, theirs) = sys::open_pty(WindowSize::default(), mode).unwrap();
                let console = Arc::new(sys::watch(ours).unwrap());
                let (input, _) = Input::start(Some(console), true, InputLimits::default());
                let lines = UNREAD.chunks(80).collect::<Vec<_>>().join(&b'\n');
                let written = input.write(lines.into()).unwrap();
                tokio::task::yield_now().await;
                drop(theirs);
                written.await.unwrap()
            });
            result.send(written).unwrap();
        });
        let limit = Duration::from_secs(60);
        results.recv_timeout(limit).expect("done within a minute")
    }

    #[test]
    fn write_to_hung_up_terminal_ends() {
        for mode in [PtyMode::Raw, PtyMode::Cooked] {
            let written = write_to_hung_up_terminal(mode);
            assert!(matches!(written, Err(WriteError::Ended)), "{written:?}");
        }
    }
}
