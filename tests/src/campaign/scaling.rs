//! Streams of twenty-seven shapes, of Claude Code, Codex and ACP agents, each at one size and at twice that size.
//!
//! The size is the number of runs, in thousands of items. At full size the instructions of both folds
//! are compared, where valgrind is installed: in time, a shape whose tables outgrow a cache between
//! both sizes takes up to 2.6 times as long with 2.0 times the instructions. Otherwise a shape is
//! folded several times and the least CPU time counts, so that other load matters little. What takes
//! in proportion more time than [`MAX_RATIO`] is reported as late, and what is far from it is a
//! violation on any machine.

mod dialects;
pub(super) mod instructions;
mod shapes;

use std::time::Duration;

use bowline_jsonl::Framer;
use bowline_reducer::dialect::DialectName;
use bowline_reducer::{Meta, Transcript};
use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};

use self::shapes::{SHAPES, Shape};
use super::{Job, Report};

/// Items of a stream for each run of the campaign.
const ITEMS: u64 = 1_000;

/// How many times the instructions or the time of a stream one of twice the size may take.
const MAX_RATIO: f64 = 2.3;

/// A ratio that is not due to the machine: a quadratic shape takes four times as long.
const QUADRATIC: f64 = 3.2;

/// How long [`LARGE`] items may take. Instructions are counted from this size on.
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
    let Shape {
        name,
        dialect,
        input,
        stream,
    } = shape;
    let streams = [count, 2 * count].map(|count| Stream {
        input: input.map_or_else(String::new, |input| input(count)),
        output: Bytes::from(stream(count)),
    });
    let times = least_times(*dialect, &streams);
    let time_ratio = times[1].as_secs_f64() / times[0].as_secs_f64();
    let is_large = 2 * count >= LARGE;
    let instructions = match is_large
        .then(|| instruction_ratio(*dialect, &streams))
        .transpose()
    {
        Ok(ratio) => ratio.flatten(),
        Err(error) => return report.violation(format!("{name}: {error}")),
    };
    let mut what = format!(
        "{name}: {} items in {:.1?}, {time_ratio:.2} times as long as half",
        2 * count,
        times[1]
    );
    if let Some(ratio) = instructions {
        what += &format!(", {ratio:.3} times the instructions");
    }
    let limit = instructions.map_or(QUADRATIC, |_| MAX_RATIO);
    if instructions.unwrap_or(time_ratio) > limit {
        report.violation(what);
    } else if instructions.unwrap_or(time_ratio) > MAX_RATIO || is_large && times[1] > MAX_TIME {
        report.late(what);
    } else {
        report.note(what);
    }
}

/// What a host and its agent have written.
#[derive(Debug)]
struct Stream {
    /// Lines of the host, all before those of the agent.
    input: String,
    output: Bytes,
}

/// Returns the least CPU time for each stream.
fn least_times(dialect: DialectName, streams: &[Stream; 2]) -> [Duration; 2] {
    let mut least = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (least, stream) in least.iter_mut().zip(streams) {
            *least = timed(dialect, stream).min(*least);
        }
    }
    least
}

/// Returns how many times the instructions of the first stream the second one takes; `None` if they
/// cannot be counted.
fn instruction_ratio(
    dialect: DialectName,
    [one, two]: &[Stream; 2],
) -> Result<Option<f64>, String> {
    let counts = (
        instructions::count(dialect, one)?,
        instructions::count(dialect, two)?,
    );
    Ok(match counts {
        (Some(one), Some(two)) => Some(two as f64 / one as f64),
        _ => None,
    })
}

/// Returns the CPU time of a fold.
fn timed(dialect: DialectName, stream: &Stream) -> Duration {
    let start = thread_cpu_time();
    fold(dialect, stream);
    thread_cpu_time().saturating_sub(start)
}

/// Folds a stream. Reads no clock: rustix's ends a process under valgrind, which has no vdso(7).
fn fold(dialect: DialectName, stream: &Stream) {
    let (mut framer, mut transcript) = (Framer::default(), Transcript::with_dialect(dialect));
    for line in stream.input.lines() {
        transcript.apply_input(line, Meta { at_ms: 0 });
    }
    framer.push(stream.output.clone());
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            transcript.apply(&item, Meta { at_ms: 0 });
        }
    }
}

fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}
