//! `user` lines: tool results, prompts, echoes (`crates/jsonl/PROTOCOL.md`, User lines).

use std::borrow::Cow;

use bowline_jsonl::{
    Block, BlockBody as Said, Event, MessageContent, RawJson, ResultContent, Str, ToolResult, User,
};

use crate::arena::{Arena, Text};
use crate::record::{EntryBody, EntryId, ThreadId, UserRecord};
use crate::transcript::{LineContext, Transcript};
use crate::uuids::{LineEffect, Uuid};
use crate::view::{Entry, EntryKind};

/// Prefix of the markers that the agent adds after an interrupt (`crates/jsonl/PROTOCOL.md`,
/// Interrupt).
pub(crate) const INTERRUPT: &str = "[Request interrupted by user";

/// Most prompts that an echo is compared with: only prompts that wait during a turn are merged or
/// not echoed yet.
const MAX_MERGED_PROMPTS: usize = 64;

fn results<'e, 'a>(user: &'e User<'a>) -> impl Iterator<Item = &'e ToolResult<'a>> {
    user.message
        .blocks()
        .iter()
        .filter_map(|block| match &block.body {
            Said::ToolResult(result) => Some(result),
            _ => None,
        })
}

pub(crate) fn has_results(user: &User<'_>) -> bool {
    results(user).next().is_some()
}

/// Stores the text of a tool result (text parts, and placeholders for others), and the raw parts if
/// they are more than text.
pub(crate) fn store_result(arena: &mut Arena, content: ResultContent<'_>) -> (Text, Text) {
    let raw = match content {
        ResultContent::Text(text) => return (arena.store_of(text), Text::default()),
        ResultContent::Parts(raw) => raw,
        _ => return Default::default(),
    };
    match &*content.parts() {
        [
            Block {
                body: Said::Text { text },
                ..
            },
        ] => (arena.store_of(*text), Text::default()),
        parts => {
            let is_text = |block: &Block<'_>| matches!(block.body, Said::Text { .. });
            let text = arena.store(&join(parts.iter()));
            let is_more = !parts.iter().all(is_text);
            let raw = is_more.then(|| arena.store_raw(raw));
            (text, raw.unwrap_or_default())
        }
    }
}

/// Joins parts by a line feed unless one is there.
fn join<'e, 'a: 'e>(parts: impl Iterator<Item = &'e Block<'a>>) -> Cow<'a, str> {
    let mut parts = parts.map(part);
    let mut out = parts.next().unwrap_or_default();
    for part in parts {
        let out = out.to_mut();
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&part);
    }
    out
}

fn part<'a>(block: &Block<'a>) -> Cow<'a, str> {
    match &block.body {
        Said::Text { text } => text.decode(),
        Said::Image { source } => placeholder("image", *source).into(),
        Said::Document { source } => placeholder("document", *source).into(),
        _ => {
            let kind = block
                .raw
                .get("type")
                .and_then(RawJson::as_str)
                .unwrap_or_default();
            format!("[{kind} {} bytes]", block.raw.text().len()).into()
        }
    }
}

/// Returns a placeholder such as `[image image/png 1234 bytes]` with the size of the decoded data.
fn placeholder(kind: &str, source: Option<RawJson<'_>>) -> String {
    let member = |key: &str| source?.get(key)?.as_str();
    let Some(data) = member("data") else {
        let place = member("url")
            .or_else(|| member("file_id"))
            .unwrap_or_default();
        return format!("[{kind} {place}]");
    };
    let media = member("media_type").unwrap_or_default();
    let padding = data
        .raw()
        .bytes()
        .rev()
        .take_while(|&byte| byte == b'=')
        .count();
    let size = match member("type") {
        Some(kind) if kind == "base64" => (data.raw().len() / 4 * 3).saturating_sub(padding),
        _ => data.decode().len(),
    };
    format!("[{kind} {media} {size} bytes]")
}

/// The prompt of a line; `None` if it holds only tool results.
fn prompt<'a>(user: &User<'a>) -> Option<Cow<'a, str>> {
    let blocks = match &user.message.content {
        MessageContent::Text(text) => return Some(text.decode()),
        MessageContent::Blocks(blocks) => blocks,
        _ => return None,
    };
    let is_prompt = |block: &&Block<'_>| !matches!(block.body, Said::ToolResult(_));
    let said = || blocks.iter().filter(is_prompt);
    said().next().map(|_| join(said()))
}

