//! CPU time from bytes to a transcript, in comparison with the naive reducer.

use std::time::Duration;

use bowline_reducer::Cursor;
use bytes::Bytes;
use memchr::{memchr_iter, memmem};

use super::{Feed, NaiveReducer, Outcome};
use crate::clock::thread_cpu_time;
use crate::contenders::Slice;
use crate::corpus::Source;
use crate::peers::{Failure, SLICE, Sample, fit};

/// The contenders in the order of the results: Bowline, Bowline with a reader that takes the
/// changes every [`FRAME`] lines, and the naive reducer.
pub const NAMES: [&str; 3] = ["bowline", "bowline_changes", BASE];

/// The base of the ratios, the naive reducer.
pub const BASE: &str = "serde_json_hash_map";

/// Lines between two reads of the changes: the output of a busy session in one frame of a display.
const FRAME: usize = 64;

/// First bytes of a turn. A slice begins with a turn, because the naive reducer cannot begin in the
/// middle.
const TURN: &[u8] = b"{\"type\":\"system\",\"subtype\":\"init\"";

/// Measures in this process: the fastest of `rounds` for each slice and contender.
///
/// # Errors
///
/// Fails if the stream cannot be read or the conversations differ.
pub fn sample(source: &Source, rounds: usize) -> Result<Sample, Failure> {
    let (bytes, unfit) = fit(&source.load().map_err(Failure::Source)?);
    let length = bytes.len();
    let events = memchr_iter(b'\n', &bytes).count() as u64;
    let mut sums = [Duration::ZERO; NAMES.len()];
    for slice in turns(bytes) {
        compare(slice.bytes()).map_err(|difference| Failure::Outcome(source.name(), difference))?;
        let mut best = [Duration::MAX; NAMES.len()];
        for _ in 0..rounds {
            for (best, time) in best.iter_mut().zip(round(&slice)) {
                *best = time.min(*best);
            }
        }
        for (sum, best) in sums.iter_mut().zip(best) {
            *sum += best;
        }
    }
    Ok(Sample {
        nanos: sums.map(|sum| sum.as_nanos() as f64).to_vec(),
        bytes: length,
        events,
        unfit,
    })
}

/// Checks that the reducer and the naive one fold these lines into the same conversation.
///
/// # Errors
///
/// Returns both outcomes if they differ.
pub fn compare(lines: &Bytes) -> Result<(), String> {
    let ours = Outcome::of(&ours(lines).transcript);
    let naive = naive(lines)?.outcome();
    if ours == naive {
        return Ok(());
    }
    Err(format!("the reducer has {ours}, the naive one {naive}"))
}

fn ours(lines: &Bytes) -> Feed {
    let mut feed = Feed::default();
    feed.take(lines.clone());
    feed
}

fn ours_with_changes(lines: &Bytes) -> (Feed, usize) {
    let (mut feed, mut cursor) = (Feed::default(), Cursor::default());
    let (mut line, mut changes) = (0, 0);
    feed.each(lines.clone(), |transcript| {
        line += 1;
        if line % FRAME == 0 {
            let read = transcript.changes_since(cursor);
            changes += read.iter().count();
            cursor = read.cursor();
        }
    });
    (feed, changes)
}

fn naive(lines: &Bytes) -> Result<NaiveReducer, String> {
    let mut naive = NaiveReducer::default();
    let mut start = 0;
    for end in memchr_iter(b'\n', lines) {
        let line = lines.get(start..end).unwrap_or_default();
        naive.take(line).map_err(|error| error.to_string())?;
        start = end + 1;
    }
    Ok(naive)
}

/// Runs each contender once, the naive one between the others, because the branch predictor is
/// trained by the code that ran before.
fn round(slice: &Slice) -> [Duration; NAMES.len()] {
    let lines = slice.bytes();
    let [first, naive, changes] = [
        time(slice, || ours(lines)),
        time(slice, || naive(lines)),
        time(slice, || ours_with_changes(lines)),
    ];
    [first, changes, naive]
}

/// Returns the CPU time until the result is complete; freeing it is not included.
fn time<T>(slice: &Slice, job: impl FnOnce() -> T) -> Duration {
    slice.warm();
    let start = thread_cpu_time();
    let done = job();
    let time = thread_cpu_time().saturating_sub(start);
    drop(std::hint::black_box(done));
    time
}

/// Splits a stream into slices of whole turns, of [`SLICE`] bytes and a turn at most.
fn turns(mut rest: Bytes) -> Vec<Slice> {
    let mut slices = Vec::new();
    while !rest.is_empty() {
        let next = rest.get(SLICE..).and_then(|tail| memmem::find(tail, TURN));
        let end = next.map_or(rest.len(), |at| SLICE + at);
        slices.push(Slice::new(rest.split_to(end)));
    }
    slices
}
