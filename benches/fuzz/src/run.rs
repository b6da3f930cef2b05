//! The loop over generated streams.

use std::fmt;
use std::hash::{DefaultHasher, Hasher as _};

use crate::corpus::Corpus;
use crate::cut::{Piece, pieces, whole};
use crate::mutate::mutate;
use crate::random::Random;
use crate::{oracle, safe, shipped};

/// Generates streams and compares both builds on them.
#[derive(Clone, Debug)]
pub struct Fuzzer {
    corpus: Corpus,
    seed: u64,
}

/// Statistics of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Streams, each parsed by both builds, whole and in chunks.
    pub streams: u64,
    /// Mutated lines.
    pub mutants: u64,
    /// Accepted lines, mutated or not.
    pub taken: u64,
    /// Refused lines.
    pub refused: u64,
    /// Bytes of all streams.
    pub bytes: u64,
}

/// A difference between two parsers.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Number of the stream.
    pub number: u64,
    /// What differs.
    pub what: String,
    /// The stream.
    pub stream: Vec<u8>,
}

impl Fuzzer {
    /// Creates the streams of a seed.
    #[must_use]
    pub const fn new(corpus: Corpus, seed: u64) -> Self {
        Self { corpus, seed }
    }

    /// Generates one stream and compares all results.
    ///
    /// # Errors
    ///
    /// Returns the first difference.
    pub fn check(&self, number: u64, tally: &mut Tally) -> Result<(), Finding> {
        let mut random = Random::of(self.seed, number);
        let (stream, mutants) = self.stream(&mut random);
        let cuts = [pieces(&stream, &mut random), pieces(&stream, &mut random)];
        let found = |what| Finding {
            number,
            what,
            stream: stream.clone(),
        };
        let [taken, refused] = oracle::judge(&stream).map_err(found)?;
        compare(&stream, &cuts).map_err(found)?;
        tally.streams += 1;
        tally.mutants += mutants;
        tally.taken += taken;
        tally.refused += refused;
        tally.bytes += stream.len() as u64;
        Ok(())
    }

    /// Returns consecutive lines, at least one of which is mutated.
    fn stream(&self, random: &mut Random) -> (Vec<u8>, u64) {
        let lines = self.corpus.some(random);
        let changed = random.below(lines.len());
        let (mut stream, mut mutants) = (Vec::new(), 0);
        for (at, line) in lines.iter().enumerate() {
            if at == changed || random.below(4) == 0 {
                stream.extend(mutate(line, &self.corpus, random));
                mutants += 1;
            } else {
                stream.extend(line);
            }
            stream.push(b'\n');
        }
        if random.below(8) == 0 {
            stream.pop();
        }
        (stream, mutants)
    }
}

/// One way to parse a stream.
type See<'a> = dyn Fn(&mut Seen) -> fmt::Result + 'a;

/// Both builds, whole and in chunks.
pub(crate) fn compare(stream: &[u8], cuts: &[Vec<Piece>; 2]) -> Result<(), String> {
    let whole = whole(stream);
    let expected = hash(|out| safe::see(&whole, out));
    let others: [(&str, &See<'_>); 4] = [
        ("with `unsafe`", &|out| shipped::see(&whole, out)),
        ("with `unsafe`, in pieces", &|out| {
            shipped::see(&cuts[0], out)
        }),
        ("without `unsafe`, in pieces", &|out| {
            safe::see(&cuts[0], out)
        }),
        ("with `unsafe`, in other pieces", &|out| {
            shipped::see(&cuts[1], out)
        }),
    ];
    for (name, see) in others {
        if hash(see) != expected {
            let text = text(see);
            let expected = self::text(|out| safe::see(&whole, out));
            let differ = text.lines().zip(expected.lines()).find(|(a, b)| a != b);
            return Err(format!("{name} it is {differ:?}"));
        }
    }
    Ok(())
}

/// The observed result as a hash, or as text for a report.
#[derive(Debug, Default)]
struct Seen {
    hasher: DefaultHasher,
    text: Option<String>,
}

impl fmt::Write for Seen {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        self.hasher.write(more.as_bytes());
        if let Some(text) = &mut self.text {
            text.push_str(more);
        }
        Ok(())
    }
}

fn hash(see: impl Fn(&mut Seen) -> fmt::Result) -> Option<u64> {
    let mut seen = Seen::default();
    see(&mut seen).ok().map(|()| seen.hasher.finish())
}

fn text(see: impl Fn(&mut Seen) -> fmt::Result) -> String {
    let mut seen = Seen {
        text: Some(String::new()),
        ..Seen::default()
    };
    // Writing to a string cannot fail.
    let _ = see(&mut seen);
    seen.text.unwrap_or_default()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, what) = (self.number, &self.what);
        let stream = self.stream.escape_ascii();
        write!(f, "stream {number}: {what}\n{stream}")
    }
}

impl std::error::Error for Finding {}
