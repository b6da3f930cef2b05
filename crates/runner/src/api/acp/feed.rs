//! A transcript's changes as updates of a session.

mod calls;
mod children;
mod messages;
mod progress;
mod state;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agent_client_protocol_schema::{v1, v2};
use bowline_reducer::model::ThreadState;
use bowline_reducer::owned::{BlockValue, EntryValue};
use bowline_reducer::{BlockId, EntryId, TranscriptChange};

pub(super) use calls::Calls;
use children::Children;
use messages::Messages;
use progress::SessionProgress;
use state::SessionState;

use super::update::{Progress, SessionUpdate, Speaker, Stop, Text, Update, Version};

/// Capabilities that an editor declares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Declared {
    pub(super) version: Version,
    pub(super) subagents: bool,
    pub(super) notices: bool,
    pub(super) switches: bool,
    pub(super) forms: bool,
    pub(super) urls: bool,
}

impl Declared {
    /// Reads the capabilities of an editor of version 1.
    pub(super) fn of(client: &v1::ClientCapabilities) -> Self {
        let session = client.session.as_ref();
        let options = session.and_then(|it| it.config_options.as_ref());
        let elicitation = client.elicitation.as_ref();
        Self {
            version: Version::V1,
            subagents: client.subagents.is_some(),
            notices: session.is_some_and(|it| it.notices.is_some()),
            switches: options.is_some_and(|it| it.boolean.is_some()),
            forms: elicitation.is_some_and(|it| it.form.is_some()),
            urls: elicitation.is_some_and(|it| it.url.is_some()),
        }
    }

    /// Reads the capabilities of an editor of version 2, in which the other ones are not declared.
    pub(super) fn draft(client: &v2::ClientCapabilities) -> Self {
        let elicitation = client.elicitation.as_ref();
        Self {
            version: Version::V2,
            subagents: true,
            notices: true,
            switches: true,
            forms: elicitation.is_some_and(|it| it.form.is_some()),
            urls: elicitation.is_some_and(|it| it.url.is_some()),
        }
    }
}

/// Turns changes into updates, each piece of content once.
#[derive(Debug)]
pub(super) struct Feed {
    session: Arc<str>,
    declared: Declared,
    /// Prompts of this connection that are not part of the conversation yet.
    own_prompts: HashSet<String>,
    /// Those that have become part of it, with the ids of their messages.
    accepted: Vec<(String, String)>,
    /// The thread of each entry.
    entries: HashMap<EntryId, Option<String>>,
    messages: Messages,
    calls: Calls,
    children: Children,
    state: SessionState,
    progress: SessionProgress,
    updates: Vec<SessionUpdate>,
}

impl Feed {
    pub(super) fn new(session: &str, declared: Declared) -> Self {
        Self {
            session: session.into(),
            declared,
            own_prompts: HashSet::new(),
            accepted: Vec::new(),
            entries: HashMap::new(),
            messages: Messages::new(declared.version),
            calls: Calls::default(),
            children: Children::default(),
            state: SessionState::default(),
            progress: SessionProgress::default(),
            updates: Vec::new(),
        }
    }

    /// Records a prompt that this connection sends. An editor of version 1 shows it itself.
    pub(super) fn sends(&mut self, uuid: &str) {
        self.own_prompts.insert(uuid.to_owned());
    }

