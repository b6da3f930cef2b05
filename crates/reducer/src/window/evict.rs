//! Eviction of the oldest part of a transcript, and checkpoints.

use crate::arena::{Arena, ArenaMark};
use crate::index::{Index, IndexKey, IndexKind};
use crate::list;
use crate::position::NextIds;
use crate::record::{
    BlockBody, BlockRecord, CallId, CallRecord, EntryBody, EntryId, EntryRecord, ListEnds,
    PermissionRecord, TaskId, TaskRecord, ThreadId, ThreadRecord, ToolResultRecord,
};
use crate::transcript::Transcript;
use crate::window::pins::PinnedRecords;

impl Transcript {
    /// Returns a transcript with only what is open here, from which a fold can continue.
    pub(crate) fn checkpoint(&mut self, to: NextIds) -> Self {
        let pins = self.pins(&to);
        let mut checkpoint = self.share();
        checkpoint.index = Index::default();
        checkpoint.drafts = self.drafts.clone();
        checkpoint.drafted = self.drafted.clone();
        checkpoint.suspended = self.suspended.clone();
        checkpoint.partial_line = self.partial_line;
        checkpoint.run = self.run;
        checkpoint.dialect.clone_from(&self.dialect);
        checkpoint.is_history = self.is_history;
        checkpoint.arena.begin_chunk();
        let mark = checkpoint.arena.mark();
        checkpoint.drop_records(&to, &pins);
        checkpoint.relocate(&to, mark, &pins);
        checkpoint.arena.evict(mark);
        checkpoint.relink_all();
        checkpoint.reindex_all();
        checkpoint
    }

    /// Returns a copy of a checkpoint for a page.
    pub(crate) fn fork_checkpoint(&self) -> Self {
        Self {
            arena: self.arena.clone(),
            index: self.index.clone(),
            names: self.names.clone(),
            threads: self.threads.clone(),
            entries: self.entries.clone(),
            blocks: self.blocks.clone(),
            calls: self.calls.clone(),
            results: self.results.clone(),
            tasks: self.tasks.clone(),
            permissions: self.permissions.clone(),
            drafts: self.drafts.clone(),
            drafted: self.drafted.clone(),
            suspended: self.suspended.clone(),
            taken_up: self.taken_up.clone(),
            session: self.session.clone(),
            usage: self.usage.clone(),
            counters: self.counters.clone(),
            evidence: self.evidence.clone(),
            applied: self.applied,
            partial_line: self.partial_line,
            run: self.run,
            dialect: self.dialect.clone(),
            dialect_name: self.dialect_name,
            is_history: self.is_history,
            is_page: true,
            ..Self::bare()
        }
    }

    fn relink_all(&mut self) {
        for at in self.threads.numbers().collect::<Vec<_>>() {
            self.threads[at].entries = ListEnds::default();
            self.threads[at].calls = ListEnds::default();
        }
        for at in self.entries.numbers().collect::<Vec<_>>() {
            let list = &mut self.threads[self.entries[at].thread.index()].entries;
            list::insert(&mut self.entries, list, EntryId::new(at as u32));
        }
        for at in self.calls.numbers().collect::<Vec<_>>() {
            let list = &mut self.threads[self.calls[at].thread.index()].calls;
            list::insert(&mut self.calls, list, CallId::new(at as u32));
        }
    }

    fn reindex_all(&mut self) {
        for at in self.entries.numbers() {
            if let Some(key) = self.message_key(at) {
                self.index.insert(key, at as u32);
            }
        }
        for at in self.blocks.numbers() {
            if let Some(key) = self.part_key(at) {
                self.index.insert(key, at as u32);
            }
        }
        for at in self.calls.numbers() {
            self.index.insert(self.call_key(at), at as u32);
        }
        for at in self.permissions.numbers() {
            self.index.insert(self.permission_key(at), at as u32);
        }
        for at in self.threads.numbers() {
            if self.is_named_thread(at) {
                let key = self.thread_key(ThreadId::new(at as u32));
                self.index.insert(key, at as u32);
            }
        }
        for at in self.tasks.numbers() {
            self.index.insert(self.task_key(at), at as u32);
        }
        for at in self.tasks.numbers().collect::<Vec<_>>() {
            self.tasks[at].next_of_call = None;
            if let Some(call) = self.tasks[at].tool_use_id {
                self.link_to_call(TaskId::new(at as u32), call);
            }
        }
    }

    fn message_key(&self, at: usize) -> Option<IndexKey> {
        let entry = &self.entries[at];
        let EntryBody::Assistant(message) = &entry.body else {
            return None;
        };
        let name = self.arena.str(message.message_id);
        Some(IndexKey::new(
            IndexKind::Message,
            entry.thread.number(),
            name,
        ))
    }

