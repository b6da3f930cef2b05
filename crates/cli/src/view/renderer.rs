//! From changes to text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use bowline_reducer::{
    BlockId, CallId, Change, Changes, EntryId, MessageState, PermissionId, PermissionState,
    TaskState, Thread, ThreadId, ToolCall,
};

use crate::view::call::Call;
use crate::view::message::Shown;
use crate::view::page::{Group, Page};
use crate::view::style::{Paint, Style};
use crate::view::summary;

/// Writes the changes of one transcript as text, and remembers what it has written.
#[derive(Debug)]
pub(crate) struct Renderer {
    pub(super) page: Page,
    /// Whether the changes come as they happen: durations are measured.
    pub(super) is_live: bool,
    pub(super) blocks: HashMap<BlockId, Shown>,
    pub(super) entries: HashSet<EntryId>,
    pub(super) aborted: HashMap<EntryId, MessageState>,
    pub(super) taken_back: HashSet<EntryId>,
    pub(super) calls: BTreeMap<CallId, Call>,
    /// Calls that ended; their end lines wait for what their sub-agents still have to say.
    pub(super) ended: Vec<CallId>,
    /// The call whose line was written last.
    pub(super) last_call: Option<CallId>,
    pub(super) last_thread: Option<ThreadId>,
    pub(super) last_said: Option<BlockId>,
    pub(super) permissions: HashMap<PermissionId, PermissionState>,
    pub(super) tasks: HashMap<String, TaskState>,
    pub(super) session: Option<String>,
    pub(super) turn_since: Option<Instant>,
    /// Texts whose last character may be half of one.
    pub(super) waiting: Vec<BlockId>,
}

impl Renderer {
    /// A renderer for a recording.
    pub(crate) fn new(style: Style) -> Self {
        Self {
            page: Page::new(style),
            is_live: false,
            blocks: HashMap::new(),
            entries: HashSet::new(),
            aborted: HashMap::new(),
            taken_back: HashSet::new(),
            calls: BTreeMap::new(),
            ended: Vec::new(),
            last_call: None,
            last_thread: None,
            last_said: None,
            permissions: HashMap::new(),
            tasks: HashMap::new(),
            session: None,
            turn_since: None,
            waiting: Vec::new(),
        }
    }

    /// A renderer for a session that runs.
    pub(crate) fn live(style: Style) -> Self {
        let is_live = true;
        Self {
            is_live,
            ..Self::new(style)
        }
    }

    /// Lines are cut to this many columns.
    pub(crate) const fn set_width(&mut self, columns: usize) {
        self.page.set_width(columns);
    }

    /// Whether the next text begins a line.
    pub(crate) const fn is_at_line_start(&self) -> bool {
        self.page.is_at_line_start()
    }

    /// Writes a caption of the program's own.
    pub(crate) fn caption(&mut self, text: &str) -> String {
        self.page.group(0, Group::Caption);
        self.page
            .line(0, &[(Paint::Bold, "── "), (Paint::Bold, text)]);
        self.page.take()
    }

    /// Ends the open line, for something else to be printed.
    pub(crate) fn break_line(&mut self) -> String {
        self.page.end_line();
        self.page.take()
    }

    /// The text of these changes.
    pub(crate) fn render(&mut self, changes: &Changes<'_>) -> String {
        for change in changes.iter() {
            self.change(changes, &change);
        }
        self.end_calls(None, changes);
        self.close_finished(changes);
        self.page.take()
    }

    fn change(&mut self, changes: &Changes<'_>, change: &Change<'_>) {
        match change {
            Change::Session { session } => self.session(*session),
            Change::Entry { entry, value, .. } => self.entry(changes, *entry, *value),
            Change::EntryRemoved { entry } => self.entry_removed(*entry),
            Change::Block {
                block,
                entry,
                value,
            } => self.block(changes, *block, *entry, *value),
            Change::Append { block, from, text } => self.append(changes, *block, *from, *text),
            Change::BlockRemoved { block } => self.block_removed(*block),
            Change::ToolCall { call, value, .. } => self.call(changes, *call, *value),
            Change::ToolCallRemoved { call } => self.call_removed(*call),
            Change::Task { task, value } => self.task(changes, task, *value),
            Change::Permission { permission, value } => {
                self.permission(changes, *permission, *value)
            }
            // After a reset everything comes again; what was written is known by its id.
            Change::Reset | Change::Status { .. } | Change::Usage { .. } | Change::Stats { .. } => {
            }
        }
    }

    /// Goes to a thread: says whose words follow when others of its rank spoke before. Gives the
    /// thread's depth.
    pub(super) fn enter(&mut self, thread: Thread<'_>) -> usize {
        let depth = depth(thread);
        let last = self.last_thread.replace(thread.id());
        let Some(holder) = thread.call().filter(|_| last != Some(thread.id())) else {
            return depth;
        };
        let follows_its_call = self.last_call == Some(holder.call_id());
        let comes_back = last.is_some_and(|last| is_within(last, thread));
        if !follows_its_call
            && !comes_back
            && self
                .calls
                .get(&holder.call_id())
                .is_some_and(|it| it.is_headed)
        {
            let room = self.page.room(depth).saturating_sub(6);
            let what = holder
                .input()
                .map(|input| summary(&input.text(), None, room));
            let what = what.unwrap_or_default();
            self.page
                .line(depth - 1, &[(Paint::Dim, "├ "), (Paint::Dim, &what)]);
        }
        depth
    }
}

/// How many calls hold a thread.
pub(super) fn depth(thread: Thread<'_>) -> usize {
    std::iter::successors(thread.call(), |call| call.thread().call()).count()
}

/// Whether the thread numbered `inner` is somewhere below `outer`.
fn is_within(inner: ThreadId, outer: Thread<'_>) -> bool {
    outer
        .tool_calls()
        .iter()
        .filter_map(ToolCall::subagent)
        .any(|thread| thread.id() == inner || is_within(inner, thread))
}
