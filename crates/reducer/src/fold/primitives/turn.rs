//! Turns.

use crate::record::{EntryBody, EntryId, ResultRecord, ThreadId, TurnId, UserRecord};
use crate::state::{CallState, Outcome};
use crate::transcript::{Fold, Transcript};
use crate::uuids::{LineEffect, Uuid};

impl Transcript {
    /// Records that the agent works on a turn.
    pub(crate) fn open_turn(&mut self) {
        self.evidence.turn.has_begun = true;
        self.expect_turn();
    }

    pub(crate) fn expect_turn(&mut self) {
        if !self.evidence.turn.is_open {
            self.evidence.turn.is_open = true;
            self.name_turn(None);
            self.touch_status();
        }
    }

    /// Names the turn that begins: by the agent's id, else by its number, from 1.
    pub(crate) fn name_turn(&mut self, id: Option<&str>) {
        self.evidence.turns += 1;
        self.evidence.turn_id = match id {
            Some(id) => TurnId::named(self.names.intern(id)),
            None => TurnId::numbered(self.evidence.turns),
        };
    }

    /// The turn of a new entry; empty between turns.
    pub(crate) fn turn_of(&self, thread: ThreadId) -> TurnId {
        let detail = self.threads[thread].detail.as_deref();
        let its = detail.map(|it| it.turn).unwrap_or_default();
        if its.is_none() && self.evidence.turn.is_open {
            self.evidence.turn_id
        } else {
            its
        }
    }

    /// Records a prompt of the host, for which a turn will follow.
    pub(crate) fn await_turn(&mut self, uuid: &str) {
        if !uuid.is_empty() {
            self.evidence.turn.waits(Uuid::new(uuid));
        }
        self.expect_turn();
    }

    /// Closes the turn unless prompts are pending.
    pub(crate) fn end_turn(&mut self, queued: u64) {
        let turn = &mut self.evidence.turn;
        turn.is_open = queued > 0 || !turn.waiting.is_empty();
    }

    /// Drops a prompt that gets no result.
    pub(crate) fn drop_prompt(&mut self, uuid: &str) {
        if self.evidence.turn.drops(Uuid::new(uuid)) {
            self.evidence.turn.is_open = false;
            self.touch_status();
        }
    }

    /// Closes what is open in a thread after its turn has ended.
    pub(crate) fn close_turn_of(&mut self, thread: ThreadId, outcome: Outcome) {
        self.close_drafts(thread..=thread);
        match outcome {
            Outcome::Cancelled => {
                self.interrupt_rejected(thread);
                self.close_thread(thread, CallState::Interrupted);
                self.expire_permissions(thread);
            }
            Outcome::Completed | Outcome::Failed => {
                self.close_thread(thread, CallState::Lost);
            }
            Outcome::Suspended => {}
        }
        self.threads[thread].rejected.clear();
    }

    pub(crate) fn close_turn(&mut self, outcome: Outcome, queued: u64) {
        self.close_turn_of(ThreadId::MAIN, outcome);
        self.end_turn(queued);
        if self.evidence.turn.is_open {
            self.name_turn(None);
        }
        self.evidence.is_interrupting = false;
        self.evidence.last_outcome = Some(outcome);
        self.touch_status();
    }
}

/// A prompt. See [`Fold::prompt`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Prompt<'a> {
    /// The id under which the host or the agent knows it.
    pub id: Option<&'a str>,
    /// Its text.
    pub text: &'a str,
    /// Whether the agent repeats what the host wrote.
    pub is_echo: bool,
    /// Whether the agent wrote it.
    pub is_synthetic: bool,
}

/// The end of a turn. See [`Fold::end_turn`].
#[derive(Clone, Copy, Debug, Default)]
pub struct TurnEnd<'a> {
    /// How it ended.
    pub outcome: Outcome,
    /// The agent's word for it, such as `end_turn` or `interrupted`.
    pub reason: &'a str,
    /// The final text, or the error.
    pub text: Option<&'a str>,
    /// Wall time in milliseconds.
    pub duration_ms: Option<u64>,
}

impl Fold<'_> {
    /// Begins a turn of a thread, with the agent's id of it if it has one. A turn that is open goes
    /// on, under the new id.
    pub fn begin_turn(&mut self, thread: ThreadId, id: Option<&str>) {
        if thread != ThreadId::MAIN {
            let name = self.it.names.intern(id.unwrap_or_default());
            self.it.thread_detail(thread).turn = TurnId::named(name);
            return;
        }
        let was_open = self.it.evidence.turn.is_open;
        self.it.open_turn();
        match id {
            Some(id) => self.it.evidence.turn_id = TurnId::named(self.it.names.intern(id)),
            None if was_open => {}
            None => self.it.touch_status(),
        }
    }

    /// Ends the turn of a thread: adds its result, and closes what is open in it. Open calls of a
    /// cancelled turn become interrupted, others lost; open requests of a cancelled turn expire; an
    /// open message is complete only if the turn is.
    ///
    /// Prompts of the host that wait for a turn are no longer waited for: a dialect that knows of
    /// another one begins the next turn.
    pub fn end_turn(&mut self, thread: ThreadId, end: TurnEnd<'_>) {
        if end.outcome == Outcome::Completed {
            self.close_message(thread);
        }
        let line = self.line();
        let record = ResultRecord {
            subtype: self.it.names.intern(end.reason),
            is_error: end.outcome == Outcome::Failed,
            outcome: end.outcome,
            text: end.text.map(|text| self.it.keep(text)),
            duration_ms: end.duration_ms.unwrap_or_default(),
            line_end: line.line_end(),
            ..ResultRecord::default()
        };
        self.it
            .entry(thread, EntryBody::Result(Box::new(record)), line);
        if thread == ThreadId::MAIN {
            self.it.evidence.turn.close();
            self.it.close_turn(end.outcome, 0);
        } else {
            self.it.close_turn_of(thread, end.outcome);
            self.it.thread_detail(thread).turn = TurnId::default();
        }
    }

    /// Adds a prompt. One whose id is known, such as the host's own, is confirmed instead.
    pub fn prompt(&mut self, thread: ThreadId, prompt: Prompt<'_>) -> EntryId {
        let id = prompt.id.unwrap_or_default();
        let known = self.it.uuids.effect(Uuid::new(id));
        if let Some(LineEffect::Entry(known)) = known.filter(|_| !id.is_empty()) {
            let known = EntryId::new(known);
            self.it.depend_on_entry(known);
            self.confirm_prompt(known, prompt.is_echo);
            return known;
        }
        let line = self.line();
        let body = EntryBody::User(UserRecord {
            uuid: self.it.arena.store_short(id),
            text: self.it.keep(prompt.text),
            is_replay: prompt.is_echo,
            is_synthetic: prompt.is_synthetic,
            line_end: line.line_end(),
            ..UserRecord::default()
        });
        let entry = self.it.entry(thread, body, line);
        if !id.is_empty() {
            let effect = LineEffect::Entry(entry.number());
            self.it.uuids.record(Uuid::new(id), effect);
        }
        entry
    }

    fn confirm_prompt(&mut self, entry: EntryId, is_echo: bool) {
        let Some(record) = self.it.entries.get_mut(entry) else {
            return;
        };
        if let EntryBody::User(prompt) = &mut record.body
            && is_echo
            && !prompt.is_replay
        {
            prompt.is_replay = true;
            prompt.is_unconfirmed = false;
            self.it.prompt_taken_up(entry);
            self.it.touch_entry(entry);
        }
    }
}
