//! Speed of framing and parsing by chunk size.
//!
//! Chunks are either read into the framer's own buffer or pushed as chunks that already exist.

use std::hint::black_box;
use std::time::Duration;

use bowline_jsonl::Framer;
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::clock::thread_cpu_time;
use crate::contenders::Slice;
use crate::corpus::Corpus;
use crate::peers::slices;
use crate::reduce::Script;

/// Maximum size of one read from a terminal, in bytes.
const TERMINAL: usize = 4095;

/// Chunk sizes, in bytes.
const SIZES: [usize; 6] = [1 << 10, TERMINAL, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Length of the long line, in bytes.
const LINE: usize = 10_000_000;

/// A stream that is measured in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// A corpus of this many bytes, in chunks of every size.
    Corpus(Corpus, usize),
    /// A line of 10 MB, the first of its framer, in terminal-sized chunks and in one.
    FirstLine,
    /// The same for a framer that has processed such a line and has its buffer in the cache.
    NextLine,
    /// The same, but the buffer has left the cache since.
    LateLine,
}

/// Size of a cache line on the measured machines.
const CACHE_LINE: usize = 64;

/// How chunks reach the framer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Read into the framer's buffer; a copy stands for read(2).
    Read,
    /// Pushed as existing chunks, which costs nothing by itself.
    Push,
    /// Copied into one buffer that has room for all of them, and pushed whole: the minimum work of
    /// any framer for a line in several chunks, because its strings are borrowed from one
    /// contiguous piece.
    Join,
}

/// CPU time of a stream in chunks of one size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// How the chunks reached the framer.
    pub way: Way,
    /// Chunk size in bytes; the last chunk may be shorter.
    pub chunk: usize,
    /// Length of the stream in bytes.
    pub bytes: usize,
    /// CPU time in nanoseconds.
    pub nanos: f64,
}

impl Stream {
    /// Returns the name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corpus(corpus, _) => corpus.name(),
            Self::FirstLine => "first_line",
            Self::NextLine => "next_line",
            Self::LateLine => "late_line",
        }
    }

    fn load(self) -> Bytes {
        match self {
            Self::Corpus(corpus, size) => corpus.generate(size).expect("generated in memory"),
            Self::FirstLine | Self::NextLine | Self::LateLine => {
                Script::default().long(LINE).take()
            }
        }
    }

    /// Returns both ways with every size; copying together is measured with terminal-sized chunks
    /// only.
    fn plan(self, length: usize) -> Vec<(Way, usize)> {
        let sizes = match self {
            Self::Corpus(..) => SIZES.to_vec(),
            Self::FirstLine | Self::NextLine | Self::LateLine => vec![TERMINAL, length],
        };
        let with = |way| sizes.iter().map(move |&size| (way, size));
        let join = (!matches!(self, Self::Corpus(..))).then_some((Way::Join, TERMINAL));
        with(Way::Read).chain(with(Way::Push)).chain(join).collect()
    }

    /// Measures in this process. Takes the fastest of `rounds` for each slice, and sums them.
    ///
    /// The framers of a corpus are kept from slice to slice, like those of a session.
    ///
    /// # Panics
    ///
    /// Panics if a line is lost or does not parse.
    #[must_use]
    pub fn measure(self, rounds: usize) -> Vec<Timed> {
        let stream = self.load();
        let bytes = stream.len();
        let mut all: Vec<_> = (self.plan(bytes).into_iter())
            .map(|(way, chunk)| {
                (
                    Timed {
                        way,
                        chunk,
                        bytes,
                        nanos: 0.0,
                    },
                    Receiver::default(),
                )
            })
            .collect();
        for slice in slices(stream) {
            let lines = slice.lines();
            let mut best = vec![Duration::MAX; all.len()];
            for _ in 0..rounds {
                for ((timed, receiver), best) in all.iter_mut().zip(&mut best) {
                    match self {
                        Self::FirstLine => *receiver = Receiver::default(),
                        Self::NextLine => receiver.warm(timed.way, timed.chunk, bytes),
                        Self::LateLine | Self::Corpus(..) => (),
                    }
                    let (time, seen) = time(&slice, timed.way, timed.chunk, receiver);
                    assert_eq!(seen, lines, "every line is an event, in any pieces");
                    *best = time.min(*best);
                }
            }
            for ((timed, _), best) in all.iter_mut().zip(best) {
                timed.nanos += best.as_nanos() as f64;
            }
        }
        all.into_iter().map(|(timed, _)| timed).collect()
    }
}