    /// The key of a block that may be found by its number, as those of some dialects are.
    fn part_key(&self, at: usize) -> Option<IndexKey> {
        let block = &self.blocks[at];
        let is_found = self.dialect_name.has_own_fold() && block.is_part();
        is_found.then(|| IndexKey::part(block.entry.number(), block.index))
    }

    fn call_key(&self, at: usize) -> IndexKey {
        let id = self.arena.str(self.calls[at].id);
        IndexKey::new(IndexKind::Call, 0, id)
    }

    fn task_key(&self, at: usize) -> IndexKey {
        IndexKey::new(IndexKind::Task, 0, self.arena.str(self.tasks[at].id))
    }

    fn permission_key(&self, at: usize) -> IndexKey {
        let name = self.arena.str(self.permissions[at].request_id);
        IndexKey::new(IndexKind::Permission, 0, name)
    }

    /// Evicts the records before `to` and the text before `mark`, except what is pinned. Costs as
    /// much as what is evicted and what is open.
    pub(crate) fn evict(&mut self, to: &NextIds, mark: ArenaMark, pins: &PinnedRecords) {
        self.unlink(to, pins);
        self.drop_records(to, pins);
        self.relocate(to, mark, pins);
        self.arena.evict(mark);
        self.unconfirmed.retain(|id| id.index() >= to.entry);
    }

    /// Evicts the same records as when the lines were first applied; the text stays.
    pub(crate) fn replay_eviction(&mut self, to: &NextIds) {
        let pins = self.pins(to);
        self.unlink(to, &pins);
        self.drop_records(to, &pins);
        self.unconfirmed.retain(|id| id.index() >= to.entry);
    }

    fn drop_records(&mut self, to: &NextIds, pins: &PinnedRecords) {
        self.drop_drafted(to, pins);
        self.taken_up.retain(|id, _| id.index() >= to.entry);
        self.threads
            .evict(to.thread, |at| pins.threads.contains(&at));
        self.entries
            .evict(to.entry, |at| pins.entries.contains(&at));
        self.blocks.evict(to.block, |at| pins.blocks.contains(&at));
        self.calls.evict(to.call, |at| pins.calls.contains(&at));
        self.results
            .evict(to.result, |at| pins.results.contains(&at));
        self.tasks.evict(to.task, |at| pins.tasks.contains(&at));
        let kept = &pins.permissions;
        self.permissions
            .evict(to.permission, |at| kept.contains(&at));
    }

    /// Drops what is known of the drafts of evicted messages.
    fn drop_drafted(&mut self, to: &NextIds, pins: &PinnedRecords) {
        let is_given_up = |id: EntryId| !pins.entries.contains(&id.index());
        let before = EntryId::new(to.entry as u32);
        self.drafted.evict(before, is_given_up);
        self.suspended
            .extract_if(..before, |&entry, _| is_given_up(entry))
            .for_each(drop);
    }

    /// Removes what is evicted from lists and index.
    fn unlink(&mut self, to: &NextIds, pins: &PinnedRecords) {
        let is_given_up = |at: &usize| !pins.entries.contains(at);
        let entries = self.entries.numbers_before(to.entry).filter(is_given_up);
        for at in entries.collect::<Vec<_>>() {
            if let Some(key) = self.message_key(at) {
                self.index.remove(key, at as u32);
            }
            let list = &mut self.threads[self.entries[at].thread.index()].entries;
            list::remove(&mut self.entries, list, EntryId::new(at as u32));
        }
        let is_given_up = |at: &usize| !pins.blocks.contains(at);
        let blocks = self.blocks.numbers_before(to.block).filter(is_given_up);
        for at in blocks.collect::<Vec<_>>() {
            if let Some(key) = self.part_key(at) {
                self.index.remove(key, at as u32);
            }
        }
        let is_given_up = |at: &usize| !pins.calls.contains(at);
        let calls = self.calls.numbers_before(to.call).filter(is_given_up);
        for at in calls.collect::<Vec<_>>() {
            self.index.remove(self.call_key(at), at as u32);
            let list = &mut self.threads[self.calls[at].thread.index()].calls;
            list::remove(&mut self.calls, list, CallId::new(at as u32));
        }
        let is_given_up = |at: &usize| !pins.permissions.contains(at);
        let permissions = self
            .permissions
            .numbers_before(to.permission)
            .filter(is_given_up);
        for at in permissions.collect::<Vec<_>>() {
            self.index.remove(self.permission_key(at), at as u32);
        }
        let is_given_up = |at: &usize| !pins.threads.contains(at);
        let threads = self.threads.numbers_before(to.thread).filter(is_given_up);
        for at in threads.collect::<Vec<_>>() {
            if self.is_named_thread(at) {
                let key = self.thread_key(ThreadId::new(at as u32));
                self.index.remove(key, at as u32);
            }
        }
        let is_given_up = |at: &usize| !pins.tasks.contains(at);
        let tasks = self.tasks.numbers_before(to.task).filter(is_given_up);
        for at in tasks.collect::<Vec<_>>() {
            self.index.remove(self.task_key(at), at as u32);
            self.unlink_from_call(TaskId::new(at as u32));
        }
    }

