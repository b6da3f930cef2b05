//! Cost of an event by the length of the transcript.

use super::{Feed, Script};

/// Deltas of one block in one round.
const DELTAS: usize = 4_000;

/// Finished messages in one round, two lines each.
const MESSAGES: usize = 100;

/// Messages generated at once, so that only some megabytes of lines are held.
const BATCH: usize = 5_000;

/// The cost of an event in a transcript of some length.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Entries in the transcript before.
    pub entries: usize,
    /// CPU time of the reducer for one text delta, in nanoseconds.
    pub ns_per_delta: f64,
    /// The same for one line of a finished message with a tool call, or of its result.
    pub ns_per_line: f64,
}

/// A transcript of a given length, and its best results so far.
#[derive(Debug)]
struct Grown {
    feed: Feed,
    script: Script,
    point: Point,
}

impl Grown {
    fn new(entries: usize) -> Self {
        let (mut feed, mut script, mut left) = (Feed::default(), Script::default(), entries);
        while left > 0 {
            let more = BATCH.min(left);
            script = script.finished(more);
            feed.take(script.take());
            left -= more;
        }
        let point = Point {
            entries,
            ns_per_delta: f64::MAX,
            ns_per_line: f64::MAX,
        };
        Self {
            feed,
            script,
            point,
        }
    }

    fn round(&mut self) {
        self.script = std::mem::take(&mut self.script).streamed(DELTAS);
        let delta = self.feed.time(self.script.take()).as_nanos() as f64 / DELTAS as f64;
        self.script = std::mem::take(&mut self.script).finished(MESSAGES);
        let line = self.feed.time(self.script.take()).as_nanos() as f64 / (2 * MESSAGES) as f64;
        self.point.ns_per_delta = self.point.ns_per_delta.min(delta);
        self.point.ns_per_line = self.point.ns_per_line.min(line);
    }
}

/// Takes the fastest of several rounds for a transcript of each of `sizes`. They take turns, so
/// that other load affects them equally. After each round `enough` decides from the results so far
/// whether to stop.
pub fn points(sizes: &[usize], mut enough: impl FnMut(usize, &[Point]) -> bool) -> Vec<Point> {
    let mut grown: Vec<Grown> = sizes.iter().map(|&entries| Grown::new(entries)).collect();
    let mut rounds = 0;
    loop {
        grown.iter_mut().for_each(Grown::round);
        rounds += 1;
        let points: Vec<Point> = grown.iter().map(|grown| grown.point).collect();
        if enough(rounds, &points) {
            return points;
        }
    }
}
