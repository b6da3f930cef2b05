//! Threads: of sub-agents, nested to a limit.

use crate::index::{IndexKey, IndexKind};
use crate::model::ThreadState;
use crate::record::{CallId, CallPresence, ThreadDetail, ThreadId, ThreadRecord};
use crate::state::{CallState, PermissionState};
use crate::transcript::{Fold, Transcript};
use crate::view::ModelUsage;

/// Deepest nesting of sub-agents that is represented. A few levels are common; JSON parsers stop at
/// 128 levels, of which a sub-agent takes three and the values inside get the rest (see
/// [`Raw`](crate::Raw)). Below it, the lines of a sub-agent join the thread of its call.
pub(crate) const DEEPEST: u32 = 32;

impl Transcript {
    /// Returns the thread of the sub-agent of a call; adds it if it is new.
    pub(crate) fn subagent(&mut self, call: CallId) -> ThreadId {
        if let Some(thread) = self.calls[call].subagent {
            return thread;
        }
        self.restore_call(call);
        let holder = self.calls[call].thread;
        if self
            .depth_outside(holder, call)
            .is_some_and(|depth| depth >= DEEPEST)
        {
            return holder;
        }
        let thread = ThreadId::new(self.threads.len() as u32);
        self.threads.push(ThreadRecord {
            call: Some(call),
            ..ThreadRecord::default()
        });
        self.calls[call].subagent = Some(thread);
        self.raise_height(holder, 1);
        self.touch_call(call);
        thread
    }

    /// Depth of a thread; `None` if it is inside of `call`.
    pub(crate) fn depth_outside(&self, thread: ThreadId, call: CallId) -> Option<u32> {
        let mut at = thread;
        let mut depth = 0;
        while let Some(holder) = self.threads[at].call {
            if holder == call {
                return None;
            }
            at = self.calls[holder].thread;
            depth += 1;
        }
        Some(depth)
    }

    /// Raises the recorded nesting below a thread to `height`.
    pub(crate) fn raise_height(&mut self, thread: ThreadId, height: u32) {
        let (mut at, mut height) = (thread, height);
        while self.threads[at].height < height {
            self.threads[at].height = height;
            let Some(holder) = self.threads[at].call else {
                return;
            };
            at = self.calls[holder].thread;
            height += 1;
        }
    }

    /// Closes the calls of a thread that will get no result.
    pub(crate) fn close_thread(&mut self, thread: ThreadId, state: CallState) {
        for call in self.threads[thread].open.clone() {
            self.close_call(call, state, state);
            self.close_permission_of(call, PermissionState::Expired);
        }
    }

    /// Marks just rejected calls as interrupted, after an interrupt was confirmed.
    pub(crate) fn interrupt_rejected(&mut self, thread: ThreadId) {
        for call in std::mem::take(&mut self.threads[thread].rejected) {
            self.set_call(call, CallState::Interrupted);
        }
    }
}

impl Transcript {
    pub(crate) fn thread_key(&self, thread: ThreadId) -> IndexKey {
        let id = self.arena.str(self.threads[thread].agent_id);
        IndexKey::new(IndexKind::Thread, 0, id)
    }

    pub(crate) fn thread_detail(&mut self, thread: ThreadId) -> &mut ThreadDetail {
        self.threads[thread].detail.get_or_insert_default()
    }

    /// Whether a dialect finds the thread by its id.
    pub(crate) fn is_named_thread(&self, at: usize) -> bool {
        let detail = self.threads[at].detail.as_deref();
        detail.is_some_and(|detail| detail.is_named)
    }

    fn find_thread(&self, key: IndexKey, id: &str) -> Option<ThreadId> {
        let is_match = |at: u32| {
            let thread = self.threads.get(at as usize);
            thread.is_some_and(|it| self.arena.str(it.agent_id) == id)
        };
        self.index.find(key, is_match).map(ThreadId::new)
    }

    /// Names a thread, so that it is found by this id.
    fn index_thread(&mut self, thread: ThreadId, id: &str) {
        if self.is_named_thread(thread.index()) {
            let old = self.thread_key(thread);
            self.index.remove(old, thread.number());
        }
        self.threads[thread].agent_id = self.arena.store_short(id);
        self.thread_detail(thread).is_named = true;
        let key = self.thread_key(thread);
        self.index.insert(key, thread.number());
    }

