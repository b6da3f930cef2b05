//! Checks a client's frames against its session and lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bowline_transport::SessionId;
use bowline_transport::wire::{Decoder, Lease, Message, WireError};
use bytes::Bytes;

use crate::app_state::{AttachedHost, RateLimiter};

/// Maximum number of pings per second.
const MAX_PINGS_PER_SECOND: u32 = 20;

/// Maximum size of a message from a client that only reads, in bytes. Its parts are buffered until it
/// is complete, here and in the shim.
const MAX_READER_MESSAGE: usize = 256 << 10;

/// Checks a client's frames against its session and lease.
#[derive(Debug)]
pub(crate) struct FrameGuard {
    /// The only session that the client may attach to.
    pub(crate) session: SessionId,
    /// The highest lease that it may request.
    lease: Lease,
    /// Whether it may end the session.
    may_end: bool,
    requests_lease: Arc<AtomicBool>,
    decoder: Decoder,
    /// Bytes received since the last complete message.
    incomplete: usize,
    pings: RateLimiter<()>,
    /// Counts the client as attached for as long as it is.
    _host: Option<AttachedHost>,
}

/// A frame that the client must not send.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameViolation {
    /// The bytes are not a valid frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The frame attaches to another session than the request's path.
    #[error("attach must name the session of the path")]
    Session,
    /// The frame requests a higher lease than the ticket or token permits.
    #[error("the ticket or token does not permit this lease")]
    Lease,
    /// The frame ends the session, which the token does not permit.
    #[error("the token does not permit to end the session")]
    End,
    /// The message is text.
    #[error("frames must be sent in binary messages")]
    Text,
    /// A client that only reads sends a large message.
    #[error("messages of a client that only reads must have at most 256 KiB")]
    Size,
    /// The client pings too often.
    #[error("at most 20 pings per second")]
    Pings,
}

impl FrameGuard {
    pub(crate) fn new(session: SessionId, lease: Lease) -> Self {
        Self {
            session,
            lease,
            may_end: true,
            requests_lease: Arc::default(),
            decoder: Decoder::new(),
            incomplete: 0,
            pings: RateLimiter::new(MAX_PINGS_PER_SECOND, MAX_PINGS_PER_SECOND),
            _host: None,
        }
    }

    /// Refuses to end the session.
    pub(crate) const fn without_end(mut self) -> Self {
        self.may_end = false;
        self
    }

    /// Counts the client as attached until this is dropped.
    pub(crate) fn counted(mut self, host: AttachedHost) -> Self {
        self._host = Some(host);
        self
    }

    /// Whether the client has requested more than to read.
    pub(crate) fn requests_lease(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requests_lease)
    }

    /// Checks the next bytes, which may end inside a frame. Returns whether they request more than
    /// to read.
    pub(crate) fn check(&mut self, bytes: &Bytes, now: Instant) -> Result<bool, FrameViolation> {
        let mut requests_write = false;
        self.decoder.push(bytes.clone());
        self.incomplete += bytes.len();
        while let Some(frame) = self.decoder.next()? {
            self.incomplete = 0;
            match frame.message {
                Message::Attach(attach) if attach.session != self.session => {
                    return Err(FrameViolation::Session);
                }
                Message::Attach(attach) if rank(attach.lease) > rank(self.lease) => {
                    return Err(FrameViolation::Lease);
                }
                Message::Attach(attach) if attach.lease != Lease::Read => {
                    requests_write = true;
                    self.requests_lease.store(true, Ordering::Relaxed);
                }
                Message::Kill { .. } if !self.may_end => return Err(FrameViolation::End),
                Message::Ping { .. } => self.count_ping(now)?,
                _ => {}
            }
        }
        if self.incomplete > MAX_READER_MESSAGE && !self.requests_lease.load(Ordering::Relaxed) {
            return Err(FrameViolation::Size);
        }
        Ok(requests_write)
    }

    /// Counts a ping, of the wire or of the WebSocket.
    pub(crate) fn count_ping(&mut self, now: Instant) -> Result<(), FrameViolation> {
        self.pings
            .acquire((), now)
            .map_err(|_| FrameViolation::Pings)
    }
}

