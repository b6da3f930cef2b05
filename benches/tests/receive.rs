//! What receiving a line asks of the allocator and of the kernel, and what a session that rests
//! holds: gates that no clock and no load can move.
//!
//! One test alone in this file: allocator and kernel count for the whole process.

use std::alloc::System;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;

use bowline_benches::receive::{one_reactor, short_dialogue};
use bowline_benches::reduce::Script;
use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_transport::Ladder;
use bytes::Bytes;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};
use tokio::task::yield_now;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Lines that are counted, and lines before them.
const LINES: usize = 1_000;
const WARM: usize = 200;

/// Sessions that rest beside the one that is written to.
const RESTING: usize = 100;

/// Calls of the allocator for a line that comes alone: what the transcript grows by, and nothing of
/// the path to it.
const ALLOCATIONS: f64 = 0.05;

/// Heap of a session in which nothing was said, in bytes: 20,200 when this was written, and a tenth
/// more. No part of it is a buffer.
const SESSION: i64 = 22_200;

/// The same after a short dialogue, in bytes: 27,128 when this was written, and a tenth more. Its text
/// and records are in it, and no buffer.
const RESTED: i64 = 29_800;

/// What one line costs, beside so many sessions that rest.
#[derive(Debug, PartialEq)]
struct Cost {
    allocations: f64,
    reads: f64,
}

#[test]
fn a_line_is_received_for_what_it_costs() {
    one_reactor().block_on(async {
        let alone = cost().await;
        assert!(alone.allocations <= ALLOCATIONS, "{alone:?}");
        // Each line was written when the one before it was folded, so each has a read of its own;
        // one more would be the read that finds nothing.
        assert!((1.0..1.01).contains(&alone.reads), "{alone:?}");

        let region = Region::new(ALLOCATOR);
        let resting = sessions(RESTING).await;
        let each = held_by_each(region.change());
        assert!(each <= SESSION, "a session that rests holds {each} bytes");
        for session in &resting {
            let text = short_dialogue();
            write_each(&mut stdout_of(session), &lines(&text)).await;
            let applied = session.inspect(|transcript| transcript.applied()).await;
            assert_eq!(applied, text.len() as u64);
        }
        let each = held_by_each(region.change());
        assert!(each <= RESTED, "a session that was used holds {each} bytes");

        let among = cost().await;
        assert!(among.allocations <= ALLOCATIONS, "{among:?}");
        assert!((1.0..1.01).contains(&among.reads), "{among:?}");
        for session in resting {
            session.terminate().await;
        }
    });
}

/// Bytes that each of the sessions that rest holds.
fn held_by_each(change: Stats) -> i64 {
    (change.bytes_allocated as i64 - change.bytes_deallocated as i64) / RESTING as i64
}

async fn sessions(count: usize) -> Vec<DialogueSession> {
    let mut sessions = Vec::with_capacity(count);
    for _ in 0..count {
        let configuration = DialogueConfiguration {
            program: "/bin/sh".into(),
            leading_args: vec!["-c".into(), "exec sleep 1000000".into()],
            initialize: false,
            ladder: Ladder::AT_ONCE,
            ..DialogueConfiguration::default()
        };
        let session = DialogueSession::start(configuration).await;
        sessions.push(session.expect("every system has a shell"));
    }
    turns(100).await;
    sessions
}

/// Lets the reactor look for what has come, so many times.
async fn turns(count: usize) {
    for _ in 0..count {
        yield_now().await;
    }
}

/// The pipe that an agent has as its stdout, opened once more.
fn stdout_of(session: &DialogueSession) -> File {
    let pid = session.pid().expect("the agent lives");
    let path = format!("/proc/{pid}/fd/1");
    let file = OpenOptions::new().write(true).open(path);
    file.expect("the agent is our child")
}

/// Writes lines one by one, each when the one before it was received.
async fn cost() -> Cost {
    let session = sessions(1).await.remove(0);
    let mut stdout = stdout_of(&session);
    let text = Script::default().begin().deltas(WARM + LINES).take();
    let lines = lines(&text);
    let (warm, counted) = lines.split_at(lines.len() - LINES);
    write_each(&mut stdout, warm).await;
    let (region, reads) = (Region::new(ALLOCATOR), reads());
    write_each(&mut stdout, counted).await;
    let change = region.change();
    let calls = change.allocations + change.reallocations;
    let cost = Cost {
        allocations: calls as f64 / LINES as f64,
        reads: (self::reads() - reads) as f64 / LINES as f64,
    };
    let applied = session.inspect(|transcript| transcript.applied()).await;
    assert_eq!(
        applied,
        text.len() as u64,
        "every line was folded in its turn"
    );
    session.terminate().await;
    cost
}

fn lines(text: &Bytes) -> Vec<Bytes> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.map(|line| text.slice_ref(line)).collect()
}

async fn write_each(stdout: &mut File, lines: &[Bytes]) {
    for line in lines {
        stdout.write_all(line).expect("the pipe is read");
        turns(3).await;
    }
}

/// Calls of read(2) of this thread so far. Asking is a few itself.
fn reads() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").expect("Linux counts them");
    let calls = counters
        .lines()
        .find_map(|line| line.strip_prefix("syscr: "));
    calls
        .and_then(|calls| calls.parse().ok())
        .expect("it has this name since 2.6")
}
