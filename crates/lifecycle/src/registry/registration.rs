//! A terminal's place in the registry: taken at its start, given back at its end, whatever ends it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use bowline_transport::{ExitStatus, TerminalSession};

use super::metrics::Used;
use super::terminal::describe;
use super::{CLOSED_REQUESTS, List, Live, RegisteredTerminal, TOMBSTONES, TerminalRegistry};
use super::{Metrics, TerminalTag, Tombstone};
use crate::permission::PermissionRecord;
use crate::session::WeakDialogue;

/// A place in the registry.
#[derive(Debug)]
pub struct Registration {
    registry: TerminalRegistry,
    at: u64,
    status: Option<ExitStatus>,
    expected: bool,
    reason: String,
    used: Used,
}

impl TerminalRegistry {
    /// Lists a terminal until the registration is dropped.
    pub fn register(&self, terminal: &TerminalSession, tag: TerminalTag) -> Registration {
        self.list_as(RegisteredTerminal::new(terminal, tag), None)
    }

    /// Lists the terminal of a dialogue, which can be asked about its permissions.
    pub(crate) fn register_dialogue(
        &self,
        terminal: &TerminalSession,
        dialogue: WeakDialogue,
    ) -> Registration {
        let listed = RegisteredTerminal::new(terminal, TerminalTag::AgentDialogue);
        self.list_as(listed, Some(dialogue))
    }

    /// Lists a command in a terminal of ours, or of the host's own.
    pub fn register_command(&self, terminal: Option<&TerminalSession>) -> Registration {
        let tag = TerminalTag::Executor;
        let terminal = terminal.map_or_else(
            || RegisteredTerminal::of_host(tag),
            |terminal| RegisteredTerminal::new(terminal, tag),
        );
        let mut registration = self.list_as(terminal, None);
        "the command was given up".clone_into(&mut registration.reason);
        registration
    }

    fn list_as(
        &self,
        terminal: RegisteredTerminal,
        dialogue: Option<WeakDialogue>,
    ) -> Registration {
        let mut list = self.lock();
        list.births += 1;
        list.totals.0.started += 1;
        let at = list.births;
        let live = Live {
            terminal,
            dialogue,
            permissions: Vec::new(),
        };
        list.live.insert(at, live);
        Registration {
            registry: self.clone(),
            at,
            status: None,
            expected: false,
            reason: "the runtime of its host ended".to_owned(),
            used: Used::default(),
        }
    }
}

impl Registration {
    /// Says how the terminal ended, in the words of its status. The first one counts.
    pub fn exited(&mut self, status: ExitStatus, expected: bool) {
        self.end(status, expected, &describe(status));
    }

    /// As [`exited`](Self::exited), in other words.
    pub(crate) fn end(&mut self, status: ExitStatus, expected: bool, reason: &str) {
        if self.status.is_none() {
            self.status = Some(status);
            self.expected = expected;
            reason.clone_into(&mut self.reason);
        }
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Metrics)) {
        count(&mut self.registry.lock().totals.0);
    }

    /// Counts bytes of output.
    pub fn output(&self, bytes: usize) {
        let counter = &self.registry.inner.output_bytes;
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn errors(&self, bytes: usize) {
        let counter = &self.registry.inner.error_bytes;
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn turn(&mut self, used: Used) {
        self.registry.lock().totals.turn(self.used, used);
        self.used = used;
    }

    /// Lists a permission request, or what has become of it.
    pub(crate) fn permission(&self, record: Arc<PermissionRecord>) {
        self.registry.lock().permission(self.at, record);
    }
}

impl List {
    fn permission(&mut self, at: u64, record: Arc<PermissionRecord>) {
        let Some(live) = self.live.get_mut(&at) else {
            return;
        };
        let listed = &mut live.permissions;
        match listed
            .iter_mut()
            .rfind(|it| it.request_id == record.request_id)
        {
            Some(known) => *known = record,
            None => {
                self.totals.0.permissions += 1;
                listed.push(record);
            }
        }
        let closed = listed.iter().filter(|it| !it.state.is_open()).count();
        if closed > CLOSED_REQUESTS
            && let Some(oldest) = listed.iter().position(|it| !it.state.is_open())
        {
            listed.remove(oldest);
        }
    }

    fn bury(&mut self, tombstone: Tombstone) {
        self.totals.0.ended += 1;
        self.totals.0.unexpected_ends += u64::from(!tombstone.expected);
        if self.tombstones.len() >= TOMBSTONES {
            self.tombstones.pop_front();
        }
        self.tombstones.push_back(tombstone);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut list = self.registry.lock();
        if let Some(live) = list.live.remove(&self.at) {
            list.bury(Tombstone {
                id: live.terminal.id,
                tag: live.terminal.tag,
                pid: live.terminal.pid,
                started: live.terminal.started,
                ended: SystemTime::now(),
                status: self.status,
                expected: self.expected,
                reason: std::mem::take(&mut self.reason),
            });
        }
    }
}
