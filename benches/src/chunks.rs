//! Framing and parsing by the size of the pieces that a stream comes in.
//!
//! Pieces come in one of two ways: a reader reads them into the framer's own buffer, or they are
//! pushed as the chunks that somebody else has read.

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

/// What a terminal delivers at once, in bytes.
const TERMINAL: usize = 4095;

/// Sizes of pieces of a stream, in bytes.
const SIZES: [usize; 6] = [1 << 10, TERMINAL, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Length of the long line, in bytes.
const LINE: usize = 10_000_000;

/// A stream that comes in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// A corpus of so many bytes, in pieces of every size.
    Corpus(Corpus, usize),
    /// A line of 10 MB, the first that its framer sees, in the pieces of a terminal and whole.
    FirstLine,
    /// The same through a framer that has seen such a line before, and has its memory in the cache.
    NextLine,
    /// The same, where the cache has gone to others since.
    LateLine,
}

/// Bytes that a cache takes at once on the machines this runs on.
const CACHE_LINE: usize = 64;

/// How pieces come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// Read into the framer's buffer; a copy stands for read(2).
    Read,
    /// Pushed as chunks, which costs nothing by itself.
    Push,
    /// Copied together where there is room for all of them, and pushed whole: what any framer must
    /// do at least for a line that comes in pieces, since its strings are lent in one piece.
    Join,
}

/// CPU time of a stream in pieces of one size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// How the pieces came.
    pub way: Way,
    /// Bytes of a piece; the last one may be shorter.
    pub chunk: usize,
    /// Bytes of the stream.
    pub bytes: usize,
    /// Nanoseconds.
    pub nanos: f64,
}

impl Stream {
    /// The name in results.
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

    /// Both ways with every size; what is copied together only in the pieces of a terminal.
    fn plan(self, length: usize) -> Vec<(Way, usize)> {
        let sizes = match self {
            Self::Corpus(..) => SIZES.to_vec(),
            Self::FirstLine | Self::NextLine | Self::LateLine => vec![TERMINAL, length],
        };
        let with = |way| sizes.iter().map(move |&size| (way, size));
        let join = (!matches!(self, Self::Corpus(..))).then_some((Way::Join, TERMINAL));
        with(Way::Read).chain(with(Way::Push)).chain(join).collect()
    }

    /// Measures in this process: the fastest of so many rounds for each slice, summed.
    ///
    /// A corpus goes through framers that go on from slice to slice, as those of sessions do.
    ///
    /// # Panics
    ///
    /// Lines are lost, or one is none.
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

/// Pieces of so many bytes; the last one may be shorter.
fn pieces(stream: &Bytes, chunk: usize) -> Vec<Bytes> {
    let mut rest = stream.clone();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        pieces.push(rest.split_to(chunk.min(rest.len())));
    }
    pieces
}

/// A framer, and memory to copy pieces together in.
#[derive(Default)]
struct Receiver {
    framer: Framer,
    joined: BytesMut,
}

impl Receiver {
    /// Brings the memory that `length` bytes in such pieces are copied to into the cache, as
    /// [`Slice::warm`] does what they are copied from.
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

    /// Parses what is ready after each piece. Gives the number of events.
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

/// The figures of one size, over some processes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    /// The stream.
    pub stream: &'static str,
    /// How the pieces came.
    pub way: Way,
    /// Bytes of a piece.
    pub chunk: usize,
    /// Millions of bytes a second of CPU time.
    pub mb_s: f64,
    /// Speed over that of the fastest size, come the same way; what was copied together, over that
    /// of the fastest that was pushed.
    pub ratio: f64,
}

/// Medians over what each process has measured.
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
