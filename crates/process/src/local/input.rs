//! The one writer of a child's input: orders wait in a queue, and are done whole, one by one.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use rustix::io::Errno;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::Wire;
use super::WriteReceipt;
use crate::byte_budget::{ByteBudget, ReservedBytes};
use crate::configuration::InputLimits;
use crate::error::WriteError;
use crate::sys;

type Done = oneshot::Sender<Result<(), WriteError>>;

#[derive(Debug)]
enum Order {
    Write(Bytes, ReservedBytes, Done),
    Close(Done),
}

/// The writer's queue, bounded by the bytes in it.
#[derive(Clone, Debug)]
pub(super) struct Input {
    orders: mpsc::UnboundedSender<Order>,
    budget: Arc<ByteBudget>,
}

impl Input {
    /// Starts the writer. Aborting it closes a pipe and fails every order that is not done.
    pub(super) fn start(
        wire: Option<Wire>,
        console: bool,
        limits: InputLimits,
    ) -> (Self, AbortHandle) {
        let (orders, queue) = mpsc::unbounded_channel();
        let input = Self {
            orders,
            budget: ByteBudget::new(limits.queue_bytes),
        };
        let writer = Writer {
            wire,
            console,
            deadline: limits.deadline,
            torn: false,
        };
        (input, tokio::spawn(writer.run(queue)).abort_handle())
    }

    pub(super) fn write(&self, bytes: Bytes) -> Result<WriteReceipt, WriteError> {
        let claim = self.budget.reserve(bytes.len())?;
        self.order(|done| Order::Write(bytes, claim, done))
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
    wire: Option<Wire>,
    console: bool,
    deadline: Option<Duration>,
    torn: bool,
}

impl Writer {
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Order>) {
        while let Some(order) = queue.recv().await {
            match order {
                // Its caller has gone before its turn: nothing of it is written.
                Order::Write(_, _, done) if done.is_closed() => {}
                Order::Write(bytes, claim, done) => {
                    drop(done.send(self.write(bytes, claim).await));
                }
                Order::Close(done) => drop(done.send(self.close())),
            }
        }
    }

    fn close(&mut self) -> Result<(), WriteError> {
        if self.console {
            return Err(WriteError::NoEndOfInput);
        }
        self.wire = None;
        Ok(())
    }

    async fn write(&mut self, bytes: Bytes, claim: ReservedBytes) -> Result<(), WriteError> {
        let wire = self.wire.as_ref().ok_or(WriteError::Closed)?;
        if self.torn {
            return Err(WriteError::Torn);
        }
        if self.console {
            check_lines(&bytes, sys::line_limit(wire.get_ref()))?;
        }
        let written = feed(wire, bytes, claim, self.deadline).await;
        // The keys of a terminal stand for themselves; half a line on a pipe does not.
        self.torn = !self.console && matches!(written, Err(WriteError::Stalled { taken: 1.., .. }));
        written
    }
}

/// Writes all of `bytes`, or says how far it came.
async fn feed(
    wire: &Wire,
    mut bytes: Bytes,
    mut claim: ReservedBytes,
    deadline: Option<Duration>,
) -> Result<(), WriteError> {
    let length = bytes.len();
    while !bytes.is_empty() {
        let some = write_some(wire, &bytes);
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
        claim.shrink(taken);
    }
    Ok(())
}

/// One write(2) that takes something, as soon as there is place.
async fn write_some(wire: &Wire, bytes: &[u8]) -> io::Result<usize> {
    loop {
        let mut ready = wire.writable().await?;
        match ready.try_io(|wire| Ok(rustix::io::write(wire.get_ref(), bytes)?)) {
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(taken) => return taken,
            Err(_would_block) => {}
        }
    }
}

/// The kernel drops what is over the limit and still reports it as written, so it must not see it.
fn check_lines(bytes: &[u8], limit: Option<usize>) -> Result<(), WriteError> {
    let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    let length = lines.map(<[u8]>::len).max().unwrap_or(0);
    match limit {
        Some(limit) if length > limit => Err(WriteError::LineTooLong { length, limit }),
        _ => Ok(()),
    }
}
