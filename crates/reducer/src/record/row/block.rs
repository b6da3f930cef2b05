//! Blocks as rows.

use super::{Flags, put_text, text};
use crate::log::Stamp;
use crate::record::{BlockBody, BlockId, BlockRecord, CallId, EntryId, Stage};
use crate::shelf::{Packed, Row};

const STAGES: [Stage; 3] = [Stage::Final, Stage::Open, Stage::Stopped];

/// What a block is, in its flags.
const TEXT: u64 = 0;
const THINKING: u64 = 1;
const REDACTED: u64 = 2;
const CALL: u64 = 3;
const OTHER: u64 = 4;

// The columns of a block: 0 entry, 1 next, 2 index, 3 flags, 4 to 7 text, 8 call, 9 half of a pair, 10
// line.
impl Packed for BlockRecord {
    const COLUMNS: usize = 11;

    fn is_settled(&self) -> bool {
        !self.is_drafted()
    }

    fn to_row(&self, number: usize, row: &mut Row) {
        row[0] = EntryId::far(Some(self.entry), number);
        row[1] = BlockId::far(self.next, number);
        row[2] = u64::from(self.index);
        row[9] = u64::from(self.high);
        row[10] = BlockId::far(self.line, number);
        let mut flags = Flags::default();
        flags.put_bool(self.is_removed);
        flags.put_word(&STAGES, &self.stage);
        let (kind, said) = match self.body {
            BlockBody::Text(text) => (TEXT, Some(text)),
            BlockBody::Thinking(text) => (THINKING, Some(text)),
            BlockBody::Other(text) => (OTHER, Some(text)),
            BlockBody::Redacted => (REDACTED, None),
            BlockBody::Call(call) => {
                row[8] = CallId::far(Some(call), number);
                (CALL, None)
            }
        };
        flags.put(kind, 3);
        row[3] = flags.bits;
        if let Some(said) = said {
            put_text(row, 4, said);
        }
    }

    fn of_row(number: usize, row: &Row) -> Self {
        let mut flags = Flags::of(row[3]);
        let (is_removed, stage) = (flags.take_bool(), flags.take_word(&STAGES));
        Self {
            entry: EntryId::near(number, row[0]).unwrap_or(EntryId::new(0)),
            next: BlockId::near(number, row[1]),
            index: row[2] as u32,
            line: BlockId::near(number, row[10]),
            body: match flags.take(3) {
                TEXT => BlockBody::Text(text(row, 4)),
                THINKING => BlockBody::Thinking(text(row, 4)),
                OTHER => BlockBody::Other(text(row, 4)),
                CALL => match CallId::near(number, row[8]) {
                    Some(call) => BlockBody::Call(call),
                    None => BlockBody::Redacted,
                },
                _ => BlockBody::Redacted,
            },
            stage,
            is_removed,
            high: row[9] as u16,
            stamp: Stamp::default(),
            was_text: false,
        }
    }
}
