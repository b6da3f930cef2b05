//! Growth laws: the cost of a byte or an event does not depend on how much came before, or on the
//! chunk size. Measured is CPU time of one thread, the fastest of several rounds in turn, with a
//! factor of two for noise; a violation costs a factor of tens. Other load makes rounds slower and
//! never faster, so rounds are repeated until the law holds, up to a maximum.

use std::time::Duration;

use bowline_benches::clock::thread_cpu_time;
use bowline_benches::corpus::Corpus;
use bowline_benches::reduce::{Feed, Point, Script, compare, points};
use bowline_jsonl::Framer;
use bowline_reducer::Cursor;
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

/// Accepted ratio of the slowest to the fastest.
const FACTOR: f64 = 2.0;

/// Accepted ratio of the smallest chunks here, where the crates that copy and search are not
/// optimised; a framer that starts again with each chunk takes thirty times as long.
const CHUNK_FACTOR: f64 = 3.0;

/// Accepted ratio of a long line in chunks: pushed whole it is never copied, in chunks it is copied
/// once, which costs as much as parsing it.
const PIECES_FACTOR: f64 = 3.0;

/// Minimum and maximum number of rounds.
const ROUNDS: usize = 5;
const ALL_ROUNDS: usize = 60;

/// Chunk sizes: the maximum read of a terminal among powers of two.
const CHUNKS: [usize; 6] = [1 << 10, 4_095, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

fn receive(stream: &Bytes, chunk: usize) -> usize {
    let (mut framer, mut rest, mut lines) = (Framer::default(), stream.clone(), 0);
    while !rest.is_empty() {
        framer.push(rest.split_to(chunk.min(rest.len())));
        while let Some(frame) = framer.next_frame() {
            lines += frame.items().filter(|item| item.event.is_ok()).count();
        }
    }
    lines
}

fn time(job: impl FnOnce()) -> Duration {
    let start = thread_cpu_time();
    job();
    thread_cpu_time().saturating_sub(start)
}

/// Serialises measurements: two that share a cache slow each other down.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock()
}

/// Returns the fastest of several rounds for each of `cases`, which run in turn until `law` holds
/// for them.
fn fastest<C: Copy, const N: usize>(
    cases: [C; N],
    mut job: impl FnMut(C),
    law: impl Fn(&[f64; N]) -> bool,
) -> [f64; N] {
    let _alone = alone();
    let mut best = [f64::MAX; N];
    for round in 1..=ALL_ROUNDS {
        for (best, case) in best.iter_mut().zip(cases) {
            *best = time(|| job(case)).as_secs_f64().min(*best);
        }
        if round >= ROUNDS && law(&best) {
            break;
        }
    }
    best
}

/// Returns the slowest over the fastest.
fn spread(times: &[f64]) -> f64 {
    let slowest = times.iter().copied().fold(0.0, f64::max);
    slowest / times.iter().copied().fold(f64::MAX, f64::min)
}

#[test]
fn chunk_size_has_bounded_effect() {
    let stream = Corpus::Partial.generate(2 << 20).unwrap();
    let lines = receive(&stream, stream.len());
    let law = |times: &[f64; CHUNKS.len()]| spread(times) <= CHUNK_FACTOR;
    let times = fastest(
        CHUNKS,
        |chunk| assert_eq!(receive(&stream, chunk), lines),
        law,
    );
    assert!(law(&times), "{times:?}");
}

#[test]
fn long_line_cost_is_independent_of_chunks() {
    let line = Script::default().long(10_000_000).take();
    let law = |times: &[f64; 2]| times[0] / times[1] <= PIECES_FACTOR;
    let times = fastest(
        [4_095, line.len()],
        |chunk| assert_eq!(receive(&line, chunk), 1),
        law,
    );
    assert!(law(&times), "{times:?}");
}

#[test]
fn parsing_is_linear_in_bytes() {
    let streams = [1 << 20, 8 << 20].map(|size| Corpus::Mixed.generate(size).unwrap());
    let longer = streams[1].len() as f64 / streams[0].len() as f64;
    let law = |times: &[f64; 2]| times[1] / times[0] <= FACTOR * longer;
    let times = fastest(
        [0, 1],
        |at: usize| {
            receive(&streams[at], 64 << 10);
        },
        law,
    );
    assert!(law(&times), "{times:?} seconds for {longer} times as much");
}

#[test]
fn delta_cost_is_independent_of_length() {
    let _alone = alone();
    let law = |points: &[Point]| points[1].ns_per_delta / points[0].ns_per_delta <= FACTOR;
    let points = points(&[1_000, 100_000], |rounds, points| {
        rounds >= ALL_ROUNDS || rounds >= ROUNDS && law(points)
    });
    assert!(law(&points), "{points:?}");
}

#[test]
fn changes_cost_is_independent_of_length() {
    const READINGS: usize = 2_000;
    let mut feeds = [1_000, 100_000].map(|entries| {
        let (mut feed, mut script) = (Feed::default(), Script::default().finished(entries));
        feed.take(script.take());
        script = script.begin();
        feed.take(script.take());
        (feed, script)
    });
    let mut cursors = [Cursor::default(); 2];
    for (cursor, (feed, _)) in cursors.iter_mut().zip(&mut feeds) {
        *cursor = feed.transcript.changes_since(*cursor).cursor();
    }
    let mut counts = [0; 2];
    let read = |at: usize| {
        let (feed, script) = &mut feeds[at];
        *script = std::mem::take(script).deltas(READINGS);
        let (lines, cursor) = (script.take(), &mut cursors[at]);
        feed.each(lines, |transcript| {
            let changes = transcript.changes_since(*cursor);
            counts[at] += changes.iter().count();
            *cursor = changes.cursor();
        });
    };
    let law = |times: &[f64; 2]| times[1] / times[0] <= FACTOR;
    let times = fastest([0, 1], read, law);
    assert_eq!(counts[0], counts[1]);
    assert!(counts[0] >= ROUNDS * READINGS, "each delta is a change");
    assert!(law(&times), "{times:?}");
}

#[test]
fn naive_reducer_folds_equal_conversations() {
    for corpus in [Corpus::Partial, Corpus::Messages, Corpus::Mixed] {
        let lines = corpus.generate(1 << 20).unwrap();
        compare(&lines).unwrap_or_else(|difference| panic!("{corpus:?}: {difference}"));
    }
}
