//! Tool calls: a header when one begins, an end line when it is done.

use std::time::{Duration, Instant};

use bowline_reducer::{
    Block, CallId, CallState, Changes, EntryId, EntryKind, Thread, ThreadId, ToolCall,
};

use crate::view::clean::one_line;
use crate::view::page::Group;
use crate::view::renderer::{Renderer, depth};
use crate::view::style::Paint;
use crate::view::summary;

/// How much of a result is shown, in lines.
const RESULT_LINES: usize = 5;

/// How far back siblings of a call are looked for: more calls than this never run side by side.
const MANY: usize = 64;

/// Widest summary on an end line, in columns.
const END_SUMMARY: usize = 48;

/// What was written of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    pub(crate) is_headed: bool,
    is_closed: bool,
    state: CallState,
    /// Tool and what it is to do.
    title: String,
    since: Option<Instant>,
}

impl Renderer {
    pub(super) fn call(&mut self, changes: &Changes<'_>, id: CallId, call: ToolCall<'_>) {
        let known = self.calls.entry(id).or_default();
        if known.is_closed {
            return;
        }
        let began = call.state() == CallState::Running && known.state != CallState::Running;
        known.state = call.state();
        if began && self.is_live {
            known.since = Some(Instant::now());
        }
        let is_known = !call.name().is_empty() && call.input().is_some();
        if !known.is_headed && (is_known || !call.state().is_open()) {
            self.header(changes, call);
        }
        if !call.state().is_open() && !self.ended.contains(&id) {
            self.ended.push(id);
        }
    }

    fn header(&mut self, changes: &Changes<'_>, call: ToolCall<'_>) {
        let cwd = changes.transcript().session().cwd();
        let thread = call.thread();
        if let Some(entry) = call.entry() {
            self.end_calls(Some((thread.id(), entry.id())), changes);
        }
        let depth = self.enter(thread);
        let name = name(call);
        let room = self
            .page
            .room(depth)
            .saturating_sub(name.chars().count() + 4);
        let input = call.input().map(|input| summary(&input.text(), cwd, room));
        let input = input.unwrap_or_default();
        self.page.group(depth, Group::Tool);
        self.page.line(
            depth,
            &[
                (Paint::Tool, "● "),
                (Paint::Tool, &name),
                (Paint::Plain, "  "),
                (Paint::Plain, &input),
            ],
        );
        let known = self.calls.entry(call.call_id()).or_default();
        known.is_headed = true;
        known.title = format!("{name}  {input}");
        self.last_call = Some(call.call_id());
    }

