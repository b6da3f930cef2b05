//! `user` lines: tool results, prompts, echoes (`crates/jsonl/PROTOCOL.md`, User lines).

use std::borrow::Cow;

use bowline_jsonl::{Event, Str, User};

use crate::fold::claude::content::{self, INTERRUPT};
use crate::record::{EntryBody, EntryId, ThreadId, UserRecord};
use crate::transcript::{LineContext, Transcript};
use crate::uuids::{LineEffect, Uuid};

/// Most prompts of the host without a uuid that an echo is compared with.
const MAX_UNCONFIRMED: usize = 64;

/// Most removed entries that are skipped in search of a prompt.
const MAX_REMOVED: usize = 64;

impl Transcript {
    pub(crate) fn user(&mut self, event: &Event<'_>, user: &User<'_>, context: LineContext) {
        let thread = self.thread_of(event.parent_tool_use_id);
        self.note_agent(thread, user.agent_id, user.subagent_type);
        for result in content::results(user) {
            self.tool_result(thread, result, user, context);
            if thread == ThreadId::MAIN {
                self.open_turn();
            }
        }
        let Some(prompt) = content::prompt(user) else {
            return;
        };
        if !user.is_replay {
            return self.prompt(thread, event.uuid, user, &prompt, context);
        }
        if !self.confirms_prompt(event.uuid, user, &prompt, context) {
            let last = self.threads[ThreadId::MAIN].entries.last;
            let unseen_part = self.unseen_part(user, &prompt, last);
            self.prompt(thread, event.uuid, user, &unseen_part, context);
        }
    }

    fn prompt(
        &mut self,
        thread: ThreadId,
        uuid: Option<Str<'_>>,
        user: &User<'_>,
        prompt: &str,
        context: LineContext,
    ) {
        let uuid = uuid.unwrap_or_default().decode();
        let body = EntryBody::User(UserRecord {
            uuid: self.arena.store_short(&uuid),
            text: self.arena.store(prompt),
            is_replay: user.is_replay,
            is_synthetic: user.is_synthetic,
            line_end: context.line_end(),
            ..UserRecord::default()
        });
        let entry = self.entry(thread, body, context);
        if !uuid.is_empty() {
            self.uuids
                .record(Uuid::new(&uuid), LineEffect::Entry(entry.number()));
        }
        if prompt.starts_with(INTERRUPT) {
            self.interrupt_rejected(thread);
        }
    }

    /// Whether an echo repeats a prompt that is present. Queued prompts are echoed one by one and
    /// then merged under the uuid of the last one. An echo with other content, such as an image,
    /// replaces the text of the host's prompt.
    fn confirms_prompt(
        &mut self,
        uuid: Option<Str<'_>>,
        user: &User<'_>,
        prompt: &str,
        context: LineContext,
    ) -> bool {
        let known = Uuid::of(uuid).and_then(|uuid| self.uuids.effect(uuid));
        let entry = match known {
            Some(LineEffect::Entry(entry)) => EntryId::new(entry),
            Some(_) => {
                self.counters.duplicates += 1;
                return true;
            }
            None => match self.sent_without_uuid(prompt) {
                Some(entry) => entry,
                None => return false,
            },
        };
        self.depend_on_entry(entry);
        let Some(known) = self.prompt_at(entry) else {
            return false;
        };
        let text = self.arena.text(known.text).to_cow();
        let is_same = text == prompt;
        let before = prompt.strip_suffix(&*text);
        let is_merged = before.is_some_and(|before| before.ends_with('\n'));
        if known.is_unconfirmed {
            let text = (!is_same && !is_merged).then(|| {
                let before = self.entries[entry].links.previous;
                let unseen_part = self.unseen_part(user, prompt, before);
                self.part_of(entry, &unseen_part).to_owned()
            });
            self.confirm(entry, uuid, text.as_deref(), context);
            return true;
        }
        let is_known = is_same || is_merged || known.is_sent;
        if is_same {
            self.counters.duplicates += 1;
        }
        is_known
    }

    /// The prompt of an entry; `None` if it is another kind, or was evicted.
    fn prompt_at(&self, entry: EntryId) -> Option<UserRecord> {
        match self.entries.get(entry)?.body {
            EntryBody::User(prompt) => Some(prompt),
            _ => None,
        }
    }

