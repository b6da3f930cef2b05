//! Prints tool calls: a header at the start, an end line with the first lines of the result.

use std::cmp::Reverse;
use std::iter;
use std::time::{Duration, Instant};

use bowline_reducer::{
    Block, CallId, CallState, Changes, EntryId, EntryKind, TextRef, Thread, ThreadId, ToolCall,
};

use super::layout::Section;
use super::state::{RenderState, ShownCall, depth};
use super::summary::summary;
use crate::style::Paint;
use crate::text::{one_line, sanitize, text_width};

/// Number of lines of a result that are shown.
const RESULT_LINES: usize = 5;

/// Number of preceding calls that are searched for open siblings, more than ever run in parallel.
const SIBLING_WINDOW: usize = 64;

/// Longest end of a running tool's output that is kept, in bytes.
const MAX_TAIL: usize = 2048;

/// Widest summary of the input on an end line, in columns.
const END_SUMMARY_WIDTH: usize = 48;

impl RenderState {
    pub(super) fn on_call(&mut self, changes: &Changes<'_>, id: CallId, call: ToolCall<'_>) {
        let shown = self.calls.entry(id).or_default();
        if shown.has_end {
            return;
        }
        let has_started = call.state() == CallState::Running && shown.state != CallState::Running;
        shown.state = call.state();
        if has_started && self.is_live {
            shown.started = Some(Instant::now());
        }
        if self.is_live {
            shown.output = call.output().map(output_tail).unwrap_or_default();
        }
        let is_known = !call.name().is_empty() && call.input().is_some();
        if !shown.has_header && (is_known || !call.state().is_open()) {
            self.print_header(changes, call);
        }
        if !call.state().is_open() && !self.ended.contains(&id) {
            self.ended.push(id);
        }
    }

    fn print_header(&mut self, changes: &Changes<'_>, call: ToolCall<'_>) {
        let cwd = changes.transcript().session().cwd();
        let thread = call.thread();
        if let Some(entry) = call.entry() {
            self.print_ends(Some((thread.id(), entry.id())), changes);
        }
        let depth = self.enter(thread);
        let name = name(call);
        let width = self.layout.width_at(depth);
        let width = width.saturating_sub(text_width(&name) + 4);
        let input = call.input().map(|input| summary(&input.text(), cwd, width));
        let input = input.unwrap_or_default();
        self.layout.begin_section(depth, Section::Tool);
        self.layout.line(
            depth,
            &[
                (Paint::Tool, "● "),
                (Paint::Tool, &name),
                (Paint::Plain, "  "),
                (Paint::Plain, &input),
            ],
        );
        let shown = self.calls.entry(call.call_id()).or_default();
        shown.has_header = true;
        shown.title = format!("{name}  {input}");
        self.last_call = Some(call.call_id());
    }

