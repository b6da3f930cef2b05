//! What an event costs by the length of the transcript that it is applied to.

use super::{Feed, Script};

/// Deltas of one block in one round.
const DELTAS: usize = 4_000;

/// Finished messages in one round, two lines each.
const MESSAGES: usize = 100;

/// Messages that are written at once, so that no more than some megabytes of lines are held.
const BATCH: usize = 5_000;

/// The cost of an event in a transcript of some length.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Entries before.
    pub entries: usize,
    /// CPU time of the reducer for one text delta, in nanoseconds.
    pub ns_per_delta: f64,
    /// The same for one line of a finished message with a tool call, or of its result.
    pub ns_per_line: f64,
}

/// Lets one transcript grow through `sizes`, which ascend, and takes the fastest of so many rounds
/// at each.
#[must_use]
pub fn points(sizes: &[usize], rounds: usize) -> Vec<Point> {
    let (mut feed, mut script, mut entries) = (Feed::default(), Script::default(), 0);
    let mut points = Vec::new();
    for &size in sizes {
        while entries < size {
            let more = BATCH.min(size - entries);
            script = script.finished(more);
            feed.take(script.take());
            entries += more;
        }
        let [mut delta, mut line] = [f64::MAX; 2];
        for _ in 0..rounds {
            script = script.streamed(DELTAS);
            delta = delta.min(feed.time(script.take()).as_nanos() as f64 / DELTAS as f64);
            script = script.finished(MESSAGES);
            line = line.min(feed.time(script.take()).as_nanos() as f64 / (2 * MESSAGES) as f64);
            entries += 1 + MESSAGES;
        }
        points.push(Point {
            entries: size,
            ns_per_delta: delta,
            ns_per_line: line,
        });
    }
    points
}