const fn rank(lease: Lease) -> u8 {
    match lease {
        Lease::Read => 0,
        Lease::Append => 1,
        Lease::Write => 2,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bowline_transport::wire::{Attach, AttachMode, Frame, Prompt, PromptMode, encode};
    use bytes::BytesMut;

    use super::*;

    fn attach(session: SessionId, lease: Lease) -> Bytes {
        let attach = Message::Attach(Attach {
            session,
            epoch: None,
            cursors: BTreeMap::new(),
            mode: AttachMode::Resume,
            lease,
            resume_generation: None,
            size: None,
            credit: 0,
            client: String::new(),
        });
        let mut bytes = BytesMut::new();
        encode(&Frame::new(0, attach), &mut bytes);
        bytes.freeze()
    }

    #[test]
    fn lease_above_permitted_is_refused() {
        let (session, now) = (SessionId::random(), Instant::now());
        let leases = [Lease::Read, Lease::Append, Lease::Write];
        for (permitted_rank, permitted) in leases.into_iter().enumerate() {
            for (rank, lease) in leases.into_iter().enumerate() {
                let mut guard = FrameGuard::new(session, permitted);
                let checked = guard.check(&attach(session, lease), now);
                assert_eq!(
                    checked.is_ok(),
                    rank <= permitted_rank,
                    "{permitted:?} {lease:?}"
                );
            }
        }
    }

    #[test]
    fn attach_to_other_session_is_refused() {
        let mut guard = FrameGuard::new(SessionId::random(), Lease::Write);
        let other = attach(SessionId::random(), Lease::Read);
        assert!(matches!(
            guard.check(&other, Instant::now()),
            Err(FrameViolation::Session)
        ));
    }

    #[test]
    fn attach_in_two_parts_is_checked() {
        let mut guard = FrameGuard::new(SessionId::random(), Lease::Write);
        let other = attach(SessionId::random(), Lease::Read);
        let now = Instant::now();
        assert!(guard.check(&other.slice(..20), now).is_ok());
        assert!(matches!(
            guard.check(&other.slice(20..), now),
            Err(FrameViolation::Session)
        ));
    }

    #[test]
    fn large_message_needs_a_lease() {
        let (session, now) = (SessionId::random(), Instant::now());
        let mut prompt = BytesMut::new();
        let message = Message::Prompt(Prompt {
            id: "p".to_owned(),
            bytes: vec![b'x'; 4 << 20].into(),
            mode: PromptMode::Line,
            request_id: None,
        });
        encode(&Frame::new(0, message), &mut prompt);
        let prompt = prompt.freeze();
        let send = |lease| {
            let mut guard = FrameGuard::new(session, Lease::Write);
            guard.check(&attach(session, lease), now).unwrap();
            let mut parts = prompt.chunks(64 << 10);
            parts.try_for_each(|part| guard.check(&Bytes::copy_from_slice(part), now).map(drop))
        };
        assert!(send(Lease::Append).is_ok());
        assert!(matches!(send(Lease::Read), Err(FrameViolation::Size)));
    }

    #[test]
    fn ping_flood_is_refused() {
        let now = Instant::now();
        let mut guard = FrameGuard::new(SessionId::random(), Lease::Read);
        let mut ping = BytesMut::new();
        encode(&Frame::new(0, Message::Ping { nonce: 1 }), &mut ping);
        let ping = ping.freeze();
        assert!((0..MAX_PINGS_PER_SECOND).all(|_| guard.check(&ping, now).is_ok()));
        assert!(matches!(
            guard.check(&ping, now),
            Err(FrameViolation::Pings)
        ));
    }
}