    /// Moves the text of pinned records after the mark.
    fn relocate(&mut self, to: &NextIds, mark: ArenaMark, pins: &PinnedRecords) {
        let mut relocator = Relocator {
            arena: &mut self.arena,
            mark,
        };
        for &at in pins.threads.range(..to.thread) {
            relocator.thread(&mut self.threads[at]);
        }
        for &at in pins.entries.range(..to.entry) {
            relocator.entry(&mut self.entries[at]);
        }
        for &at in pins.blocks.range(..to.block) {
            relocator.block(&mut self.blocks[at]);
        }
        for &at in pins.calls.range(..to.call) {
            relocator.call(&mut self.calls[at]);
        }
        for &at in pins.results.range(..to.result) {
            relocator.result(&mut self.results[at]);
        }
        for &at in pins.tasks.range(..to.task) {
            relocator.task(&mut self.tasks[at]);
        }
        for &at in pins.permissions.range(..to.permission) {
            relocator.permission(&mut self.permissions[at]);
        }
        if let Some(ended) = &mut self.evidence.ended {
            relocator.arena.relocate(&mut ended.reason, mark);
        }
    }
}

struct Relocator<'a> {
    arena: &'a mut Arena,
    mark: ArenaMark,
}

impl Relocator<'_> {
    fn thread(&mut self, thread: &mut ThreadRecord) {
        self.arena.relocate_short(&mut thread.agent_id, self.mark);
        if let Some(detail) = &mut thread.detail {
            self.arena.relocate(&mut detail.title, self.mark);
        }
    }

    fn entry(&mut self, entry: &mut EntryRecord) {
        match &mut entry.body {
            EntryBody::User(user) => {
                self.arena.relocate_short(&mut user.uuid, self.mark);
                self.arena.relocate(&mut user.text, self.mark);
            }
            EntryBody::Assistant(message) => {
                self.arena
                    .relocate_short(&mut message.message_id, self.mark);
            }
            EntryBody::Result(result) => {
                if let Some(text) = &mut result.text {
                    self.arena.relocate(text, self.mark);
                }
            }
            EntryBody::Notice(it) => self.arena.relocate(&mut it.text, self.mark),
            EntryBody::Error(it) => self.arena.relocate(&mut it.text, self.mark),
        }
    }

    fn block(&mut self, block: &mut BlockRecord) {
        if let BlockBody::Text(text) | BlockBody::Thinking(text) | BlockBody::Other(text) =
            &mut block.body
        {
            self.arena.relocate(text, self.mark);
        }
    }

    fn call(&mut self, call: &mut CallRecord) {
        self.arena.relocate_short(&mut call.id, self.mark);
        self.arena.relocate(&mut call.input, self.mark);
        if let Some(detail) = &mut call.detail {
            let texts = [&mut detail.updated_input, &mut detail.title];
            for text in texts.into_iter().chain(&mut detail.output) {
                self.arena.relocate(text, self.mark);
            }
        }
    }

    fn result(&mut self, result: &mut ToolResultRecord) {
        self.arena.relocate(&mut result.text, self.mark);
        self.arena.relocate(&mut result.raw, self.mark);
    }

    fn task(&mut self, task: &mut TaskRecord) {
        for atom in [&mut task.id, &mut task.run] {
            self.arena.relocate_short(atom, self.mark);
        }
        if let Some(call) = &mut task.tool_use_id {
            self.arena.relocate_short(call, self.mark);
        }
        for text in [&mut task.description, &mut task.activity, &mut task.summary] {
            self.arena.relocate(text, self.mark);
        }
    }

    fn permission(&mut self, permission: &mut PermissionRecord) {
        self.arena
            .relocate_short(&mut permission.request_id, self.mark);
        let ids = [&mut permission.tool_use_id, &mut permission.agent_id];
        for atom in ids.into_iter().flatten() {
            self.arena.relocate_short(atom, self.mark);
        }
        self.arena.relocate(&mut permission.request, self.mark);
    }
}
