//! CPU time from bytes to a transcript, ours beside the twin.

use std::time::Duration;

use bowline_reducer::Cursor;
use bytes::Bytes;
use memchr::{memchr_iter, memmem};

use super::{Feed, Outcome, Twin};
use crate::clock::thread_cpu_time;
use crate::contenders::Slice;
use crate::corpus::Source;
use crate::peers::{Failure, SLICE, Sample, fit};

/// Who parses and reduces, in the order of the results: ours, ours with a reader that takes the
/// changes every [`FRAME`] lines, and the twin.
pub const NAMES: [&str; 3] = ["bowline", "bowline_changes", BASE];

/// Everyone is compared with the twin.
pub const BASE: &str = "serde_json_hash_map";

/// Lines between two readings of the changes: what a busy session gives in one frame of a display.
const FRAME: usize = 64;

/// How a turn begins. A slice begins with one too, since the twin cannot begin in the middle.
const TURN: &[u8] = b"{\"type\":\"system\",\"subtype\":\"init\"";

/// Measures in this process: for each slice and contender the fastest of so many rounds.
///
/// # Errors
///
/// No stream, or conversations that differ.
pub fn sample(source: &Source, rounds: usize) -> Result<Sample, Failure> {
    let (bytes, unfit) = fit(&source.load().map_err(Failure::Source)?);
    let length = bytes.len();
    let events = memchr_iter(b'\n', &bytes).count() as u64;
    let mut sums = [Duration::ZERO; NAMES.len()];
    for slice in turns(bytes) {
        compare(slice.bytes()).map_err(|said| Failure::Outcome(source.name(), said))?;
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

/// Whether ours and the twin fold these lines into the same conversation.
///
/// # Errors
///
/// What both have.
pub fn compare(lines: &Bytes) -> Result<(), String> {
    let ours = Outcome::of(&ours(lines).transcript);
    let twin = twin(lines)?.outcome();
    if ours == twin {
        return Ok(());
    }
    Err(format!("the reducer has {ours}, the twin {twin}"))
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

fn twin(lines: &Bytes) -> Result<Twin, String> {
    let mut twin = Twin::default();
    let mut start = 0;
    for end in memchr_iter(b'\n', lines) {
        let line = lines.get(start..end).unwrap_or_default();
        twin.take(line).map_err(|error| error.to_string())?;
        start = end + 1;
    }
    Ok(twin)
}

/// Everyone once, the twin between ours: code that has just run has taught the branch predictor.
fn round(slice: &Slice) -> [Duration; NAMES.len()] {
    let lines = slice.bytes();
    let [first, twin, changes] = [
        time(slice, || ours(lines)),
        time(slice, || twin(lines)),
        time(slice, || ours_with_changes(lines)),
    ];
    [first, changes, twin]
}

/// CPU time until the result stands; giving it back is not counted.
fn time<T>(slice: &Slice, job: impl FnOnce() -> T) -> Duration {
    slice.warm();
    let start = thread_cpu_time();
    let done = job();
    let time = thread_cpu_time().saturating_sub(start);
    drop(std::hint::black_box(done));
    time
}

/// Cuts a stream into slices of whole turns, of [`SLICE`] bytes and a turn at most.
fn turns(mut rest: Bytes) -> Vec<Slice> {
    let mut slices = Vec::new();
    while !rest.is_empty() {
        let next = rest.get(SLICE..).and_then(|tail| memmem::find(tail, TURN));
        let end = next.map_or(rest.len(), |at| SLICE + at);
        slices.push(Slice::new(rest.split_to(end)));
    }
    slices
}
