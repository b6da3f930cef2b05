//! A transcript's changes as updates of a session.

mod calls;
mod children;
mod state;

use std::collections::{HashMap, HashSet};

use agent_client_protocol_schema::v1::{
    ContentChunk, Notice, NoticeSeverity, SessionId, SessionNotification, SessionUpdate,
};
use bowline_reducer::owned::{BlockValue, EntryValue};
use bowline_reducer::{BlockId, EntryId, Outcome, TranscriptChange};

pub(super) use calls::Calls;
use children::Children;
use state::SessionState;

/// What an editor declares to understand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Declared {
    pub(super) subagents: bool,
    pub(super) notices: bool,
    pub(super) switches: bool,
    pub(super) forms: bool,
    pub(super) urls: bool,
}

/// Turns changes into updates, each piece of content once.
#[derive(Debug)]
pub(super) struct Feed {
    session: SessionId,
    declared: Declared,
    /// Prompts of this connection, which its editor shows itself.
    own_prompts: HashSet<String>,
    /// The thread of each entry.
    entries: HashMap<EntryId, Option<String>>,
    blocks: HashMap<BlockId, SentBlock>,
    calls: Calls,
    children: Children,
    state: SessionState,
    last_turn: Option<TurnResult>,
    updates: Vec<SessionNotification>,
}

/// How a turn of the main thread ended.
#[derive(Clone, Debug)]
pub(super) struct TurnResult {
    pub(super) outcome: Outcome,
    pub(super) subtype: String,
    pub(super) text: Option<String>,
}

/// A block of text.
#[derive(Clone, Copy, Debug)]
struct SentBlock {
    entry: EntryId,
    is_thinking: bool,
    /// Number of bytes that were sent.
    sent: usize,
}

impl Feed {
    pub(super) fn new(session: SessionId, declared: Declared) -> Self {
        Self {
            session,
            declared,
            own_prompts: HashSet::new(),
            entries: HashMap::new(),
            blocks: HashMap::new(),
            calls: Calls::default(),
            children: Children::default(),
            state: SessionState::default(),
            last_turn: None,
            updates: Vec::new(),
        }
    }

    /// Notes a prompt that this connection sends.
    pub(super) fn sends(&mut self, uuid: &str) {
        self.own_prompts.insert(uuid.to_owned());
    }

    /// Returns how the last turn of the main thread ended, since the editor has the session.
    pub(super) const fn last_turn(&self) -> Option<&TurnResult> {
        self.last_turn.as_ref()
    }

    pub(super) const fn calls(&self) -> &Calls {
        &self.calls
    }

    pub(super) const fn state(&self) -> &SessionState {
        &self.state
    }

