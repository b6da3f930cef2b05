//! `user` lines: tool results, prompts, echoes (`crates/jsonl/PROTOCOL.md`, User lines).

use std::borrow::Cow;

use bowline_jsonl::{Event, Str, User};

use crate::fold::content::{self, INTERRUPT};
use crate::record::{EntryBody, EntryId, ThreadId, UserRecord};
use crate::transcript::{LineContext, Transcript};
use crate::uuids::{LineEffect, Uuid};

/// Most prompts that an echo is compared with: only prompts that wait during a turn are merged or
/// not echoed yet.
const MAX_MERGED_PROMPTS: usize = 64;

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
        if !self.confirms_prompt(event.uuid, &prompt) {
            let end = EntryId::new(self.entries.len() as u32);
            self.depend_on_prompts(end);
            let unseen_part = self.unseen_part(&prompt, end);
            self.prompt(thread, event.uuid, user, unseen_part, context);
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
    fn confirms_prompt(&mut self, uuid: Option<Str<'_>>, prompt: &str) -> bool {
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
            let is_other = !is_same && !is_merged;
            if is_other {
                self.depend_on_prompts(entry);
            }
            let text = is_other.then(|| self.unseen_part(prompt, entry).to_owned());
            self.confirm(entry, uuid, text.as_deref());
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

    /// Records that a line depends on the prompts just before the entry `own`.
    fn depend_on_prompts(&mut self, own: EntryId) {
        if self.segment_start.entry > 0 {
            let before = self.prompts_before(own).map(|(id, _)| id);
            for id in before.collect::<Vec<_>>() {
                self.depend_on_entry(id);
            }
        }
    }

    /// The prompts just before the entry `own`, the last first.
    fn prompts_before(&self, own: EntryId) -> impl Iterator<Item = (EntryId, Cow<'_, str>)> {
        let entries = self.entries_of(ThreadId::MAIN).rev();
        let present = entries.filter(|id| !self.entries[id].is_removed);
        let before = present.skip_while(move |id| *id >= own);
        let text = |id| Some(self.arena.text(self.prompt_at(id)?.text).to_cow());
        let before = before.map_while(move |id| Some((id, text(id)?)));
        before.take(MAX_MERGED_PROMPTS)
    }

    /// The part of a merged echo that the prompts just before the entry `own` do not contain.
    fn unseen_part<'p>(&self, prompt: &'p str, own: EntryId) -> &'p str {
        let mut before: Vec<_> = self.prompts_before(own).collect();
        before.reverse();
        before.iter().fold(prompt, |unseen_part, (_, before)| {
            let rest = unseen_part.strip_prefix(&**before);
            rest.and_then(|rest| rest.strip_prefix('\n'))
                .unwrap_or(unseen_part)
        })
    }

    /// The host's oldest prompt with this text and without a uuid.
    fn sent_without_uuid(&self, text: &str) -> Option<EntryId> {
        let is_match = |id: &&EntryId| match &self.entries[id].body {
            EntryBody::User(prompt) => self.arena.text(prompt.text) == text,
            _ => false,
        };
        self.unconfirmed
            .iter()
            .take(MAX_MERGED_PROMPTS)
            .find(is_match)
            .copied()
    }

    fn confirm(&mut self, entry: EntryId, uuid: Option<Str<'_>>, text: Option<&str>) {
        // Prompts are echoed in the order in which they were sent.
        while self.unconfirmed.front().is_some_and(|&it| it <= entry) {
            self.unconfirmed.pop_front();
        }
        let text = text.map(|text| self.arena.store(text));
        let EntryBody::User(prompt) = &mut self.entries[entry].body else {
            return;
        };
        prompt.is_replay = true;
        prompt.is_unconfirmed = false;
        prompt.text = text.unwrap_or(prompt.text);
        if let Some(uuid) = uuid.filter(|uuid| !uuid.is_empty() && prompt.uuid.is_empty()) {
            let uuid = uuid.decode();
            prompt.uuid = self.arena.store_short(&uuid);
            self.uuids
                .record(Uuid::new(&uuid), LineEffect::Entry(entry.number()));
        }
        self.touch_entry(entry);
    }
}
