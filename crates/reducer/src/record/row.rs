//! Records as rows of numbers, to be packed.
//!
//! Ids are kept as their distance from the record's own number: those of neighbours are often the same
//! all along.

use crate::arena::{Atom, Text};
use crate::log::Stamp;
use crate::names::Name;
use crate::number::U48;
use crate::record::{
    Beside, BlockBody, BlockId, BlockRecord, CallId, CallRecord, EntryBody, EntryId, EntryRecord,
    MessageRecord, ResultId, ResultRecord, Stage, Standing, ThreadId, ToolResultRecord, UserRecord,
};
use crate::shelf::{Packed, Row};
use crate::state::{CallState, ErrorKind, MessageState, Outcome};

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

const STAGES: [Stage; 3] = [Stage::Final, Stage::Open, Stage::Stopped];

/// Small numbers in one: the first that is put is the first that is taken.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    bits: u64,
    at: u32,
}

impl Flags {
    const fn of(bits: u64) -> Self {
        Self { bits, at: 0 }
    }

    fn put(&mut self, number: u64, width: u32) {
        self.bits |= number << self.at;
        self.at += width;
    }

    fn put_bool(&mut self, is: bool) {
        self.put(u64::from(is), 1);
    }

    /// Puts the place of a word in its list.
    fn put_word<W: PartialEq>(&mut self, words: &[W], word: &W) {
        let at = words.iter().position(|it| it == word);
        self.put(at.unwrap_or_default() as u64, 3);
    }

    const fn take(&mut self, width: u32) -> u64 {
        let number = self.bits >> self.at & ((1 << width) - 1);
        self.at += width;
        number
    }

    const fn take_bool(&mut self) -> bool {
        self.take(1) != 0
    }

    fn take_word<W: Copy>(&mut self, words: &[W]) -> W {
        let at = self.take(3) as usize;
        words.get(at).copied().unwrap_or(words[0])
    }
}

/// An id that may be missing, by its distance from `number`.
fn far(number: usize, id: Option<u32>) -> u64 {
    id.map_or(0, |id| {
        let distance = i64::from(id) - number as i64;
        1 + (distance << 1 ^ distance >> 63) as u64
    })
}

fn near(number: usize, far: u64) -> Option<u32> {
    let zigzag = far.checked_sub(1)?;
    let distance = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    Some((number as i64 + distance) as u32)
}

macro_rules! ids {
    ($($id:ident)*) => {
        $(impl $id {
            fn far(id: Option<Self>, number: usize) -> u64 {
                far(number, id.map(Self::number))
            }

            fn near(number: usize, far: u64) -> Option<Self> {
                near(number, far).map(Self::new)
            }
        })*
    };
}

ids!(EntryId BlockId CallId ResultId);

/// Four columns of a text. Where an empty one lies says nothing.
fn put_text(row: &mut Row, at: usize, text: Text) {
    let [place, beyond, len, chain] = text.numbers();
    row[at + 2] = len;
    row[at + 3] = chain;
    if len > 0 {
        (row[at], row[at + 1]) = (place, beyond);
    }
}

fn text(row: &Row, at: usize) -> Text {
    match row[at + 2] {
        0 => Text::default(),
        len => Text::of([row[at], row[at + 1], len, row[at + 3]]),
    }
}

/// Three columns of a short text.
fn put_atom(row: &mut Row, at: usize, atom: Atom) {
    let [place, beyond, len] = atom.numbers();
    row[at + 2] = len;
    if len > 0 {
        (row[at], row[at + 1]) = (place, beyond);
    }
}

fn atom(row: &Row, at: usize) -> Atom {
    match row[at + 2] {
        0 => Atom::default(),
        len => Atom::of([row[at], row[at + 1], len]),
    }
}

fn put_name(row: &mut Row, at: usize, name: Option<Name>) {
    row[at] = name.map_or(0, |name| u64::from(name.number()) + 1);
}

fn name(row: &Row, at: usize) -> Option<Name> {
    let number = row[at].checked_sub(1)?;
    Some(Name::of(number as u32))
}

/// What an entry is, in its flags.
const USER: u64 = 0;
const ASSISTANT: u64 = 1;
const RESULT: u64 = 2;
const NOTICE: u64 = 3;
const ERROR: u64 = 4;

// The columns of an entry: 0 thread, 1 and 2 neighbours, 3 flags, 4 time, 5 offset, 6 to 9 text or
// name of the message, 10 name, 11 to 15 blocks, 16 to 18 uuid, 19 to 22 result.
impl Packed for EntryRecord {
    const COLUMNS: usize = 23;

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
                put_atom(row, 6, message.message_id);
                row[9] = 0;
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
    let first = BlockId::near(number, row[11]);
    let from = first.map_or(number, BlockId::at);
    MessageRecord {
        message_id: atom(row, 6),
        model: Name::of(row[10] as u32),
        state: flags.take_word(&MESSAGE_STATES),
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

// The columns of a call: 0 to 2 id, 3 name, 4 thread, 5 and 6 neighbours, 7 entry, 8 to 11 input, 12
// flags, 13 result, 14 sub-agent, 15 to 18 input of the host.
impl Packed for CallRecord {
    const COLUMNS: usize = 19;

    fn is_settled(&self) -> bool {
        !self.state.is_open()
    }

    fn to_row(&self, number: usize, row: &mut Row) {
        put_atom(row, 0, self.id);
        row[3] = u64::from(self.name.number());
        row[4] = u64::from(self.thread.number());
        row[5] = CallId::far(self.beside.before, number);
        row[6] = CallId::far(self.beside.next, number);
        row[7] = EntryId::far(self.entry, number);
        put_input(row, self.input);
        row[13] = ResultId::far(self.result, number);
        row[14] = self.subagent.map_or(0, |it| u64::from(it.number()) + 1);
        let mut flags = Flags::default();
        flags.put_word(&CALL_STATES, &self.state);
        flags.put_word(&STANDINGS, &self.standing);
        flags.put_bool(self.updated_input.is_some());
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
        Self {
            id: atom(row, 0),
            name: Name::of(row[3] as u32),
            thread: ThreadId::new(row[4] as u32),
            beside: Beside {
                before: CallId::near(number, row[5]),
                next: CallId::near(number, row[6]),
            },
            entry: EntryId::near(number, row[7]),
            input: input(row),
            updated_input: flags.take_bool().then(|| Box::new(text(row, 15))),
            state,
            standing,
            result: ResultId::near(number, row[13]),
            subagent: row[14].checked_sub(1).map(|it| ThreadId::new(it as u32)),
            stamp: Stamp::default(),
        }
    }
}

/// The input stands behind the id, nearly always, and is kept as its distance from it.
fn put_input(row: &mut Row, text: Text) {
    let distance = row[8];
    put_text(row, 8, text);
    row[8] = match text.is_empty() {
        true => distance,
        false => row[8].wrapping_sub(row[0]) & PLACES,
    };
}

fn input(row: &Row) -> Text {
    let mut absolute = *row;
    absolute[8] = row[8].wrapping_add(row[0]) & PLACES;
    text(&absolute, 8)
}

/// More than any place is, so that a distance backwards is a number too.
const PLACES: u64 = (1 << 52) - 1;

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
