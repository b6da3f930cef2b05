//! Streams of twelve shapes, each at one size and at twice that size.
//!
//! The size is the number of runs, in thousands of items. A shape is folded several times and the
//! least CPU time counts, so that other load matters little. What takes in proportion more than
//! [`MAX_RATIO`] is reported as late; a shape that is far from it is a violation on any machine.

mod shapes;

use std::time::Duration;

use bowline_jsonl::Framer;
use bowline_reducer::{Meta, Transcript};
use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};

use self::shapes::{SHAPES, Shape};
use super::{Job, Report};

/// Items of a stream for each run of the campaign.
const ITEMS: u64 = 1_000;

/// How much longer a stream of twice the size may take.
const MAX_RATIO: f64 = 2.3;

/// A ratio that is not due to the machine: a quadratic shape takes four times as long.
const QUADRATIC: f64 = 3.2;

/// How long [`LARGE`] items may take.
const MAX_TIME: Duration = Duration::from_secs(2);
const LARGE: u64 = 100_000;

/// How often a stream is folded.
const ROUNDS: usize = 5;

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let count = job.count * ITEMS;
    for shape in SHAPES {
        measure(shape, count, &mut report);
    }
    report.done = job.count;
    report
}

fn measure(shape: &Shape, count: u64, report: &mut Report) {
    let Shape { name, stream } = shape;
    let [one, two] = [count, 2 * count].map(|count| Bytes::from(stream(count)));
    let mut least = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (least, stream) in least.iter_mut().zip([&one, &two]) {
            *least = fold(stream).min(*least);
        }
    }
    let [one, two] = least;
    let ratio = two.as_secs_f64() / one.as_secs_f64();
    let what = format!(
        "{name}: {} items in {two:.1?}, {ratio:.2} times as long as half",
        2 * count
    );
    if ratio > QUADRATIC {
        report.violation(what);
    } else if ratio > MAX_RATIO || 2 * count >= LARGE && two > MAX_TIME {
        report.late(what);
    } else {
        report.note(what);
    }
}

/// Folds a stream and returns the CPU time.
fn fold(stream: &Bytes) -> Duration {
    let start = thread_cpu_time();
    let (mut framer, mut transcript) = (Framer::default(), Transcript::new());
    framer.push(stream.clone());
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            transcript.apply(&item, Meta { at_ms: 0 });
        }
    }
    thread_cpu_time().saturating_sub(start)
}

fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}
