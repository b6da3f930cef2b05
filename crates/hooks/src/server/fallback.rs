//! A connection that answers an open question even if it is dropped.
//!
//! An agent whose connection is closed without a response continues as if the hook had allowed the
//! event. So the gate's default is written when the connection is dropped before its response:
//! because the server was stopped or dropped, or its runtime was.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::dispatcher::HookDispatcher;

/// The response of a connection that has no other. A cheap handle.
#[derive(Clone, Debug, Default)]
pub(super) struct Fallback(Arc<Mutex<Option<Vec<u8>>>>);

impl Fallback {
    /// Sets the body of the response.
    pub(super) fn set(&self, body: &str) {
        let length = body.len();
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        );
        *self.0.lock() = Some(response.into_bytes());
    }

    fn take(&self) -> Option<Vec<u8>> {
        self.0.lock().take()
    }
}

/// A stream that writes the fallback when it is dropped, unless another response was begun.
#[derive(Debug)]
pub(super) struct FallbackStream<I: AsyncWrite + Unpin> {
    stream: I,
    fallback: Fallback,
    dispatcher: Arc<HookDispatcher>,
}

impl<I: AsyncWrite + Unpin> FallbackStream<I> {
    pub(super) const fn new(
        stream: I,
        fallback: Fallback,
        dispatcher: Arc<HookDispatcher>,
    ) -> Self {
        Self {
            stream,
            fallback,
            dispatcher,
        }
    }

    /// Clears the fallback once a part of a response is written.
    fn written(&self, written: io::Result<usize>) -> io::Result<usize> {
        if matches!(written, Ok(1..)) {
            self.fallback.take();
        }
        written
    }
}

impl<I: AsyncWrite + Unpin> Drop for FallbackStream<I> {
    fn drop(&mut self) {
        let Some(response) = self.fallback.take() else {
            return;
        };
        // The response fits into the socket's buffer, so the write does not have to wait.
        let mut context = Context::from_waker(Waker::noop());
        let mut rest = response.as_slice();
        while let Poll::Ready(Ok(written @ 1..)) =
            Pin::new(&mut self.stream).poll_write(&mut context, rest)
        {
            rest = rest.get(written..).unwrap_or_default();
        }
        if rest.is_empty() {
            self.dispatcher.count_default();
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncRead for FallbackStream<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for FallbackStream<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        Poll::Ready(self.written(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices));
        Poll::Ready(self.written(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
