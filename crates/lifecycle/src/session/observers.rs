//! What a running session publishes: events, permission requests, registry data and spans.

use std::sync::Arc;

use bowline_reducer::{OpenWork, Transcript};
use tokio::sync::watch;

use super::end::DialogueEnd;
use super::spans::SessionSpans;
use crate::attention::Attention;
use crate::events::{DialogueEventKind, PendingEvent, Router};
use crate::permission::Permissions;
use crate::private_file::PrivateFile;
use crate::registry::Registration;

/// Where a session publishes. Dropping it removes the session from the registry, and then ends the
/// event streams.
#[derive(Debug)]
pub(super) struct Observers {
    pub(super) registration: Registration,
    pub(super) router: ClosingRouter,
    pub(super) permissions: watch::Sender<Permissions>,
    pub(super) spans: Option<Box<SessionSpans>>,
    /// What the attention was derived from.
    pub(super) last_state: Option<(OpenWork, bool)>,
    /// Kept for the agent, which may open them at any time.
    pub(super) _files: Vec<Arc<PrivateFile>>,
}

impl Observers {
    /// Returns whether events are used by anything.
    pub(super) fn wants_events(&self) -> bool {
        self.router.0.has_subscribers() || self.spans.is_some()
    }

    pub(super) fn event(&mut self, event: PendingEvent) {
        if let Some(spans) = &mut self.spans {
            spans.event(&event);
        }
        match &event.kind {
            DialogueEventKind::Inquiry(_) => self.registration.count(|it| it.inquiries += 1),
            DialogueEventKind::SessionTimeout(_) => self.registration.count(|it| it.timeouts += 1),
            _ => {}
        }
        if self.router.0.has_subscribers() {
            let dropped = self.router.0.send(event);
            if dropped > 0 {
                self.registration.count(|it| it.lagged += dropped);
            }
        }
    }

    /// Publishes the permission requests after a change; `is_new` if one was added.
    pub(super) fn permissions(&self, permissions: Permissions, is_new: bool) {
        self.permissions.send_replace(permissions);
        self.registration.permissions_changed();
        if is_new {
            self.registration.count(|it| it.permissions += 1);
        }
    }

    /// Notes what of the session needs attention, if that may have changed since the last call.
    pub(super) fn changed(&mut self, transcript: &Transcript, has_ended: bool) {
        let state = (transcript.open_work(), has_ended);
        if self.last_state.replace(state) != Some(state) {
            self.registration.attention(Attention::of(transcript));
        }
    }

    pub(super) fn turn_ended(&mut self, transcript: &Transcript) {
        // Another turn may have ended since.
        self.last_state = None;
        let used = self.registration.turn(transcript);
        if let Some(spans) = &mut self.spans {
            spans.usage(transcript, used);
        }
    }

    /// Notes how the session ended, for the registry.
    pub(super) fn ended(&mut self, end: &DialogueEnd) {
        self.registration
            .end(end.exit.status, end.expected, &end.reason);
    }
}

/// Ends the event streams when dropped, also if the driver is dropped with its runtime.
#[derive(Debug)]
pub(super) struct ClosingRouter(pub(super) Router);

impl Drop for ClosingRouter {
    fn drop(&mut self) {
        self.0.close();
    }
}
