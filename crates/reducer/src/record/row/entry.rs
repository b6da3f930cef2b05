//! Entries as rows.

use super::{Flags, atom, name, put_atom, put_id, put_name, put_text, take_id, text};
use crate::log::Stamp;
use crate::names::Name;
use crate::number::U48;
use crate::record::{
    Beside, BlockId, EntryBody, EntryId, EntryRecord, MessageRecord, ResultRecord, ThreadId,
    UserRecord,
};
use crate::shelf::{Packed, Row};
use crate::state::{ErrorKind, MessageState, Outcome};

const MESSAGE_STATES: [MessageState; 3] = [
    MessageState::Complete,
    MessageState::Streaming,
    MessageState::Aborted,
];

const OUTCOMES: [Outcome; 4] = [
    Outcome::Completed,
    Outcome::Cancelled,
    Outcome::Failed,
    Outcome::Suspended,
];

const ERRORS: [ErrorKind; 6] = [
    ErrorKind::Parse,
    ErrorKind::Truncated,
    ErrorKind::UnexpectedExit,
    ErrorKind::ReconnectFailed,
    ErrorKind::SessionTimeout,
    ErrorKind::Gap,
];

/// What an entry is, in its flags.
const USER: u64 = 0;
const ASSISTANT: u64 = 1;
const RESULT: u64 = 2;
const NOTICE: u64 = 3;
const ERROR: u64 = 4;

/// Where the id of a message stands.
const ID: [usize; 4] = [16, 17, 18, 23];

// The columns of an entry: 0 thread, 1 and 2 neighbours, 3 flags, 4 time, 5 offset, 6 to 9 text or
// name of the message, 10 name, 11 to 15 blocks, 16 to 18 uuid, 16 to 18
// and 23 id of the message, 19 to 22 result.
impl Packed for EntryRecord {
    const COLUMNS: usize = 24;

    fn is_settled(&self) -> bool {
        match &self.body {
            EntryBody::Assistant(it) => it.state != MessageState::Streaming && it.drafted == 0,
            _ => true,
        }
    }

    fn to_row(&self, number: usize, row: &mut Row) {
        row[0] = u64::from(self.thread.number());
        row[1] = EntryId::far(self.beside.before, number);
        row[2] = EntryId::far(self.beside.next, number);
        (row[4], row[5]) = (self.at_ms.get(), self.offset.get());
        let mut flags = Flags::default();
        flags.put_bool(self.is_removed);
        match &self.body {
            EntryBody::User(user) => {
                flags.put(USER, 3);
                flags.put_bool(user.is_replay);
                flags.put_bool(user.is_synthetic);
                flags.put_bool(user.is_sent);
                flags.put_bool(user.is_unconfirmed);
                put_text(row, 6, user.text);
                put_atom(row, 16, user.uuid);
            }
            EntryBody::Assistant(message) => {
                flags.put(ASSISTANT, 3);
                flags.put_word(&MESSAGE_STATES, &message.state);
                put_id(row, &mut flags, ID, message.message_id);
                row[10] = u64::from(message.model.number());
                put_blocks(row, number, message);
            }
            EntryBody::Result(result) => {
                flags.put(RESULT, 3);
                flags.put_bool(result.is_error);
                flags.put_word(&OUTCOMES, &result.outcome);
                flags.put_bool(result.text.is_some());
                put_text(row, 6, result.text.unwrap_or_default());
                row[10] = u64::from(result.subtype.number());
                put_name(row, 19, result.origin);
                put_name(row, 20, result.terminal_reason);
                (row[21], row[22]) = (result.num_turns, result.duration_ms);
            }
            EntryBody::Notice { notice, text } => {
                flags.put(NOTICE, 3);
                put_text(row, 6, *text);
                row[10] = u64::from(notice.number());
            }
            EntryBody::Error { error, text } => {
                flags.put(ERROR, 3);
                flags.put_word(&ERRORS, error);
                put_text(row, 6, *text);
            }
        }
        row[3] = flags.bits;
    }

    fn of_row(number: usize, row: &Row) -> Self {
        let mut flags = Flags::of(row[3]);
        let is_removed = flags.take_bool();
        let body = match flags.take(3) {
            USER => EntryBody::User(UserRecord {
                uuid: atom(row, 16),
                text: text(row, 6),
                is_replay: flags.take_bool(),
                is_synthetic: flags.take_bool(),
                is_sent: flags.take_bool(),
                is_unconfirmed: flags.take_bool(),
            }),
            ASSISTANT => EntryBody::Assistant(message(number, row, &mut flags)),
            RESULT => EntryBody::Result(Box::new(result(row, &mut flags))),
            NOTICE => EntryBody::Notice {
                notice: Name::of(row[10] as u32),
                text: text(row, 6),
            },
            _ => EntryBody::Error {
                error: flags.take_word(&ERRORS),
                text: text(row, 6),
            },
        };
        Self {
            thread: ThreadId::new(row[0] as u32),
            beside: Beside {
                before: EntryId::near(number, row[1]),
                next: EntryId::near(number, row[2]),
            },
            is_removed,
            at_ms: U48::new(row[4]),
            offset: U48::new(row[5]),
            stamp: Stamp::default(),
            body,
        }
    }
}

fn put_blocks(row: &mut Row, number: usize, message: &MessageRecord) {
    let first = message.first.map_or(number, BlockId::at);
    row[11] = BlockId::far(message.first, number);
    row[12] = BlockId::far(message.last, first);
    row[13] = u64::from(message.live);
    row[14] = u64::from(message.drafted);
    row[15] = BlockId::far(message.first_drafted, first);
}

fn message(number: usize, row: &Row, flags: &mut Flags) -> MessageRecord {
    let state = flags.take_word(&MESSAGE_STATES);
    let first = BlockId::near(number, row[11]);
    let from = first.map_or(number, BlockId::at);
    MessageRecord {
        message_id: take_id(row, flags, ID),
        model: Name::of(row[10] as u32),
        state,
        first,
        last: BlockId::near(from, row[12]),
        live: row[13] as u32,
        drafted: row[14] as u32,
        first_drafted: BlockId::near(from, row[15]),
    }
}

fn result(row: &Row, flags: &mut Flags) -> ResultRecord {
    ResultRecord {
        is_error: flags.take_bool(),
        outcome: flags.take_word(&OUTCOMES),
        text: flags.take_bool().then(|| text(row, 6)),
        subtype: Name::of(row[10] as u32),
        origin: name(row, 19),
        terminal_reason: name(row, 20),
        num_turns: row[21],
        duration_ms: row[22],
    }
}
