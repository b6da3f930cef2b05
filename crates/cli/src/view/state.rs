//! What the renderer has printed so far.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::iter;
use std::time::Instant;

use bowline_reducer::{
    BlockId, CallId, CallState, EntryId, MessageState, PermissionId, PermissionState, TaskState,
    Thread, ThreadId, ToolCall,
};

use super::layout::Layout;
use super::summary::summary;
use crate::style::{ColorMode, Paint};
use crate::text::Sanitizer;

/// The state of one rendering. The modules of the view add methods for their kind of change.
#[derive(Debug)]
pub(super) struct RenderState {
    pub(super) layout: Layout,
    /// Changes arrive as they happen, so durations are measured.
    pub(super) is_live: bool,
    /// Prompts are printed once they are confirmed.
    pub(super) defers_prompts: bool,
    /// The past of a resumed conversation is not printed.
    pub(super) hides_history: bool,
    /// Confirmed prompts that are printed after an entry, and that entry.
    pub(super) held_prompts: Vec<(EntryId, EntryId)>,
    /// An answer is printed with the name of the host or rule that gave it, which may arrive after the answer.
    pub(super) awaits_names: bool,
    /// Answered requests whose name is awaited.
    pub(super) unnamed: Vec<PermissionId>,
    /// The hosts that sent prompts, by the uuids of those.
    pub(super) authors: HashMap<String, String>,
    pub(super) blocks: HashMap<BlockId, ShownBlock>,
    pub(super) entries: HashSet<EntryId>,
    pub(super) message_states: HashMap<EntryId, MessageState>,
    /// Entries whose retraction was printed.
    pub(super) retracted: HashSet<EntryId>,
    pub(super) calls: BTreeMap<CallId, ShownCall>,
    /// Calls that have ended and whose end line is not printed yet: their sub-agents may still
    /// have output.
    pub(super) ended: Vec<CallId>,
    /// The call whose line was printed last, if nothing else was printed after it.
    pub(super) last_call: Option<CallId>,
    pub(super) last_thread: Option<ThreadId>,
    /// The last text of the main thread since the last result.
    pub(super) last_text: Option<BlockId>,
    pub(super) permissions: HashMap<PermissionId, PermissionState>,
    pub(super) tasks: HashMap<String, TaskState>,
    pub(super) session: Option<String>,
    pub(super) turn_started: Option<Instant>,
    /// Texts whose last character may be incomplete.
    pub(super) incomplete: Vec<BlockId>,
}

/// What was printed of a block.
#[derive(Debug)]
pub(super) struct ShownBlock {
    pub(super) entry: EntryId,
    pub(super) is_thinking: bool,
    /// The agent's text so far, to find what is new.
    pub(super) text: String,
    pub(super) sanitizer: Sanitizer,
    pub(super) has_begun: bool,
}

/// What was printed of a tool call.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownCall {
    pub(super) has_header: bool,
    pub(super) has_end: bool,
    pub(super) state: CallState,
    /// The tool's name and a summary of its input.
    pub(super) title: String,
    pub(super) started: Option<Instant>,
    /// The end of what it has printed so far.
    pub(super) output: String,
}

impl RenderState {
    pub(super) fn new(colors: ColorMode, is_live: bool) -> Self {
        Self {
            layout: Layout::new(colors),
            is_live,
            defers_prompts: false,
            hides_history: false,
            held_prompts: Vec::new(),
            awaits_names: false,
            unnamed: Vec::new(),
            authors: HashMap::new(),
            blocks: HashMap::new(),
            entries: HashSet::new(),
            message_states: HashMap::new(),
            retracted: HashSet::new(),
            calls: BTreeMap::new(),
            ended: Vec::new(),
            last_call: None,
            last_thread: None,
            last_text: None,
            permissions: HashMap::new(),
            tasks: HashMap::new(),
            session: None,
            turn_started: None,
            incomplete: Vec::new(),
        }
    }

    /// Makes a thread the current one and returns its depth. Prints which call it belongs to if
    /// another sub-agent was printed last.
    pub(super) fn enter(&mut self, thread: Thread<'_>) -> usize {
        let depth = depth(thread);
        let last = self.last_thread.replace(thread.id());
        let Some(call) = thread.call().filter(|_| last != Some(thread.id())) else {
            return depth;
        };
        let follows_call = self.last_call == Some(call.call_id());
        let returns_from_nested = last.is_some_and(|last| contains(thread, last));
        let has_header = |shown: &ShownCall| shown.has_header;
        if !follows_call
            && !returns_from_nested
            && self.calls.get(&call.call_id()).is_some_and(has_header)
        {
            let width = self.layout.width_at(depth).saturating_sub(6);
            let input = call.input();
            let title = input.map(|input| summary(&input.text(), None, width));
            let title = title.unwrap_or_default();
            self.layout
                .line(depth - 1, &[(Paint::Dim, "├ "), (Paint::Dim, &title)]);
        }
        depth
    }

    /// Prints that something printed earlier was retracted.
    pub(super) fn print_retraction(&mut self, text: &str) {
        self.layout.line(0, &[(Paint::Dim, text)]);
    }
}

impl ShownBlock {
    pub(super) fn new(entry: EntryId, is_thinking: bool) -> Self {
        Self {
            entry,
            is_thinking,
            text: String::new(),
            sanitizer: Sanitizer::default(),
            has_begun: false,
        }
    }

    /// Whether its text is this one, apart from white space at both ends.
    pub(super) fn has_text(&self, text: &str) -> bool {
        self.text.trim() == text.trim()
    }
}

/// Returns the number of calls that a thread is nested in.
pub(super) fn depth(thread: Thread<'_>) -> usize {
    iter::successors(thread.call(), |call| call.thread().call()).count()
}

/// Whether the thread `inner` is nested in `outer`, at any depth.
fn contains(outer: Thread<'_>, inner: ThreadId) -> bool {
    outer
        .tool_calls()
        .iter()
        .filter_map(ToolCall::subagent)
        .any(|thread| thread.id() == inner || contains(thread, inner))
}