    pub(super) const fn state_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }

    /// Returns the session in which a thread is shown.
    pub(super) fn session_of(&self, thread: Option<&str>) -> SessionId {
        match thread {
            Some(thread) if self.declared.subagents => Children::session(&self.session, thread),
            _ => self.session.clone(),
        }
    }

    /// Takes in changes; returns the updates that they are.
    pub(super) fn apply(&mut self, changes: &[TranscriptChange]) -> Vec<SessionNotification> {
        // A snapshot has the calls after the messages that they are part of.
        self.calls.index(changes);
        for change in changes {
            self.change(change);
        }
        std::mem::take(&mut self.updates)
    }

    fn change(&mut self, change: &TranscriptChange) {
        match change {
            TranscriptChange::Session { session } => {
                let updates = self.state.session(session, self.declared.switches);
                for update in updates {
                    self.push(None, update);
                }
                for (name, thread) in &session.threads {
                    self.child(name, thread.title.as_deref(), thread.state);
                }
            }
            TranscriptChange::Usage { usage } => {
                if let Some(update) = self.state.usage(usage) {
                    self.push(None, update);
                }
            }
            TranscriptChange::Entry {
                entry,
                thread,
                value,
                ..
            } => self.entry(*entry, thread.as_deref(), value),
            TranscriptChange::Block {
                block,
                entry,
                value,
                ..
            } => self.block(*block, *entry, value),
            TranscriptChange::Append {
                block, from, text, ..
            } => self.text(*block, *from as usize, text),
            TranscriptChange::ToolCall { value, .. } => self.call(&value.id),
            _ => {}
        }
    }

    fn entry(&mut self, id: EntryId, thread: Option<&str>, value: &EntryValue) {
        let is_known = self.entries.insert(id, thread.map(str::to_owned)).is_some();
        if let EntryValue::Result {
            outcome,
            subtype,
            text,
            ..
        } = value
        {
            if thread.is_none() {
                self.last_turn = Some(TurnResult {
                    outcome: *outcome,
                    subtype: subtype.clone(),
                    text: text.clone(),
                });
            }
            return;
        }
        if is_known {
            return;
        }
        match value {
            EntryValue::User {
                uuid,
                text,
                synthetic,
                ..
            } => {
                let is_own = uuid.as_ref().is_some_and(|it| self.own_prompts.remove(it));
                // What the agent tells itself is not a prompt, except that of a sub-agent.
                let is_prompt = !synthetic || thread.is_some();
                if is_prompt && !is_own && !text.is_empty() && self.shows_text(thread) {
                    let chunk = chunk(text, format!("e{}", id.number()));
                    self.push(thread, SessionUpdate::UserMessageChunk(chunk));
                }
            }
            EntryValue::Notice { text, .. } => self.notice(NoticeSeverity::Info, text),
            EntryValue::Error { text, .. } => self.notice(NoticeSeverity::Error, text),
            _ => {}
        }
    }

    fn notice(&mut self, severity: NoticeSeverity, text: &str) {
        if self.declared.notices && !text.is_empty() {
            self.push(None, SessionUpdate::Notice(Notice::new(severity, text)));
        }
    }

    fn block(&mut self, id: BlockId, entry: EntryId, value: &BlockValue) {
        let (is_thinking, text) = match value {
            BlockValue::Text { text } => (false, text),
            BlockValue::Thinking { text } => (true, text),
            BlockValue::ToolCall { id } => return self.call(id),
            _ => return,
        };
        let sent = self.blocks.entry(id).or_insert(SentBlock {
            entry,
            is_thinking,
            sent: 0,
        });
        sent.is_thinking = is_thinking;
        self.text(id, 0, text);
    }

    /// Sends what is new of a text whose bytes after `from` are `text`.
    fn text(&mut self, id: BlockId, from: usize, text: &str) {
        let Some(block) = self.blocks.get_mut(&id) else {
            return;
        };
        let end = from + text.len();
        let new = block.sent.checked_sub(from).map(|at| after(text, at));
        block.sent = block.sent.max(end);
        let block = *block;
        let thread = self.entries.get(&block.entry).cloned().flatten();
        let Some(new) = new.filter(|new| !new.is_empty()) else {
            return;
        };
        if !self.shows_text(thread.as_deref()) {
            return;
        }
        let chunk = chunk(new, format!("b{}", id.number()));
        let update = if block.is_thinking {
            SessionUpdate::AgentThoughtChunk(chunk)
        } else {
            SessionUpdate::AgentMessageChunk(chunk)
        };
        self.push(thread.as_deref(), update);
    }

    /// Sends a call, or what changed of it.
    fn call(&mut self, id: &str) {
        let is_flat = !self.declared.subagents;
        let Some((thread, update)) = self.calls.update(id, is_flat) else {
            return self.child_of_call(id);
        };
        self.push(thread.as_deref(), update);
        self.child_of_call(id);
    }

    fn child_of_call(&mut self, id: &str) {
        let holder = self.calls.holder(id);
        if let Some((title, state)) = holder {
            self.child(id, title.as_deref(), Some(state));
        }
    }

    fn child(
        &mut self,
        thread: &str,
        title: Option<&str>,
        state: Option<bowline_reducer::model::ThreadState>,
    ) {
        if !self.declared.subagents {
            return;
        }
        let update = self.children.update(&self.session, thread, title, state);
        if let Some(update) = update {
            let parent = self.calls.thread(thread);
            self.push(parent.as_deref(), SessionUpdate::SubagentUpdate(update));
        }
    }

    /// Whether the messages of a thread are shown.
    const fn shows_text(&self, thread: Option<&str>) -> bool {
        thread.is_none() || self.declared.subagents
    }

    fn push(&mut self, thread: Option<&str>, update: SessionUpdate) {
        if let Some(thread) = thread
            && self.declared.subagents
            && !self.children.is_known(thread)
        {
            self.child(thread, None, None);
        }
        let session = self.session_of(thread);
        let notification = SessionNotification::new(session, update);
        self.updates.push(notification);
    }
}

/// The text from the first character that begins at or after a byte.
fn after(text: &str, at: usize) -> &str {
    let start = (at..text.len()).find(|&at| text.is_char_boundary(at));
    start
        .and_then(|start| text.get(start..))
        .unwrap_or_default()
}

fn chunk(text: &str, message: String) -> ContentChunk {
    ContentChunk::new(text.into()).message_id(Some(message.into()))
}