    /// Prints the pending end lines.
    ///
    /// With `before`, prints only those of calls that precede this entry in its thread, and of calls
    /// nested in them. Calls of one message are printed together, so an entry does not end its own.
    pub(super) fn print_ends(
        &mut self,
        before: Option<(ThreadId, EntryId)>,
        changes: &Changes<'_>,
    ) {
        if self.ended.is_empty() {
            return;
        }
        let is_pending = |call: ToolCall<'_>| {
            let Some((thread, entry)) = before else {
                return false;
            };
            let mut ancestors = iter::successors(Some(call), |call| call.thread().call());
            let in_thread = ancestors.find(|call| call.thread().id() == thread);
            in_thread.is_none_or(|call| call.entry().is_some_and(|it| it.id() >= entry))
        };
        let calls = self
            .ended
            .iter()
            .filter_map(|id| changes.transcript().tool_call_by_id(*id));
        let mut due: Vec<_> = calls.filter(|call| !is_pending(*call)).collect();
        self.ended
            .retain(|id| due.iter().all(|call| call.call_id() != *id));
        // The most deeply nested call ends first.
        due.sort_by_key(|call| Reverse(depth(call.thread())));
        for call in due {
            self.print_end(changes, call);
        }
    }

    fn print_end(&mut self, changes: &Changes<'_>, call: ToolCall<'_>) {
        let Some(shown) = self.calls.get_mut(&call.call_id()) else {
            return;
        };
        if std::mem::replace(&mut shown.has_end, true) {
            return;
        }
        let elapsed = shown.started.map(|started| started.elapsed());
        let is_unambiguous =
            self.last_call == Some(call.call_id()) && !self.has_open_siblings(call);
        let depth = self.enter(call.thread());
        self.layout.begin_section(depth, Section::Tool);
        let (paint, mark, label) = end_label(call.state());
        let mut line = name(call);
        if !is_unambiguous && let Some(input) = call.input() {
            let cwd = changes.transcript().session().cwd();
            let summary = summary(&input.text(), cwd, END_SUMMARY_WIDTH);
            line.push_str(&format!("  {summary}"));
        }
        let is_async = call.result().is_some_and(|result| result.is_async());
        let label = if is_async {
            "continues in the background"
        } else {
            label
        };
        let elapsed = elapsed.filter(|_| !is_async);
        let elapsed = elapsed.map_or_else(String::new, |time| tenths(millis(time)));
        let details: Vec<_> = [label, &elapsed]
            .into_iter()
            .filter(|it| !it.is_empty())
            .collect();
        if !details.is_empty() {
            line.push_str(&format!("  {}", details.join(", ")));
        }
        self.layout.line(depth, &[(paint, mark), (paint, &line)]);
        self.print_result(depth, call);
        self.last_call = Some(call.call_id());
    }

    /// Whether other calls are open in the same thread, so that a name alone is ambiguous.
    fn has_open_siblings(&self, call: ToolCall<'_>) -> bool {
        let is_open = |id: CallId| {
            let shown = self.calls.get(&id);
            shown.is_some_and(|it| it.has_header && !it.has_end)
        };
        let calls = call.thread().tool_calls();
        let mut siblings = calls
            .iter()
            .rev()
            .map(ToolCall::call_id)
            .take(SIBLING_WINDOW);
        siblings.any(|id| id != call.call_id() && is_open(id))
    }

    /// Prints the first lines of a result. Omits a sub-agent's report that was printed as its text,
    /// and the result of a call that continues in the background, which only concerns the agent.
    fn print_result(&mut self, depth: usize, call: ToolCall<'_>) {
        let Some(result) = call.result().filter(|result| !result.is_async()) else {
            return;
        };
        let text = result.text().to_cow();
        let subagent = call.subagent();
        if !subagent.is_some_and(|subagent| ends_with_report(subagent, &text)) {
            self.layout
                .excerpt(depth, "  ", &text, RESULT_LINES, Paint::Dim);
        }
    }

    pub(super) fn on_call_removed(&mut self, id: CallId) {
        self.ended.retain(|ended| *ended != id);
        let Some(call) = self.calls.remove(&id) else {
            return;
        };
        if call.has_header && !call.has_end {
            let title = one_line(&call.title, END_SUMMARY_WIDTH);
            self.print_retraction(&format!("(retracted: {title})"));
        }
    }

    /// Describes in at most `width` columns what the agent is doing.
    pub(super) fn activity(&self, width: usize) -> String {
        let is_running = |call: &&ShownCall| call.state == CallState::Running && !call.has_end;
        let mut running = self.calls.values().rev().filter(is_running);
        let Some(newest) = running.next() else {
            let elapsed = elapsed_suffix(self.turn_started);
            return one_line(&format!("{}{elapsed}", self.model_activity()), width);
        };
        let mut suffix = elapsed_suffix(newest.started);
        let others = running.count();
        if others > 0 {
            suffix.push_str(&format!(", and {others} more"));
        }
        let title_width = width.saturating_sub(text_width(&suffix));
        format!("{}{suffix}", one_line(&newest.title, title_width))
    }

    /// Returns the last lines of the output of the newest running call that has some.
    pub(super) fn live_output(&self, lines: usize) -> Vec<String> {
        let is_running = |call: &&ShownCall| call.state == CallState::Running && !call.has_end;
        let mut running = self.calls.values().rev().filter(is_running);
        let Some(newest) = running.find(|it| !it.output.is_empty()) else {
            return Vec::new();
        };
        let text = sanitize(newest.output.trim_end());
        let all: Vec<_> = text.lines().collect();
        let skipped = all.len().saturating_sub(lines);
        let last = all.into_iter().skip(skipped);
        last.map(str::to_owned).collect()
    }

    fn model_activity(&self) -> &'static str {
        let is_pending = |call: &ShownCall| call.state == CallState::Pending && !call.has_end;
        if self.calls.values().any(is_pending) {
            "writing a tool's input"
        } else {
            "thinking"
        }
    }
}

/// Returns the end of an output, of at most some lines' length.
fn output_tail(output: TextRef<'_>) -> String {
    let mut tail = String::new();
    for piece in output.pieces() {
        tail.push_str(piece);
        let excess = tail.len().saturating_sub(MAX_TAIL);
        tail.drain(..tail.ceil_char_boundary(excess));
    }
    tail
}

/// Whether the last text of a sub-agent is its report.
fn ends_with_report(subagent: Thread<'_>, report: &str) -> bool {
    let mut texts = subagent
        .entries()
        .rev()
        .filter_map(|entry| match entry.kind() {
            EntryKind::Assistant { blocks, .. } => blocks.iter().filter_map(Block::text).last(),
            _ => None,
        });
    texts.next().is_some_and(|text| {
        // The agent indents the lines of a report.
        let text = text.to_cow();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.all(|line| report.contains(line))
    })
}

/// Returns the tool's name.
fn name(call: ToolCall<'_>) -> String {
    match call.name() {
        "" => "an unannounced tool".to_owned(),
        name => one_line(name, 60),
    }
}

const fn end_label(state: CallState) -> (Paint, &'static str, &'static str) {
    match state {
        CallState::Failed => (Paint::Bad, "✗ ", "failed"),
        CallState::Interrupted => (Paint::Ask, "⊘ ", "interrupted"),
        CallState::Lost => (Paint::Ask, "? ", "lost: no result"),
        _ => (Paint::Good, "✓ ", ""),
    }
}

/// Formats a duration, from milliseconds, with tenths of a second.
pub(super) fn tenths(ms: u64) -> String {
    match ms {
        0..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// Formats the whole seconds since `started`, after a space.
fn elapsed_suffix(started: Option<Instant>) -> String {
    match started.map(|started| started.elapsed().as_secs()) {
        None => String::new(),
        Some(seconds @ 0..60) => format!(" {seconds} s"),
        Some(seconds) => format!(" {} min {} s", seconds / 60, seconds % 60),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
