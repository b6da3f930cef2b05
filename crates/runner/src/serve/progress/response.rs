//! Responses that a client does not take, although it takes other data: a stream of HTTP/2 whose flow
//! control window stays empty (RFC 9113, section 5.2).

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::{ClientStalled, STALL_TIMEOUT};

/// Maximum bytes of a part of a response: what a client must take within the time limit.
const PART: usize = 8 << 10;

/// The responses of a connection that are being sent.
#[derive(Debug, Default)]
pub(in crate::serve) struct ResponseProgress {
    responses: Mutex<Responses>,
    /// Notified when a response waits and none did before.
    began: Notify,
}

#[derive(Debug, Default)]
struct Responses {
    next: u64,
    /// Since when the connection has asked for no more of a response.
    waiting: BTreeMap<u64, Instant>,
}

impl ResponseProgress {
    /// Watches the body of a response over HTTP/2.
    pub(in crate::serve) fn watch(self: &Arc<Self>, body: Body) -> Body {
        let mut responses = self.responses.lock();
        let id = responses.next;
        responses.next += 1;
        drop(responses);
        Body::new(WatchedBody {
            body,
            rest: Bytes::new(),
            id,
            progress: Arc::clone(self),
        })
    }

    /// Waits until the client has not taken the next 8 KiB of a response for 14 s. Cancel safe.
    pub(in crate::serve) async fn stalled(&self) -> ClientStalled {
        loop {
            let oldest = self.responses.lock().waiting.values().min().copied();
            match oldest {
                None => self.began.notified().await,
                Some(since) if since.elapsed() >= STALL_TIMEOUT => return ClientStalled,
                Some(since) => sleep_until(since + STALL_TIMEOUT).await,
            }
        }
    }

    fn set_waiting(&self, id: u64) {
        let mut responses = self.responses.lock();
        responses.waiting.insert(id, Instant::now());
        if responses.waiting.len() == 1 {
            self.began.notify_one();
        }
    }

    fn set_taken(&self, id: u64) {
        self.responses.lock().waiting.remove(&id);
    }
}

/// A body that is sent in small parts. The connection requests one of them while it still holds another
/// that waits for the window, and drops the body after it has sent the last one.
struct WatchedBody {
    body: Body,
    /// What is left of the body's last frame.
    rest: Bytes,
    id: u64,
    progress: Arc<ResponseProgress>,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.progress.set_taken(self.id);
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)).transpose()? {
                Some(frame) => match frame.into_data() {
                    Ok(bytes) => self.rest = bytes,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(PART);
        let part = self.rest.split_to(length);
        self.progress.set_waiting(self.id);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.rest.is_empty() {
            self.body.size_hint()
        } else {
            SizeHint::default()
        }
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        self.progress.set_taken(self.id);
    }
}