    /// The part of an echo that begins with the text of the host's prompt `own`, after the prompts
    /// before it; the whole echo if there is none.
    fn part_of<'p>(&mut self, own: EntryId, echo: &'p str) -> &'p str {
        let mut before: Vec<_> = self
            .prompts_up_to(self.entries[own].links.previous, MAX_UNCONFIRMED)
            .collect();
        before.reverse();
        let mut rest = echo;
        for id in before {
            self.depend_on_entry(id);
            let text = self.text_of(id);
            let after = rest.strip_prefix(&*text);
            rest = after
                .and_then(|rest| rest.strip_prefix('\n'))
                .unwrap_or(rest);
        }
        let is_own = rest.starts_with(&*self.text_of(own));
        if is_own { rest } else { echo }
    }

    /// At most `count` prompts in a row up to the entry `last`, the last first.
    fn prompts_up_to(&self, last: Option<EntryId>, count: usize) -> impl Iterator<Item = EntryId> {
        let before = |id: &EntryId| self.entries.get(id)?.links.previous;
        let is_live = |id: &EntryId| self.entries.get(id).is_some_and(|entry| !entry.is_removed);
        let is_prompt = |id: &EntryId| self.prompt_at(*id).is_some();
        let entries = std::iter::successors(last, before).take(count + MAX_REMOVED);
        entries.filter(is_live).take_while(is_prompt).take(count)
    }

    /// The text of a prompt; empty for other entries.
    fn text_of(&self, prompt: EntryId) -> Cow<'_, str> {
        let prompt = self.prompt_at(prompt).unwrap_or_default();
        self.arena.text(prompt.text).to_cow()
    }

    /// The part of an echo that is not in the prompts up to the entry `last`: a merged echo holds
    /// each prompt as a part of its own.
    fn unseen_part<'p>(
        &mut self,
        user: &User<'p>,
        prompt: &'p str,
        last: Option<EntryId>,
    ) -> Cow<'p, str> {
        let merged = content::merged_prompts(user);
        let mut known: Vec<_> = self.prompts_up_to(last, merged.len()).collect();
        known.reverse();
        let mut seen = 0;
        for id in known {
            self.depend_on_entry(id);
            seen += usize::from(merged.get(seen) == Some(&self.text_of(id)));
        }
        match seen {
            0 => Cow::Borrowed(prompt),
            _ => content::prompt_after(user, seen),
        }
    }

    /// The host's oldest prompt with this text and without a uuid.
    fn sent_without_uuid(&self, text: &str) -> Option<EntryId> {
        let is_match = |id: &&EntryId| match &self.entries[id].body {
            EntryBody::User(prompt) => self.arena.text(prompt.text) == text,
            _ => false,
        };
        self.unconfirmed
            .iter()
            .take(MAX_UNCONFIRMED)
            .find(is_match)
            .copied()
    }

    /// Confirms a prompt of the host. It has the bytes and the time of its echo from now on, as in a transcript of the
    /// output alone.
    fn confirm(
        &mut self,
        entry: EntryId,
        uuid: Option<Str<'_>>,
        text: Option<&str>,
        echo: LineContext,
    ) {
        // Prompts are echoed in the order in which they were sent.
        while self.unconfirmed.front().is_some_and(|&it| it <= entry) {
            self.unconfirmed.pop_front();
        }
        let text = text.map(|text| self.arena.store(text));
        let record = &mut self.entries[entry];
        let EntryBody::User(prompt) = &mut record.body else {
            return;
        };
        record.offset = echo.offset;
        record.at = echo.at();
        prompt.line_end = echo.line_end();
        prompt.is_replay = true;
        prompt.is_unconfirmed = false;
        prompt.text = text.unwrap_or(prompt.text);
        if let Some(uuid) = uuid.filter(|uuid| !uuid.is_empty() && prompt.uuid.is_empty()) {
            let uuid = uuid.decode();
            prompt.uuid = self.arena.store_short(&uuid);
            self.uuids
                .record(Uuid::new(&uuid), LineEffect::Entry(entry.number()));
        }
        self.prompt_taken_up(entry);
        self.touch_entry(entry);
    }
}
