//! The one writer of a child's input: orders wait in a queue, and are done whole, one by one.

use bytes::{Buf as _, Bytes};
use rustix::io::Errno;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::Wire;
use crate::error::WriteError;
use crate::session::Receipt;
use crate::sys;

type Done = oneshot::Sender<Result<(), WriteError>>;

#[derive(Debug)]
enum Order {
    Write(Bytes, Done),
    Close(Done),
}

/// The writer's queue. Not bounded in itself: each order belongs to a caller that waits for it.
#[derive(Clone, Debug)]
pub(super) struct Input {
    orders: mpsc::UnboundedSender<Order>,
}

impl Input {
    /// Starts the writer. Aborting it closes a pipe and fails every order that is not done.
    pub(super) fn start(wire: Wire, console: bool) -> (Self, AbortHandle) {
        let (orders, queue) = mpsc::unbounded_channel();
        let writer = Writer {
            wire: Some(wire),
            console,
        };
        (
            Self { orders },
            tokio::spawn(writer.run(queue)).abort_handle(),
        )
    }

    pub(super) fn write(&self, bytes: Bytes) -> Result<Receipt, WriteError> {
        self.order(|done| Order::Write(bytes, done))
    }

    pub(super) fn close(&self) -> Result<Receipt, WriteError> {
        self.order(Order::Close)
    }

    fn order(&self, order: impl FnOnce(Done) -> Order) -> Result<Receipt, WriteError> {
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
}

impl Writer {
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Order>) {
        while let Some(order) = queue.recv().await {
            match order {
                // Its caller has gone before its turn: nothing of it is written.
                Order::Write(_, done) if done.is_closed() => {}
                Order::Write(bytes, done) => drop(done.send(self.write(bytes).await)),
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

    async fn write(&self, mut bytes: Bytes) -> Result<(), WriteError> {
        let wire = self.wire.as_ref().ok_or(WriteError::Closed)?;
        if self.console {
            check_lines(&bytes, sys::line_limit(wire.get_ref()))?;
        }
        while !bytes.is_empty() {
            let mut ready = wire.writable().await?;
            match ready.try_io(|wire| Ok(rustix::io::write(wire.get_ref(), &bytes)?)) {
                Ok(Ok(taken)) => bytes.advance(taken),
                Ok(Err(error)) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    Some(Errno::PIPE | Errno::IO) => return Err(WriteError::Ended),
                    _ => return Err(error.into()),
                },
                Err(_would_block) => {}
            }
        }
        Ok(())
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
