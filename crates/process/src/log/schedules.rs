//! A shared log in many orders of events: whoever can go on is woken.
//!
//! The same source as [`shared`](super::shared), with a lock at which `shuttle` decides who goes on;
//! a schedule in which nobody can is a failure. Half of the schedules are random, the other half
//! change priorities at a few places (PCT). The environment says how many, see [`VARIABLE`].

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use shuttle::future::block_on;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

use super::{Cursor, Log, Overflow, Piece, Taken};

mod lock {
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
}

#[expect(
    dead_code,
    unreachable_pub,
    reason = "it is a part of the crate elsewhere"
)]
mod shared {
    include!("shared.rs");
}

use shared::{LogReader, SharedLog};

/// The variable with the number of schedules.
const VARIABLE: &str = "BOWLINE_SCHEDULES";

/// Schedules of each test, unless the environment says how many.
const SCHEDULES: usize = 1_000;

/// Bytes that the log holds, and that are sent through it.
const ROOM: usize = 3;
const BYTES: u64 = 10;

fn in_many_orders(deed: fn()) {
    let many = std::env::var(VARIABLE).ok().and_then(|it| it.parse().ok());
    let each = many.unwrap_or(SCHEDULES) / 2;
    let random = RandomScheduler::new_from_seed(8, each);
    Runner::new(random, Config::new()).run(deed);
    let priorities = PctScheduler::new_from_seed(8, 4, each);
    Runner::new(priorities, Config::new()).run(deed);
}

/// Reads from the child as a session does: as much as there is room for.
fn fill(log: &SharedLog) {
    let mut offset = 0;
    while offset < BYTES {
        let room = block_on(poll_fn(|cx| log.poll_room(cx)));
        let Some(room) = room else { return };
        let count = (BYTES - offset).min(room as u64).min(2);
        let bytes: Bytes = (offset..offset + count).map(|at| at as u8).collect();
        log.push(bytes);
        offset += count;
    }
    log.close();
}

/// Reads to the end, and checks that each byte comes once and in its order.
fn read(mut reader: LogReader) {
    let mut next = reader.offset();
    while let Some(piece) = block_on(reader.next()) {
        let Piece::Bytes { offset, bytes } = piece else {
            panic!("{piece:?} of a log that blocks");
        };
        assert_eq!(offset, next);
        assert!(
            bytes
                .iter()
                .zip(offset..)
                .all(|(byte, at)| u64::from(*byte) == at)
        );
        next += bytes.len() as u64;
    }
    assert_eq!(next, BYTES);
}

fn blocking() -> Arc<SharedLog> {
    SharedLog::new(Log::new(ROOM, Overflow::Block))
}

#[test]
fn every_reader_has_every_byte() {
    in_many_orders(|| {
        let log = blocking();
        let readers = [log.reader(), log.reader()].map(|it| thread::spawn(move || read(it)));
        fill(&log);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn a_reader_that_goes_holds_nobody_back() {
    in_many_orders(|| {
        let log = blocking();
        let (stays, mut goes) = (log.reader(), log.reader());
        let reading = thread::spawn(move || read(stays));
        let going = thread::spawn(move || drop(block_on(goes.next())));
        fill(&log);
        reading.join().unwrap();
        going.join().unwrap();
    });
}

#[test]
fn a_close_from_elsewhere_ends_every_wait() {
    in_many_orders(|| {
        let log = blocking();
        let mut reader = log.reader();
        let reading = thread::spawn(move || while block_on(reader.next()).is_some() {});
        let filling = thread::spawn({
            let log = Arc::clone(&log);
            move || fill(&log)
        });
        let waiting = thread::spawn({
            let log = Arc::clone(&log);
            move || block_on(log.closed())
        });
        log.close();
        for task in [reading, filling, waiting] {
            task.join().unwrap();
        }
    });
}

#[test]
fn a_log_that_drops_says_what_is_gone() {
    in_many_orders(|| {
        let log = SharedLog::new(Log::new(ROOM, Overflow::DropOldest));
        let mut reader = log.reader();
        let reading = thread::spawn(move || {
            let mut next = 0;
            while let Some(piece) = block_on(reader.next()) {
                let (from, to) = match piece {
                    Piece::Bytes { offset, bytes } => (offset, offset + bytes.len() as u64),
                    Piece::Gap { from, to } => (from, to),
                };
                assert_eq!(from, next);
                next = to;
            }
            assert_eq!(next, BYTES);
        });
        fill(&log);
        reading.join().unwrap();
    });
}