    /// Removes and returns the prompts of this connection that have become part of the conversation, by uuid, with
    /// the ids of their messages.
    pub(super) fn take_accepted(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.accepted)
    }

    /// Returns how the last turn of the main thread ended, since the editor has the session.
    pub(super) const fn last_stop(&self) -> Option<&Stop> {
        self.progress.last_stop()
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
    pub(super) fn session_of(&self, thread: Option<&str>) -> Arc<str> {
        match thread {
            Some(thread) if self.declared.subagents => Children::session(&self.session, thread),
            _ => Arc::clone(&self.session),
        }
    }

    /// Converts changes into updates. With `has_more` they are a part of the whole transcript.
    pub(super) fn apply(
        &mut self,
        changes: &[TranscriptChange],
        has_more: bool,
    ) -> Vec<SessionUpdate> {
        // A snapshot has the calls after the messages that they are part of.
        self.calls.index(changes);
        let begins = self.progress.begins(changes);
        self.push_progress(begins);
        for change in changes {
            self.change(change);
        }
        if !has_more {
            let settles = self.progress.settles();
            self.push_progress(settles);
        }
        std::mem::take(&mut self.updates)
    }

    fn push_progress(&mut self, progress: Option<Progress>) {
        if let Some(progress) = progress.filter(|_| self.declared.version == Version::V2) {
            self.push(None, Update::Progress(progress));
        }
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
            TranscriptChange::EntryRemoved { entry } => self.retract(*entry),
            TranscriptChange::Block {
                block,
                entry,
                value,
                ..
            } => self.block(*block, *entry, value),
            TranscriptChange::Append {
                block, from, text, ..
            } => {
                let text = self.messages.append(*block, *from as usize, text);
                self.say(text);
            }
            TranscriptChange::BlockRemoved { block } => {
                let text = self.messages.remove(*block);
                self.say(text);
            }
            TranscriptChange::ToolCall { value, .. } => self.call(&value.id),
            _ => {}
        }
    }

    fn entry(&mut self, id: EntryId, thread: Option<&str>, value: &EntryValue) {
        let is_known = self.entries.insert(id, thread.map(str::to_owned)).is_some();
        if matches!(value, EntryValue::Result { .. }) && thread.is_none() {
            self.messages.settle();
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
                let message = format!("e{}", id.number());
                let own = uuid.as_ref().filter(|it| self.own_prompts.remove(*it));
                let is_shown = own.is_none() || self.declared.version == Version::V2;
                if let Some(uuid) = own {
                    self.accepted.push((uuid.clone(), message.clone()));
                }
                // A text that the agent wrote is not a prompt, except that of a sub-agent.
                let is_prompt = !synthetic || thread.is_some();
                if is_prompt && is_shown && !text.is_empty() && self.shows_text(thread) {
                    let text = Text {
                        speaker: Speaker::User,
                        message,
                        text: text.clone(),
                        is_whole: true,
                    };
                    self.push(thread, Update::Text(text));
                }
            }
            EntryValue::Notice { text, .. } => self.notice(false, text),
            EntryValue::Error { text, .. } => self.notice(true, text),
            _ => {}
        }
    }

    /// Retracts an entry: it is sent as empty.
    fn retract(&mut self, id: EntryId) {
        for block in self.messages.of(id) {
            let text = self.messages.remove(block);
            self.say(text);
        }
    }

    fn notice(&mut self, is_error: bool, text: &str) {
        if self.declared.notices && !text.is_empty() {
            let text = text.to_owned();
            self.push(None, Update::Notice { is_error, text });
        }
    }

    fn block(&mut self, id: BlockId, entry: EntryId, value: &BlockValue) {
        let (speaker, text) = match value {
            BlockValue::Text { text } => (Speaker::Agent, text),
            BlockValue::Thinking { text } => (Speaker::Thought, text),
            BlockValue::ToolCall { id } => return self.call(id),
            _ => return,
        };
        let text = self.messages.replace(id, entry, speaker, text);
        self.say(text);
    }

    /// Sends the text of an entry, if its thread is shown.
    fn say(&mut self, text: Option<(EntryId, Text)>) {
        let Some((entry, text)) = text else {
            return;
        };
        let thread = self.entries.get(&entry).cloned().flatten();
        if self.shows_text(thread.as_deref()) {
            self.push(thread.as_deref(), Update::Text(text));
        }
    }

    /// Sends a call, or its changed members.
    fn call(&mut self, id: &str) {
        let is_flat = !self.declared.subagents;
        if let Some((thread, update)) = self.calls.update(id, is_flat) {
            self.push(thread.as_deref(), Update::ToolCall(Box::new(update)));
        }
        let holder = self.calls.holder(id);
        if let Some((title, state)) = holder {
            self.child(id, title.as_deref(), Some(state));
        }
    }

    fn child(&mut self, thread: &str, title: Option<&str>, state: Option<ThreadState>) {
        if !self.declared.subagents {
            return;
        }
        let update = self.children.update(&self.session, thread, title, state);
        if let Some(update) = update {
            let parent = self.calls.thread(thread);
            self.push(parent.as_deref(), update);
        }
    }

    /// Whether the messages of a thread are shown.
    const fn shows_text(&self, thread: Option<&str>) -> bool {
        thread.is_none() || self.declared.subagents
    }

    fn push(&mut self, thread: Option<&str>, update: Update) {
        if let Some(thread) = thread
            && self.declared.subagents
            && !self.children.is_known(thread)
        {
            self.child(thread, None, None);
        }
        let session = self.session_of(thread);
        self.updates.push(SessionUpdate { session, update });
    }
}