fn time(slice: &Slice, way: Way, chunk: usize, receiver: &mut Receiver) -> (Duration, usize) {
    let pieces = pieces(slice.bytes(), chunk);
    slice.warm();
    let start = thread_cpu_time();
    let lines = receiver.take(pieces, way);
    (thread_cpu_time().saturating_sub(start), lines)
}

/// Splits a stream into chunks; the last one may be shorter.
fn pieces(stream: &Bytes, chunk: usize) -> Vec<Bytes> {
    let mut rest = stream.clone();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        pieces.push(rest.split_to(chunk.min(rest.len())));
    }
    pieces
}

/// A framer, and a buffer to copy chunks together.
#[derive(Default)]
struct Receiver {
    framer: Framer,
    joined: BytesMut,
}

impl Receiver {
    /// Brings the memory that `length` bytes are copied to into the cache, as [`Slice::warm`] does
    /// for their source.
    fn warm(&mut self, way: Way, chunk: usize, length: usize) {
        match way {
            // Nothing is copied.
            Way::Push if chunk >= length => (),
            Way::Push | Way::Read => {
                let room = self.framer.room(length).unwrap_or_default();
                room.iter_mut()
                    .step_by(CACHE_LINE)
                    .for_each(|byte| *byte = black_box(0));
            }
            Way::Join => {
                self.joined.resize(length, 0);
                self.joined.clear();
            }
        }
    }

    /// Parses complete lines after each chunk. Returns the number of events.
    fn take(&mut self, pieces: Vec<Bytes>, way: Way) -> usize {
        match way {
            Way::Push => pieces.into_iter().map(|piece| self.push(piece)).sum(),
            Way::Read => pieces.iter().map(|piece| self.read(piece)).sum(),
            Way::Join => self.join(&pieces),
        }
    }

    fn push(&mut self, piece: Bytes) -> usize {
        self.framer.push(piece);
        self.parse()
    }

    fn read(&mut self, piece: &[u8]) -> usize {
        read(&mut self.framer, piece);
        self.parse()
    }

    fn join(&mut self, pieces: &[Bytes]) -> usize {
        self.joined.reserve(pieces.iter().map(Bytes::len).sum());
        for piece in pieces {
            self.joined.extend_from_slice(piece);
        }
        let joined = self.joined.split().freeze();
        self.push(joined)
    }

    fn parse(&mut self) -> usize {
        let mut events = 0;
        while let Some(frame) = self.framer.next_frame() {
            events += frame.items().filter(|item| item.event.is_ok()).count();
        }
        events
    }
}

fn read(framer: &mut Framer, piece: &[u8]) {
    let room = framer
        .room(piece.len())
        .and_then(|room| room.get_mut(..piece.len()));
    room.expect("nothing waits before it")
        .copy_from_slice(piece);
    framer.filled(piece.len());
}

/// The figures of one chunk size over several processes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    /// The stream.
    pub stream: &'static str,
    /// How the chunks reached the framer.
    pub way: Way,
    /// Chunk size in bytes.
    pub chunk: usize,
    /// Megabytes per second of CPU time.
    pub mb_s: f64,
    /// Speed relative to the fastest size of the same way; for copied chunks, relative to the
    /// fastest pushed ones.
    pub ratio: f64,
}

/// Returns medians over the samples of all processes.
#[must_use]
pub fn figures(stream: Stream, processes: &[Vec<Timed>]) -> Vec<Figure> {
    let Some(first) = processes.first() else {
        return Vec::new();
    };
    let places = first.iter().enumerate();
    let figures = places.map(|(place, timed)| {
        let over = |of: &dyn Fn(&Vec<Timed>, f64) -> f64| {
            median(processes.iter().map(|it| of(it, it[place].nanos)).collect())
        };
        Figure {
            stream: stream.name(),
            way: timed.way,
            chunk: timed.chunk,
            mb_s: over(&|_, nanos| timed.bytes as f64 * 1e3 / nanos),
            ratio: over(&|it, nanos| fastest(it, timed.way) / nanos),
        }
    });
    figures.collect()
}

fn fastest(timed: &[Timed], way: Way) -> f64 {
    let way = if way == Way::Join { Way::Push } else { way };
    let nanos = timed.iter().filter(|it| it.way == way).map(|it| it.nanos);
    nanos.fold(f64::INFINITY, f64::min)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
