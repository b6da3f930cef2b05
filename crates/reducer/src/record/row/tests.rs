use std::fmt::Debug;

use crate::arena::{Atom, Text};
use crate::ident::Ident;
use crate::log::Stamp;
use crate::names::Name;
use crate::number::U48;
use crate::record::{
    Beside, BlockBody, BlockId, BlockRecord, CallId, CallRecord, EntryBody, EntryId, EntryRecord,
    MessageRecord, ResultId, ResultRecord, Stage, Standing, ThreadId, ToolResultRecord, UserRecord,
};
use crate::shelf::{Packed, Row};
use crate::state::{CallState, ErrorKind, MessageState, Outcome};

const NUMBER: usize = 5_000;

/// A record is the same behind rows that hold anything, since a row begins as the one before it.
fn comes_back(record: &(impl Packed + Debug)) {
    for before in [0, 3, u64::from(u32::MAX)] {
        let mut row: Row = [before; size_of::<Row>() / 8];
        record.to_row(NUMBER, &mut row);
        let made = of_row(record, &row);
        assert_eq!(format!("{made:?}"), format!("{record:?}"));
    }
}

fn of_row<T: Packed>(_: &T, row: &Row) -> T {
    T::of_row(NUMBER, row)
}

fn a_text(start: u64) -> Text {
    Text::of([start, 0, 17, 0])
}

/// In the last chunk there could be, beyond where one ends usually, and in several pieces.
fn a_strange_text() -> Text {
    Text::of([
        (u64::from(u32::MAX) - 1) * (96 << 10) + 5,
        3,
        1 << 31,
        70_001,
    ])
}

fn beside<I>(before: Option<I>, next: Option<I>) -> Beside<I> {
    Beside { before, next }
}

#[test]
fn every_entry_comes_back() {
    let user = UserRecord {
        uuid: Atom::of([7, 0, 36]),
        text: a_strange_text(),
        is_replay: true,
        is_synthetic: false,
        is_sent: true,
        is_unconfirmed: true,
    };
    let message = MessageRecord {
        message_id: Ident::of(2 | 24 << 3, [1 << 47, 3, 1 << 20, 0]),
        model: Name::of(3),
        state: MessageState::Aborted,
        first: Some(BlockId::new(9_000)),
        last: Some(BlockId::new(2)),
        live: 4,
        drafted: 2,
        first_drafted: Some(BlockId::new(9_001)),
    };
    let result = ResultRecord {
        subtype: Name::of(9),
        is_error: true,
        outcome: Outcome::Suspended,
        text: Some(Text::default()),
        origin: Some(Name::of(0)),
        terminal_reason: Some(Name::of(70_000)),
        num_turns: 1 << 50,
        duration_ms: 3,
    };
    let bare = ResultRecord::default();
    let error = ErrorKind::Gap;
    let bodies = [
        EntryBody::User(user),
        EntryBody::User(UserRecord::default()),
        EntryBody::Assistant(message),
        EntryBody::Assistant(MessageRecord::default()),
        EntryBody::Result(Box::new(result)),
        EntryBody::Result(Box::new(bare)),
        EntryBody::Notice {
            notice: Name::of(12),
            text: a_text(1),
        },
        EntryBody::Error {
            error,
            text: a_text(2),
        },
    ];
    for body in bodies {
        comes_back(&EntryRecord {
            thread: ThreadId::new(77),
            beside: beside(Some(EntryId::new(4_999)), None),
            is_removed: true,
            at_ms: U48::new(u64::MAX),
            offset: U48::new(1),
            stamp: Stamp::default(),
            body,
        });
    }
}

#[test]
fn every_block_comes_back() {
    let bodies = [
        BlockBody::Text(a_text(3)),
        BlockBody::Text(Text::default()),
        BlockBody::Thinking(a_strange_text()),
        BlockBody::Redacted,
        BlockBody::Call(CallId::new(0)),
        BlockBody::Other(a_text(9)),
    ];
    let stages = [Stage::Open, Stage::Stopped, Stage::Final];
    for (body, stage) in bodies.into_iter().zip(stages.into_iter().cycle()) {
        comes_back(&BlockRecord {
            entry: EntryId::new(6_000),
            next: Some(BlockId::new(5_001)),
            index: u32::MAX,
            line: Some(BlockId::new(NUMBER as u32)),
            body,
            stage,
            is_removed: stage == Stage::Open,
            high: 0xd83d,
            stamp: Stamp::default(),
            was_text: false,
        });
    }
}

#[test]
fn every_call_and_result_comes_back() {
    let inputs = [a_text(131), a_text(1), a_strange_text(), Text::default()];
    let states = [
        CallState::Pending,
        CallState::AwaitingPermission,
        CallState::Lost,
        CallState::Interrupted,
    ];
    for (at, (input, state)) in inputs.into_iter().zip(states).enumerate() {
        let is_odd = at % 2 == 1;
        comes_back(&CallRecord {
            id: Ident::Said(Atom::of([101, 0, 30])),
            name: Name::of(4),
            thread: ThreadId::new(0),
            beside: beside(Some(CallId::new(2)), Some(CallId::new(9_999))),
            entry: is_odd.then_some(EntryId::new(1)),
            input,
            updated_input: is_odd.then(|| Box::new(a_strange_text())),
            state,
            standing: Standing::Removed,
            result: is_odd.then_some(ResultId::new(u32::MAX - 2)),
            subagent: is_odd.then_some(ThreadId::new(0)),
            stamp: Stamp::default(),
        });
    }
    comes_back(&ToolResultRecord::default());
    comes_back(&ToolResultRecord {
        is_error: true,
        is_async: true,
        text: a_text(8),
        raw: a_strange_text(),
        offset: U48::new(1 << 40),
        end: U48::new((1 << 40) + 9),
    });
}
