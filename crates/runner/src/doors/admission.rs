//! Who may attach to which session, the same for every door.

use std::io;

use bowline_transport::SessionId;
use bowline_transport::wire::Lease;
use tokio::net::UnixStream;

use super::frames::Rights;
use super::metrics;
use super::problem::Problem;
use crate::serve::{Grant, Hall, Pass, State};

/// A way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    Frames,
    Panel,
    Grpc,
}

/// Somebody who wants to attach to a session, and what it may there.
#[derive(Debug)]
pub(super) struct Admission {
    session: SessionId,
    lease: Option<Lease>,
    door: Door,
}

impl Admission {
    /// Looks at what was shown. A ticket is used up by this.
    pub(super) fn of(hall: &Hall, pass: Option<Pass>, session: SessionId, door: Door) -> Self {
        let lease = match pass {
            Some(Pass::Owner) => Some(Lease::Write),
            Some(Pass::Ticket(secret)) => match hall.redeem(&secret) {
                Some(Grant::Attach(of, lease)) if of == session => Some(lease),
                _ => None,
            },
            None => None,
        };
        Self {
            session,
            lease,
            door,
        }
    }

    /// What is allowed, if the session is there and may be attached to now.
    pub(super) fn lease(&self, hall: &Hall) -> Result<Lease, Problem> {
        let lease = self.lease.ok_or_else(Problem::no_ticket)?;
        hall.may_attach(self.session)
            .map_err(|after| Problem::too_often("the session is attached to too often", after))?;
        self.count(hall).attaches.add(1);
        Ok(lease)
    }

    /// Opens a way to the session's shim.
    pub(super) async fn open(&self, hall: &Hall) -> Result<(UnixStream, Rights), Problem> {
        let lease = self.lease(hall)?;
        let session = hall.directory.find(self.session);
        let session = session.ok_or_else(Problem::no_session)?;
        match session.connect().await {
            Ok(shim) => Ok((shim, Rights::new(self.session, lease))),
            // Who was told nothing of an end must not take a kill for one.
            Err(error) if is_gone(&error) => match hall.directory.record(self.session).await {
                Ok(Some(record)) if record.state() == State::Lost => Err(Problem::killed()),
                _ => Err(Problem::ended()),
            },
            Err(error) => Err(Problem::internal(error)),
        }
    }

    fn count<'a>(&self, hall: &'a Hall) -> &'a metrics::Door {
        match self.door {
            Door::Frames => &hall.metrics.frames,
            Door::Panel => &hall.metrics.panel,
            Door::Grpc => &hall.metrics.grpc,
        }
    }
}

/// Whether nobody listens any more.
pub(super) fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    matches!(error.kind(), NotFound | ConnectionRefused)
}