    /// Writes the end lines that wait: all of them, or those in a thread, and below it, in front of
    /// an entry. The calls of one message stand together, so that entry does not end its own calls.
    pub(super) fn end_calls(&mut self, before: Option<(ThreadId, EntryId)>, changes: &Changes<'_>) {
        if self.ended.is_empty() {
            return;
        }
        let waits = |call: ToolCall<'_>| {
            let Some((thread, entry)) = before else {
                return false;
            };
            let above = std::iter::successors(Some(call), |call| call.thread().call());
            let here = above.into_iter().find(|call| call.thread().id() == thread);
            here.is_none_or(|call| call.entry().is_some_and(|it| it.id() >= entry))
        };
        let calls = self
            .ended
            .iter()
            .filter_map(|id| changes.transcript().tool_call_by_id(*id));
        let mut due: Vec<_> = calls.filter(|call| !waits(*call)).collect();
        self.ended
            .retain(|id| due.iter().all(|call| call.call_id() != *id));
        // What is nested deepest ends first.
        due.sort_by_key(|call| std::cmp::Reverse(depth(call.thread())));
        for call in due {
            self.end_call(changes, call);
        }
    }

    fn end_call(&mut self, changes: &Changes<'_>, call: ToolCall<'_>) {
        let Some(known) = self.calls.get_mut(&call.call_id()) else {
            return;
        };
        if std::mem::replace(&mut known.is_closed, true) {
            return;
        }
        let took = known.since.map(|since| since.elapsed());
        let is_plain = self.last_call == Some(call.call_id()) && !self.has_siblings(call);
        let depth = self.enter(call.thread());
        self.page.group(depth, Group::Tool);
        let (paint, mark, word) = ending(call.state());
        let mut line = name(call);
        if !is_plain {
            let cwd = changes.transcript().session().cwd();
            let input = call
                .input()
                .map(|input| summary(&input.text(), cwd, END_SUMMARY));
            line.push_str(&input.map(|it| format!("  {it}")).unwrap_or_default());
        }
        let is_async = call.result().is_some_and(|result| result.is_async());
        let took = took.filter(|_| !is_async).map(|took| seconds(millis(took)));
        let word = if is_async {
            "goes on in the background"
        } else {
            word
        };
        let end = [word.to_owned(), took.unwrap_or_default()];
        let end: Vec<_> = end.into_iter().filter(|it| !it.is_empty()).collect();
        if !end.is_empty() {
            line.push_str(&format!("  {}", end.join(", ")));
        }
        self.page.line(depth, &[(paint, mark), (paint, &line)]);
        self.output(depth, call);
        self.last_call = Some(call.call_id());
    }

    /// Whether other calls run in the same thread, so that a name alone does not tell which.
    fn has_siblings(&self, call: ToolCall<'_>) -> bool {
        let is_open = |id: CallId| {
            self.calls
                .get(&id)
                .is_some_and(|it| it.is_headed && !it.is_closed)
        };
        let siblings = call
            .thread()
            .tool_calls()
            .iter()
            .rev()
            .map(ToolCall::call_id);
        siblings
            .take(MANY)
            .any(|id| id != call.call_id() && is_open(id))
    }

    /// The first lines of a result. What a sub-agent reports was read as it said it, and what the
    /// agent tells itself about work in the background is for nobody else.
    fn output(&mut self, depth: usize, call: ToolCall<'_>) {
        let Some(result) = call.result().filter(|result| !result.is_async()) else {
            return;
        };
        let text = result.text().to_cow();
        if !call.subagent().is_some_and(|agent| was_heard(agent, &text)) {
            self.page
                .excerpt(depth, "  ", &text, RESULT_LINES, Paint::Dim);
        }
    }

    pub(super) fn call_removed(&mut self, id: CallId) {
        self.ended.retain(|ended| *ended != id);
        let Some(call) = self.calls.remove(&id) else {
            return;
        };
        if call.is_headed && !call.is_closed {
            let title = one_line(&call.title, END_SUMMARY);
            self.take_back(&format!("(taken back: {title})"));
        }
    }

    /// What the agent is doing, for a line of at most `width` columns.
    pub(crate) fn doing(&self, width: usize) -> String {
        let runs = |call: &&Call| call.state == CallState::Running && !call.is_closed;
        let mut running = self.calls.values().rev().filter(runs);
        let Some(newest) = running.next() else {
            let since = self
                .turn_since
                .map(|since| format!(" {}", whole_seconds(since.elapsed())));
            return one_line(
                &format!("{}{}", self.mood(), since.unwrap_or_default()),
                width,
            );
        };
        let mut times = String::new();
        if let Some(since) = newest.since {
            times.push_str(&format!(" {}", whole_seconds(since.elapsed())));
        }
        let others = running.count();
        if others > 0 {
            times.push_str(&format!(", and {others} more"));
        }
        let room = width.saturating_sub(times.chars().count());
        format!("{}{times}", one_line(&newest.title, room))
    }

    fn mood(&self) -> &'static str {
        let writes = |call: &Call| call.state == CallState::Pending && !call.is_closed;
        if self.calls.values().any(writes) {
            "writing a tool's input"
        } else {
            "thinking"
        }
    }
}

/// Whether the last thing that an agent said is its report.
fn was_heard(agent: Thread<'_>, report: &str) -> bool {
    let messages = agent
        .entries()
        .rev()
        .filter_map(|entry| match entry.kind() {
            EntryKind::Assistant { blocks, .. } => blocks.iter().filter_map(Block::text).last(),
            _ => None,
        });
    let last = messages
        .into_iter()
        .next()
        .map(|text| text.to_cow().into_owned());
    last.is_some_and(|said| {
        // The agent indents the lines of a report.
        let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.all(|line| report.contains(line))
    })
}

/// The tool; one whose call was never seen has no name.
fn name(call: ToolCall<'_>) -> String {
    match call.name() {
        "" => "a tool that was not announced".to_owned(),
        name => one_line(name, 60),
    }
}

const fn ending(state: CallState) -> (Paint, &'static str, &'static str) {
    match state {
        CallState::Failed => (Paint::Bad, "✗ ", "failed"),
        CallState::Interrupted => (Paint::Ask, "⊘ ", "interrupted"),
        CallState::Lost => (Paint::Ask, "? ", "lost: no result came"),
        _ => (Paint::Good, "✓ ", ""),
    }
}

/// A time for people, from milliseconds.
pub(super) fn seconds(ms: u64) -> String {
    match ms {
        0..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

fn whole_seconds(time: Duration) -> String {
    match time.as_secs() {
        short @ 0..60 => format!("{short} s"),
        long => format!("{} min {} s", long / 60, long % 60),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
