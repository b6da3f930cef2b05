//! What is known of the session.

use std::sync::Arc;

use bowline_jsonl::Str;

use crate::model::{Command, Limit, PlanItem, QueuedPrompt, SessionOption};
use crate::names::Name;
use crate::record::{EntryBody, NeutralRecord, NoticeRecord, SessionRecord, ThreadId};
use crate::transcript::{Fold, LineContext, Transcript};
use crate::uuids::Uuid;
use crate::view::ModelUsage;

/// Order in the queue of the first prompt that waits at the host. Those that were sent are numbered from 0.
const FIRST_WAITING: u64 = 1 << 63;

impl Transcript {
    pub(crate) fn enter(&mut self, id: &str) {
        if id.is_empty() {
            return;
        }
        let id = self.names.intern(id);
        if self.session.id == Some(id) {
            return;
        }
        if self.session.entered.insert(id) {
            self.session.conversations.push(id);
        }
        self.session.id = Some(id);
        self.session.is_rotating = false;
        self.touch_session();
    }

    pub(crate) fn set_session(
        &mut self,
        value: Option<Str<'_>>,
        field: impl Fn(&mut SessionRecord) -> &mut Option<Name>,
    ) {
        if let Some(value) = value {
            self.set_session_name(&value.decode(), field);
        }
    }

    pub(crate) fn set_session_name(
        &mut self,
        value: &str,
        field: impl Fn(&mut SessionRecord) -> &mut Option<Name>,
    ) {
        let value = self.names.intern(value);
        if field(&mut self.session).replace(value) == Some(value) {
            return;
        }
        self.touch_session();
    }

    /// Counts a line of unknown type.
    pub(crate) fn count_unknown(&mut self, name: String) {
        *self.counters.unknown.entry(name).or_default() += 1;
    }

    pub(crate) fn notice(&mut self, name: &str, text: &str, context: LineContext) {
        let notice = self.names.intern(name);
        let text = self.keep(text);
        let body = EntryBody::Notice(NoticeRecord {
            notice,
            text,
            line_end: context.line_end(),
        });
        self.entry(ThreadId::MAIN, body, context);
    }

    /// Interns a name.
    pub(crate) fn name_of(&mut self, name: Str<'_>) -> Name {
        self.names.intern(&name.decode())
    }
}

impl Transcript {
    /// What a dialect says of the session, to be changed.
    pub(crate) fn neutral(&mut self) -> &mut NeutralRecord {
        Arc::make_mut(&mut self.session.neutral)
    }

    /// Replaces the prompts that wait at the host. They follow those that were sent.
    pub(crate) fn set_waiting_prompts(&mut self, waiting: &[QueuedPrompt]) {
        let mut queue = self.session.neutral.queue.clone();
        queue.retain(|order, _| *order < FIRST_WAITING);
        queue.extend((FIRST_WAITING..).zip(waiting.iter().cloned()));
        self.set_neutral(|it| &mut it.queue, queue);
    }

    /// Replaces a value of the session.
    pub(crate) fn set_neutral<T: PartialEq>(
        &mut self,
        field: impl FnOnce(&mut NeutralRecord) -> &mut T,
        value: T,
    ) {
        let field = field(self.neutral());
        if *field != value {
            *field = value;
            self.touch_session();
        }
    }
}

