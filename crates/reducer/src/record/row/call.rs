//! Calls, and what their tools gave, as rows.

use super::{Flags, put_id, put_text, take_id, text};
use crate::log::Stamp;
use crate::names::Name;
use crate::number::U48;
use crate::record::{
    Beside, CallId, CallRecord, EntryId, ResultId, Standing, ThreadId, ToolResultRecord,
};
use crate::shelf::{Packed, Row};
use crate::state::CallState;

const CALL_STATES: [CallState; 7] = [
    CallState::Succeeded,
    CallState::Pending,
    CallState::AwaitingPermission,
    CallState::Running,
    CallState::Failed,
    CallState::Interrupted,
    CallState::Lost,
];

const STANDINGS: [Standing; 3] = [
    Standing::Announced,
    Standing::Placeholder,
    Standing::Removed,
];

/// Where the id of a call stands.
const ID: [usize; 4] = [0, 1, 2, 19];

// The columns of a call: 0 to 2 and 19 id, 3 name, 4 thread, 5 and 6 neighbours, 7 entry, 8 to 11
// input, 12 flags, 13 result, 14 sub-agent, 15 to 18 input of the host.
impl Packed for CallRecord {
    const COLUMNS: usize = 20;

    fn is_settled(&self) -> bool {
        !self.state.is_open()
    }

    fn to_row(&self, number: usize, row: &mut Row) {
        row[3] = u64::from(self.name.number());
        row[4] = u64::from(self.thread.number());
        row[5] = CallId::far(self.beside.before, number);
        row[6] = CallId::far(self.beside.next, number);
        row[7] = EntryId::far(self.entry, number);
        put_text(row, 8, self.input);
        row[13] = ResultId::far(self.result, number);
        row[14] = self.subagent.map_or(0, |it| u64::from(it.number()) + 1);
        let mut flags = Flags::default();
        flags.put_word(&CALL_STATES, &self.state);
        flags.put_word(&STANDINGS, &self.standing);
        flags.put_bool(self.updated_input.is_some());
        put_id(row, &mut flags, ID, self.id);
        row[12] = flags.bits;
        put_text(
            row,
            15,
            self.updated_input.as_deref().copied().unwrap_or_default(),
        );
    }

    fn of_row(number: usize, row: &Row) -> Self {
        let mut flags = Flags::of(row[12]);
        let (state, standing) = (flags.take_word(&CALL_STATES), flags.take_word(&STANDINGS));
        let is_updated = flags.take_bool();
        let id = take_id(row, &mut flags, ID);
        Self {
            id,
            name: Name::of(row[3] as u32),
            thread: ThreadId::new(row[4] as u32),
            beside: Beside {
                before: CallId::near(number, row[5]),
                next: CallId::near(number, row[6]),
            },
            entry: EntryId::near(number, row[7]),
            input: text(row, 8),
            updated_input: is_updated.then(|| Box::new(text(row, 15))),
            state,
            standing,
            result: ResultId::near(number, row[13]),
            subagent: row[14].checked_sub(1).map(|it| ThreadId::new(it as u32)),
            stamp: Stamp::default(),
        }
    }
}

// The columns of what a tool gave: 0 flags, 1 to 4 text, 5 to 8 raw, 9 and 10 line.
impl Packed for ToolResultRecord {
    const COLUMNS: usize = 11;

    fn is_settled(&self) -> bool {
        true
    }

    fn to_row(&self, _: usize, row: &mut Row) {
        let mut flags = Flags::default();
        flags.put_bool(self.is_error);
        flags.put_bool(self.is_async);
        row[0] = flags.bits;
        put_text(row, 1, self.text);
        put_text(row, 5, self.raw);
        row[9] = self.offset.get();
        row[10] = self.end.get().saturating_sub(row[9]);
    }

    fn of_row(_: usize, row: &Row) -> Self {
        let mut flags = Flags::of(row[0]);
        Self {
            is_error: flags.take_bool(),
            is_async: flags.take_bool(),
            text: text(row, 1),
            raw: text(row, 5),
            offset: U48::new(row[9]),
            end: U48::new(row[9] + row[10]),
        }
    }
}