impl Transcript {
    pub(crate) fn user(&mut self, event: &Event<'_>, user: &User<'_>, context: LineContext) {
        let thread = self.thread_of(event.parent_tool_use_id);
        self.note_agent(thread, user.agent_id, user.subagent_type);
        for result in results(user) {
            self.tool_result(thread, result, user, context);
            if thread == ThreadId::MAIN {
                self.open_turn();
            }
        }
        let Some(prompt) = prompt(user) else { return };
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
        let known = uuid.and_then(|uuid| self.uuids.effect(Uuid::new(&uuid.decode())));
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
        let Some(said) = self.prompt_at(entry) else {
            return false;
        };
        let text = self.arena.text(said.text).to_cow();
        let is_same = text == prompt;
        let before = prompt.strip_suffix(&*text);
        let is_merged = before.is_some_and(|before| before.ends_with('\n'));
        if said.is_unconfirmed {
            let is_other = !is_same && !is_merged;
            let heard = is_other.then(|| self.unseen_part(prompt, entry));
            let heard = heard.map(str::to_owned);
            if heard.is_some() {
                self.depend_on_prompts(entry);
            }
            let heard = heard.as_deref();
            self.confirm(entry, uuid, heard);
            return true;
        }
        let is_known = is_same || is_merged || said.is_sent;
        if is_same {
            self.counters.duplicates += 1;
        }
        is_known
    }

    /// The prompt of an entry; `None` if it is another kind, or was evicted.
    fn prompt_at(&self, entry: EntryId) -> Option<UserRecord> {
        match self.entries.get(entry)?.body {
            EntryBody::User(said) => Some(said),
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
        let entries = self.main().entries().rev();
        let before = entries.skip_while(move |it| it.id() >= own);
        let before = before.map_while(|it| Some((it.id(), said(it)?)));
        before.take(MAX_MERGED_PROMPTS)
    }

    /// The part of a merged echo that the prompts just before the entry `own` do not contain.
    fn unseen_part<'p>(&self, prompt: &'p str, own: EntryId) -> &'p str {
        let mut before: Vec<_> = self.prompts_before(own).collect();
        before.reverse();
        before.iter().fold(prompt, |unseen_part, (_, said)| {
            let rest = unseen_part.strip_prefix(&**said);
            rest.and_then(|rest| rest.strip_prefix('\n'))
                .unwrap_or(unseen_part)
        })
    }

    /// The host's oldest prompt with this text and without a uuid.
    fn sent_without_uuid(&self, text: &str) -> Option<EntryId> {
        let is_match = |id: &&EntryId| match &self.entries[id].body {
            EntryBody::User(said) => self.arena.text(said.text) == text,
            _ => false,
        };
        self.unconfirmed
            .iter()
            .take(MAX_MERGED_PROMPTS)
            .find(is_match)
            .copied()
    }

    fn confirm(&mut self, entry: EntryId, uuid: Option<Str<'_>>, heard: Option<&str>) {
        // Prompts are echoed in the order in which they were sent.
        while self.unconfirmed.front().is_some_and(|&it| it <= entry) {
            self.unconfirmed.pop_front();
        }
        let heard = heard.map(|heard| self.arena.store(heard));
        let EntryBody::User(said) = &mut self.entries[entry].body else {
            return;
        };
        said.is_replay = true;
        said.is_unconfirmed = false;
        said.text = heard.unwrap_or(said.text);
        if let Some(uuid) = uuid.filter(|_| said.uuid.is_empty()) {
            let uuid = uuid.decode();
            said.uuid = self.arena.store_short(&uuid);
            self.uuids
                .record(Uuid::new(&uuid), LineEffect::Entry(entry.number()));
        }
        self.touch_entry(entry);
    }
}

/// The text of a prompt; `None` for other entries.
fn said(entry: Entry<'_>) -> Option<Cow<'_, str>> {
    match entry.kind() {
        EntryKind::User { text, .. } => Some(text.to_cow()),
        _ => None,
    }
}