impl Fold<'_> {
    /// Enters the agent's conversation with this id: the newest of the session.
    pub fn set_conversation(&mut self, id: &str) {
        self.it.enter(id);
    }

    /// Sets the model.
    pub fn set_model(&mut self, model: &str) {
        self.it.set_session_name(model, |it| &mut it.model);
    }

    /// Sets the working directory.
    pub fn set_cwd(&mut self, cwd: &str) {
        self.it.set_session_name(cwd, |it| &mut it.cwd);
    }

    /// Sets the permission mode, by the agent's name of it.
    pub fn set_permission_mode(&mut self, mode: &str) {
        self.it.set_session_name(mode, |it| &mut it.permission_mode);
    }

    /// Sets name and version of the agent's program.
    pub fn set_agent(&mut self, name: Option<&str>, version: Option<&str>) {
        if let Some(name) = name {
            let name = Some(name.to_owned());
            self.it.set_neutral(|it| &mut it.agent_name, name);
        }
        if let Some(version) = version {
            self.it.set_session_name(version, |it| &mut it.cli_version);
        }
    }

    /// Sets the title of the conversation.
    pub fn set_title(&mut self, title: Option<&str>) {
        let title = title.map(str::to_owned);
        self.it.set_neutral(|it| &mut it.title, title);
    }

    /// Replaces the plan.
    pub fn set_plan(&mut self, plan: Vec<PlanItem>) {
        self.it.set_neutral(|it| &mut it.plan, plan);
    }

    /// Adds a prompt that waits for its turn. `order` is its place among those that wait.
    pub fn queue_prompt(&mut self, order: u64, prompt: QueuedPrompt) {
        self.it.neutral().queue.insert(order, prompt);
        self.it.touch_session();
    }

    /// Removes a prompt from those that wait.
    pub fn unqueue_prompt(&mut self, order: u64) {
        if self.it.session.neutral.queue.contains_key(&order) {
            self.it.neutral().queue.remove(&order);
            self.it.touch_session();
        }
    }

    /// Removes all prompts that wait at the agent.
    pub fn clear_queue(&mut self) {
        let mut queue = self.it.session.neutral.queue.clone();
        queue.retain(|order, _| *order >= FIRST_WAITING);
        self.it.set_neutral(|it| &mut it.queue, queue);
    }

    /// Sets the used part of the context window and its size, in tokens; `None` keeps what is known.
    pub fn set_context(&mut self, used: Option<u64>, size: Option<u64>) {
        if used.is_some() {
            self.it.set_neutral(|it| &mut it.context_used, used);
        }
        if size.is_some() {
            self.it.set_neutral(|it| &mut it.context_size, size);
        }
    }

    /// Sets a usage limit, in place of the one with the same window.
    pub fn set_limit(&mut self, limit: Limit) {
        self.it.set_limit(limit);
    }

    /// Replaces the settings of the session.
    pub fn set_options(&mut self, options: Vec<SessionOption>) {
        self.it.set_options(options);
    }

    /// Sets the current value of a setting that is known.
    pub fn set_option_value(&mut self, id: &str, value: &str) {
        let neutral = &self.it.session.neutral;
        let known = neutral.option_numbers.get(id).copied();
        let is_other = |&at: &usize| neutral.options[at].value.as_deref() != Some(value);
        if let Some(at) = known.filter(is_other) {
            self.it.neutral().options[at].value = Some(value.to_owned());
            self.it.touch_session();
        }
    }

    /// Replaces the commands that the agent offers.
    pub fn set_commands(&mut self, commands: Vec<Command>) {
        self.it.set_neutral(|it| &mut it.commands, commands);
    }

    /// Sets what a model has used and cost so far, in US dollars, since the beginning of `scope`: a
    /// conversation, or whatever else the agent counts from 0. Counters only grow.
    pub fn set_usage(&mut self, scope: &str, model: &str, usage: ModelUsage, cost: Option<f64>) {
        let scope = Some(self.it.names.intern(scope));
        let model = self.it.names.intern(model);
        self.it.usage.add_tokens(scope, model, usage.tokens());
        if let Some(cost) = cost {
            self.it.usage.add_cost(scope, cost);
        }
        self.it.touch_usage();
    }

    /// Adds a notice: information beside the conversation. `name` is the type of its line.
    pub fn notice(&mut self, name: &str, text: &str) {
        let line = self.line();
        self.it.notice(name, text, line);
    }

    /// Counts a line whose type this version does not know, by the name of the type.
    pub fn unknown(&mut self, name: &str) {
        self.it.count_unknown(name.to_owned());
        self.it.touch_stats();
    }

    /// Returns whether a line with this id, which no other line has, came before, and counts it.
    /// Such a line must not be applied again.
    pub fn is_duplicate(&mut self, id: &str) -> bool {
        let is_known = self.it.uuids.check_and_record(Uuid::new(id)) && !self.it.is_page;
        if is_known {
            let line = self.line();
            self.it.note_duplicate(line);
            self.it.counters.duplicates += 1;
            self.it.touch_stats();
        }
        is_known
    }
}

impl Transcript {
    /// Replaces the settings of the session.
    pub(crate) fn set_options(&mut self, options: Vec<SessionOption>) {
        if self.session.neutral.options != options {
            let numbers = options.iter().enumerate().rev();
            let numbers = numbers
                .map(|(at, option)| (option.id.clone(), at))
                .collect();
            let neutral = self.neutral();
            neutral.options = options;
            neutral.option_numbers = numbers;
            self.touch_session();
        }
    }

    /// Sets a usage limit, in place of the one with the same window.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        let known = self
            .session
            .neutral
            .limit_numbers
            .get(&limit.window)
            .copied();
        if known.is_some_and(|at| self.session.neutral.limits[at] == limit) {
            return;
        }
        let neutral = self.neutral();
        if let Some(at) = known {
            neutral.limits[at] = limit;
        } else {
            let window = limit.window.clone();
            neutral.limit_numbers.insert(window, neutral.limits.len());
            neutral.limits.push(limit);
        }
        self.touch_session();
    }
}
