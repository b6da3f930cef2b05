//! What a session shows to the world while it runs: its events, its place in the registry, its
//! spans.

use std::sync::Arc;

use bowline_reducer::Transcript;

use crate::events::{DialogueEventKind, Router, Told};
use crate::permission::PermissionRecord;
use crate::private_file::PrivateFile;
use crate::registry::{Registration, Used};
use crate::session::Ended;
use crate::session::trace::Tracer;

/// What a session shows to the world.
#[derive(Debug)]
pub(super) struct Outside {
    pub(super) router: Router,
    pub(super) registration: Registration,
    pub(super) tracer: Option<Box<Tracer>>,
    /// Held for the agent, which may open them at any time.
    pub(super) _files: Vec<Arc<PrivateFile>>,
}

impl Outside {
    /// Whether anybody wants to know what happens.
    pub(super) fn is_heard(&self) -> bool {
        self.router.has_subscribers() || self.tracer.is_some()
    }

    pub(super) fn told(&mut self, told: Told) {
        if let Some(tracer) = &mut self.tracer {
            tracer.told(&told);
        }
        match &told.kind {
            DialogueEventKind::Inquiry(_) => self.registration.count(|it| it.inquiries += 1),
            DialogueEventKind::SessionTimeout(_) => self.registration.count(|it| it.timeouts += 1),
            _ => {}
        }
        if self.router.has_subscribers() {
            let lost = self.router.send(told);
            if lost > 0 {
                self.registration.count(|it| it.lagged += lost);
            }
        }
    }

    pub(super) fn permission(&self, record: Arc<PermissionRecord>) {
        self.registration.permission(record);
    }

    pub(super) fn turn_ended(&mut self, transcript: &Transcript) {
        self.registration.turn(Used::of(transcript));
    }

    /// Takes the session out of the list, and closes what is told of it.
    pub(super) fn finish(mut self, end: &Ended) {
        self.registration
            .end(end.exit.status, end.expected, &end.reason);
        drop(self.registration);
        self.router.finish();
    }
}
