//! Logs what changed, for readers and for a reload of evicted segments.

use crate::log::{ChangedItem, LogStamp};
use crate::position::NextIds;
use crate::record::{BlockId, CallId, EntryId, PermissionId, TaskId};
use crate::transcript::Transcript;

impl Transcript {
    /// Logs the initial values, for readers that start at the default cursor.
    pub(super) fn touch_header(&mut self) {
        self.touch_session();
        self.touch_status();
        self.touch_usage();
        self.touch_stats();
    }

    pub(crate) fn touch_session(&mut self) {
        self.log
            .record(&mut self.session.stamp, ChangedItem::Session);
    }

    pub(crate) fn touch_status(&mut self) {
        self.log
            .record(&mut self.evidence.stamp, ChangedItem::Status);
    }

    pub(crate) fn touch_usage(&mut self) {
        self.log.record(&mut self.usage.stamp, ChangedItem::Usage);
    }

    pub(crate) fn touch_stats(&mut self) {
        self.log
            .record(&mut self.counters.stamp, ChangedItem::Stats);
    }

    pub(crate) fn touch_entry(&mut self, id: EntryId) {
        self.mark_entry_changed(id);
        self.log
            .record(&mut self.entries[id].stamp, ChangedItem::Entry(id.number()));
    }

    pub(crate) fn touch_block(&mut self, id: BlockId) {
        self.mark_entry_changed(self.blocks[id].entry);
        let block = &mut self.blocks[id];
        if std::mem::take(&mut block.was_text) {
            block.stamp = LogStamp::default();
        }
        self.log
            .record(&mut block.stamp, ChangedItem::Block(id.number()));
    }

    /// Logs that the text of a block, `old_len` bytes long, changed from byte `from` on. Nothing is
    /// logged if the whole block is logged since the last read.
    #[inline(always)]
    pub(crate) fn touch_text(&mut self, id: BlockId, from: u32, before: u32) {
        let line_end = self.line.line_end();
        let block = &mut self.blocks[id];
        block.line_end = line_end;
        if block.was_text || !self.log.is_logged(block.stamp) {
            block.was_text = true;
            let id = id.number();
            self.log.record_text(&mut block.stamp, id, from, before);
        }
        let entry = block.entry;
        self.mark_entry_changed(entry);
    }

    pub(crate) fn touch_call(&mut self, id: CallId) {
        self.mark_call_changed(id);
        self.log
            .record(&mut self.calls[id].stamp, ChangedItem::Call(id.number()));
    }

    pub(crate) fn touch_task(&mut self, id: TaskId) {
        self.log
            .record(&mut self.tasks[id].stamp, ChangedItem::Task(id.number()));
    }

    pub(crate) fn touch_permission(&mut self, id: PermissionId) {
        let record = &mut self.permissions[id];
        self.log
            .record(&mut record.stamp, ChangedItem::Permission(id.number()));
    }

    /// Records that a line depends on an entry, which a reload needs, too.
    #[inline]
    pub(crate) fn depend_on_entry(&mut self, id: EntryId) {
        if id.index() < self.segment_start.entry {
            self.depend_on(
                |ids| ids.entry,
                id.index(),
                |checkpoint, at| checkpoint.entries.contains(at),
            );
        }
    }

    /// Records that a line depends on a call.
    #[inline]
    pub(crate) fn depend_on_call(&mut self, id: CallId) {
        if id.index() < self.segment_start.call {
            self.depend_on(
                |ids| ids.call,
                id.index(),
                |checkpoint, at| checkpoint.calls.contains(at),
            );
        }
    }

    /// Records that a line depends on a permission request.
    pub(crate) fn depend_on_permission(&mut self, id: PermissionId) {
        if id.index() < self.segment_start.permission {
            let is_in_checkpoint = |checkpoint: &Self, at| checkpoint.permissions.get(at).is_some();
            self.depend_on(|ids| ids.permission, id.index(), is_in_checkpoint);
        }
    }

    /// Records that a line depends on a task.
    pub(crate) fn depend_on_task(&mut self, id: TaskId) {
        if id.index() < self.segment_start.task {
            let is_in_checkpoint = |checkpoint: &Self, at| checkpoint.tasks.get(at).is_some();
            self.depend_on(|ids| ids.task, id.index(), is_in_checkpoint);
        }
    }

    /// Records that a line changed an entry, so that a reload needs the line.
    #[inline(always)]
    pub(crate) fn mark_entry_changed(&mut self, id: EntryId) {
        if id.index() < self.segment_start.entry {
            self.mark_older_entry_changed(id);
        }
    }

    #[cold]
    fn mark_older_entry_changed(&mut self, id: EntryId) {
        self.depend_on_entry(id);
        self.mark_changed(|ids| ids.entry, id.index());
    }

    /// Records that a line changed a call.
    #[inline]
    pub(crate) fn mark_call_changed(&mut self, id: CallId) {
        if id.index() < self.segment_start.call {
            self.depend_on_call(id);
            self.mark_changed(|ids| ids.call, id.index());
        }
    }

    #[cold]
    fn depend_on(
        &mut self,
        number: fn(&NextIds) -> usize,
        at: usize,
        is_in_checkpoint: fn(&Self, usize) -> bool,
    ) {
        let Some(state) = &mut self.window else {
            return;
        };
        let next = state.segments.partition_point(|it| number(&it.ids) <= at);
        let resume = state.segments[next.saturating_sub(1)].resume;
        if let Some(last) = state.segments.last_mut()
            && !is_in_checkpoint(&last.checkpoint, at)
        {
            last.resume = last.resume.min(resume);
        }
    }

    #[cold]
    fn mark_changed(&mut self, number: fn(&NextIds) -> usize, at: usize) {
        let position = self.position();
        let Some(state) = &mut self.window else {
            return;
        };
        let next = state.segments.partition_point(|it| number(&it.ids) <= at);
        if let Some(segment) = state.segments.get_mut(next.saturating_sub(1)) {
            segment.until = segment.until.max(position);
        }
    }
}
