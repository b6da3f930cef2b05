//! Events for subscribers, made from lines, standard error and what the machine does.

use bowline_jsonl::{Item, Str};

use super::{Machine, Output};
use crate::events::{DialogueEventKind, PendingEvent, call_path, line_events, turn_end};

impl Machine {
    /// Sets whether events are produced for subscribers. Without them only those that are counted are
    /// built.
    pub(crate) const fn set_emits_events(&mut self, emits_events: bool) {
        self.emits_events = emits_events;
    }

    /// Emits an event of the main thread that belongs to no line.
    pub(super) fn emit(&mut self, kind: DialogueEventKind) {
        if self.emits_events {
            self.emit_at(Vec::new(), None, kind);
        }
    }

    /// Emits an event that is counted, also without subscribers.
    pub(super) fn emit_counted(&mut self, kind: DialogueEventKind) {
        self.emit_at(Vec::new(), None, kind);
    }

    pub(super) fn emit_at(
        &mut self,
        path: Vec<String>,
        offset: Option<u64>,
        kind: DialogueEventKind,
    ) {
        self.outputs.push_back(Output::Event(PendingEvent {
            path,
            offset,
            phase: self.phase(),
            kind,
        }));
    }

    /// Emits the events of a line that the transcript has taken in.
    pub(super) fn emit_line(&mut self, item: &Item<'_>) {
        let mut kinds = Vec::new();
        line_events(item, &self.transcript, |kind| kinds.push(kind));
        if kinds.is_empty() {
            return;
        }
        let event = item.event.as_ref().ok();
        let parent = event.and_then(|it| it.parent_tool_use_id).map(Str::decode);
        let path = call_path(&self.transcript, parent.as_deref());
        for kind in kinds {
            self.emit_at(path.clone(), Some(item.at.offset), kind);
        }
    }

    /// Notes where the transcript is before a line, in a protocol whose lines have no events of their own.
    pub(super) fn watch_fold(&mut self) {
        if self.emits_events && self.protocol.folds_input() {
            self.fold_events.begin(&mut self.transcript);
        } else {
            self.fold_events.stop();
        }
    }

    /// Emits what a line has changed. `offset` is that of the line.
    pub(super) fn emit_fold(&mut self, offset: u64) {
        for (thread, kind) in self.fold_events.read(&mut self.transcript) {
            let path = call_path(&self.transcript, thread.as_deref());
            self.emit_at(path, Some(offset), kind);
        }
    }

    /// Emits the end of a turn, of a protocol whose lines have no events of their own.
    pub(super) fn emit_turn_end(&mut self) {
        if self.emits_events
            && let Some(kind) = turn_end(&self.transcript)
        {
            self.emit(kind);
        }
    }

    pub(super) fn stderr_bytes(&mut self, bytes: &[u8]) {
        self.stderr.write(bytes);
        if self.emits_events {
            let mut lines = std::mem::take(&mut self.stderr_lines);
            lines.push(bytes, |text| {
                self.emit(DialogueEventKind::StderrLine { text });
            });
            self.stderr_lines = lines;
        }
    }

    /// Emits the last line of standard error, which may lack its line end.
    pub(super) fn finish_stderr(&mut self) {
        let mut lines = std::mem::take(&mut self.stderr_lines);
        lines.finish(&mut |text| self.emit(DialogueEventKind::StderrLine { text }));
    }
}
