//! A terminal's entry in the registry, from its start to its end.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use bowline_reducer::Transcript;
use bowline_transport::{ExitStatus, TerminalSession};

use super::list::TerminalRegistry;
use super::metrics::{Metrics, TokenUsage, TurnCount};
use super::terminal::{RegisteredTerminal, TerminalTag, Tombstone, describe};
use crate::attention::Attention;
use crate::message::WeakDialogue;

/// An entry in the registry. Dropping it removes the terminal and leaves a tombstone.
#[derive(Debug)]
pub struct Registration {
    registry: TerminalRegistry,
    key: u64,
    status: Option<ExitStatus>,
    expected: bool,
    reason: String,
    used: TokenUsage,
}

impl TerminalRegistry {
    /// Lists a terminal until the registration is dropped.
    #[must_use]
    pub fn register(&self, terminal: &TerminalSession, tag: TerminalTag) -> Registration {
        self.insert(RegisteredTerminal::new(terminal, tag), None)
    }

    /// Lists the terminal of a dialogue, with access to its permission requests.
    pub(crate) fn register_dialogue(
        &self,
        terminal: &TerminalSession,
        dialogue: WeakDialogue,
    ) -> Registration {
        let terminal = RegisteredTerminal::new(terminal, TerminalTag::AgentDialogue);
        self.insert(terminal, Some(dialogue))
    }

    /// Lists a command of an executor, in a terminal of this crate or of the host.
    #[must_use]
    pub fn register_command(&self, terminal: Option<&TerminalSession>) -> Registration {
        let tag = TerminalTag::Executor;
        let terminal = terminal.map_or_else(
            || RegisteredTerminal::of_host(tag),
            |terminal| RegisteredTerminal::new(terminal, tag),
        );
        let mut registration = self.insert(terminal, None);
        "the command was cancelled".clone_into(&mut registration.reason);
        registration
    }

    fn insert(&self, terminal: RegisteredTerminal, dialogue: Option<WeakDialogue>) -> Registration {
        let key = self.lock().add(terminal, dialogue);
        Registration {
            registry: self.clone(),
            key,
            status: None,
            expected: false,
            reason: "the runtime of its host ended".to_owned(),
            used: TokenUsage::default(),
        }
    }
}

impl Registration {
    /// Notes how the terminal ended. Only the first call has an effect.
    pub fn exited(&mut self, status: ExitStatus, expected: bool) {
        self.end(status, expected, &describe(status));
    }

    /// Like [`exited`](Self::exited), with a description of the end.
    pub(crate) fn end(&mut self, status: ExitStatus, expected: bool, reason: &str) {
        if self.status.is_none() {
            self.status = Some(status);
            self.expected = expected;
            reason.clone_into(&mut self.reason);
        }
    }

    /// Notes that the permission requests of the dialogue have changed.
    pub(crate) fn permissions_changed(&self) {
        self.registry.note_change();
    }

    /// Notes what of the dialogue needs attention.
    pub(crate) fn attention(&self, attention: Option<Attention>) {
        let has_changed = self.registry.lock().set_attention(self.key, attention);
        if has_changed {
            self.registry.note_change();
        }
    }

    pub(crate) fn count(&self, count: impl FnOnce(&mut Metrics)) {
        count(&mut self.registry.lock().totals);
    }

    /// Counts bytes of output.
    pub fn output(&self, bytes: usize) {
        let counter = &self.registry.inner.output_bytes;
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes of standard error.
    pub(crate) fn stderr(&self, bytes: usize) {
        let counter = &self.registry.inner.error_bytes;
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a turn, from the dialogue's totals after it. Returns what the turn used.
    pub(crate) fn turn(&mut self, transcript: &Transcript) -> TokenUsage {
        if let Some(outcome) = transcript.last_outcome() {
            let agent = transcript.session().agent_name().unwrap_or_default();
            TurnCount::add(&mut self.registry.lock().turns, agent, outcome);
        }
        let total = TokenUsage::of(transcript);
        let used = total.since(self.used);
        self.used = total;
        self.count(|totals| totals.add_turn(used));
        used
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut list = self.registry.lock();
        if let Some((terminal, attention)) = list.remove(self.key) {
            list.add_tombstone(Tombstone {
                id: terminal.id,
                tag: terminal.tag,
                pid: terminal.pid,
                started: terminal.started,
                ended: SystemTime::now(),
                status: self.status,
                expected: self.expected,
                reason: std::mem::take(&mut self.reason),
                attention,
            });
        }
        drop(list);
        self.registry.note_change();
    }
}
