//! Giving up the oldest part of a transcript.

use crate::arena::{Arena, ArenaMark};
use crate::ident::Named;
use crate::index::{Index, Key, Kind};
use crate::list;
use crate::record::{
    BlockBody, BlockRecord, CallId, CallRecord, Ends, EntryBody, EntryId, EntryRecord,
    PermissionRecord, TaskId, TaskRecord, ToolResultRecord,
};
use crate::transcript::Transcript;
use crate::window::Ids;
use crate::window::pins::Pins;

impl Transcript {
    /// A transcript with what is open here and nothing else, which can go on from here.
    pub(super) fn seed(&mut self, to: Ids) -> Self {
        let pins = self.pins(&to);
        let mut seed = self.share();
        seed.index = Index::default();
        seed.drafts = self.drafts.clone();
        seed.cut = self.cut;
        seed.run = self.run;
        seed.arena.begin_chunk();
        let mark = seed.arena.mark();
        seed.drop_records(&to, &pins);
        seed.save(&to, mark, &pins);
        seed.arena.evict(mark);
        seed.list_all();
        seed.index_all();
        seed
    }

    /// A seed of its own to let grow.
    pub(super) fn planted(&self) -> Self {
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
            session: self.session.clone(),
            usage: self.usage.clone(),
            tally: self.tally.clone(),
            evidence: self.evidence.clone(),
            applied: self.applied,
            cut: self.cut,
            run: self.run,
            is_page: true,
            ..Self::bare()
        }
    }

    fn list_all(&mut self) {
        for at in self.threads.numbers().collect::<Vec<_>>() {
            self.threads[at].entries = Ends::default();
            self.threads[at].calls = Ends::default();
        }
        for at in self.entries.numbers().collect::<Vec<_>>() {
            let list = &mut self.threads[self.entries.at(at).thread.at()].entries;
            list::insert(&mut self.entries, list, EntryId::new(at as u32));
        }
        for at in self.calls.numbers().collect::<Vec<_>>() {
            let list = &mut self.threads[self.calls.at(at).thread.at()].calls;
            list::insert(&mut self.calls, list, CallId::new(at as u32));
        }
    }

    fn index_all(&mut self) {
        for at in self.entries.numbers() {
            if let Some(key) = self.message_key(at) {
                self.index.insert(key, at as u32);
            }
        }
        for at in self.calls.numbers() {
            self.index.insert(self.call_key(at), at as u32);
        }
        for at in self.permissions.numbers() {
            self.index.insert(self.permission_key(at), at as u32);
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

    fn message_key(&self, at: usize) -> Option<Key> {
        let entry = self.entries.at(at);
        let EntryBody::Assistant(message) = &entry.body else {
            return None;
        };
        let name = self.arena.id(message.message_id);
        Some(Key::of_id(
            Kind::Message,
            entry.thread.number(),
            Named::of(&name),
        ))
    }

    fn call_key(&self, at: usize) -> Key {
        let id = self.arena.id(self.calls.at(at).id);
        Key::of_id(Kind::Call, 0, Named::of(&id))
    }

    fn task_key(&self, at: usize) -> Key {
        Key::new(Kind::Task, 0, self.arena.str(self.tasks[at].id))
    }

    fn permission_key(&self, at: usize) -> Key {
        let name = self.arena.str(self.permissions[at].request_id);
        Key::new(Kind::Permission, 0, name)
    }

    /// Gives up the records before `to` and the text before `mark`, but for what is pinned. The
    /// cost is that of what is given up and of what is open.
    pub(super) fn evict(&mut self, to: &Ids, mark: ArenaMark, pins: &Pins) {
        self.unlist(to, pins);
        self.drop_records(to, pins);
        self.save(to, mark, pins);
        self.arena.evict(mark);
        self.unconfirmed.retain(|id| id.at() >= to.entry);
    }

    /// Gives up the records before `to`, as it was done when these lines came first; their text
    /// stays.
    pub(super) fn evict_again(&mut self, to: &Ids) {
        let pins = self.pins(to);
        self.unlist(to, &pins);
        self.drop_records(to, &pins);
        self.unconfirmed.retain(|id| id.at() >= to.entry);
    }

    fn drop_records(&mut self, to: &Ids, pins: &Pins) {
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

    /// Takes what is given up out of its lists and forgets its name.
    fn unlist(&mut self, to: &Ids, pins: &Pins) {
        let is_given_up = |at: &usize| !pins.entries.contains(at);
        let entries = self.entries.before(to.entry).filter(is_given_up);
        for at in entries.collect::<Vec<_>>() {
            if let Some(key) = self.message_key(at) {
                self.index.remove(key, at as u32);
            }
            let list = &mut self.threads[self.entries.at(at).thread.at()].entries;
            list::remove(&mut self.entries, list, EntryId::new(at as u32));
        }
        let is_given_up = |at: &usize| !pins.calls.contains(at);
        let calls = self.calls.before(to.call).filter(is_given_up);
        for at in calls.collect::<Vec<_>>() {
            self.index.remove(self.call_key(at), at as u32);
            let list = &mut self.threads[self.calls.at(at).thread.at()].calls;
            list::remove(&mut self.calls, list, CallId::new(at as u32));
        }
        let is_given_up = |at: &usize| !pins.permissions.contains(at);
        let permissions = self.permissions.before(to.permission).filter(is_given_up);
        for at in permissions.collect::<Vec<_>>() {
            self.index.remove(self.permission_key(at), at as u32);
        }
        let is_given_up = |at: &usize| !pins.tasks.contains(at);
        let tasks = self.tasks.before(to.task).filter(is_given_up);
        for at in tasks.collect::<Vec<_>>() {
            self.index.remove(self.task_key(at), at as u32);
            self.unlink_from_call(TaskId::new(at as u32));
        }
    }

    /// Copies the text of what is pinned behind the mark.
    fn save(&mut self, to: &Ids, mark: ArenaMark, pins: &Pins) {
        let mut saver = Saver {
            arena: &mut self.arena,
            mark,
        };
        for &at in pins.threads.range(..to.thread) {
            saver.arena.save_atom(&mut self.threads[at].agent_id, mark);
        }
        for &at in pins.entries.range(..to.entry) {
            saver.entry(self.entries.at_mut(at));
        }
        for &at in pins.blocks.range(..to.block) {
            saver.block(self.blocks.at_mut(at));
        }
        for &at in pins.calls.range(..to.call) {
            saver.call(self.calls.at_mut(at));
        }
        for &at in pins.results.range(..to.result) {
            saver.result(self.results.at_mut(at));
        }
        for &at in pins.tasks.range(..to.task) {
            saver.task(&mut self.tasks[at]);
        }
        for &at in pins.permissions.range(..to.permission) {
            saver.permission(&mut self.permissions[at]);
        }
        if let Some(ended) = &mut self.evidence.ended {
            saver.arena.save(&mut ended.reason, mark);
        }
    }
}

struct Saver<'a> {
    arena: &'a mut Arena,
    mark: ArenaMark,
}

impl Saver<'_> {
    fn entry(&mut self, entry: &mut EntryRecord) {
        match &mut entry.body {
            EntryBody::User(user) => {
                self.arena.save_atom(&mut user.uuid, self.mark);
                self.arena.save(&mut user.text, self.mark);
            }
            EntryBody::Assistant(message) => {
                self.arena.save_ident(&mut message.message_id, self.mark);
            }
            EntryBody::Result(result) => {
                if let Some(text) = &mut result.text {
                    self.arena.save(text, self.mark);
                }
            }
            EntryBody::Notice { text, .. } | EntryBody::Error { text, .. } => {
                self.arena.save(text, self.mark);
            }
        }
    }

    fn block(&mut self, block: &mut BlockRecord) {
        if let BlockBody::Text(text) | BlockBody::Thinking(text) | BlockBody::Other(text) =
            &mut block.body
        {
            self.arena.save(text, self.mark);
        }
    }

    fn call(&mut self, call: &mut CallRecord) {
        self.arena.save_ident(&mut call.id, self.mark);
        self.arena.save(&mut call.input, self.mark);
        if let Some(input) = &mut call.updated_input {
            self.arena.save(input, self.mark);
        }
    }

    fn result(&mut self, result: &mut ToolResultRecord) {
        self.arena.save(&mut result.text, self.mark);
        self.arena.save(&mut result.raw, self.mark);
    }

    fn task(&mut self, task: &mut TaskRecord) {
        for atom in [&mut task.id, &mut task.run] {
            self.arena.save_atom(atom, self.mark);
        }
        if let Some(call) = &mut task.tool_use_id {
            self.arena.save_atom(call, self.mark);
        }
        for text in [&mut task.description, &mut task.activity, &mut task.summary] {
            self.arena.save(text, self.mark);
        }
    }

    fn permission(&mut self, permission: &mut PermissionRecord) {
        self.arena.save_atom(&mut permission.request_id, self.mark);
        let ids = [&mut permission.tool_use_id, &mut permission.agent_id];
        for atom in ids.into_iter().flatten() {
            self.arena.save_atom(atom, self.mark);
        }
        self.arena.save(&mut permission.request, self.mark);
    }
}
