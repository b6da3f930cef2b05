//! What a client of the frames door may say.

use std::time::Instant;

use bowline_transport::SessionId;
use bowline_transport::wire::{Decoder, Lease, Message, WireError};
use bytes::Bytes;

use crate::serve::Pace;

/// Pings a second that a client may send (terminal notes, section 3.2).
const PINGS: u32 = 20;

/// What a client of the frames door may say.
#[derive(Debug)]
pub(crate) struct Rights {
    /// The one session that it may attach to.
    pub(crate) session: SessionId,
    /// The most that it may ask for.
    lease: Lease,
    decoder: Decoder,
    pings: Pace<()>,
}

/// What a client did that it may not.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Wrong {
    /// What it sent is no frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// It wants another session than the one of its address.
    #[error("attach to the session of the address, no other")]
    Session,
    /// It wants to be allowed more than its ticket is good for.
    #[error("the ticket is not good for this lease")]
    Lease,
    /// It sent text.
    #[error("frames are binary")]
    Text,
    /// It asks too often.
    #[error("at most 20 pings a second")]
    Pings,
}

impl Rights {
    pub(crate) fn new(session: SessionId, lease: Lease) -> Self {
        Self {
            session,
            lease,
            decoder: Decoder::new(),
            pings: Pace::new(PINGS, PINGS),
        }
    }

    /// Looks at what is about to be passed on; whether it asks for more than to read.
    pub(crate) fn check(&mut self, bytes: &Bytes, now: Instant) -> Result<bool, Wrong> {
        let mut is_to_write = false;
        self.decoder.push(bytes.clone());
        while let Some(frame) = self.decoder.next()? {
            match frame.message {
                Message::Attach(attach) if attach.session != self.session => {
                    return Err(Wrong::Session);
                }
                Message::Attach(attach) if rank(attach.lease) > rank(self.lease) => {
                    return Err(Wrong::Lease);
                }
                Message::Attach(attach) => is_to_write |= attach.lease != Lease::Read,
                Message::Ping { .. } => self.pinged(now)?,
                _ => {}
            }
        }
        Ok(is_to_write)
    }

    /// A ping, of the wire or of the WebSocket.
    pub(crate) fn pinged(&mut self, now: Instant) -> Result<(), Wrong> {
        self.pings.take((), now).map_err(|_| Wrong::Pings)
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

    use bowline_transport::wire::{Attach, AttachMode, Frame, encode};
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
    fn a_client_gets_no_more_than_its_lease() {
        let (session, now) = (SessionId::random(), Instant::now());
        let leases = [Lease::Read, Lease::Append, Lease::Write];
        for (has, most) in leases.into_iter().enumerate() {
            for (wants, lease) in leases.into_iter().enumerate() {
                let checked = Rights::new(session, most).check(&attach(session, lease), now);
                assert_eq!(checked.is_ok(), wants <= has, "{most:?} {lease:?}");
            }
        }
    }

    #[test]
    fn a_client_stays_at_its_session() {
        let mut rights = Rights::new(SessionId::random(), Lease::Write);
        let other = attach(SessionId::random(), Lease::Read);
        assert!(matches!(
            rights.check(&other, Instant::now()),
            Err(Wrong::Session)
        ));
    }

    #[test]
    fn a_torn_attach_is_still_looked_at() {
        let mut rights = Rights::new(SessionId::random(), Lease::Write);
        let other = attach(SessionId::random(), Lease::Read);
        let now = Instant::now();
        assert!(rights.check(&other.slice(..20), now).is_ok());
        assert!(matches!(
            rights.check(&other.slice(20..), now),
            Err(Wrong::Session)
        ));
    }

    #[test]
    fn a_flood_of_pings_is_put_out() {
        let (mut rights, now) = (
            Rights::new(SessionId::random(), Lease::Read),
            Instant::now(),
        );
        let mut ping = BytesMut::new();
        encode(&Frame::new(0, Message::Ping { nonce: 1 }), &mut ping);
        let ping = ping.freeze();
        assert!((0..PINGS).all(|_| rights.check(&ping, now).is_ok()));
        assert!(matches!(rights.check(&ping, now), Err(Wrong::Pings)));
    }
}
