//! Allocations and system calls of a received line, and memory of an idle session: gates that do
//! not depend on clock or load.
//!
//! This file has only one test, because the allocator and the kernel count for the whole process.

use std::alloc::System;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;

use bowline_benches::receive::{one_reactor, short_dialogue};
use bowline_benches::reduce::Script;
use bowline_lifecycle::{DialogueConfiguration, DialogueSession};
use bowline_transport::TerminationPolicy;
use bytes::Bytes;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};
use tokio::task::yield_now;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Measured lines, and lines of the warm-up.
const LINES: usize = 1_000;
const WARM: usize = 200;

/// Idle sessions beside the measured one.
const IDLE_SESSIONS: usize = 100;

/// Allocations of a line that arrives alone: growth of the transcript only, not of the path to it.
const ALLOCATIONS: f64 = 0.05;

/// Heap of a session without output, in bytes: 23,117 when measured, and a tenth more. It contains
/// no buffer.
const SESSION: i64 = 25_400;

/// The same after a short dialogue, in bytes: 34,875 when measured; at most 36 KiB. It contains
/// text and records, the state that recognizes a repeated stream, and no buffer.
const IDLE_AFTER_DIALOGUE: i64 = 36 * 1024;

/// Measures one line beside this many idle sessions.
#[derive(Debug, PartialEq)]
struct Cost {
    allocations: f64,
    reads: f64,
}

#[test]
fn receive_path_stays_within_budget() {
    one_reactor().block_on(async {
        let alone = cost().await;
        assert!(alone.allocations <= ALLOCATIONS, "{alone:?}");
        // Each line was written after the previous one was folded, so each has its own read; an
        // additional one would be a read without data.
        assert!((1.0..1.01).contains(&alone.reads), "{alone:?}");

        let region = Region::new(ALLOCATOR);
        // What is kept for late readers is content, of the size that the host chooses.
        let resting = sessions(IDLE_SESSIONS, 0).await;
        let each = held_by_each(region.change());
        assert!(each <= SESSION, "a session that rests holds {each} bytes");
        for session in &resting {
            let text = short_dialogue();
            write_each(&mut stdout_of(session), &lines(&text)).await;
            let applied = session.inspect(|transcript| transcript.applied()).await;
            assert_eq!(applied, text.len() as u64);
        }
        let each = held_by_each(region.change());
        assert!(
            each <= IDLE_AFTER_DIALOGUE,
            "a session that was used holds {each} bytes"
        );

        let among = cost().await;
        assert!(among.allocations <= ALLOCATIONS, "{among:?}");
        assert!((1.0..1.01).contains(&among.reads), "{among:?}");
        for session in resting {
            session.terminate().await;
        }
    });
}

/// Returns the heap per idle session.
fn held_by_each(change: Stats) -> i64 {
    (change.bytes_allocated as i64 - change.bytes_deallocated as i64) / IDLE_SESSIONS as i64
}

/// Starts sessions that keep as many bytes of output for late readers.
async fn sessions(count: usize, kept_output: usize) -> Vec<DialogueSession> {
    let mut sessions = Vec::with_capacity(count);
    for _ in 0..count {
        let configuration = DialogueConfiguration {
            program: "/bin/sh".into(),
            leading_args: vec!["-c".into(), "exec sleep 1000000".into()],
            initialize: false,
            termination: TerminationPolicy::AT_ONCE,
            kept_output,
            ..DialogueConfiguration::default()
        };
        let session = DialogueSession::start(configuration).await;
        sessions.push(session.expect("every system has a shell"));
    }
    turns(100).await;
    sessions
}

/// Polls the reactor this many times.
async fn turns(count: usize) {
    for _ in 0..count {
        yield_now().await;
    }
}

/// Opens the pipe that is an agent's stdout.
fn stdout_of(session: &DialogueSession) -> File {
    let pid = session.pid().expect("the agent lives");
    let path = format!("/proc/{pid}/fd/1");
    let file = OpenOptions::new().write(true).open(path);
    file.expect("the agent is our child")
}

/// Writes lines one by one, each after the previous one was received.
async fn cost() -> Cost {
    let kept = DialogueConfiguration::default().kept_output;
    let session = sessions(1, kept).await.remove(0);
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

/// Returns the calls of read(2) of this thread so far, including the few of this function.
fn reads() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/io").expect("Linux counts them");
    let calls = counters
        .lines()
        .find_map(|line| line.strip_prefix("syscr: "));
    calls
        .and_then(|calls| calls.parse().ok())
        .expect("it has this name since 2.6")
}
