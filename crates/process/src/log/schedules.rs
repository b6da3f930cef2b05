//! Runs the shared log under many thread schedules and checks that no wakeup is lost.
//!
//! The same source as [`shared`](super::shared), with a lock of the `shuttle` scheduler; a deadlock
//! fails the test. Half of the schedules are random, the other half change priorities at a few
//! points (PCT). The number is set by the environment variable [`VARIABLE`].

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use shuttle::future::block_on;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner, thread};

use super::{Cursor, Log, Overflow, Piece, Taken};

mod lock {
    use std::sync::PoisonError;

    pub(super) use shuttle::sync::MutexGuard;

    /// The scheduler's lock with the interface of `parking_lot`.
    #[derive(Debug)]
    pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(super) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(super) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
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

/// Environment variable with the number of schedules.
const VARIABLE: &str = "BOWLINE_SCHEDULES";

/// Default number of schedules per test.
const SCHEDULES: usize = 1_000;

/// Capacity of the log, and number of bytes sent through it.
const ROOM: usize = 3;
const BYTES: u64 = 10;

fn under_many_schedules(test: fn()) {
    let many = std::env::var(VARIABLE).ok().and_then(|it| it.parse().ok());
    let each = many.unwrap_or(SCHEDULES) / 2;
    let random = RandomScheduler::new_from_seed(8, each);
    Runner::new(random, Config::new()).run(test);
    let priorities = PctScheduler::new_from_seed(8, 4, each);
    Runner::new(priorities, Config::new()).run(test);
}

/// Writes as a session does: as many bytes as there is room for.
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

/// Reads to the end, and checks that each byte arrives once and in order.
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
fn every_reader_gets_every_byte() {
    under_many_schedules(|| {
        let log = blocking();
        let readers = [log.reader(), log.reader()].map(|it| thread::spawn(move || read(it)));
        fill(&log);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn dropped_reader_releases_backpressure() {
    under_many_schedules(|| {
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
fn close_wakes_all_waiters() {
    under_many_schedules(|| {
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
fn dropped_bytes_are_reported_as_gaps() {
    under_many_schedules(|| {
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