    /// Logs a thread: with the call that holds it, or as one of the session.
    pub(crate) fn touch_thread(&mut self, thread: ThreadId) {
        match self.threads[thread].call {
            Some(call) => self.touch_call(call),
            None => self.touch_session(),
        }
    }
}

impl Fold<'_> {
    /// Returns the main thread.
    #[must_use]
    pub const fn main(&self) -> ThreadId {
        ThreadId::MAIN
    }

    /// Finds or adds the thread with this id. A new one is held by no call: it is a thread of the
    /// session until [`hold_thread`](Self::hold_thread) names its call. An empty id names the main thread, which
    /// readers of changes could not tell from one without an id.
    pub fn thread(&mut self, id: &str) -> ThreadId {
        if id.is_empty() {
            return ThreadId::MAIN;
        }
        let key = IndexKey::new(IndexKind::Thread, 0, id);
        if let Some(known) = self.it.find_thread(key, id) {
            return known;
        }
        let thread = ThreadId::new(self.it.threads.len() as u32);
        self.it.threads.push(ThreadRecord::default());
        self.it.index_thread(thread, id);
        self.it.touch_thread(thread);
        thread
    }

    /// Makes a call the holder of a thread: the call of its parent that started the sub-agent. A
    /// call that is not known is announced by [`upsert_call`](Self::upsert_call) later.
    ///
    /// The first call holds the thread, and a call holds one thread; otherwise nothing changes.
    pub fn hold_thread(&mut self, thread: ThreadId, call: &str) {
        let it = &mut *self.it;
        let call = it.call(ThreadId::MAIN, call, CallPresence::Placeholder);
        it.depend_on_call(call);
        let is_free = it.threads[thread].call.is_none() && it.calls[call].subagent.is_none();
        let holder = it.calls[call].thread;
        let height = it.threads[thread].height + 1;
        let is_sound = holder != thread && thread != ThreadId::MAIN;
        let depth = it.depth_outside(holder, call);
        if !is_free || !is_sound || depth.is_none_or(|depth| depth + height > DEEPEST) {
            return;
        }
        it.restore_call(call);
        it.threads[thread].call = Some(call);
        it.calls[call].subagent = Some(thread);
        it.raise_height(holder, height);
        it.touch_call(call);
        it.touch_session();
        it.touch_contents(thread);
        it.touch_descendants(call);
    }

    /// Sets the progress of a sub-agent's thread.
    pub fn set_thread_state(&mut self, thread: ThreadId, state: ThreadState) {
        if self.it.thread_detail(thread).state.replace(state) != Some(state) {
            self.it.touch_thread(thread);
        }
    }

    /// Sets the title of a sub-agent's thread: what it works on.
    pub fn set_thread_title(&mut self, thread: ThreadId, title: &str) {
        let title = self.it.keep(title);
        self.it.thread_detail(thread).title = title;
        self.it.touch_thread(thread);
    }

    /// Sets the type of a sub-agent, such as `general-purpose`.
    pub fn set_thread_type(&mut self, thread: ThreadId, agent_type: &str) {
        self.it.threads[thread].agent_type = self.it.names.intern(agent_type);
        self.it.touch_thread(thread);
    }

    /// Sets what the agent of a thread has used so far.
    pub fn set_thread_usage(&mut self, thread: ThreadId, usage: ModelUsage) {
        self.it.thread_detail(thread).usage = Some(usage.tokens());
        self.it.touch_thread(thread);
    }
}

impl Transcript {
    /// Logs everything in a thread again, since its holder changed.
    fn touch_contents(&mut self, thread: ThreadId) {
        for entry in self.entries_of(thread).collect::<Vec<_>>() {
            self.touch_entry(entry);
            for block in self.live_blocks(entry).collect::<Vec<_>>() {
                self.touch_block(block);
            }
        }
        for call in self.calls_of(thread).collect::<Vec<_>>() {
            self.touch_call(call);
        }
    }
}
